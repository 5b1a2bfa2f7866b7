package check_test

import (
	"math/big"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Guards of checks that read reserves, books and shares.

// reservesIn is a state diff with the reserves of a pair before the transaction.
func reservesIn(pair, a string, x int64, b string, y int64) *ethrpc.StateDiff {
	if p, q := who(a), who(b); p.Cmp(q) > 0 {
		x, y = y, x
	}
	packed := new(big.Int).Or(new(big.Int).Lsh(big.NewInt(y), 112), big.NewInt(x))
	at := func(n *big.Int) map[common.Address]*ethrpc.Account {
		return map[common.Address]*ethrpc.Account{who(pair): {Storage: map[common.Hash]common.Hash{common.BigToHash(big.NewInt(8)): common.BigToHash(n)}}}
	}
	return &ethrpc.StateDiff{Pre: at(packed), Post: at(common.Big1)}
}

// TestReadReserves: a lender that values by the reserves of a pair is fooled where their price had moved
// by more than 5 % and what it paid is worth more, at the price before, than what it got.
func TestReadReserves(t *testing.T) {
	diff := reservesIn("pair", "dai", 10000, "mkr", 10000)
	f := func(want, asset string, dai, mkr, got, gave int, more ...*trace.Frame) {
		t.Helper()
		other := map[string]string{"dai": "mkr", "mkr": "dai", "usd": "mkr"}[asset]
		lend := call("bank", "use_1()", reserves("pair", "dai", dai, "mkr", mkr), pay(asset, "tool", gave))
		if got > 0 {
			lend.Children = append([]*trace.Frame{take(other, "tool", "bank", got)}, lend.Children...)
		}
		push := call("pair", "push_1()", pay("dai", "tool", 10), pay("mkr", "tool", 10))
		ev := evidenceOf(attackBy(all(push, lend, more)...))
		ev.Diff = diff
		c := assemble.Build(ev)
		record(t, c)
		if x := found(c, api.PriceManipulation, ""); want == "" && x != nil || want != "" && (x == nil || roles(x) != want) {
			t.Errorf("%s: %+v, want %q", asset, x, want)
		}
	}
	const fooled = "price_manipulation confirmed low: lost bank; faulty bank; gained sender tool"
	f(fooled, "dai", 20000, 10000, 1000, 5000)
	f(fooled, "mkr", 20000, 10000, 1000, 5000)
	f(fooled, "dai", 10501, 10000, 1000, 5000)
	f("", "dai", 10500, 10000, 1000, 5000) // no more than 5 %
	f("", "dai", 10000, 10500, 1000, 5000)
	f(fooled, "dai", 20000, 10000, 1000, 1001)
	f("", "dai", 20000, 10000, 1000, 1000) // worth as much
	f("", "dai", 0, 10000, 1000, 5000)
	f("", "dai", 20000, 0, 1000, 5000)
	f(fooled, "dai", 20000, 10000, 0, 5000)
	f("", "dai", 20000, 10000, 0, 5000, call("shop", "x_1()", take("mkr", "bank", "alice", 9))) // it lost the other, too

	// In an asset that the pair does not trade only what was given tells.
	const likely = "price_manipulation possible low: lost bank; faulty bank; gained sender tool"
	f(likely, "usd", 20000, 10000, 0, 5000)
	f("", "usd", 20000, 10000, 0, 5000, call("shop", "x_1()", take("gno", "tool", "shop", 1)))
	f("", "usd", 10500, 10000, 0, 5000)

	// The reserves before must be known, and those of two tokens.
	diff = reservesIn("pair", "dai", 0, "mkr", 10000)
	f("", "dai", 20000, 10000, 1000, 5000)
	diff = reservesIn("other", "dai", 10000, "mkr", 10000)
	f("", "dai", 20000, 10000, 1000, 5000)
	diff = nil
	f("", "dai", 20000, 10000, 1000, 5000)
	diff = reservesIn("pair", "dai", 10000, "mkr", 10000)
	f("", "dai", 20000, 10000, 1000, 5000, call("pair", "push_2()", pay("gno", "tool", 10)))
	f(fooled, "dai", 20000, 10000, 1000, 5000, call("pair", "push_2()", pay("pair", "tool", 10)), call("pair", "push_3()", sends("tool", 10)))
}

// TestBooksOfTokens: how balances fit the logs decides what is said of tokens.
func TestBooksOfTokens(t *testing.T) {
	f := func(tokens, conserved verdict.Ruled, moves bool, list ...flow.LogStateMatch) {
		t.Helper()
		root := attackBy(call("x", "y_1()"))
		if moves {
			root = attackBy(pay("dai", "sender", 5))
		}
		in := built(root)
		in.Case.Flow.Checks = nil
		for _, m := range list {
			in.Case.Flow.Checks = append(in.Case.Flow.Checks, flow.TokenCheck{Token: who("dai"), Match: m, Holders: 1})
		}
		got := map[string]verdict.Ruled{}
		for _, o := range check.Run(&check.Input{Case: in.Case, Verdict: in.Verdict}).Outcomes {
			got[o.Name] = o.Result
		}
		if got["token_behaviour"] != tokens || got["conservation"] != conserved {
			t.Errorf("%v: %v and %v, want %v and %v", list, got["token_behaviour"], got["conservation"], tokens, conserved)
		}
	}
	f(verdict.NotApplicable, verdict.NotApplicable, false)
	f(verdict.NotChecked, verdict.NotChecked, true)
	f(verdict.Clean, verdict.Clean, true, flow.LogsMatch)
	f(verdict.NotChecked, verdict.NotChecked, true, flow.FeeOnTransfer)
	f(verdict.NotChecked, verdict.NotChecked, true, flow.Rebasing)
	f(verdict.NotChecked, verdict.Clean, true, flow.LogsMatch, flow.FeeOnTransfer)
	f(verdict.NotChecked, verdict.Clean, true, flow.LogsMatch, flow.Rebasing)
	f(verdict.NotChecked, verdict.NotChecked, true, flow.LogsMatch, flow.LogsDiffer)
}

// TestProductOfReserves: what pairs tell of their reserves, and what their storage held before.
func TestProductOfReserves(t *testing.T) {
	f := func(want verdict.Ruled, diff *ethrpc.StateDiff, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		ev.Diff = diff
		for _, o := range assemble.Build(ev).Triage.Outcomes {
			if o.Name == "constant_product" && o.Result != want {
				t.Errorf("%v, want %v", o.Result, want)
			}
		}
	}
	told := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	burn := emits(call("pair", "exit_1()"), "Burn(address,uint256,uint256,address)", []string{"sender", "sender"}, 1, 1)
	before := reservesIn("pair", "dai", 1000, "mkr", 1000)
	f(verdict.NotApplicable, nil, told(1000, 1000))
	f(verdict.Clean, before, told(1000, 1000))
	f(verdict.NotChecked, before, told(999, 1000))
	f(verdict.Clean, before, told(1001, 1000), told(1002, 1000))
	f(verdict.NotChecked, before, told(1001, 1000), told(1000, 1000))
	f(verdict.NotApplicable, before, burn, told(900, 1000)) // liquidity left first
	f(verdict.Clean, before, told(900, 1000), burn)         // the pair tells of the withdrawal afterwards
	f(verdict.NotChecked, before, told(900, 1000), call("pair", "x_1()"), emits(call("other", "exit_1()"), "Burn(address,uint256,uint256,address)", []string{"sender", "sender"}, 1, 1))
	f(verdict.NotChecked, before, told(900, 1000), told(900, 1000), burn)
	f(verdict.NotApplicable, nil, told(1000, 1000), emits(call("pair", "move_1()"), "Sync_1(uint112,uint112)", nil, 900, 1000))
	f(verdict.NotApplicable, nil, told(1000, 1000), emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, 900))
	f(verdict.NotApplicable, nil, told(1000, 1000), emits(call("pair", "move_1()"), "Sync(uint112,uint112)", []string{"a"}, 900, 1000))
	nameless := told(900, 1000)
	nameless.Logs[0].Topics = nil
	f(verdict.NotApplicable, nil, told(1000, 1000), nameless)
	f(verdict.NotApplicable, nil, told(1000, 1000), emits(call("other", "move_1()"), "Sync(uint112,uint112)", nil, 900, 1000))
	f(verdict.NotChecked, before, told(900, 1000), func() *trace.Frame { x := nameless; return x }())
}

// TestReserveGuards: which pairs and events tell that a product fell, each pair once.
func TestReserveGuards(t *testing.T) {
	f := fire(t, "product_fell")
	win := call("shop", "give_1()", pay("usd", "tool", 900))
	told := func(of string, x, y int) *trace.Frame {
		return emits(call(of, "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	f("s", attackBy(told("pair", 1000, 1000), told("pair", 900, 1000), win))
	f("s", attackBy(told("pair", 1000, 1000), told("pair", 900, 1000), told("pair", 800, 1000), win))
	f("", attackBy(told("pair", 1000, 1000), told("other", 900, 1000), win))
	short := told("pair", 900, 1000)
	short.Logs[0].Data = short.Logs[0].Data[:32]
	f("", attackBy(told("pair", 1000, 1000), short, win))
	short = told("pair", 900, 1000)
	short.Logs[0].Data = nil
	f("", attackBy(told("pair", 1000, 1000), short, win))
	nameless := told("pair", 900, 1000)
	nameless.Logs[0].Topics = nil
	f("", attackBy(told("pair", 1000, 1000), nameless, win))
	own := attackBy(win)
	emits(own, "Sync(uint112,uint112)", nil, 1000, 1000)
	emits(own, "Sync(uint112,uint112)", nil, 900, 1000)
	f("", own) // the party's own

	// A token that does something to the pair on a stranger's word.
	trade := swapped("pool", "mkr", 1000, "dai", 9000)
	g := func(category api.Category, acts ...*trace.Frame) {
		t.Helper()
		x := theFinding(t, attackBy(all(acts, call("pool", "sync()"), trade)...))
		if x.Facts.Category != category {
			t.Errorf("%s, want %s", x.Facts.Category, category)
		}
	}
	g(api.TokenIncompatibility)
	g(api.AccessControl, call("dai", "burn_1(address,uint256)", "pool", 5))
	g(api.TokenIncompatibility, call("dai", "burn_1(address,uint256)", "bank", 5))
	g(api.TokenIncompatibility, call("gno", "burn_1(address,uint256)", "pool", 5))
	g(api.TokenIncompatibility, call("dai", "approve(address,uint256)", "pool", 5))
	g(api.TokenIncompatibility, call("dai", "balanceOf(address)", "pool"))
}
