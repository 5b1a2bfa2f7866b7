package narrate_test

import (
	"testing"

	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

var (
	safe1 = scene.Addr(0x5a01)
	safe2 = scene.Addr(0x5a02)
	safe3 = scene.Addr(0x5a03)
	guard = scene.Addr(0x60a7)
)

// safeExec is the calldata of execTransaction.
func safeExec(to common.Address, value, operation int, data []byte) []byte {
	zero := common.Address{}
	head := scene.Input("execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
		to, value, 320, operation, 0, 0, 0, zero, zero, 320+32+(len(data)+31)/32*32)
	return append(append(head, lengthened(data)...), make([]byte, 32)...)
}

// lengthened is the tail of bytes in ABI data: its length, and the bytes in whole words.
func lengthened(data []byte) []byte {
	w := scene.Word(len(data))
	out := append(w[:], data...)
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	return out
}

// callOf is a frame below another.
func callOf(up *trace.Frame, kind trace.Kind, from, to common.Address, input []byte) *trace.Frame {
	f := &trace.Frame{Kind: kind, From: from, To: to, HasTo: true, Input: input}
	up.Children = append(up.Children, f)
	return f
}

// ended logs that a Safe's transaction ended, as version 1.4 or 1.1.1 does.
func ended(s *scene.Scene, safe common.Address, event string, old bool) {
	hash := common.Hash(crypto.Keccak256Hash([]byte("a transaction")))
	if old {
		s.Log(safe, event+"(bytes32,uint256)", nil, hash, 0)
		return
	}
	s.Log(safe, event+"(bytes32,uint256)", []any{hash}, 0)
}

// TestSafes: what a Safe did is told by the call that its owners signed, of the last Safe where
// one owns the other.
func TestSafes(t *testing.T) {
	run := func(input []byte, build func(*scene.Scene)) *scene.Scene {
		s := scene.New(&safe1, 0, input)
		build(s)
		return s
	}
	f := func(name string, s *scene.Scene, want string) {
		t.Helper()
		in := s.Facts(t)
		if got := scene.Held(t, name, in).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	const success, failure = "ExecutionSuccess", "ExecutionFailure"
	reject := safeExec(safe1, 0, 0, nil)
	rejected := "Rejected a queued transaction by using up its nonce and moved nothing, for Safe 0x5a01…5a01"
	empty := func(to common.Address, old bool) func(*scene.Scene) {
		return func(s *scene.Scene) { callOf(s.Root, trace.Call, safe1, to, nil); ended(s, safe1, success, old) }
	}
	f("rejected", run(reject, empty(safe1, false)), rejected)
	f("rejected in version 1.1.1", run(reject, empty(safe1, true)), rejected)
	f("without a trace", run(reject, func(s *scene.Scene) { ended(s, safe1, success, false); s.Source = trace.SourceReceipt }), rejected)
	f("refunded", run(reject, func(s *scene.Scene) {
		empty(safe1, false)(s)
		s.Transfer(scene.Usdc, safe1, scene.User, 5)
	}), "Rejected a queued transaction by using up its nonce, for Safe 0x5a01…5a01")
	f("an empty call to another", run(safeExec(scene.Friend, 0, 0, nil), empty(scene.Friend, false)),
		"Sent 0 ETH to 0xf00d…f00d, by a call without data, for Safe 0x5a01…5a01")
	f("its own code on itself", run(safeExec(safe1, 0, 1, nil), func(s *scene.Scene) {
		callOf(s.Root, trace.DelegateCall, safe1, safe1, nil)
		ended(s, safe1, success, false)
	}), "Called receive of 0x5a01…5a01; no tokens moved, for Safe 0x5a01…5a01")
	f("rejection that failed", run(reject, func(s *scene.Scene) {
		callOf(s.Root, trace.Call, safe1, safe1, nil).Err = "out of gas"
		ended(s, safe1, failure, false)
	}), "Safe transaction failed: out of gas; attempted to send 0 ETH to 0x5a01…5a01, for Safe 0x5a01…5a01")

	pay := scene.Input("transfer(address,uint256)", scene.Friend, 2_500_000_000)
	f("a transfer behind a guard", run(safeExec(scene.Usdc, 0, 0, pay), func(s *scene.Scene) {
		callOf(s.Root, trace.Call, safe1, guard, scene.Input("checkTransaction(address)", scene.Usdc))
		callOf(s.Root, trace.Call, safe1, scene.Usdc, pay)
		s.Transfer(scene.Usdc, safe1, scene.Friend, 2_500_000_000)
		ended(s, safe1, success, false)
	}), "Sent 2,500 USDC to 0xf00d…f00d, for Safe 0x5a01…5a01")
	f("a transfer that failed", run(safeExec(scene.Usdc, 0, 0, pay), func(s *scene.Scene) {
		callOf(s.Root, trace.Call, safe1, scene.Usdc, pay).Err = "execution reverted"
		ended(s, safe1, failure, false)
	}), "Safe transaction failed: reverted without a reason; attempted to send 2,500 USDC to 0xf00d…f00d, for Safe 0x5a01…5a01")

	inner := safeExec(scene.Usdc, 0, 0, pay)
	paid := func(s *scene.Scene, up *trace.Frame, from common.Address) {
		callOf(up, trace.Call, from, scene.Usdc, pay)
		s.Transfer(scene.Usdc, from, scene.Friend, 2_500_000_000)
	}
	sent2 := "Sent 2,500 USDC to 0xf00d…f00d, for Safe 0x5a02…5a02"
	f("one in another", run(safeExec(safe2, 0, 0, inner), func(s *scene.Scene) {
		paid(s, callOf(s.Root, trace.Call, safe1, safe2, inner), safe2)
		ended(s, safe2, success, false)
		ended(s, safe1, success, true)
	}), sent2)
	second := safeExec(safe3, 0, 0, inner)
	f("three", run(safeExec(safe2, 0, 0, second), func(s *scene.Scene) {
		x := callOf(s.Root, trace.Call, safe1, safe2, second)
		paid(s, callOf(x, trace.Call, safe2, safe3, inner), safe3)
		for _, who := range []common.Address{safe3, safe2, safe1} {
			ended(s, who, success, false)
		}
	}), "Sent 2,500 USDC to 0xf00d…f00d, for Safe 0x5a03…5a03")
	batch := append(scene.Input("multiSend(bytes)", 32), 0)
	f("one in a batch of another", run(safeExec(scene.Router, 0, 1, batch), func(s *scene.Scene) {
		x := callOf(s.Root, trace.DelegateCall, safe1, scene.Router, batch)
		paid(s, callOf(x, trace.Call, safe1, safe2, inner), safe2)
		ended(s, safe2, success, false)
		ended(s, safe1, success, false)
	}), sent2)
	f("one beside something of its own", run(safeExec(scene.Router, 0, 1, batch), func(s *scene.Scene) {
		x := callOf(s.Root, trace.DelegateCall, safe1, scene.Router, batch)
		callOf(x, trace.Call, safe1, safe2, inner)
		paid(s, x, safe1)
		ended(s, safe2, success, false)
		ended(s, safe1, success, false)
	}), "Sent 2,500 USDC to 0xf00d…f00d, for Safe 0x5a01…5a01")
	f("rejection by one that owns it", run(safeExec(safe2, 0, 0, safeExec(safe2, 0, 0, nil)), func(s *scene.Scene) {
		x := callOf(s.Root, trace.Call, safe1, safe2, safeExec(safe2, 0, 0, nil))
		callOf(x, trace.Call, safe2, safe2, nil)
		ended(s, safe2, success, false)
		ended(s, safe1, success, false)
	}), "Rejected a queued transaction by using up its nonce and moved nothing, for Safe 0x5a02…5a02")
	relayed := scene.New(&scene.Bot, 0, scene.Input("relay()"))
	x := callOf(relayed.Root, trace.Call, scene.Bot, safe1, safeExec(safe2, 0, 0, inner))
	paid(relayed, callOf(x, trace.Call, safe1, safe2, inner), safe2)
	ended(relayed, safe2, success, false)
	ended(relayed, safe1, success, false)
	f("through a relayer", relayed, sent2)
}

// TestActorOfFailedSafe: a transaction that failed was one of the Safe that another was to run.
func TestActorOfFailedSafe(t *testing.T) {
	f := func(input []byte, want common.Address) {
		t.Helper()
		s := scene.New(&safe1, 0, input).Fail("execution reverted")
		if a := facts.Read(s.Facts(t)); a.Actor != want || a.ActorKind != facts.ActorSafe {
			t.Errorf("%s is %s, want %s", a.Actor, a.ActorKind, want)
		}
	}
	f(safeExec(scene.Usdc, 0, 0, nil), safe1)
	f(safeExec(safe2, 0, 0, safeExec(scene.Usdc, 0, 0, nil)), safe2)
	f(safeExec(safe2, 0, 1, safeExec(scene.Usdc, 0, 0, nil)), safe1)
	f(safeExec(safe1, 0, 0, nil)[:40], safe1)
}
