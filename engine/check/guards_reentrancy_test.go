package check_test

import (
	"math/big"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestPaidTwiceGuards: which calls enter a contract again, what it paid in each of them, and what it
// had booked for the caller.
func TestPaidTwiceGuards(t *testing.T) {
	slot := crypto.Keccak256Hash(account("tool"), make([]byte, 32))
	f := func(want string, before, after int64, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		at := func(n int64) map[common.Address]*ethrpc.Account {
			return map[common.Address]*ethrpc.Account{who("vault"): {Storage: map[common.Hash]common.Hash{slot: common.BigToHash(big.NewInt(n))}}}
		}
		ev.Diff = &ethrpc.StateDiff{Pre: at(before), Post: at(after)}
		c := assemble.Build(ev)
		record(t, c)
		got := ""
		for i := range c.Triage.Findings { // those of the check, not of the rules by outcome
			if x := &c.Triage.Findings[i]; x.Facts.Category == api.Reentrancy && x.Invariant.Form == verdict.PaidBeforeBooking {
				got += roles(&x.Facts)
			}
		}
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	leave := func(inside ...*trace.Frame) *trace.Frame { return call("vault", "leave_1()", frames(inside)...) }
	once := leave(sends("tool", 500))
	again := leave(sends("tool", 500, once))
	const robbed, open = "reentrancy confirmed low: lost vault; faulty vault; gained sender tool", "reentrancy possible low: lost vault; faulty vault; gained sender tool"
	f(robbed, 500, 0, again)

	// Which calls enter again.
	f(robbed, 500, 0, leave(sends("tool", 500, view("vault", "leave_1()", 1), once))) // asked first
	plain := func(inside ...*trace.Frame) *trace.Frame { return sends("vault", 1, sends("tool", 500, inside...)) }
	f("", 500, 0, plain(plain())) // no function
	f("", 500, 0, leave(sends("tool", 500, call("router", "x_1()", once))))
	f("", 500, 0, leave(call("router", "x_1()", sends("tool", 500, once)), sends("tool", 500))) // the vault called no tool
	f("", 500, 0, leave(of(trace.StaticCall, sends("tool", 0, once)), sends("tool", 500)))
	f("", 500, 0, call("router", "x_1()", again))
	f("", 500, 0, call("proxy", "leave_1()", call("vault", "other_1()", sends("tool", 500, once))))
	f("", 500, 0, of(trace.StaticCall, leave(call("tool", "x_1()", leave(sends("tool", 500))), sends("tool", 500))))
	own := call("part", "x_1()", call("tool", "go_74b1()", pay("dai", "sender", 500)))
	f("", 500, 0, creates("part"), own, pay("dai", "sender", 500), call("shop", "give_1()", pay("dai", "sender", 5)))

	// What was paid in each.
	token := func(token, to string, n int, inside ...*trace.Frame) *trace.Frame {
		return leave(all(sends("tool", 0, inside...), pay(token, to, n))...)
	}
	f(robbed, 500, 0, token("dai", "tool", 500, token("dai", "tool", 500)))
	f("", 500, 0, token("dai", "tool", 500, token("dai", "tool", 0)))
	f("", 300, 0, token("dai", "tool", 500, token("dai", "alice", 500)))
	f("", 300, 0, token("dai", "tool", 500, leave(call("bank", "x_1()", pay("dai", "tool", 500)))))
	other := call("bank", "leave_1()", sends("tool", 500, call("bank", "leave_1()", sends("tool", 500))))
	f(robbed+"reentrancy possible low: lost bank; faulty bank; gained sender tool", 500, 0, leave(sends("tool", 500, leave(sends("tool", 500, other)))))

	// What was given for it: shares or another asset explain the payments.
	f(robbed, 500, 0, pay("mkr", "vault", 0), again)
	f(robbed, 500, 0, take("mkr", "alice", "vault", 5), again)
	f(robbed, 500, 0, pay("vault", "sender", 5), again)
	f("", 500, 0, pay("mkr", "vault", 5), again)
	f("", 500, 0, moved(call("vault", "burn_1()"), "tool", "zero", 5), again)
	f(robbed+" carol", 500, 0, token("vault", "tool", 500, token("vault", "tool", 500)), pay("vault", "carol", 5))

	// Nobody is robbed who paid no more than it got, whoever else was paid or paid.
	gift := call("bank", "x_1()", sends("tool", 1000))
	f("", 5, 5, sends("vault", 1000), again, call("vault", "y_1()", sends("alice", 700)), gift)
	f(robbed, 5, 5, sends("vault", 999), again, call("vault", "y_1()", sends("alice", 700)), gift)
	f(robbed, 600, 200, take("dai", "alice", "vault", 600), token("dai", "tool", 500, token("dai", "tool", 500)))

	// What was booked: a credit that fell by less, or a deposit of the party. Without either it is open.
	f(open, 500, 600, again)
	f(open, 2000, 999, again)
	f(robbed, 2000, 1001, again)
	f("", 2000, 1000, again) // all of it
	f(open, 499, 0, again)
	f(robbed, 5, 5, sends("vault", 500), again)
	f(open, 5, 5, again)
	f(open+" bank", 5, 5, sends("bank", 500), again)
	f(open, 2000, 0, sends("vault", 500), again)
	puts := func(n int) []*trace.Frame { return times(n, func(int) *trace.Frame { return sends("vault", 5) }) }
	f(robbed, 5, 5, all(puts(8), again)...)
	f(open, 5, 5, all(puts(9), again)...)
}

// frames are calls as arguments of a call.
func frames(list []*trace.Frame) (out []any) {
	for _, x := range list {
		out = append(out, x)
	}
	return out
}

// TestReentryRuledOut: what is said of contracts that were entered again and accused of nothing.
func TestReentryRuledOut(t *testing.T) {
	f := func(want verdict.Ruled, why verdict.Form, diff *ethrpc.StateDiff, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		ev.Diff = diff
		for _, o := range assemble.Build(ev).Triage.Outcomes {
			if o.Name == "reentrancy" && (o.Result != want || o.Why.Form != why) {
				t.Errorf("%v by %v, want %v by %v", o.Result, o.Why.Form, want, why)
			}
		}
	}
	loot, paid := pay("dai", "tool", 500), take("mkr", "tool", "vault", 900)
	twice := func(fn string, inside ...*trace.Frame) *trace.Frame {
		x := call("vault", "leave_1()", call("tool", "odd_1()", call("vault", fn)))
		x.Children = append(x.Children, inside...)
		return x
	}
	none := &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
	changed := slotBefore("vault", 3, big.NewInt(7))
	f(verdict.Clean, verdict.WhyNotReentered, nil, call("vault", "leave_1()", loot))
	f(verdict.Clean, verdict.WhyNotReentered, nil)
	f(verdict.Clean, verdict.WhyReenteredBooked, nil, twice("x_1()")) // it lost nothing
	f(verdict.Clean, verdict.WhyReenteredBooked, changed, twice("x_1()"))
	f(verdict.NotChecked, verdict.WhyOrderUnknown, nil, twice("x_1()", loot, paid))
	f(verdict.NotChecked, verdict.WhyOrderUnknown, changed, twice("x_1()", loot, paid))
	f(verdict.Clean, verdict.WhyReenteredBooked, none, twice("x_1()", loot, paid)) // it books nothing
}
