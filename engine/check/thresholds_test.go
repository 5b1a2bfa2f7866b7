package check_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/trace"
)

// TestThresholds: both sides of each share from which a rule fires or decides.
func TestThresholds(t *testing.T) {
	deposit := func(n int) *trace.Frame { return call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", n)) }
	withdraw := func(n int) *trace.Frame { return call("vault", "get_1(uint256)", 1, pay("dai", "tool", n)) }
	win := call("shop", "give_1()", pay("usd", "tool", 900))

	f := fire(t, "in_and_out") // 2 %
	f("s", attackBy(deposit(100_000), withdraw(102_000)))
	f("x", attackBy(deposit(100_000), withdraw(102_001)))
	f("", attackBy(deposit(100_000), withdraw(100_000)))
	f = fire(t, "deposit_withdraw")
	f("", attackBy(deposit(10000), withdraw(10200)))
	f("x", attackBy(deposit(10000), withdraw(10201)))

	f = fire(t, "round_trip") // a thousandth more sold than bought, or 5 % more back
	trip := func(sold, back int) *trace.Frame {
		return attackBy(all(swapped("pool", "dai", 10000, "mkr", 50000), call("shop", "x_1()", pay("mkr", "tool", 9000)), swapped("pool", "mkr", sold, "dai", back))...)
	}
	f("x", trip(50050, 10400))
	f("s", trip(50051, 10400))
	f("s", trip(51000, 10500))
	f("x", trip(51000, 10501))
	f("", trip(52600, 10500)) // at a worse rate than it bought
	f("", trip(50000, 10000))

	f = fire(t, "unbacked_sale") // a thousandth
	sold := func(n int) *trace.Frame {
		return creates("tool", all(call("bank", "buy_1()", pay("mkr", "tool", 5000), take("dai", "tool", "bank", 600)), swapped("pool", "mkr", n, "dai", 900))...)
	}
	f("", sold(5005))
	f("x", sold(5006))

	f = fire(t, "absurd_return") // three times
	rich := func(back int) *trace.Frame {
		return attackBy(lent(5000, 5000, all(swapped("pool", "dai", 1000, "mkr", 7000), call("vault", "turn_1()", take("mkr", "tool", "vault", 7000), pay("dai", "tool", back)))...))
	}
	f("", rich(3000))
	f("x", rich(3001))

	f = fire(t, "emptied_by_custom_mint") // 80 %
	sale := func(of, got int) *trace.Frame {
		return attackBy(all(call("mkr", "gift_1()"), reserves("pool", "mkr", 90000, "dai", of), swapped("pool", "mkr", 5000, "dai", got))...)
	}
	f("", sale(1000, 800))
	f("x", sale(1000, 801))
	f("x", sale(1000, 1000)) // all of it
	f("", sale(1000, 1001))  // more than it told to have

	f = fire(t, "front_runner") // 79 %
	tipped := func(tip uint64) *trace.Frame {
		sold := call("pool", "swap(uint256,uint256,address,bytes)", 0, 900, "tool", 0x80, 0, sends("tool", 10000, view("x", "z()", 1)))
		return attackBy(call("vault", "give_1()", pay("mkr", "tool", 5000)), pay("mkr", "pool", 5000), sold, sends("miner", tip))
	}
	f("", tipped(7900))
	f("x", tipped(7901))

	f = fire(t, "product_fell") // 1 %
	told := func(x int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, 1000)
	}
	f("", attackBy(told(1010), told(1000), win))
	f("s", attackBy(told(1011), told(1000), win))

	f = fire(t, "price_jump") // half more, of a thousand units or more
	price := func(n int) *trace.Frame { return call("vault", "use_1()", view("oracle", "price_1(uint256)", n, 1)) }
	f("", attackBy(price(10000), price(15000), win))
	f("x", attackBy(price(10000), price(15001), win))
	f("x", attackBy(price(15001), price(10000), win)) // down
	f("", attackBy(price(999), price(1600), win))
	f("x", attackBy(price(1000), price(1600), win))
	f("x", attackBy(price(10000), price(11000), price(16000), win)) // step by step
	f("", attackBy(price(10000), win, price(14000), price(12000)))
}

// TestSharesOfDrains: both sides of the shares and counts from which a drain is one.
func TestSharesOfDrains(t *testing.T) {
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		if got := fired(t, attackBy(inside...)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	right := permit("usdc", "alice", "tool", top(256))
	to := func(who string, n int) *trace.Frame { return take("usdc", "alice", who, n) }

	// The second share is no fee from 5 % on.
	f("signed_drain!", right, to("thief", 950), to("partner", 50))
	f("signed_drain", right, to("thief", 951), to("partner", 49))

	// Among five at most.
	f("signed_drain!", right, to("a1", 200), to("a2", 200), to("a3", 200), to("a4", 200), to("a5", 200))
	f("signed_drain", right, to("a1", 200), to("a2", 200), to("a3", 200), to("a4", 200), to("a5", 200), to("a6", 200))

	// What a contract of others has is no loot, from a twentieth on.
	shop := call("shop", "x_1()", view("z", "y()", 1))
	f("signed_drain", right, shop, to("thief", 1000), to("shop", 50))
	f("", right, shop, to("thief", 1000), to("shop", 51))

	// A right with a limit is a mark only with another.
	limited := permit("usdc", "alice", "tool", word(big.NewInt(1000)))
	f("signed_drain", limited, to("thief", 800), to("partner", 200))
	f("", limited, to("thief", 1000))
	f("signed_drain!", limited, to("thief", 800), to("partner", 200), permit("usdc", "bob", "tool", word(big.NewInt(1000))), take("usdc", "bob", "thief", 800), take("usdc", "bob", "partner", 200))

	// A payment that she signed too explains where it went.
	f("", right, call("usdc", receiveSigned, "alice", "tool", 900, 0, 9, 1, 27, 1, 2, recovers("alice"), pay("usdc", "tool", 900)), to("thief", 700), to("partner", 300))
	f("", right, recovers("alice"), to("thief", 700), to("partner", 300)) // so does an order

	// Approvals of earlier transactions: split alike, or three assets of one owner.
	of := func(token, to string, n int) *trace.Frame { return take(token, "alice", to, n) }
	f("split_takings!", of("usdc", "thief", 800), of("usdc", "partner", 200), of("dai", "thief", 800))
	f("", of("usdc", "thief", 800), of("usdc", "partner", 200))
	f("", of("usdc", "thief", 800), of("dai", "thief", 800))
	f("split_takings", of("usdc", "thief", 800), of("dai", "thief", 800), of("mkr", "thief", 800))
	two := []*trace.Frame{of("usdc", "thief", 800), of("usdc", "partner", 200)}
	f("split_takings", all(two, take("usdc", "bob", "thief", 800), take("usdc", "bob", "partner", 200))...)
	f("", all(two, take("usdc", "bob", "thief", 960), take("usdc", "bob", "partner", 40))...) // one with a fee
	payees := func(n int) (out []*trace.Frame) {
		for i := range n {
			name := "p" + string(rune('a'+i))
			out = append(out, of("usdc", name, 200), of("dai", name, 200))
		}
		return out
	}
	f("split_takings!", payees(5)...)
	f("", payees(6)...) // a payroll
}

// TestPaidClaims: coin paid to a function that promises something, which went on to plain
// accounts.
func TestPaidClaims(t *testing.T) {
	f := func(want bool, value uint64, fn string, inside ...*trace.Frame) {
		t.Helper()
		root := call("lure", fn)
		root.Children = inside
		root.Value.SetUint64(value)
		if got := strings.Contains(fired(t, root), "paid_claim"); got != want {
			t.Errorf("%s: %v, want %v", fn, got, want)
		}
	}
	f(true, 1050, "claim()", sends("thief", 1000))
	f(false, 1051, "claim()", sends("thief", 1000)) // it kept a part
	f(true, 1000, "getReward()", sends("thief", 1000))
	f(false, 1000, "deposit()", sends("thief", 1000)) // no promise
	f(false, 0, "claim()")
	f(false, 1000, "claim()", sends("thief", 1000), pay("mkr", "sender", 1)) // something was given
	f(false, 1000, "claim()", sends("thief", 1000, view("z", "y()", 1)))     // to a contract
	f(false, 1000, "claim()", sends("sender", 1000))
	shares := func(n int) []*trace.Frame {
		return times(n, func(i int) *trace.Frame { return sends("p"+string(rune('a'+i)), 100) })
	}
	f(true, 500, "claim()", shares(5)...)
	f(false, 600, "claim()", shares(6)...)
}

// TestClaimOfHalf: an earlier claim explains a payment of twice as much, and no more; a right
// that was used once, a loss of all but a twentieth.
func TestClaimOfHalf(t *testing.T) {
	const earned = "earned(address)"
	scene := func() *trace.Frame {
		return attackBy(call("farm", "getReward_1()", pay("dai", "tool", 5000)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))
	}
	f := func(suspicious bool, of string, n int64) {
		t.Helper()
		c := withAnswers(scene(), "", answer{function: of, words: []int64{n}})
		if _, s := graded(c); s != suspicious {
			t.Errorf("%s %d: suspicious %v, want %v", of, n, s, suspicious)
		}
	}
	f(false, earned, 2500)
	f(true, earned, 2499)
	f(false, "maxWithdraw(address)", 2500)
	f(true, "maxWithdraw(address)", 2499)
	f(false, "allowance(address,address)", 2500)
	f(true, "allowance(address,address)", 2499)

	g := func(want string, had int64) {
		t.Helper()
		root := attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "tool", 1000))
		if got := allFired(withAnswers(root, "", answer{"balanceOf(address)", "usdc", "alice", check.Before, []int64{had}})); got != want {
			t.Errorf("of %d: got %q, want %q", had, got, want)
		}
	}
	g("signed_drain!", 1050)
	g("", 1051)

	// Where the loot was split the rest of the balance clears nobody.
	split := attackBy(permit("usdc", "alice", "tool", word(big.NewInt(1000))), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200))
	if got := allFired(withAnswers(split, "", answer{"balanceOf(address)", "usdc", "alice", check.Before, []int64{20000}})); got != "signed_drain" {
		t.Errorf("split: %q", got)
	}
}

// TestWhoLostMost: of several that lost, the one that lost most in dollars is the victim,
// in whatever order they paid.
func TestWhoLostMost(t *testing.T) {
	f := func(want string, first, second int) {
		t.Helper()
		parts := times(5, func(i int) *trace.Frame { return creates("part" + string(rune('a'+i))) })
		loot := all(call("vault", "x_1()", pay("realUSDC", "tool", first)), call("bank", "x_1()", pay("realUSDC", "tool", second)))
		c := assemble.Build(priced(attackBy(lent(5000, 5000, all(parts, loot)...))))
		if got := named(c.Result.Findings[0].Victim...); got != want {
			t.Errorf("lost %s, want %s", got, want)
		}
	}
	f("vault", 900_000_000, 100_000_000)
	f("bank", 100_000_000, 900_000_000)
	f("vault", 500_000_000, 500_000_000) // the first of equals
}

// TestBookedDebts: a debt that is booked explains what was borrowed, in whatever order the
// two are done.
func TestBookedDebts(t *testing.T) {
	f := firing(t)
	borrow := func(inside ...*trace.Frame) *trace.Frame {
		x := call("lender", "borrow(uint256)", 1)
		x.Children = inside
		return attackBy(all(x, fillers(3))...)
	}
	f("", borrow(pay("dai", "tool", 9000), minted("debt", "tool", 9000)))
	f("", borrow(minted("debt", "tool", 9000), pay("dai", "tool", 9000)))
	f("unpaid robbed_by_others", borrow(minted("debt", "alice", 9000), pay("dai", "tool", 9000)))
	f("unpaid robbed_by_others", borrow(pay("debt", "tool", 9000), pay("dai", "tool", 9000)))
}

// TestVotes: functions that vote or propose, with what was borrowed.
func TestVotes(t *testing.T) {
	f := fire(t, "flash_vote")
	win := call("vault", "give_1()", pay("dai", "tool", 5000))
	on := func(fn string) *trace.Frame { return attackBy(lent(5000, 5000, call("council", fn, 1, 1), win)) }
	f("x", on("castVote(uint256,uint8)"))
	f("", on("delegate(address)"))
	f("", on("withdraw(uint256)"))
}

// TestPulledByEntry: the contract that the sender called made the call that the sender wrote,
// by a right that others had given it. Only where anybody may do so it is theirs to blame.
func TestPulledByEntry(t *testing.T) {
	const run = "run_9(address,bytes)"
	f := func(want, to string, list ...reply) {
		t.Helper()
		root := call("router", run, "dai", calldata("transferFrom(address,address,uint256)", "alice", to, 700), take("dai", "alice", to, 700))
		if got := allFired(replied(evidenceOf(root), list...)); got != want {
			t.Errorf("to %s: got %q, want %q", to, got, want)
		}
	}
	f("pull_embedded!", "sender", open(run))
	f("", "sender", reply{run, nil}) // the sender has a right to it
	f("pull_embedded", "sender")     // not known
	f("", "carol", open(run))        // for somebody else

	root := call("router", run, "dai", calldata("transferFrom(address,address,uint256)", "alice", "sender", 700), take("dai", "alice", "sender", 700))
	c := replied(evidenceOf(root), open(run))
	disjoint(t, c)
	const want = "arbitrary_call confirmed high: lost alice; faulty router; gained sender"
	if len(c.Result.Findings) != 1 || roles(&c.Result.Findings[0]) != want { // the router is no attacker
		t.Errorf("%+v, want %s", c.Result.Findings, want)
	}

	// To an account that gains for the sender, which shows by the outcome alone.
	root = call("router", run, "dai", calldata("transferFrom(address,address,uint256)", "alice", "thief", 700), take("dai", "alice", "thief", 700), sends("thief", 5))
	root.Value.SetUint64(5)
	c = replied(evidenceOf(root), open(run))
	disjoint(t, c)
	const given = "arbitrary_call confirmed high: lost alice; faulty router; entered router; gained sender thief"
	if len(c.Result.Findings) != 1 || roles(&c.Result.Findings[0]) != given {
		t.Errorf("%+v, want %s", c.Result.Findings, given)
	}
}
