package check_test

import (
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/verdict"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// TestNothingCleanUnseen: a check is clean only where what it looks for was looked at. Each
// case stands beside the one with the evidence.
func TestNothingCleanUnseen(t *testing.T) {
	f := func(name string, want verdict.Ruled, root *trace.Frame, more ...func(*assemble.Evidence)) {
		t.Helper()
		ev := recorded.OfTree(1, "0x"+strings.Repeat("12", 32), treeOf(root))
		for _, change := range more {
			change(ev)
		}
		for _, o := range assemble.Build(ev).Triage.Outcomes {
			if o.Name != name {
				continue
			}
			if o.Result != want || o.Result != verdict.Found && o.Why.Form == 0 {
				t.Errorf("%s is %s, want %s", name, o.Result, want)
			}
			return
		}
		t.Errorf("no check %s", name)
	}
	diff := func(ev *assemble.Evidence) {
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
	}
	idle := call("x", "y_1()")
	f("drained", verdict.NotChecked, attackBy(idle))
	f("drained", verdict.Clean, attackBy(idle), diff)

	reserves := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	burn := emits(call("pair", "exit_1()"), "Burn(address,uint256,uint256,address)", []string{"sender", "sender"}, 1, 1)
	f("constant_product", verdict.NotApplicable, attackBy(idle))
	f("constant_product", verdict.NotApplicable, attackBy(reserves(1000, 1000))) // told once: nothing to compare
	f("constant_product", verdict.Clean, attackBy(reserves(1000, 1000), reserves(1001, 1000)))
	f("constant_product", verdict.NotChecked, attackBy(reserves(1000, 1000), reserves(900, 1000)))
	f("constant_product", verdict.NotApplicable, attackBy(reserves(1000, 1000), burn, reserves(900, 1000)))

	enter := func(assets, shares int) *trace.Frame {
		return emits(call("vault", "in_1()"), "Deposit(address,address,uint256,uint256)", []string{"sender", "sender"}, assets, shares)
	}
	leave := func(assets, shares int) *trace.Frame {
		return emits(call("vault", "out_1()"), "Withdraw(address,address,address,uint256,uint256)", []string{"sender", "sender", "sender"}, assets, shares)
	}
	f("conservation", verdict.NotApplicable, attackBy(idle))
	f("conservation", verdict.NotChecked, attackBy(call("vault", "get_1()", pay("dai", "tool", 5)))) // nobody knows the balances
	f("share_price_fell", verdict.NotApplicable, attackBy(idle))
	f("share_price_fell", verdict.NotApplicable, attackBy(emits(call("vault", "in_1()"), "Other(address,address,uint256,uint256)", []string{"sender", "sender"}, 1, 1)))
	f("share_price_fell", verdict.NotApplicable, attackBy(emits(call("vault", "in_1()"), "Other(address,address,address,uint256,uint256)", []string{"sender", "sender", "sender"}, 1, 1)))
	f("share_price_fell", verdict.NotApplicable, attackBy(emits(call("vault", "in_1()"), "Deposit(address,address,uint256,uint256)", []string{"sender", "sender"}, 1)))
	f("share_price_fell", verdict.NotChecked, attackBy(enter(10000, 0), leave(9000, 10000)))
	f("share_price_fell", verdict.NotChecked, attackBy(enter(0, 0), leave(9000, 10000)))
	f("share_price_fell", verdict.NotChecked, attackBy(enter(10000, 10000), leave(9000, 0)))
	f("share_price_fell", verdict.NotChecked, attackBy(enter(10000, 10000)))
	f("share_price_fell", verdict.Clean, attackBy(enter(10000, 10000), leave(10000, 10000)))
	f("share_price_fell", verdict.Clean, attackBy(enter(10000, 10000), leave(11000, 10000)))
	f("share_price_fell", verdict.NotChecked, attackBy(enter(10000, 10000), leave(9000, 10000)))

	sale := func(least int) *trace.Frame {
		got := pay("usd", "sender", 5000)
		root := call("router", "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)", 1000, least, 0xa0, "sender", 99, 2, "dai", "usd",
			take("dai", "sender", "pool", 1000),
			emits(call("pool", "swap(uint256,uint256,address,bytes)", 0, 5000, "sender", 0x80, 0, got), "Swap(address,uint256,uint256,uint256,uint256,address)", []string{"router", "sender"}, 1000, 0, 0, 5000))
		return root
	}
	f("bounded_output", verdict.NotApplicable, attackBy(idle))
	f("bounded_output", verdict.Clean, sale(4000))
	f("bounded_output", verdict.Clean, sale(5000))
	f("bounded_output", verdict.NotChecked, sale(5001)) // less came than was asked for, as far as anybody sees
	f("sandwich", verdict.NotApplicable, attackBy(idle))
	f("sandwich", verdict.NotChecked, sale(4000))
	f("sandwich", verdict.Clean, sale(4000), func(ev *assemble.Evidence) { ev.Neighbours = &ethrpc.Neighbours{} })

	f("unearned_gain", verdict.Clean, attackBy(idle))
	f("unearned_gain", verdict.Found, attackBy(times(4, func(int) *trace.Frame { return call("vault", "claim_1(uint256)", 7, pay("dai", "tool", 200)) })...))
	f("unearned_gain", verdict.NotChecked, attackBy(call("vault", "give_1()", pay("dai", "tool", 5000)))) // somebody paid, and nobody looked up why
	f("unearned_gain", verdict.NotChecked, attackBy(idle), func(ev *assemble.Evidence) { ev.Tree = nil })
}
