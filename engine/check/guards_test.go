package check_test

import (
	"math/big"
	"testing"

	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Rules that TestRules leaves out, each with its case, and with one twin for each of its
// guards.

// firing compares all rules that fire in a scene.
func firing(t *testing.T) func(want string, root *trace.Frame) {
	return func(want string, root *trace.Frame) {
		t.Helper()
		if got := allFired(judged(t, root)); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// fire tells whether one rule fires in a scene: "x" where it decides, "s" where it does not.
func fire(t *testing.T, rule string) func(want string, root *trace.Frame) {
	return func(want string, root *trace.Frame) {
		t.Helper()
		got := ""
		for _, f := range judged(t, root).Triage.Fired {
			switch {
			case f.Rule != rule:
			case f.Decisive:
				got = "x"
			default:
				got = "s"
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", rule, got, want)
		}
	}
}

// payBits is pay with an amount of so many bits.
func payBits(token, to string, bits uint) *trace.Frame {
	return call(token, "transfer(address,uint256)", to, word(new(big.Int).Lsh(common.Big1, bits)))
}

// reserves is a pair that tells its reserves, in the order of its tokens' addresses.
func reserves(pool, a string, x int, b string, y int) *trace.Frame {
	if p, q := who(a), who(b); p.Cmp(q) > 0 {
		x, y = y, x
	}
	f := view(pool, "getReserves()", 0)
	f.Output = append(word(big.NewInt(int64(x))), word(big.NewInt(int64(y)))...)
	return f
}

// fillers are calls that mean nothing.
func fillers(n int) []*trace.Frame {
	return times(n, func(i int) *trace.Frame { return call("x", "y_1(uint256)", i) })
}

// TestAbsurd: arguments and amounts that wrap.
func TestAbsurd(t *testing.T) {
	f := firing(t)
	out := func(bits uint) *trace.Frame { return call("vault", "x_1()", payBits("mkr", "tool", bits)) }
	f("absurd_amount", attackBy(out(130)))
	f("absurd_amount", attackBy(out(127)))
	f("", attackBy(out(126)))
	f("absurd_amount! fresh_unpaid", creates("tool", out(130)))
	f("absurd_amount! flash_unpaid unpaid robbed_by_others", attackBy(lent(5000, 5000, all(out(130), fillers(3))...)))
	f("", attackBy(creates("mkr"), out(130))) // a token of the party's own
	most := call("vault", "x_1()", call("mkr", "transfer(address,uint256)", "tool", top(256)))
	f("", attackBy(most)) // everything, as functions of tokens take it

	wrap := word(new(big.Int).Lsh(common.Big1, 255))
	f("absurd_argument!", call("token", "batch_1(uint256)", wrap))
	f("absurd_argument!", call("token", "batch_1(uint256,uint256)", 1, wrap))
	f("", call("token", "approve(address,uint256)", "alice", wrap))                       // an allowance
	f("", attackBy(call("token", "batch_1(uint256)", wrap)))                              // not the sender's own words
	f("", call("token", "batch_1(uint256)", wrap, take("dai", "sender", "token", 5000)))  // paid for
	f("", call("tool", "batch_1(uint256)", wrap, call("x", "y_1()"), call("x", "y_2()"))) // a tool, which does as it is told
}

// TestUnbackedSales: a token that came from nowhere is sold.
func TestUnbackedSales(t *testing.T) {
	f := firing(t)
	sale := func(mint *trace.Frame, of int) *trace.Frame {
		return attackBy(all(mint, reserves("pool", "mkr", 90000, "dai", of), swapped("pool", "mkr", 5000, "dai", 900))...)
	}
	free := call("mkr", "gift_1()")
	f("emptied_by_custom_mint!", sale(free, 1000))
	f("", sale(free, 2000))                                        // not most of the pool
	f("emptied_by_custom_mint", sale(call("x", "gift_1()"), 1000)) // its source is not shown
	f("emptied_by_custom_mint", sale(sends("mkr", 0), 1000))
	f("emptied_by_custom_mint", sale(call("mkr", "approve(address,uint256)", "pool", 5), 1000))
	f("emptied_by_custom_mint", sale(call("mkr", "gift_1()", take("usd", "tool", "mkr", 500)), 1000)) // paid for
	short := reserves("pool", "mkr", 90000, "dai", 1000)
	short.Output = short.Output[:16]
	f("", attackBy(all(free, short, swapped("pool", "mkr", 5000, "dai", 900))...)) // no reserves
	f("", sale(free, 800))                                                         // more than the pool told to have
	f("", attackBy(all(creates("mkr"), free, reserves("pool", "mkr", 90000, "dai", 1000), swapped("pool", "mkr", 5000, "dai", 900))...))
	f("", attackBy(all(free, reserves("pool", "mkr", 90000, "dai", 1000), swapped("pool", "mkr", 5000, "dai", 900), pay("dai", "lost", 0), call("bank", "pay_1()", take("dai", "tool", "bank", 900)))...)) // no gain
	late := all(reserves("pool", "mkr", 90000, "dai", 1000), swapped("pool", "mkr", 5000, "dai", 900), free)
	f("emptied_by_custom_mint", attackBy(late...)) // minted after the sale
}

// TestBorrowedOutcomes: what a loan makes suspicious, and what it does not.
func TestBorrowedOutcomes(t *testing.T) {
	// More than three times back.
	f := fire(t, "absurd_return")
	rich := func(out, back int, more ...*trace.Frame) []*trace.Frame {
		return all(more, swapped("pool", "dai", out, "mkr", 7000), call("vault", "turn_1()", take("mkr", "tool", "vault", 7000), pay("dai", "tool", back)))
	}
	f("x", attackBy(lent(5000, 5000, rich(1000, 3100)...)))
	f("", attackBy(lent(5000, 5000, rich(1000, 2900)...)))
	f("", attackBy(rich(1000, 3100)...)) // own money
	f("", attackBy(lent(5000, 5000, rich(1000, 3100, call("bank", "repayBorrow(uint256)", 1))...)))
	f("", attackBy(lent(5000, 5000, all(swapped("pool", "dai", 1000, "mkr", 7000), swapped("other", "mkr", 7000, "dai", 3100))...)))                                                                                   // markets alone
	f("", attackBy(lent(5000, 5000, call("vault", "turn_1()", take("dai", "tool", "vault", 1000), pay("mkr", "tool", 5000)), call("vault", "turn_2()", take("mkr", "tool", "vault", 5000), pay("dai", "tool", 900))))) // no gain

	// Collateral that is left behind.
	f = fire(t, "abandoned_collateral")
	post := call("bank", "post_1()", take("mkr", "tool", "bank", 9000))
	mkr := call("shop", "buy_1()", take("dai", "tool", "shop", 1000), pay("mkr", "tool", 9000))
	f("x", attackBy(lent(5000, 5000, mkr, post, call("bank", "borrow(uint256)", 1), call("purse", "borrow(uint256)", 2, pay("dai", "tool", 4000)))))
	f("", attackBy(mkr, post, call("purse", "borrow(uint256)", 2, pay("dai", "tool", 4000)))) // own money at risk
	f("", attackBy(lent(5000, 5000, mkr, call("purse", "borrow(uint256)", 2, pay("dai", "tool", 4000)), post)))
	f("", attackBy(lent(5000, 5000, mkr, post, call("purse", "get_1(uint256)", 2, pay("dai", "tool", 4000)))))
	f("", attackBy(lent(5000, 5000, mkr, post, call("bank", "repayBorrow(uint256)", 1), call("purse", "borrow(uint256)", 2, pay("dai", "tool", 4000)))))

	// Contracts made to act in turn.
	f = fire(t, "clones")
	clone := func(n int) []*trace.Frame {
		return times(n, func(i int) *trace.Frame { return creates("clone" + string(rune('a'+i))) })
	}
	win := call("vault", "give_1()", pay("dai", "tool", 5000))
	f("x", attackBy(lent(5000, 5000, all(clone(5), win)...)))
	f("", attackBy(lent(5000, 5000, all(clone(4), win)...)))
	f("", attackBy(all(clone(5), win)...))
	f("", attackBy(lent(5000, 5000, clone(5)...)))

	// Its own position liquidated.
	f = fire(t, "self_liquidation")
	own := func(name string) *trace.Frame {
		return call("bank", "liquidateBorrow(address,uint256,address)", name, 5, "mkr")
	}
	f("x", attackBy(lent(5000, 5000, own("sender"), win)))
	f("", attackBy(lent(5000, 5000, own("alice"), win)))
	f("", attackBy(own("sender"), win))
	f("", attackBy(lent(5000, 5000, own("sender"))))
	f("", attackBy(lent(5000, 5000, own("tool"), win)))

	// Votes for the length of a loan.
	f = fire(t, "flash_vote")
	vote := call("council", "castVote(uint256,uint8)", 1, 1)
	f("x", attackBy(lent(5000, 5000, vote, win)))
	f("", attackBy(vote, win))
	f("", attackBy(lent(5000, 5000, vote)))
	f("", attackBy(lent(5000, 5000, call("council", "getVotes(address)", "tool"), win)))
}

// TestFrontRunner: what was taken for nothing is sold at once, and the proceeds go away.
func TestFrontRunner(t *testing.T) {
	f := fire(t, "front_runner")
	theft := call("vault", "give_1()", pay("mkr", "tool", 5000))
	sold := func(wei uint64) []*trace.Frame {
		return []*trace.Frame{pay("mkr", "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", wei, view("x", "z()", 1)))}
	}
	f("x", attackBy(all(theft, sold(10000), sends("miner", 9000))...))
	f("", attackBy(all(theft, sold(10000), sends("miner", 7000))...))
	f("", attackBy(all(call("vault", "give_1()", pay("mkr", "tool", 5000), take("usd", "tool", "vault", 500)), sold(10000), sends("miner", 9000))...))
	f("", attackBy(all(call("bank", "repayBorrow(uint256)", 1), theft, sold(10000), sends("miner", 9000))...))
	f("", attackBy(all(call("vault", "give_1()", pay("usd", "tool", 5000)), pay("mkr", "pool", 5000), call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", 10000, view("x", "z()", 1))), sends("miner", 9000))...))
	f("", attackBy(all(call("vault", "burn(address)", "tool", pay("mkr", "tool", 5000)), sold(10000), sends("miner", 9000))...))
}

// TestOtherReentry: another contract that keeps the same books is used while a call runs.
func TestOtherReentry(t *testing.T) {
	f := fire(t, "reenter_other")
	scene := func(books, other string, callback func(...*trace.Frame) *trace.Frame, take ...*trace.Frame) *trace.Frame {
		inner := call("second", "borrow_1()", view(books, "state_1()", 1))
		inner.Children = append(inner.Children, take...)
		return attackBy(call("first", "leave_1()", view(other, "state_1()", 1), callback(inner)))
	}
	hook := func(in ...*trace.Frame) *trace.Frame { return sends("tool", 5, in...) }
	loot := pay("dai", "tool", 5000)
	f("x", scene("books", "books", hook, loot))
	f("", scene("books", "ledger", hook, loot))
	f("", scene("books", "books", hook))
	f("", scene("dai", "dai", hook, loot))
	f("", scene("books", "books", func(in ...*trace.Frame) *trace.Frame {
		c := call("tool", "uniswapV3SwapCallback(int256,int256,bytes)", 1, 2)
		c.Children = in
		return c
	}, loot))
}

// TestPairOffStack: tokens leave a pair that is not running.
func TestPairOffStack(t *testing.T) {
	f := fire(t, "pair_off_stack")
	burn := call("mkr", "burn_1(address)", "pool", call("mkr", "transferFrom(address,address,uint256)", "pool", "burner", 4000))
	win := swapped("pool", "mkr", 1000, "dai", 9000)
	f("s", attackBy(all(burn, win)...))
	f("", attackBy(all(win, burn)...))
	f("x", attackBy(lent(5000, 5000, all(burn, win)...)))
	f("", attackBy(burn))
	f("", attackBy(all(call("pool", "skim_1()", pay("mkr", "burner", 4000)), win)...))
	coin := call("weth", "burn_1(address)", "pool", call("weth", "transferFrom(address,address,uint256)", "pool", "burner", 4000))
	f("", attackBy(all(coin, swapped("pool", "weth", 1000, "dai", 9000))...)) // the wrapped coin burns nothing of others

	// Of several exchanges of a pool the last one tells.
	m := matchesOf(t, "pair_off_stack")
	m(1, attackBy(all(burn, win)...))
	m(1, attackBy(all(burn, win, swapped("pool", "mkr", 500, "dai", 4000))...))
	m(1, attackBy(all(swapped("pool", "mkr", 500, "dai", 1), burn, win)...))
}

// TestLooseRules: rules that never decide.
func TestLooseRules(t *testing.T) {
	win := call("vault", "give_1()", pay("dai", "tool", 5000))
	due := call("bank", "repayBorrow(uint256)", 1)

	f := fire(t, "long_flash")
	f("", attackBy(lent(5000, 5000, all(fillers(21), win)...)))
	f("s", attackBy(lent(5000, 5000, all(fillers(22), win)...)))
	f("", attackBy(lent(5000, 5000, fillers(24)...))) // nothing gained
	f("", attackBy(all(fillers(24), win)...))         // no loan
	f("", attackBy(lent(5000, 5000, all(due, fillers(24), win)...)))

	f = fire(t, "flash_unpaid")
	f("s", attackBy(lent(5000, 5000, win)))
	f("", attackBy(win))
	f("", attackBy(lent(5000, 5000, call("vault", "give_1()", pay("dai", "tool", 5000)), call("bank", "spend_1()", take("dai", "tool", "bank", 5000)))))
	f("", attackBy(lent(5000, 5000, due, win)))
	f("", attackBy(lent(5000, 5000, call("vault", "give_1()", pay("dai", "tool", 5000), take("mkr", "tool", "vault", 500)))))

	f = fire(t, "unpaid")
	f("s", attackBy(all(fillers(3), win)...))
	f("", attackBy(all(fillers(2), win)...)) // collecting what is due
	f("s", attackBy(all(win, swapped("pool", "dai", 5000, "mkr", 900))...))
	f("", attackBy(all(due, fillers(3), win)...))
	f("", attackBy(all(fillers(3), win, call("bank", "spend_1()", take("dai", "tool", "bank", 5000)))...))
	f("", attackBy(all(fillers(3), call("balancer", "give_1()", pay("dai", "tool", 5000)))...))

	f = fire(t, "robbed_by_others")
	through := call("router", "route_1()", call("vault", "give_1()", pay("dai", "router", 5000)), pay("dai", "tool", 5000))
	f("s", attackBy(all(fillers(2), through)...))
	f("", attackBy(all(fillers(1), through)...))
	f("", attackBy(all(fillers(2), through, call("bank", "spend_1()", take("mkr", "tool", "bank", 500)))...)) // something was spent
	f("", attackBy(all(due, fillers(2), through)...))
	f("", attackBy(all(fillers(2), call("router", "route_1()", call("balancer", "give_1()", pay("dai", "router", 5000)), pay("dai", "tool", 5000)))...))
	f("", attackBy(all(fillers(2), call("dai", "route_1()", pay("dai", "tool", 5000)))...)) // a token gives of its own

	f = fire(t, "constructor_attack")
	f("s", creates("tool", all(fillers(3), win)...))
	f("", creates("tool", all(fillers(2), win)...))
	f("", creates("tool", fillers(4)...))
	f("", attackBy(all(creates("part", all(fillers(3), win)...))...))

	f = fire(t, "fresh_gain")
	f("s", creates("tool", all(fillers(3), win)...))
	f("s", attackBy(all(creates("part", all(fillers(3), win)...))...))
	f("", creates("tool", all(fillers(2), win)...))
	f("", creates("tool", fillers(4)...))
	f("", creates("tool", all(due, fillers(3), win)...))
	f("", attackBy(all(fillers(3), win)...))

	f = fire(t, "unpaid_caller")
	two := func(fn string) *trace.Frame {
		return call("vault", fn, pay("dai", "sender", 5000), pay("mkr", "sender", 5000))
	}
	f("s", two("all_1()"))
	f("", call("vault", "all_1()", pay("dai", "sender", 5000)))
	f("", call("balancer", "all_1()", pay("dai", "sender", 5000), pay("mkr", "sender", 5000)))
	f("", attackBy(two("all_1()")))
	f("", call("vault", "withdraw(uint256)", 1, pay("dai", "sender", 5000), pay("mkr", "sender", 5000)))
	f("", call("vault", "all_1()", pay("dai", "sender", 5000), pay("mkr", "sender", 5000), take("usd", "sender", "vault", 5000)))

	f = fire(t, "fresh_unpaid")
	f("s", creates("tool", win))
	f("x", creates("tool", lent(5000, 5000, win)))
	f("x", creates("tool", call("vault", "give_1()", pay("dai", "tool", 5000)), pay("dai", "vault", 500)))
	f("x", attackBy(all(times(4, func(i int) *trace.Frame {
		name := "part" + string(rune('a'+i))
		return creates(name, call("vault", "give_1()", pay("dai", name, 5000)))
	}))...))
	f("", creates("tool", due, win))
	f("", attackBy(creates("part"), win)) // to a contract that was there before

	liquidations := func(n int) []*trace.Frame {
		return times(n, func(int) *trace.Frame {
			return call("vault", "liquidateBorrow(address,uint256,address)", "tool", 5, "mkr", pay("dai", "tool", 200))
		})
	}

	f = fire(t, "hammer")
	claims := func(n int, fn string) []*trace.Frame {
		return times(n, func(i int) *trace.Frame { return call("vault", fn, i, pay("dai", "tool", 200)) })
	}
	f("s", attackBy(claims(10, "claim_1(uint256)")...))
	f("", attackBy(claims(9, "claim_1(uint256)")...))
	f("x", attackBy(lent(5000, 5000, claims(20, "claim_1(uint256)")...)))
	f("s", attackBy(lent(5000, 5000, claims(19, "claim_1(uint256)")...)))
	f("", attackBy(claims(10, "transfer(address,uint256)")...))
	f("", attackBy(liquidations(10)...))
	f("", attackBy(all(due, claims(10, "claim_1(uint256)"))...))
	f("", attackBy(all(claims(10, "claim_1(uint256)"), call("vault", "back_1()", take("mkr", "tool", "vault", 500)))...)) // paid for
	f("", attackBy(fillers(12)...))
	f("x", attackBy(all(creates("ca"), creates("cb"), creates("cc"), creates("cd"), claims(10, "claim_1(uint256)"))...))
	f("s", attackBy(all(creates("ca"), creates("cb"), creates("cc"), claims(10, "claim_1(uint256)"))...))

	f = fire(t, "same_call")
	same := func(n int, fn string, inside ...*trace.Frame) []*trace.Frame {
		return times(n, func(int) *trace.Frame {
			f := call("vault", fn, 7, pay("dai", "tool", 200))
			f.Children = append(f.Children, inside...)
			return f
		})
	}
	f("x", attackBy(same(4, "claim_1(uint256)")...))
	f("", attackBy(same(3, "claim_1(uint256)")...))
	f("", attackBy(same(4, "transfer(address,uint256)")...))
	f("", attackBy(liquidations(4)...))
	f("", attackBy(same(4, "claim_1(uint256)", take("mkr", "tool", "vault", 500))...))
	f("", attackBy(all(due, same(4, "claim_1(uint256)"))...))
	f("", attackBy(all(same(4, "claim_1(uint256)"), call("vault", "back_1()", take("mkr", "tool", "vault", 500)))...)) // paid for in the end
	f("x", attackBy(lent(5000, 5000, all(same(4, "claim_1(uint256)"), call("vault", "back_1()", take("mkr", "tool", "vault", 500)))...)))
	f("", attackBy(times(4, func(int) *trace.Frame { return call("vault", "claim_1(uint256)", 7) })...))
}
