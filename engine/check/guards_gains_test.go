package check_test

import (
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

// TestGainGuards: guards of rules by gains that other scenes leave out.
func TestGainGuards(t *testing.T) {
	made := moved(call("mkr", "make_1()"), "zero", "tool", 5000)
	win := call("vault", "give_1()", pay("dai", "tool", 5000))
	spend := call("bank", "spend_1()", take("dai", "tool", "bank", 5000))

	f := fire(t, "absurd_amount")
	out := call("vault", "x_1()", payBits("mkr", "tool", 130))
	f("s", attackBy(out))
	f("s", attackBy(call("mkr", "gift_1()"), out)) // whoever asked was given
	f("s", attackBy(call("gno", "gift_1()"), out))
	f("x", creates("tool", payBits("mkr", "alice", 130))) // from a contract made here

	f = fire(t, "fresh_unpaid")
	f("s", creates("tool", win))
	f("", creates("tool", win, spend)) // nothing gained

	f = fire(t, "absurd_return")
	rich := func(back int, more ...*trace.Frame) *trace.Frame {
		return attackBy(lent(5000, 5000, all(swapped("pool", "dai", 1000, "mkr", 7000), call("vault", "turn_1()", take("mkr", "tool", "vault", 7000), pay("dai", "tool", back)), more)...))
	}
	f("x", rich(3100, pay("dai", "sender", 500)))
	f("", rich(2900, pay("dai", "sender", 500))) // what the party moves to itself is no return
	f("", rich(2900, call("shop", "x_1()", take("dai", "alice", "bank", 9000))))

	f = fire(t, "hammer")
	pokes := times(10, func(i int) *trace.Frame { return call("vault", "poke_1(uint256)", i) })
	f("s", attackBy(lent(5000, 5000, all(pokes, made)...))) // with borrowed money nobody need have lost
	f("", attackBy(all(pokes, made)...))
	f("", attackBy(lent(5000, 5000, all(pokes[:9], made)...)))
}

// TestFailedTransactions: of a transaction that failed no check applies.
func TestFailedTransactions(t *testing.T) {
	f := func(applies bool, root *trace.Frame) {
		t.Helper()
		for _, o := range assemble.Build(evidenceOf(root)).Triage.Outcomes {
			if !applies && o.Result != verdict.NotApplicable {
				t.Errorf("%s: %v", o.Name, o.Result)
			}
			if applies && o.Name == "self_destruct" && o.Result != verdict.Clean {
				t.Errorf("%s: %v", o.Name, o.Result)
			}
		}
	}
	f(true, attackBy(call("vault", "x_1()")))
	f(false, failing(attackBy(call("vault", "x_1()"))))
}
