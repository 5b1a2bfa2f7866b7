package flow

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Actors of hand-made transactions.
var (
	alice, bob, carol = addr(1), addr(2), addr(3)
	pool, token       = addr(4), addr(5)
	miner             = addr(9)
	names             = map[common.Address]string{alice: "alice", bob: "bob", carol: "carol", pool: "pool", token: "token", miner: "miner"}
)

func frame(k trace.Kind, from, to common.Address, wei uint64, children ...*trace.Frame) *trace.Frame {
	return &trace.Frame{Kind: k, From: from, To: to, HasTo: true, Value: *uint256.NewInt(wei), Children: children}
}

func failed(f *trace.Frame) *trace.Frame {
	f.Err = "execution reverted"
	return f
}

func tree(root *trace.Frame) *trace.Tree {
	t := &trace.Tree{Source: trace.SourceDebug, Root: root}
	t.Finish()
	return t
}

func chainOf(id uint64) *chain.Chain {
	c, ok := chain.ByID(id)
	if !ok {
		panic(fmt.Sprintf("chain %d is not in the table", id))
	}
	return c
}

// made is a hand-made transaction of alice without fee, on mainnet after Cancun.
func made(root *trace.Frame) Input {
	t := tree(root)
	return Input{
		Chain: chainOf(1), Tree: t, Succeeded: root.Status == trace.OK,
		Tx:      &ethrpc.Transaction{From: alice, To: &root.To, Value: root.Value.ToBig()},
		Receipt: &ethrpc.Receipt{EffectiveGasPrice: new(big.Int)},
		Block:   &ethrpc.Block{Number: 20e6, Timestamp: 1.72e9, Miner: miner, BaseFee: big.NewInt(7), ParentBeaconRoot: new(common.Hash)},
	}
}

func beforeCancun(in Input) Input {
	b := *in.Block
	b.ParentBeaconRoot = nil
	in.Block = &b
	return in
}

// told writes the changes as text: "alice -5 | bob +5", tokens as "+1 token#7".
func told(f *Flow) string {
	var parts []string
	for _, c := range f.Changes {
		name := names[c.Address]
		if name == "" {
			name = strings.ToLower(c.Address.Hex())
		}
		if c.FeeOnly {
			name += "*"
		}
		for _, d := range c.Deltas {
			s := fmt.Sprintf("%s %+d", name, d.Amount)
			if d.Key != (TokenKey{}) {
				s += " " + names[d.Key.Token]
				if d.Key.ID != "" {
					s += "#" + d.Key.ID
				}
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " | ")
}

func TestNativeMoves(t *testing.T) {
	f := func(in Input, want string) {
		t.Helper()
		if got := told(Compute(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	call, create, destroy := trace.Call, trace.Create, trace.SelfDestruct

	// Plain value, and value on its way through contracts.
	f(made(frame(call, alice, bob, 5)), "alice -5 | bob +5")
	f(made(frame(call, alice, pool, 5, frame(call, pool, bob, 3))), "alice -5 | pool +2 | bob +3")
	f(made(frame(call, alice, pool, 5, frame(call, pool, bob, 5))), "alice -5 | bob +5")
	f(made(frame(call, alice, alice, 5)), "")
	f(made(frame(call, alice, pool, 0, frame(call, pool, miner, 4))), "pool -4 | miner +4")

	// Only CALL and creation move their value.
	f(made(frame(call, alice, pool, 5, frame(trace.DelegateCall, pool, bob, 5))), "alice -5 | pool +5")
	f(made(frame(call, alice, pool, 5, frame(trace.CallCode, pool, bob, 4))), "alice -5 | pool +5")
	f(made(frame(call, alice, pool, 5, frame(trace.StaticCall, pool, bob, 4))), "alice -5 | pool +5")
	f(made(frame(create, alice, pool, 5, frame(trace.Create2, pool, bob, 2))), "alice -5 | pool +3 | bob +2")

	// What failed moved nothing, and neither did what it called.
	f(made(failed(frame(call, alice, bob, 5))), "")
	f(made(frame(call, alice, pool, 5, failed(frame(call, pool, bob, 3, frame(call, bob, carol, 2))))), "alice -5 | pool +5")
	lost := failed(frame(create, pool, common.Address{}, 3))
	lost.HasTo = false
	f(made(frame(call, alice, pool, 5, lost)), "alice -5 | pool +5")

	// SELFDESTRUCT in favour of another account.
	f(made(frame(call, alice, pool, 5, frame(destroy, pool, bob, 9))), "alice -5 | pool -4 | bob +9")
	f(beforeCancun(made(frame(call, alice, pool, 5, frame(destroy, pool, bob, 9)))), "alice -5 | pool -4 | bob +9")
	f(made(frame(call, alice, pool, 5, failed(frame(call, pool, bob, 0, frame(destroy, bob, carol, 9))))), "alice -5 | pool +5")

	// In favour of itself: burns before EIP-6780, afterwards only a new contract.
	f(beforeCancun(made(frame(call, alice, pool, 5, frame(destroy, pool, pool, 9)))), "alice -5 | pool -4")
	f(made(frame(call, alice, pool, 5, frame(destroy, pool, pool, 9))), "alice -5 | pool +5")
	f(made(frame(create, alice, pool, 5, frame(destroy, pool, pool, 5))), "alice -5")

	// Coin sent to an account after it self-destructed goes with it.
	late := func() *trace.Frame {
		return frame(call, alice, carol, 0, frame(call, carol, pool, 0, frame(destroy, pool, bob, 9)), frame(call, carol, pool, 2))
	}
	f(beforeCancun(made(late())), "pool -9 | bob +9 | carol -2")
	f(made(late()), "pool -7 | bob +9 | carol -2")
	fresh := frame(call, alice, carol, 0, frame(create, carol, pool, 1, frame(destroy, pool, bob, 1)), frame(call, carol, pool, 2))
	f(made(fresh), "carol -3 | bob +1")
	twice := frame(call, alice, carol, 0, frame(call, carol, pool, 0, frame(destroy, pool, bob, 9)),
		frame(call, carol, pool, 2, frame(destroy, pool, bob, 2)))
	f(beforeCancun(made(twice)), "pool -9 | bob +11 | carol -2")
}

func TestMovesSayWhatHappened(t *testing.T) {
	in := beforeCancun(made(frame(trace.Call, alice, carol, 1,
		frame(trace.Create, carol, pool, 1, frame(trace.SelfDestruct, pool, bob, 1)),
		frame(trace.Call, carol, pool, 2))))
	in.Receipt.GasUsed, in.Receipt.EffectiveGasPrice = 10, big.NewInt(9)
	f := func(i int, want string) {
		t.Helper()
		m := Compute(in).Moves[i]
		to := names[m.To]
		if m.NoTo {
			to = "nobody"
		}
		if got := fmt.Sprintf("%s %s>%s %s @%d", m.Kind, names[m.From], to, m.Amount, m.Frame); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(0, "call alice>carol 1 @0")
	f(1, "create carol>pool 1 @1")
	f(2, "selfdestruct pool>bob 1 @2")
	f(3, "call carol>pool 2 @3")
	f(4, "fee alice>miner 20 @-1")
	f(5, "fee alice>nobody 70 @-1")
	f(6, "destroy pool>nobody 2 @-1")
}

func TestOmittedFramesKeepTheLedger(t *testing.T) {
	root := frame(trace.Call, alice, pool, 100, frame(trace.Call, pool, bob, 1), frame(trace.Call, pool, bob, 1))
	in := made(root)
	m := &trace.Marker{Parent: root, After: 1, Creates: []common.Address{carol}, Moves: []trace.Move{
		{Kind: trace.SelfDestruct, From: carol, To: bob, Value: *uint256.NewInt(30), Count: 3},
		{Kind: trace.Create, From: pool, To: carol, Value: *uint256.NewInt(30), Count: 3},
		{Kind: trace.SelfDestruct, From: carol, To: carol, Value: *uint256.NewInt(4), Count: 1},
		{Kind: trace.Call, From: pool, To: carol, Value: *uint256.NewInt(4), Count: 1},
	}}
	root.Markers, in.Tree.Markers = []*trace.Marker{m}, []*trace.Marker{m}
	f := Compute(in)
	if got, want := told(f), "alice -100 | pool +64 | bob +32"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	var kinds []string
	for _, m := range f.Moves {
		kinds = append(kinds, string(m.Kind))
	}
	if got, want := strings.Join(kinds, " "), "call call create call selfdestruct destroy call"; got != want {
		t.Errorf("moves %s, want %s", got, want)
	}
}

func TestWithoutTrace(t *testing.T) {
	in := made(frame(trace.Call, alice, bob, 5, frame(trace.Call, bob, carol, 2)))
	in.Tree = trace.FromReceipt(in.Tx, in.Receipt, true)
	f := func(want string, complete bool) {
		t.Helper()
		got := Compute(in)
		if told(got) != want || got.Complete != complete {
			t.Errorf("got %s, complete %v; want %s, %v", told(got), got.Complete, want, complete)
		}
	}
	f("alice -5 | bob +5", false)
	in.Tree = nil
	f("alice -5 | bob +5", false)
	in.Succeeded = false
	f("", false)
	in.Succeeded, in.Tx.To, in.Receipt.ContractAddress = true, nil, &carol
	f("alice -5 | carol +5", false)
	in.Receipt.ContractAddress = nil
	f("alice -5", false)
	if got := Compute(Input{}); got == nil || got.Complete {
		t.Error("no evidence at all must give an empty flow")
	}
}

func TestDeposits(t *testing.T) {
	f := func(in Input, want string) {
		t.Helper()
		if got := told(Compute(in)); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	deposit := func(root *trace.Frame, id uint64, typ uint64, mint int64) Input {
		in := made(root)
		in.Chain, in.Tx.Type, in.Tx.Mint = chainOf(id), typ, big.NewInt(mint)
		in.Receipt.GasUsed, in.Receipt.EffectiveGasPrice = 50_000, big.NewInt(3) // must not be charged
		return in
	}
	// OP-stack: the mint stays when the call fails; the deposit pays nothing.
	f(deposit(frame(trace.Call, alice, bob, 5), 10, 0x7e, 5), "bob +5")
	f(deposit(frame(trace.Call, alice, bob, 2), 8453, 0x7e, 5), "alice +3 | bob +2")
	f(deposit(failed(frame(trace.Call, alice, bob, 5)), 10, 0x7e, 5), "alice +5")
	f(deposit(frame(trace.Call, alice, bob, 0), 10, 0x7e, 0), "")
	// The field means nothing elsewhere.
	f(deposit(frame(trace.Call, alice, bob, 5), 534352, 0x7e, 5), "alice -5 | bob +5")
	// Arbitrum: the value is minted to the sender, the root frame moves it on.
	f(deposit(frame(trace.Call, alice, bob, 5), 42161, 0x64, 0), "bob +5")
	f(deposit(failed(frame(trace.Call, alice, bob, 5)), 42161, 0x64, 0), "") // nothing is minted when it fails
	f(deposit(frame(trace.Call, alice, bob, 0), 42161, 0x6a, 0), "")

	retry := Compute(deposit(frame(trace.Call, alice, bob, 5), 42161, 0x68, 0))
	if retry.Complete || retry.Fee != nil || len(retry.Notes) != 1 {
		t.Errorf("retryable ticket: complete %v, fee %v, notes %q", retry.Complete, retry.Fee, retry.Notes)
	}
}
