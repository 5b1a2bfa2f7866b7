package narrate_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

// TestWhatStays: what remains of a failed transaction is listed in the headline and in the
// step on its effects.
func TestWhatStays(t *testing.T) {
	f := func(name string, change func(*facts.Input), headline, step string) {
		t.Helper()
		s := scene.New(&scene.Router, 0, scene.Input("claim()")).Fail("execution reverted")
		in := s.Facts(t)
		if change != nil {
			change(in)
		}
		got := scene.Held(t, name, in)
		_, stays, _ := strings.Cut(got.Summary, "; ")
		if stays != headline || !slices.Contains(got.Steps, step) {
			t.Errorf("%s: %q; steps %q", name, got.Summary, got.Steps)
		}
	}
	authorized := func(list ...decode.Authorization) func(*facts.Input) {
		return func(in *facts.Input) {
			in.Tx.Authorizations = make([]ethrpc.Authorization, len(list))
			in.Authorizations = list
		}
	}
	applied := func(who, code common.Address) decode.Authorization {
		return decode.Authorization{Authority: &who, Delegate: code, Outcome: decode.Applied}
	}
	const none = "All effects were undone; nothing moved but the fee."
	f("nothing", nil, "", none)
	runs := "0xf00d…f00d runs the code of 0xb070…b070 from now on"
	f("a delegation", authorized(applied(scene.Friend, scene.Bot)), "what remains: "+runs, "The effects of the call were undone; what remains: "+runs+".")
	two := runs + "; 0xa11c…a11c runs no code any more"
	f("two accounts", authorized(applied(scene.Friend, scene.Bot), applied(scene.User, common.Address{})), "what remains: "+two,
		"The effects of the call were undone; what remains: "+two+".")
	f("the last of one account", authorized(applied(scene.Friend, scene.Pool1), applied(scene.Friend, scene.Bot)), "what remains: "+runs,
		"The effects of the call were undone; what remains: "+runs+".")
	f("skipped", authorized(decode.Authorization{Outcome: decode.Skipped, Why: "no account has that nonce"}), "", none)
	f("no evidence", authorized(decode.Authorization{Outcome: decode.Unknown, Why: "there is no state diff"}), "",
		"The effects of the call were undone; whether its EIP-7702 authorizations were applied is not known.")
	f("no fee", func(in *facts.Input) { in.Flow.Fee = &flow.Fee{Total: new(big.Int)} }, "", "All effects were undone; nothing moved.")
	f("the fee alone moved", func(in *facts.Input) {
		in.Flow.Moves = []flow.Move{{Kind: flow.MoveFee, From: scene.User, To: scene.Miner, Amount: big.NewInt(7)}}
	}, "", none)
	f("a token moved outside of the call", func(in *facts.Input) {
		in.Flow.Transfers = []flow.Transfer{{Token: scene.Usdc, From: scene.User, To: scene.Friend, Amount: big.NewInt(7)}}
	}, "what remains: 0xa11c…a11c sent 0.000007 USDC to 0xf00d…f00d", "The effects of the call were undone; what remains: 0xa11c…a11c sent 0.000007 USDC to 0xf00d…f00d.")
	arrived := "1 ETH arrived for 0xa11c…a11c from the other chain"
	f("a deposit", func(in *facts.Input) {
		in.Chain, _ = chain.ByID(10)
		in.Tx.Type, in.Tx.Mint, in.Tx.Value = 0x7e, big.NewInt(1e18), big.NewInt(1e18)
		in.Flow = flow.Compute(flow.Input{Chain: in.Chain, Tx: in.Tx, Receipt: in.Receipt, Block: in.Block, Tree: in.Tree})
	}, "what remains: "+arrived, "The effects of the call were undone; what remains: "+arrived+".")
}
