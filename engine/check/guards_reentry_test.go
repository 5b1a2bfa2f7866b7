package check_test

import (
	"strings"
	"testing"

	"txlens/engine/trace"
)

// Guards of rules about calls that come back before a contract is done.

// of makes a call to be of another kind.
func of(kind trace.Kind, f *trace.Frame) *trace.Frame {
	f = clone(f)
	f.Kind = kind
	return f
}

// matchesOf counts the matches of a rule in a scene.
func matchesOf(t *testing.T, rule string) func(want int, root *trace.Frame) {
	return func(want int, root *trace.Frame) {
		t.Helper()
		n := 0
		for _, m := range judged(t, root).Triage.Matches() {
			if strings.HasPrefix(m, rule+" ") {
				n++
			}
		}
		if n != want {
			t.Errorf("%d matches of %s, want %d", n, rule, want)
		}
	}
}

// TestReentryGuards: what calls back a tool, what enters again, and which call is open.
func TestReentryGuards(t *testing.T) {
	f := fire(t, "reenter")
	loot := pay("dai", "tool", 500)
	paid := take("mkr", "tool", "vault", 900) // so that the vault is no loser
	back := func(to, fn string, wei uint64, inside ...*trace.Frame) *trace.Frame {
		x := call(to, fn)
		x.Value.SetUint64(wei)
		x.Children = inside
		return x
	}
	leave := func(inside ...*trace.Frame) *trace.Frame {
		x := call("vault", "leave_1()")
		x.Children = append(inside, loot)
		return x
	}

	// Where the vault loses nothing only coin, hooks and functions of tokens are known to come back.
	f("x", attackBy(leave(sends("tool", 5, leave())), paid))
	f("", attackBy(leave(sends("tool", 0, leave())), paid)) // no coin
	f("", attackBy(leave(back("tool", "odd_1()", 5, leave())), paid))
	f("x", attackBy(leave(back("tool", "odd_1()", 5, leave()))))
	for _, fn := range []string{"transfer(address,uint256)", "balanceOf(address)", "deposit(uint256)", "onERC721Received(address,address,uint256,bytes)"} {
		f("x", attackBy(leave(back("tool", fn, 0, leave())), paid))
	}
	few := sends("tool", 5, leave())
	few.Input = []byte{1, 2}
	f("", attackBy(leave(few), paid))

	// The call back is the one by which the party got control: what its contracts call among themselves is none.
	f("x", attackBy(creates("part"), leave(sends("tool", 5, back("part", "odd_1()", 0, leave()))), paid))
	f("", attackBy(creates("part"), leave(back("tool", "odd_1()", 0, sends("part", 5, leave()))), paid))
	helped := func(kind trace.Kind) *trace.Frame {
		return attackBy(leave(call("helper", "odd_1()", of(kind, back("tool", "odd_2()", 0, leave())))))
	}
	f("x", helped(trace.Call))
	f("", helped(trace.StaticCall)) // a question changes nothing, and the helper is none of the party

	// What enters again is a function of the contract.
	f("", attackBy(leave(sends("tool", 5, sends("vault", 5, loot)))))
	// And what is open is one that another account called, and no function of tokens.
	self := func(outer string) *trace.Frame {
		return attackBy(call("vault", outer, "x", 1, call("vault", "move_1()", sends("tool", 5, leave()))))
	}
	f("x", self("leave_1()"))
	f("", self("transfer(address,uint256)"))
	open := func(kind trace.Kind) *trace.Frame {
		return attackBy(call("proxy", "x_1()", of(kind, call("vault", "leave_1()", sends("tool", 5, leave())))))
	}
	f("x", open(trace.Call))
	f("", open(trace.DelegateCall)) // the code of the vault ran for another

	// Shares of a contract that pays nothing are tokens and no more, wherever they go.
	sent := func(more ...*trace.Frame) *trace.Frame {
		hook := call("tool", "tokensReceived(address,address,address,uint256,bytes,bytes)", pay("vault", "bank", 500))
		return attackBy(all(call("bank", "y_1()"), call("router", "x_1()", call("vault", "send_1()", hook)), call("shop", "give_1()", loot), more)...)
	}
	f("", sent())
	f("x", sent(call("vault", "pay_1()", loot)))
	f("", sent(call("vault", "pay_1()")))
	f("", sent(call("other", "pay_1()", loot)))

	// Each contract is accused once.
	g := matchesOf(t, "reenter")
	g(1, attackBy(leave(sends("tool", 5, leave(), leave()))))
	g(2, attackBy(leave(sends("tool", 5, leave())), call("bank", "leave_1()", sends("tool", 5, call("bank", "leave_1()", loot)))))
}

// TestOtherReentryGuards: the open call is the one that a tool made.
func TestOtherReentryGuards(t *testing.T) {
	f := fire(t, "reenter_other")
	asks := view("books", "state_1()", 1)
	loot := pay("dai", "tool", 5000)
	second := call("second", "borrow_1()", asks, loot)
	hook := call("tool", "tokensReceived(address,address,address,uint256,bytes,bytes)", second)
	f("x", attackBy(call("first", "leave_1()", asks, hook)))
	f("x", attackBy(call("first", "leave_1()", asks, call("coin", "send_1()", hook)))) // called back by a token that it moved
	f("", attackBy(call("router", "x_1()", call("first", "leave_1()", asks, hook))))
	f("", attackBy(of(trace.StaticCall, call("first", "leave_1()", asks, hook))))
	own := func(inside ...*trace.Frame) *trace.Frame { // a tool of the party that asks itself
		x := call("part", "run_1()")
		x.Children = append(inside, call("second", "start_1()", call("part", "odd_1()", second)))
		return attackBy(creates("part"), x)
	}
	f("", own(asks))
	f("", own())
}
