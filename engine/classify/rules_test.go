package classify

import (
	"math/big"
	"testing"

	"txlens/engine/facts"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestPassesThrough: an actor passes through pools and vaults that it left again, if no event of them
// is of the actor and nothing of what it gave and got was minted or burnt.
func TestPassesThrough(t *testing.T) {
	f := func(name string, want bool, matches ...facts.Match) {
		t.Helper()
		a := someCase(label.Label{})
		a.Matches = matches
		if got := passesThrough(a); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	is := func(act facts.Act) facts.Match { return facts.Match{Act: act} }
	mine := func(act facts.Act) facts.Match { return facts.Match{Act: act, Mine: true} }
	f("nothing", true)
	f("a trade", true, is(facts.ActSwap), mine(facts.ActSwap))
	f("a vault, in and out", true, is(facts.ActVaultIn), is(facts.ActVaultOut))
	f("a vault of its own, in and out", false, mine(facts.ActVaultIn), is(facts.ActVaultOut))
	f("a vault, in", false, is(facts.ActVaultIn))
	f("a vault, out", false, is(facts.ActVaultOut))
	f("a pool, in and out", true, is(facts.ActAddLiq), is(facts.ActRemoveLiq))
	f("a pool of its own, in and out", false, is(facts.ActAddLiq), mine(facts.ActRemoveLiq))
	f("a pool, in", false, is(facts.ActAddLiq))
	f("a pool, out", false, is(facts.ActRemoveLiq))
	f("a pool and a vault", false, is(facts.ActAddLiq), is(facts.ActVaultOut))
	f("a change of liquidity", false, is(facts.ActLiquidity))
}

// TestInfraWork: a call that reports or keeps is that, if the caller at most pays for it.
func TestInfraWork(t *testing.T) {
	leg := facts.Leg{Amount: big.NewInt(5)}
	f := func(name string, want facts.Act, change func(a *facts.Case)) {
		t.Helper()
		a, got := someCase(label.Label{}), facts.Act("")
		change(a)
		if o := infraWork(a); o != nil {
			got = o.Act
		}
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	call := func(act facts.Act, out, in int) func(a *facts.Case) {
		return func(a *facts.Case) {
			a.Call = &facts.CallRule{Act: act}
			for range out {
				a.Out = append(a.Out, leg)
			}
			for range in {
				a.In = append(a.In, leg)
			}
		}
	}
	events := func(out int, list ...facts.Match) func(a *facts.Case) {
		return func(a *facts.Case) {
			if a.Matches = list; out > 0 {
				a.Out = []facts.Leg{leg}
			}
		}
	}
	f("a report", facts.ActOracle, call(facts.ActOracle, 0, 0))
	f("a report for a fee", facts.ActOracle, call(facts.ActOracle, 1, 0))
	f("a report, and two assets given", "", call(facts.ActOracle, 2, 0))
	f("a report, and something got", "", call(facts.ActOracle, 0, 1))
	f("a job", facts.ActKeeper, call(facts.ActKeeper, 1, 0))
	f("a claim", "", call(facts.ActClaim, 0, 0))
	for _, act := range []facts.Act{facts.ActOracle, facts.ActKeeper, "routine"} {
		f("the event of "+string(act), act, events(0, facts.Match{Act: act}))
		f("the event of "+string(act)+", and something given", "", events(1, facts.Match{Act: act}))
	}
	f("a job before a report", facts.ActKeeper, events(0, facts.Match{Act: facts.ActOracle}, facts.Match{Act: facts.ActKeeper}))
	f("a report beside a bridge", "", events(0, facts.Match{Act: facts.ActOracle}, facts.Match{Act: facts.ActBridgeIn}))
	f("data of a rollup", facts.ActBatchPost, events(0, facts.Match{Act: facts.ActBatchPost}))
	f("a state of a rollup", facts.ActStatePost, events(1, facts.Match{Act: facts.ActStatePost}))
}

// TestAttempts: what a call that failed asks for, by its function alone.
func TestAttempts(t *testing.T) {
	at, weth := common.HexToAddress("0x9001"), common.HexToAddress("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
	input := func(signature string) []byte {
		return append(crypto.Keccak256([]byte(signature))[:4], make([]byte, 320)...)
	}
	f := func(name string, u facts.Undone, want facts.Act, doubt verdict.Form, frames int) {
		t.Helper()
		o := AttemptOf(someCase(label.Label{}), &u)
		if o == nil {
			t.Errorf("%s: nothing", name)
		} else if o.Act != want || o.doubt != doubt || len(o.Frames) != frames || frames > 0 && o.Frames[0] != 3 {
			t.Errorf("%s: %s, doubt %d, frames %v", name, o.Act, o.doubt, o.Frames)
		}
	}
	to := func(where common.Address, in []byte) facts.InnerCall {
		return facts.InnerCall{To: where, HasTo: true, Input: in}
	}
	f("no call", facts.Undone{}, "contract_call", verdict.AttemptUnknown, 0)
	f("a payment", facts.Undone{Call: to(at, nil)}, facts.ActTransfer, 0, 0)
	f("a token", facts.Undone{Call: to(at, input("transfer(address,uint256)"))}, facts.ActTransfer, 0, 0)
	f("a trade", facts.Undone{Call: to(at, input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)"))}, facts.ActSwap, 0, 0)
	f("several calls", facts.Undone{Call: to(at, input("multicall(bytes[])"))}, "contract_call", verdict.AttemptUnknown, 0)
	f("a wrapping", facts.Undone{Call: to(weth, input("deposit()"))}, facts.ActWrap, 0, 0)
	f("a function named as a wrapping", facts.Undone{Call: to(at, input("deposit()"))}, "contract_call", verdict.AttemptUnknown, 0)
	f("an unknown function", facts.Undone{Call: to(at, []byte{0xde, 0xad, 0xbe, 0xef})}, "contract_call", verdict.AttemptUnknown, 0)
	swap := input("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)")
	f("a trade in a frame", facts.Undone{Call: to(at, swap), Frame: &trace.Frame{Index: 3, To: at, HasTo: true, Input: swap}}, facts.ActSwap, 0, 1)
	f("where it failed", facts.Undone{Call: to(at, swap), Origin: &trace.Frame{Index: 3, To: at, HasTo: true, Input: swap}}, facts.ActSwap, 0, 1)
	carrier := &trace.Frame{Index: 3, To: at, HasTo: true, Input: input("multicall(bytes[])")}
	carrier.Children = []*trace.Frame{{Index: 4, Depth: 1, To: at, HasTo: true, Input: swap}}
	f("a trade in several calls", facts.Undone{Call: to(at, carrier.Input), Frame: carrier}, facts.ActSwap, verdict.AttemptInInnerCall, 1)
}

// TestQuietExchanges: without an event, one asset against another is an exchange where one counterparty
// or the called contract stands on both sides, and no event or name says otherwise.
func TestQuietExchanges(t *testing.T) {
	shop, other := common.HexToAddress("0x5409"), common.HexToAddress("0x07e4")
	leg := func(at common.Address) facts.Leg { return facts.Leg{Amount: big.NewInt(5), Counterparty: at} }
	f := func(name string, want bool, out, in []facts.Leg, function string, acts ...facts.Act) {
		t.Helper()
		a := someCase(label.Label{})
		a.Function = function
		for _, act := range acts {
			a.Matches = append(a.Matches, facts.Match{Act: act})
		}
		if got := quietExchange(a, out, in); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	paid, got := []facts.Leg{leg(shop)}, []facts.Leg{leg(shop)}
	entry := []facts.Leg{leg(common.HexToAddress("0x7777777777777777777777777777777777777777"))}
	f("of one", true, paid, got, "go")
	f("of two", false, []facts.Leg{leg(other)}, got, "go")
	f("the second of two given", true, []facts.Leg{leg(other), leg(shop)}, got, "go")
	f("of three given", false, []facts.Leg{leg(shop), leg(shop), leg(shop)}, got, "go")
	f("two got", false, paid, []facts.Leg{leg(shop), leg(shop)}, "go")
	f("from the called contract", true, paid, entry, "go")
	f("of two, by its name", true, []facts.Leg{leg(other)}, got, "swap")
	for _, name := range []string{"withdraw", "redeem", "borrow", "deposit", "claimFor", "Rent", "flashLoan", "repay", "refund"} {
		f(name, false, paid, got, name)
	}
	f("a name that has another in it", true, paid, got, "buyCurrent")
	for _, act := range []facts.Act{facts.ActSupply, facts.ActWithdraw, facts.ActBorrow, facts.ActRepay, facts.ActStake, facts.ActUnstake, facts.ActClaimStake, facts.ActClaim,
		facts.ActRent, facts.ActStream, facts.ActVaultIn} {
		f(string(act), false, paid, got, "go", act)
	}
	f("an approval", true, paid, got, "go", facts.ActApproval)
}

// TestSlippageInMulticalls: a multicall of a router is bounded by the calls it makes of itself and by the
// payments that end it, not by what it calls otherwise.
func TestSlippageInMulticalls(t *testing.T) {
	router, other := common.HexToAddress("0x4007"), common.HexToAddress("0x9001")
	call := func(signature string, words ...int64) []byte {
		b := crypto.Keccak256([]byte(signature))[:4]
		for _, n := range words {
			b = append(b, common.BigToHash(big.NewInt(n)).Bytes()...)
		}
		return b
	}
	swap := func(least int64) []byte {
		return call("swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 5, least, 160, 1, 1, 2, 1, 2)
	}
	f := func(name string, risk bool, children ...*trace.Frame) {
		t.Helper()
		a := someCase(label.Label{})
		a.Frame = &trace.Frame{To: router, HasTo: true, Input: call("multicall(bytes[])", 32, 0), Children: children}
		if got := riskSlippage(a); len(got) > 0 != risk {
			t.Errorf("%s: %v", name, got)
		}
	}
	of := func(kind trace.Kind, to common.Address, in []byte) *trace.Frame {
		return &trace.Frame{Kind: kind, To: to, HasTo: true, Input: in}
	}
	own := func(in []byte) *trace.Frame { return of(trace.DelegateCall, router, in) }
	f("nothing", false)
	f("any output", true, own(swap(0)))
	f("one unit", true, own(swap(1)))
	f("two units", false, own(swap(2)))
	f("a call of itself", false, of(trace.Call, router, swap(0)))
	f("code of another", false, of(trace.DelegateCall, other, swap(0)))
	f("one of two bounded", false, own(swap(0)), own(swap(9)))
	f("bounded by the coin at the end", false, own(swap(0)), own(call("unwrapWETH9(uint256,address)", 9, 0)))
	f("bounded by the tokens at the end", false, own(swap(0)), own(call("sweepToken(address,uint256,address)", 0, 9, 0)))
	f("ended without a bound", true, own(swap(0)), own(call("sweepToken(address,uint256,address)", 9, 0, 9)))
	f("an end alone", false, own(call("unwrapWETH9(uint256,address)", 0, 0)))
}
