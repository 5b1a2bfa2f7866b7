package check_test

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// What findings are made of where several accounts, assets or calls could be named.

// put and get are a deposit into a vault and what it pays.
func put(token string, n int) *trace.Frame {
	return call("vault", "put_1(uint256)", n, take(token, "tool", "vault", n))
}

func get(inside ...*trace.Frame) *trace.Frame {
	x := call("vault", "get_1(uint256)", 1)
	x.Children = inside
	return x
}

// victimOf compares who lost by the one finding of a scene; empty: there is no finding.
func victimOf(t *testing.T) func(want string, root *trace.Frame) {
	return func(want string, root *trace.Frame) {
		t.Helper()
		c := judged(t, root)
		got := ""
		for i := range c.Triage.Findings {
			got += named(c.Triage.Findings[i].Facts.Victim...)
		}
		if got != want {
			t.Errorf("lost %q, want %q: %s", got, want, allFired(c))
		}
	}
}

// TestWhoLost: where a rule names nobody, who paid the party itself comes first, then the first of
// the others, then whose rule broke, then who paid most of what was gained.
func TestWhoLost(t *testing.T) {
	f := victimOf(t)
	parts := times(5, func(i int) *trace.Frame { return creates("part" + string(rune('a'+i))) })
	scene := func(inside ...*trace.Frame) *trace.Frame { return attackBy(lent(50000, 50000, all(parts, inside)...)) }
	through := func(payer, token string) *trace.Frame {
		return call("router", "route_1()", call(payer, "give_1()", pay(token, "router", 5000)), pay(token, "tool", 5000))
	}
	direct := call("bank", "x_1()", pay("usd", "tool", 900))
	f("bank", scene(through("vault", "mkr"), direct))
	f("bank", scene(direct, through("vault", "mkr")))
	f("vault", scene(through("vault", "mkr"), through("market", "gno")))
	f("vault", scene(call("vault", "x_1()", pay("mkr", "tool", 5000)), direct))

	// Nobody lost for nothing: who paid most of what was gained.
	traded := func(who string, n int) *trace.Frame {
		return call(who, "x_1()", take("gno", "tool", who, 1000), pay("usd", "tool", n))
	}
	bought := swapped("pool", "dai", 1000, "gno", 3000)
	f("bank", scene(all(bought, traded("bank", 5000), traded("market", 900))...))
	f("market", scene(all(bought, traded("bank", 900), traded("market", 5000))...))
	f("bank", scene(all(bought, traded("bank", 5000), call("market", "x_1()", take("usd", "alice", "tool", 9000)))...)) // alice ran no code
	f("bank", scene(all(bought, traded("bank", 5000), pay("usd", "sender", 5000))...))                                  // what the party moves to itself
	f("", scene(moved(call("mkr", "make_1()"), "zero", "tool", 5000)))

	// Not a token of the party.
	huge := emits(attackBy(lent(5000, 5000, moved(call("mkr", "make_1()"), "zero", "tool", 5000))), "Transfer(address,address,uint256)", []string{"zero", "alice"})
	huge.Logs[len(huge.Logs)-1].Data = word(new(big.Int).Lsh(common.Big1, 130))
	f("", huge)

	// Not a tool that hands on what it had before.
	f("bank", scene(all(bought, traded("bank", 5000), pay("usd", "sender", 11000))...))
}

// TestBestGrade: a rule that decides anywhere decides.
func TestBestGrade(t *testing.T) {
	f := fire(t, "foreign_delegate")
	run := func(who string, inside ...*trace.Frame) *trace.Frame {
		code := call("tool", "code_1()")
		code.Kind, code.Children = trace.DelegateCall, inside
		return call(who, "exec_1(address)", "tool", code)
	}
	f("s", attackBy(run("bank")))
	f("x", attackBy(run("bank"), run("vault", pay("dai", "tool", 700))))
	f("x", attackBy(run("vault", pay("dai", "tool", 700)), run("bank")))
}

// TestListsAreShort: sentences and checks name three assets or fewer, findings eight accounts.
func TestListsAreShort(t *testing.T) {
	tokens := []string{"dai", "usd", "mkr", "gno"}
	of := func(n int) (in, out []*trace.Frame) {
		for _, token := range tokens[:n] {
			in, out = append(in, take(token, "tool", "vault", 1000)), append(out, pay(token, "tool", 1500))
		}
		return in, out
	}
	f := func(n, told, checked int) {
		t.Helper()
		in, out := of(n)
		deposit := call("vault", "put_1()")
		deposit.Children = in
		root := attackBy(deposit, get(out...))
		x := theFinding(t, root)
		lists := []int{}
		for _, a := range x.Headline.Args {
			if l, ok := a.(verdict.List); ok {
				lists = append(lists, len(l))
			}
		}
		if !slices.Equal(lists, []int{told, told}) || len(x.Lost) != n || len(x.Gained) != n {
			t.Errorf("%d assets: told %v, lost %d, gained %d", n, lists, len(x.Lost), len(x.Gained))
		}
		judged(t, root)
	}
	f(1, 1, 1)
	f(2, 2, 2)
	f(3, 3, 2)
	f(4, 3, 2)

	accused := func(want, n int) {
		t.Helper()
		parts := times(n, func(i int) *trace.Frame { return creates(fmt.Sprint("part", i)) })
		x := theFinding(t, attackBy(all(parts, put("dai", 1000), get(pay("dai", "tool", 1500)))...))
		if got := len(x.Facts.Attacker); got != want {
			t.Errorf("%d contracts: %d attackers, want %d", n, got, want)
		}
	}
	accused(7, 5)
	accused(8, 6)
	accused(8, 7)

	codes := func(want, n int) {
		t.Helper()
		through := times(n, func(i int) *trace.Frame {
			x := call(fmt.Sprint("code", i), "code_1()")
			x.Kind = trace.DelegateCall
			return call("vault", "x_1()", x)
		})
		x := theFinding(t, attackBy(all(through, put("dai", 1000), get(pay("dai", "tool", 1500)))...))
		if got := len(x.Facts.Code); got != want {
			t.Errorf("%d codes: told %d, want %d", n, got, want)
		}
	}
	codes(8, 8)
	codes(8, 9)

	// Places and evidence of many sales.
	sales := func(n int) []*trace.Frame {
		var out []*trace.Frame
		for i := range n {
			out = append(out, swapped("pool", "mkr", 5000+i, "dai", 900)...)
		}
		return out
	}
	for n := 2; n < 7; n++ {
		x := theFinding(t, creates("tool", all(call("mkr", "gift_1()"), sales(n))...))
		places := x.Invariant.Args[len(x.Invariant.Args)-1].(verdict.List)
		if want := min(n, 4); len(places) != want {
			t.Errorf("%d sales: %d places", n, len(places))
		}
	}
	many := times(4, func(i int) *trace.Frame {
		name := fmt.Sprint("owner", i)
		return call("router", "run_9(bytes)", calldata("transferFrom(address,address,uint256)", name, "sender", 700+i)[4:], take("dai", name, "sender", 700+i))
	})
	victimOf(t)(named(api.AddrOf(who("owner3")), api.AddrOf(who("owner0")), api.AddrOf(who("owner1")), api.AddrOf(who("owner2"))), attackBy(many...))
}

// TestLossOfSeveral: what is lost is told of one victim, and not of several.
func TestLossOfSeveral(t *testing.T) {
	f := victimOf(t)
	approve := func(by string, n int) []*trace.Frame {
		out := []*trace.Frame{call(by, "z_1()", call("dai", "approve(address,uint256)", "tool", n))}
		if n > 100 {
			out = append(out, take("dai", by, "tool", n))
		}
		return out
	}
	f("a", attackBy(approve("a", 900)...))
	f("a b", attackBy(all(approve("a", 900), approve("b", 800))...))
	f("a b c", attackBy(all(approve("a", 9), approve("b", 800), approve("c", 9))...))
}

// TestAmplifiersOfFindings: what made it larger, each by its own sign.
func TestAmplifiersOfFindings(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		if got := fmt.Sprint(built(root).Triage.Amplifiers); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	theft := []*trace.Frame{put("dai", 1000), get(pay("dai", "tool", 1500))}
	destroyed := func(name string) *trace.Frame {
		return call(name, "end_1()", &trace.Frame{Kind: trace.SelfDestruct, To: who("sender"), HasTo: true})
	}
	f("[]", attackBy(theft...))
	f("[flash_loan]", attackBy(lent(5000, 5000, theft...)))
	back := call("tool", "onFlashLoan(address,address,uint256,uint256,bytes)", "tool", pay("dai", "lender", 5000))
	f("[flash_loan]", attackBy(all(call("lender", "lend_11()", pay("dai", "tool", 5000), back), theft)...))
	f("[fresh_contract]", attackBy(all(creates("part"), theft)...))
	f("[fresh_contract constructor_attack]", creates("tool", theft...))
	own := &trace.Frame{Kind: trace.SelfDestruct, To: who("sender"), HasTo: true}
	f("[self_destruct]", attackBy(all(theft, own)...))
	f("[]", attackBy(all(theft, failing(own))...))
	f("[]", attackBy(all(theft, destroyed("bank"))...))
}

// TestEntryPoints: what was called where it was decided, a protocol rather than a token.
func TestEntryPoints(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		x := theFinding(t, root)
		if x.Facts.EntryPoint == nil || named(*x.Facts.EntryPoint) != want {
			t.Errorf("entered %v, want %s", x.Facts.EntryPoint, want)
		}
	}
	taken := take("dai", "vault", "tool", 700)
	poke := call("vault", "x_1()", call("x", "y_1()"))
	f("vault", creates("tool", lent(5000, 5000, poke, taken)))
	f("dai", creates("tool", lent(5000, 5000, view("vault", "z()", 1), taken, call("bank", "x_1()"))))
	wrap := word(new(big.Int).Lsh(common.Big1, 255))
	f("signer", call("signer", "batch_1(uint256)", wrap))
}

// TestValuesTold: amounts are told with their value where a service gave a price, and it is more than
// nothing.
func TestValuesTold(t *testing.T) {
	six := uint8(6)
	f := func(want string, n int, decimals *uint8, cents int64) {
		t.Helper()
		ev := evidenceOf(attackBy(put("realUSDC", 1), get(pay("realUSDC", "tool", n+1))))
		ev.Tokens = map[common.Address]label.Token{who("realUSDC"): {Symbol: "USDC", Decimals: decimals}}
		if cents > 0 {
			ev.Prices = map[common.Address]assemble.Price{who("realUSDC"): {USD: api.Decimal{Unscaled: big.NewInt(cents), Scale: 2}, Source: "test"}}
		}
		c := assemble.Build(ev)
		if len(c.Triage.Findings) != 1 {
			t.Fatalf("%d findings", len(c.Triage.Findings))
		}
		got := ""
		for _, a := range c.Triage.Findings[0].Headline.Args {
			if l, ok := a.(verdict.List); ok {
				if s, ok := l[0].(verdict.Sentence); ok && s.Form == verdict.WorthAbout {
					got = string(s.Args[1].(verdict.Number))
				}
			}
		}
		if got != want {
			t.Errorf("%d units at %d cents: worth %q, want %q", n, cents, got, want)
		}
	}
	f("2000", 1_000_000_000, &six, 200)
	f("", 1_000_000_000, &six, 0)  // a dollar, but nobody gave a price
	f("", 1_000_000_000, nil, 200) // how many units a token has is not known
	f("", 400_000, &six, 200)      // less than a dollar
	f("1", 500_000, &six, 200)
}

// TestOutcomeOfOthers: where another check found what broke, a gain was found, too; and a takeover is
// left to the check of changes of control where storage is known.
func TestOutcomeOfOthers(t *testing.T) {
	f := func(want verdict.Ruled, root *trace.Frame) {
		t.Helper()
		for _, o := range built(root).Triage.Outcomes {
			if o.Name == "unearned_gain" && o.Result != want {
				t.Errorf("%s, want %s", o.Result, want)
			}
		}
	}
	skim := times(3, func(int) *trace.Frame { return call("pair", "skim(address)", "tool", pay("mkr", "tool", 200)) })
	f(verdict.Found, attackBy(skim...))
	f(verdict.NotChecked, attackBy(skim[:2]...))
	f(verdict.Clean, attackBy(call("pair", "skim(address)", "tool")))

	g := func(want bool, diff bool, wei uint64) {
		t.Helper()
		root := call("vault", "initialize(address)", "sender")
		root.Value.SetUint64(wei)
		ev := evidenceOf(root)
		if diff {
			ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
		}
		if got := verdict.Flagged(assemble.Build(ev).Triage.Flags, verdict.UninitialisedTakeover); got != want {
			t.Errorf("with storage %v, coin %d: %v, want %v", diff, wei, got, want)
		}
	}
	g(true, false, 0)
	g(false, true, 0)
	g(false, false, 5)
}
