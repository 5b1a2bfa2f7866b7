package narrate_test

import (
	"slices"
	"testing"

	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// tupleInput is calldata whose first argument is a tuple of words that ends in bytes, one word
// of which is their offset.
func tupleInput(signature string, words []any, offset int, data []byte) []byte {
	words = slices.Clone(words)
	words[offset] = 32 * len(words)
	input := append(scene.Input(signature, 64, 64+32*len(words)+32*(2+len(data)/32)), scene.Input("", words...)[4:]...)
	return append(append(input, lengthened(data)...), lengthened(make([]byte, 65))...)
}

// TestRelayed: what a relayer brought is told as the act of the user who signed it.
func TestRelayed(t *testing.T) {
	forwarder, relayer := scene.Addr(0xf04d), scene.User
	zero := common.Address{}
	pay := scene.Input("transfer(address,uint256)", scene.Friend, 10_000_000)
	suffixed := func(user common.Address) []byte { return append(slices.Clone(pay), user[:]...) }
	recover1 := func(s *scene.Scene, up *trace.Frame, user common.Address) {
		w := scene.Word(user)
		callOf(up, trace.StaticCall, up.To, common.BytesToAddress([]byte{1}), make([]byte, 128)).Output = w[:]
	}
	f := func(name string, input []byte, build func(*scene.Scene), want string) {
		t.Helper()
		to := forwarder
		if evmsig.SelMetaTransaction.Begins(input) {
			to = scene.Usdc
		}
		s := scene.New(&to, 0, input)
		build(s)
		if got := scene.Held(t, name, s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	// carried is the usual course: the signature is checked, the token called for the user.
	carried := func(user common.Address, checked bool) func(*scene.Scene) {
		return func(s *scene.Scene) {
			if checked {
				recover1(s, s.Root, user)
			}
			callOf(s.Root, trace.Call, s.Root.To, scene.Usdc, suffixed(user))
			s.Transfer(scene.Usdc, user, scene.Friend, 10_000_000)
		}
	}
	v4 := tupleInput("execute((address,address,uint256,uint256,uint256,bytes),bytes)", []any{scene.Bot, scene.Usdc, 0, 9, 1, 0}, 5, pay)
	v5 := tupleInput("execute((address,address,uint256,uint256,uint48,bytes,bytes))", []any{scene.Bot, scene.Usdc, 0, 9, 1, 0, 0}, 5, pay)
	gsn := tupleInput("execute((address,address,uint256,uint256,uint256,bytes,uint256),bytes32,bytes32,bytes,bytes)",
		[]any{scene.Bot, scene.Usdc, 0, 9, 1, 0, 7}, 5, pay)
	biconomy := tupleInput("executeEIP712((address,address,address,uint256,uint256,uint256,uint256,uint256,bytes),bytes32,bytes)",
		[]any{scene.Bot, scene.Usdc, zero, 9, 0, 0, 1, 7, 0}, 8, pay)
	gelato := tupleInput("sponsoredCallERC2771((uint256,address,bytes,address,uint256,uint256),address,address,uint256,bytes,uint256,uint256,bytes32)",
		[]any{1, scene.Usdc, 0, scene.Bot, 1, 7}, 2, pay)
	native := append(scene.Input("executeMetaTransaction(address,bytes,bytes32,bytes32,uint8)", scene.Bot, 160, 1, 2, 27), lengthened(pay)...)

	sent := "Sent 10 USDC to 0xf00d…f00d, for 0xb070…b070"
	type version struct {
		name  string
		input []byte
	}
	for _, v := range []version{{"OpenZeppelin 4", v4}, {"OpenZeppelin 5", v5}, {"GSN", gsn}, {"Biconomy", biconomy}, {"Gelato", gelato}, {"native", native}} {
		name, input := v.name, v.input
		f(name, input, carried(scene.Bot, true), sent)
		f(name+" without precompiles", input, carried(scene.Bot, false), sent)
		f(name+" without a trace", input, func(s *scene.Scene) {
			s.Transfer(scene.Usdc, scene.Bot, scene.Friend, 10_000_000)
			s.Source = trace.SourceReceipt
		}, sent)
	}
	own := scene.Input("relay(address)", scene.Bot)
	f("a forwarder of its own kind", own, carried(scene.Bot, true), sent)
	f("a signature that a contract checked", own, func(s *scene.Scene) {
		asked := scene.Input("isValidSignature(bytes32,bytes)", 1, 64, 0)
		callOf(s.Root, trace.StaticCall, forwarder, scene.Bot, asked).Output = append(slices.Clone(evmsig.SelValidERC1271[:]), make([]byte, 28)...)
		carried(scene.Bot, false)(s)
	}, sent)
	f("bytes that nobody signed", own, carried(scene.Bot, false),
		"Moved 10 USDC from 0xb070…b070 to 0xf00d…f00d through 0xf04d…f04d (relay)")
	f("its own call", v4, carried(relayer, true), "Sent 10 USDC to 0xf00d…f00d")
	f("a call that failed", v4, func(s *scene.Scene) {
		recover1(s, s.Root, scene.Bot)
		callOf(s.Root, trace.Call, forwarder, scene.Usdc, suffixed(scene.Bot)).Err = "execution reverted"
	}, "Inner act failed, the transaction itself succeeded: tried to send 10 USDC to 0xf00d…f00d, for 0xb070…b070")
	for _, v := range []version{{"OpenZeppelin 4", v4}, {"OpenZeppelin 5", v5}, {"native", native}} {
		name, input := v.name, v.input
		to := forwarder
		if evmsig.SelMetaTransaction.Begins(input) {
			to = scene.Usdc
		}
		s := scene.New(&to, 0, input)
		callOf(s.Root, trace.Call, to, scene.Usdc, suffixed(scene.Bot)).Err = "execution reverted"
		relayed := func(r verdict.Risk) bool { return r.Why.Form == verdict.RelayedCallFailed }
		if risks := scene.Held(t, name, s.Facts(t)).Risks; !slices.ContainsFunc(risks, relayed) {
			t.Errorf("%s failed: %v", name, risks)
		}
	}
	f("two users", scene.Input("executeBatch((address,address,uint256,uint256,uint48,bytes,bytes)[],address)", 64, zero, 0), func(s *scene.Scene) {
		carried(scene.Bot, true)(s)
		carried(scene.Pool1, true)(s)
	}, "Moved 20 USDC from 2 addresses to 0xf00d…f00d, in a batch of signed calls of 2 accounts")
}

// TestSignedPayments: tokens that move by signed authorizations which a contract brought are the
// signers' act.
func TestSignedPayments(t *testing.T) {
	f := func(name, want string, also func(*scene.Scene), signers ...common.Address) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("settle()"))
		for i, who := range signers {
			s.Log(scene.Usdc, "AuthorizationUsed(address,bytes32)", []any{who, i})
			s.Transfer(scene.Usdc, who, scene.Friend, 3_000_000)
		}
		if also != nil {
			also(s)
		}
		if got := scene.Held(t, name, s.Facts(t)).Summary; got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	f("one", "Sent 3 USDC to 0xf00d…f00d, by signed authorization of 0xb070…b070", nil, scene.Bot)
	f("two", "Moved 6 USDC from 2 addresses to 0xf00d…f00d, by signed authorizations of 2 accounts", nil, scene.Bot, scene.Pool1)
	f("its own", "Sent 3 USDC to 0xf00d…f00d", nil, scene.User)
	f("a trade with the sender", "Swapped 1 USDC for 3 WETH", func(s *scene.Scene) {
		s.Transfer(scene.Usdc, scene.User, scene.Bot, 1_000_000)
		s.Transfer(scene.Weth, scene.Bot, scene.User, 3e18)
	}, scene.Bot)
}
