package check_test

import (
	"fmt"
	"math/big"
	"testing"

	"txlens/engine/check"
	"txlens/engine/trace"
)

// Guards of drains that other scenes leave out.

// TestDrainGuards: whose rights were used, how, and where the assets went.
func TestDrainGuards(t *testing.T) {
	f := firing(t)
	right := permit("usdc", "alice", "tool", top(256))
	limited := permit("usdc", "alice", "tool", word(big.NewInt(1000)))
	to := func(who string, n int) *trace.Frame { return take("usdc", "alice", who, n) }
	split := []*trace.Frame{to("thief", 800), to("partner", 200)}
	f("signed_drain!", attackBy(all(right, split)...))
	f("", attackBy(right, to("thief", 800), to("zero", 200))) // burnt
	f("signed_drain!", attackBy(right, to("thief", 951), to("zero", 49), to("partner", 100)))

	// By a spender that is not of the party.
	by := func(spender string) *trace.Frame {
		x := call(spender, "pull_1()")
		x.Children = split
		return attackBy(permit("usdc", "alice", spender, top(256)), x)
	}
	f("signed_drain!", by("helper"))
	f("", by("balancer")) // a known contract
	f("", attackBy(all(permit("usdc", "alice", "balancer", top(256)), call("balancer", "x_1()"), split)...))

	// Marks of several rights.
	f("signed_drain", attackBy(right, to("thief", 1000)))
	f("", attackBy(limited, to("thief", 1000)))
	f("signed_drain", attackBy(right, limited, to("thief", 1000)))
	f("signed_drain", attackBy(limited, right, to("thief", 1000)))

	// Shares are those of each asset, summed.
	f("signed_drain!", attackBy(right, to("thief", 500), to("thief", 450), to("partner", 50)))
	f("signed_drain", attackBy(right, to("thief", 500), to("thief", 451), to("partner", 49)))
	both := []*trace.Frame{right, permit("dai", "alice", "tool", top(256))}
	f("signed_drain!", attackBy(all(both, to("thief", 1000), take("dai", "alice", "partner", 1000))...))
	f("", attackBy(all(both, to("thief", 1000), take("dai", "alice", "bank", 1000), call("bank", "x_1()", view("x", "z()", 1)))...)) // a deposit

	// Taken by the party and sold.
	taken := to("tool", 1000)
	sale := swapped("pool", "usdc", 1000, "dai", 900)
	f("signed_drain", attackBy(all(right, taken, sale)...))
	f("", attackBy(all(right, taken, sale, call("bank", "x_1()", take("gno", "tool", "bank", 500)))...)) // the party gave something, too
	f("", attackBy(right, taken, call("bank", "x_1()", take("usdc", "tool", "bank", 1000), view("x", "z()", 1))))
	f("", attackBy(all(right, taken, call("bank", "x_1()", take("usdc", "tool", "bank", 1000), view("x", "z()", 1)), swapped("pool", "gno", 1000, "dai", 900))...))
	f("", attackBy(right, taken, pay("usdc", "zero", 1000)))

	// Orders.
	fill := func(owner, to string, ids ...int) *trace.Frame {
		x := call("market", "fill_1(bytes)", recovers(owner))
		for _, id := range ids {
			x.Children = append(x.Children, nft("apes", owner, to, id))
		}
		return x
	}
	f("signed_order", attackBy(fill("alice", "tool", 7, 8))) // of one collection
	f("signed_order!", attackBy(fill("alice", "tool", 7), fill("bob", "tool", 8)))
	f("", attackBy(fill("alice", "tool", 7)))
	f("", attackBy(fill("alice", "carol", 7), fill("bob", "carol", 8)))
	mixed := fill("alice", "tool", 7)
	mixed.Children = append(mixed.Children, nft("punks", "alice", "carol", 9))
	f("", attackBy(mixed))
	f("", attackBy(fill("alice", "market", 7, 8))) // the market has them
	f("", attackBy(fill("alice", "tool", 7), fill("bob", "market", 8)))

	// Approvals of earlier transactions.
	of := func(token, to string) *trace.Frame { return take(token, "alice", to, 800) }
	f("split_takings", attackBy(of("usdc", "thief"), of("dai", "thief"), of("mkr", "thief")))
	f("", attackBy(of("usdc", "bank"), of("dai", "bank"), of("mkr", "bank"), call("bank", "x_1()", view("x", "z()", 1)))) // a deposit
	f("", attackBy(call("helper", "x_1()", of("usdc", "thief"), of("dai", "thief"), of("mkr", "thief"))))                 // by the right of another
	f("", attackBy(of("usdc", "thief"), of("dai", "thief"), of("mkr", "thief"), call("alice", "x_1()", view("x", "z()", 1))))
	f("", attackBy(of("usdc", "thief"), of("dai", "thief"), failing(of("mkr", "thief"))))

	// What a claim pays.
	claim := func(to string, kind trace.Kind, inside ...*trace.Frame) *trace.Frame {
		x := call(to, "claim()")
		x.Kind, x.Children = kind, inside
		x.Value.SetUint64(1000)
		return x
	}
	f("paid_claim", claim("lure", trace.Call, sends("thief", 1000)))
	f("", claim("balancer", trace.Call, sends("thief", 1000)))
	f("", claim("lure", trace.Create, sends("thief", 1000)))
	f("", claim("lure", trace.Call, sends("thief", 1000), sends("sender", 1500))) // it gave more than it took
}

// TestDrainBalances: what the owner had tells only where a mark asks for it, and clears only a right
// that was used once.
func TestDrainBalances(t *testing.T) {
	f := func(want string, had int64, inside ...*trace.Frame) {
		t.Helper()
		c := withAnswers(attackBy(inside...), "", answer{"balanceOf(address)", "usdc", "alice", check.Before, []int64{had}})
		record(t, c)
		if got := allFired(c); got != want {
			t.Errorf("of %d: got %q, want %q", had, got, want)
		}
	}
	right := permit("usdc", "alice", "tool", top(256))
	limited := permit("usdc", "alice", "tool", word(big.NewInt(1000)))
	to := func(who string, n int) *trace.Frame { return take("usdc", "alice", who, n) }
	f("signed_drain!", 1000, right, to("thief", 1000))
	f("", 20000, right, to("thief", 1000))
	f("", 1000, limited, to("thief", 1000)) // no mark
	f("signed_drain!", 20000, right, to("thief", 800), to("partner", 200))
	f("signed_drain!", 1000, limited, to("thief", 800), to("partner", 200))
}

// TestRightsToRevoke: the reader is told of the rights that were used or given, and of no other.
func TestRightsToRevoke(t *testing.T) {
	f := func(want string, more ...*trace.Frame) {
		t.Helper()
		x := theFinding(t, attackBy(all(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200), more)...))
		got := ""
		for _, r := range x.Facts.Revoke {
			got += named(r.Owner, r.Token, r.Spender) + ";"
		}
		if got != want || named(x.Facts.Attacker...) != "sender tool thief partner" {
			t.Errorf("got %q, want %q; %s", got, want, named(x.Facts.Attacker...))
		}
	}
	const own = "alice usdc tool;"
	f(own)
	f(own+"alice mkr tool;", take("mkr", "alice", "thief", 900))
	f(own, failing(take("mkr", "alice", "thief", 900)))
	f(own, take("mkr", "alice", "carol", 0).Children...)
	f(own, permit("mkr", "bob", "tool", top(256)))
	f(own+"alice mkr helper;", permit("mkr", "alice", "helper", top(256)))
	f(own, permit("mkr", "alice", "balancer", top(256)), call("balancer", "x_1()"))
	proxied := take("usdc", "alice", "thief", 100)
	code := call("usdt", "transferFrom(address,address,uint256)", "alice", "thief", 100)
	code.Kind = trace.DelegateCall
	proxied.Children = append(proxied.Children, code)
	f(own, proxied)
	f(own, call("other", permit2From, "alice", "thief", 5, "mkr")) // not Permit2
	f(own, call("usdc", receiveSigned, "bob", "carol", 900, 0, 9, 1, 27, 1, 2, recovers("bob"), take("usdc", "bob", "carol", 0)))

	many := func(want, owners int) {
		t.Helper()
		var inside []*trace.Frame
		for i := range owners {
			o := fmt.Sprint("owner", i)
			inside = append(inside, permit("usdc", o, "tool", top(256)), take("usdc", o, "thief", 800), take("usdc", o, "partner", 200))
		}
		if x := theFinding(t, attackBy(inside...)); len(x.Facts.Revoke) != want || len(x.Facts.Victim) != min(owners, 50) {
			t.Errorf("%d rights of %d, %d victims", len(x.Facts.Revoke), owners, len(x.Facts.Victim))
		}
	}
	many(20, 20)
	many(20, 21)
	many(20, 50)
	many(20, 51)

	var inside []*trace.Frame
	for i, token := range []string{"usdc", "dai", "mkr", "gno"} {
		inside = append(inside, permit(token, "alice", "tool", top(256)), take(token, "alice", "thief", 800+i), take(token, "alice", "partner", 200))
	}
	judged(t, attackBy(inside...))
}
