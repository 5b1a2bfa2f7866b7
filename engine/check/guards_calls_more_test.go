package check_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

// Guards of calls and movements that other scenes leave out: each case with the twins that one
// guard alone keeps apart.

// failing is a call that took no effect.
func failing(f *trace.Frame) *trace.Frame {
	f = clone(f)
	f.Err = "execution reverted"
	return f
}

// TestMovedRateGuards: what counts as having moved a rate, as reading it, and as having been paid by it.
func TestMovedRateGuards(t *testing.T) {
	const rate = "price_1()"
	at := reply{rate, word(big.NewInt(1000))}
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		findingOf(t, replied(evidenceOf(attackBy(inside...)), at), api.PriceManipulation, "output(", want)
	}
	push := call("oracle", "push_1()", view("x", "z()", 1))
	lend := func(inside ...*trace.Frame) *trace.Frame {
		x := call("bank", "use_1()")
		x.Children = append(inside, pay("dai", "tool", 5000))
		return x
	}
	read := view("oracle", rate, 1060)
	const fooled = "price_manipulation confirmed low: lost bank; faulty bank; gained sender tool"
	f(fooled, push, lend(read))
	f(fooled, pay("mkr", "oracle", 500), call("oracle", "turn_1()", pay("mkr", "tool", 500)), lend(read)) // something was given to the source
	f("", failing(push), lend(read))
	f("", view("oracle", "push_1()", 1), lend(read))                  // a question moves nothing
	f("", call("shop", "x_1()", clone(push)), lend(read))             // somebody else did
	f("", push, lend(failing(read)))                                  // no answer
	f("", push, lend(call("oracle", rate)))                           // no question
	f("", push, call("bank", "use_1()", read), pay("dai", "bank", 0)) // nothing was paid
	short := clone(read)
	short.Output = []byte{4, 0x24}
	f("", push, lend(short))                                                                      // no number
	f("", push, call("bank", "use_1()", read), call("bank", "pay_1()", pay("dai", "tool", 5000))) // paid in another call
	f("", push, call("bank", "use_1()", read, pay("dai", "tool", 0)), lend())
	for _, fn := range []string{ // that say nothing of a price
		"allowance(address,address)", "decimals()", "symbol()", "name()", "owner()", "token0()", "token1()", "nonces(address)",
		"supportsInterface(bytes4)", "isValidSignature(bytes32,bytes)", "asset()",
	} {
		c := replied(evidenceOf(attackBy(push, lend(view("oracle", fn, 1060)))), reply{fn, word(big.NewInt(1000))})
		findingOf(t, c, api.PriceManipulation, "output(", "")
	}
	f("", push, lend(view("oracle", "balanceOf(address)", 1060, "bank")))
	f("", push, lend(view("oracle", "balanceOf(address)", 1060, "pool")))
	f("", push, lend(read), call("bank", "back_1()", take("dai", "tool", "bank", 5000))) // given back
	f(fooled, push, lend(read), pay("usd", "tool", 5))                                   // to itself
	f("", push, lend(read), pay("dai", "alice", 5000))                                   // the party kept nothing
	f("", push, lend(read), call("shop", "x_1()", take("dai", "alice", "bank", 5000)))   // the bank lost nothing
	f("", push, call("bank", "use_1()", read, nft("apes", "bank", "tool", 7)))
	f("", push, call("bank", "use_1()", view("bank", rate, 1060), pay("dai", "tool", 5000))) // it asked itself
	f("", push, call("bank", "use_1()", view("tool", rate, 1060), pay("dai", "tool", 5000))) // or the party
	f("", push, call("bank", "use_1()", read, pay("usd", "alice", 5), take("dai", "alice", "tool", 5000)))
	f("", push, call("helper", "x_1()", lend(read)))
	f("", push, failing(lend(read)), call("bank", "pay_1()", pay("dai", "tool", 5000)))
	f("", push, call("bank", "use_1()", view("pool", "other_1()", 5), pay("dai", "tool", 5000)))
	f(fooled, push, lend(read), lend(read))
	f(fooled, push, lend(read), pay("dai", "sender", 5000))
}

// TestFlashCallbacks: a lender gave an asset, called the borrower back and has it again when its call
// is over.
func TestFlashCallbacks(t *testing.T) {
	f := func(want bool, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(inside...))
		if got := slices.ContainsFunc(c.Triage.Flags, func(r verdict.Risk) bool {
			return r.Flag == verdict.FlashLoan && r.Why.Form == verdict.LentForFrame
		}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	// Each callback by its signature: what the table holds of it is not asked.
	for _, fn := range []string{
		"onFlashLoan(address,address,uint256,uint256,bytes)",
		"onERC3156FlashLoan(address,address,uint256,uint256,uint256,bytes)",
		"executeOperation(address[],uint256[],uint256[],address,bytes)",
		"executeOperation(address,uint256,uint256,address,bytes)",
		"receiveFlashLoan(address[],uint256[],uint256[],bytes)",
		"onMorphoFlashLoan(uint256,bytes)",
		"uniswapV2Call(address,uint256,uint256,bytes)",
		"pancakeCall(address,uint256,uint256,bytes)",
		"uniswapV3FlashCallback(uint256,uint256,bytes)",
		"pancakeV3FlashCallback(uint256,uint256,bytes)",
		"unlockCallback(bytes)",
		"DVMFlashLoanCall(address,uint256,uint256,bytes)",
		"DPPFlashLoanCall(address,uint256,uint256,bytes)",
		"callFunction(address,(address,uint256),bytes)",
	} {
		back := call("tool", fn, "tool", pay("dai", "lender", 5000))
		f(true, call("lender", "lend_11()", pay("dai", "tool", 5000), back))
	}
	const callback = "onFlashLoan(address,address,uint256,uint256,bytes)"
	back := func(n int) *trace.Frame { return call("tool", callback, "tool", pay("dai", "lender", n)) }
	loan := func(inside ...*trace.Frame) *trace.Frame {
		x := call("lender", "lend_11()")
		x.Children = inside
		return x
	}
	out := pay("dai", "tool", 5000)
	f(true, loan(out, back(5000)))
	f(true, loan(out, back(5001)))
	f(false, loan(out, back(4999)))
	f(false, loan(out, call("tool", "other_1()", pay("dai", "lender", 5000))))
	f(false, loan(out, failing(back(5000))))
	f(false, loan(out, view("tool", callback, 1, "tool")), pay("dai", "lender", 5000)) // repaid after the call
	f(false, loan(out, call("tool", callback, "tool")), pay("dai", "lender", 5000))
	f(true, loan(out, call("tool", callback, "tool"), take("dai", "tool", "lender", 5000))) // the lender takes it
	f(false, loan(back(5000), out))                                                         // paid first, and given after
	f(false, out, loan(back(5000)))                                                         // its own money
	f(false, loan(call("bank", "give_1()", out), back(5000)))                               // of another
	f(false, loan(pay("dai", "tool", 0), back(0)))
	f(false, loan(out, call("tool", callback, "tool", pay("mkr", "lender", 5000)))) // in another asset
	f(true, loan(sends("tool", 7, view("x", "z()", 1)), call("tool", callback, "tool", sends("lender", 7))))

	with := call("tool", callback, "tool", sends("lender", 7)) // coin that comes with the callback
	with.Value.SetUint64(7)
	f(true, loan(with))
	f(false, loan(call("tool", callback, "tool", call("lender", "x_1()", clone(out)), pay("dai", "lender", 5000)))) // given inside of it
	f(false, loan(out, call("tool", callback, "tool", pay("dai", "bank", 5000))))
	f(false, loan(call("tool", callback, "tool", pay("dai", "lender", 5000)), out))
	f(false, loan(nft("apes", "lender", "tool", 7), call("tool", callback, "tool", nft("apes", "tool", "lender", 7))))

	// Told by the code that a proxy of the lender runs.
	code := loan(out, back(5000))
	code.Kind = trace.DelegateCall
	f(true, call("lender", "lend_11()", code))
}

// TestPaidClaimGuards: a claim that gives something, takes something else, or moves something through
// the sender.
func TestPaidClaimGuards(t *testing.T) {
	f := func(want string, fn string, inside ...*trace.Frame) {
		t.Helper()
		x := call("lure", fn)
		x.Value.SetUint64(1000)
		x.Children = inside
		if got := fired(t, x); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	gone := sends("thief", 1000)
	f("paid_claim", "claim()", gone)
	f("paid_claim", "getReward()", gone)
	f("", "buyReward()", gone)
	f("", "claim()", gone, pay("mkr", "sender", 5))
	f("", "claim()", gone, take("mkr", "sender", "lure", 5)) // it cost something else
	f("paid_claim", "claim()", gone, take("mkr", "sender", "lure", 5), pay("mkr", "sender", 5))
	f("", "claim()", pay("mkr", "thief", 1000))                   // the coin stays
	f("", "claim()", sends("sender", 1000))                       // and this is given back
	f("", "claim()", call("bank", "x_1()", sends("thief", 1000))) // of another
	f("", "claim()", sends("bank", 1000, view("x", "z()", 1)))    // to a contract
	f("", "claim()", sends("zero", 1000))                         // burnt
	f("paid_claim", "claim()", sends("thief", 953))               // all but a twentieth
	f("", "claim()", sends("thief", 952))
}

// TestDestroyedIsOpen: where a contract is destroyed, or made by a constructor that calls others, the
// check of code that is gone says that it cannot tell.
func TestDestroyedIsOpen(t *testing.T) {
	f := func(want verdict.Ruled, inside ...*trace.Frame) {
		t.Helper()
		for _, o := range built(attackBy(inside...)).Triage.Outcomes {
			if o.Check.Name == "self_destruct" && o.Result != want {
				t.Errorf("%v, want %v", o.Result, want)
			}
		}
	}
	destroyed := &trace.Frame{Kind: trace.SelfDestruct, To: who("sender"), HasTo: true}
	f(verdict.Clean, call("vault", "x_1()"))
	f(verdict.NotChecked, call("vault", "x_1()", destroyed))
	f(verdict.Clean, failing(call("vault", "x_1()", destroyed)))
	f(verdict.NotChecked, creates("part", call("vault", "x_1()")))
	f(verdict.Clean, creates("part"))
	f(verdict.Clean, creates("part", view("vault", "x_1()", 1)))
	f(verdict.Clean, creates("part", sends("vault", 5)))
	f(verdict.Clean, creates("part", call("tool", "x_1()"))) // to its own
	f(verdict.Clean, failing(creates("part", call("vault", "x_1()"))))
	f(verdict.Clean, call("vault", "x_1()", call("bank", "y_1()")))
}

// TestRevokedRights: the rights that a finding has its reader revoke are those of the victims that
// were used or given, and none of a contract over its own tokens.
func TestRevokedRights(t *testing.T) {
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(inside...))
		if len(c.Result.Findings) != 1 {
			t.Fatalf("findings %+v", c.Result.Findings)
		}
		got := ""
		for _, r := range c.Result.Findings[0].Revoke {
			got += named(r.Owner, r.Token, r.Spender) + ";"
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	deposit := call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000))
	f("", deposit, call("vault", "get_1(uint256)", 1, take("dai", "vault", "tool", 1500)))
	f("vault dai bank;", deposit, call("bank", "get_1(uint256)", 1, take("dai", "vault", "tool", 1500)))
	split := []*trace.Frame{take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200)}
	f("alice usdc tool;", all(permit("usdc", "alice", "tool", top(256)), split)...)
	f("alice usdc tool;", all(permit("usdc", "alice", "tool", top(256)), split, permit("usdc", "bob", "tool", top(256)))...) // of the victim alone
	f("alice usdc tool;alice dai tool;", all(permit("usdc", "alice", "tool", top(256)), permit("dai", "alice", "tool", top(256)), split)...)
}

// TestDrainOfSeveral: the one line counts the owners beside the first.
func TestDrainOfSeveral(t *testing.T) {
	f := func(want string, owners ...string) {
		t.Helper()
		var inside []*trace.Frame
		for _, o := range owners {
			inside = append(inside, permit("usdc", o, "tool", top(256)), take("usdc", o, "thief", 800), take("usdc", o, "partner", 200))
		}
		c := built(attackBy(inside...))
		if got := strings.Contains(c.Result.Summary, " more account"); got != (want != "") || !strings.Contains(c.Result.Summary, want) {
			t.Errorf("want %q: %s", want, c.Result.Summary)
		}
	}
	f("", "alice")
	f("1 more account", "alice", "bob")
	f("2 more accounts", "alice", "bob", "carol")
}
