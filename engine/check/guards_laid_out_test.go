package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/label"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Guards of what is laid out, asked and told beside the rules.

// TestBoundsOfLayout: how many assets of an account and how many accounts are laid out, and whose.
func TestBoundsOfLayout(t *testing.T) {
	f := func(gained, assets, lost int, root *trace.Frame) {
		t.Helper()
		d := built(root).Triage.Dealings
		if d == nil || len(d.Gained) != gained || len(d.Lost) != lost || gained > 0 && len(d.Gained[0].Assets) != assets {
			t.Errorf("%+v; want %d with %d assets and %d", d, gained, assets, lost)
		}
	}
	pays := func(n int) *trace.Frame {
		return call("vault", "give_1()", frames(times(n, func(i int) *trace.Frame { return pay(fmt.Sprint("token", i), "tool", 500) }))...)
	}
	f(1, 8, 1, attackBy(all(pays(8), fillers(3))...))
	f(1, 8, 1, attackBy(all(pays(9), fillers(3))...))
	theft := func(n int) *trace.Frame {
		return attackBy(times(n, func(i int) *trace.Frame {
			name := fmt.Sprint("owner", i)
			return call("router", "run_9(bytes)", calldata("transferFrom(address,address,uint256)", name, "sender", 700)[4:], take("dai", name, "sender", 700))
		})...)
	}
	f(1, 1, 20, theft(20))
	f(1, 1, 20, theft(21))

	// A contract of the party that its own call broke is no loser beside it.
	wrap := word(topBit())
	f(1, 1, 0, emits(call("token", "batch_1(uint256)", wrap), "Transfer(address,address,uint256)", []string{"zero", "token"}, 700))
}

// TestPoisoningGuards: each account of a batch took no part, and nothing else decides.
func TestPoisoningGuards(t *testing.T) {
	six := uint8(6)
	f := func(want bool, root *trace.Frame) {
		t.Helper()
		ev := evidenceOf(root)
		ev.Tokens = map[common.Address]label.Token{who("realUSDC"): {Symbol: "USDC", Decimals: &six}}
		if got := verdict.Flagged(assemble.Build(ev).Triage.Flags, verdict.AddressPoisoning); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	fake := func(from, to string) *trace.Frame { return take("fake", from, to, 500) }
	lot := []*trace.Frame{fake("a", "x"), fake("b", "y"), fake("c", "z")}
	batch := func(more ...*trace.Frame) *trace.Frame { return attackBy(all(lot, more)...) }
	f(true, batch())
	f(true, batch(fake("d", "w")))
	f(false, batch(fake("sender", "w")))
	f(false, batch(fake("tool", "w")))
	f(false, batch(moved(call("fake", "m_1()"), "zero", "w", 500)))
	f(false, batch(take("weth", "d", "w", 500)))
	f(true, batch(take("weth", "d", "w", 0)))
	f(false, batch(take("realUSDC", "d", "w", 500)))
	f(true, batch(take("realUSDC", "d", "w", 0)))
	f(false, batch(call("d", "y_1()", view("x", "z()", 1)), fake("d", "w")))

	// Events of a call that breaks a token are the theft itself.
	own := func(fn string, word []byte) *trace.Frame {
		x := call("token", fn, word)
		for i, from := range []string{"a", "b", "c"} {
			moved(x, from, []string{"x", "y", "z"}[i], 500)
		}
		return x
	}
	f(true, own("batch_1(uint256)", word(common.Big1)))
	f(false, own("batch_1(uint256)", word(topBit())))

	// What the receipt tells by itself is said once.
	none := []*trace.Frame{take("fake", "a", "x", 0), take("fake", "b", "y", 0), take("fake", "c", "z", 0)}
	said := 0
	for _, line := range built(attackBy(none...)).Result.Risks {
		if strings.HasPrefix(line, verdict.AddressPoisoning.String()) {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times", said)
	}

	// Where no calls are known nobody can be told to have run no code.
	ev := evidenceOf(batch())
	ev.Tree = nil
	if c := assemble.Build(ev); verdict.Flagged(c.Triage.Flags, verdict.AddressPoisoning) || c.Triage.Unusual.Form != 0 {
		t.Errorf("without calls: %v, %v", names(c.Triage.Flags), c.Triage.Unusual)
	}
}

// TestStateGuards: whom the state is asked about, what a pair is, and what its answer must be.
func TestStateGuards(t *testing.T) {
	const balance, reserves = "balanceOf(address)", "getReserves()"
	asked := func(c *assemble.Analysis, function, to string) bool {
		s := calldata(function)
		return slices.ContainsFunc(c.Triage.Questions, func(q check.Question) bool { return q.To == who(to) && slices.Equal(q.Data[:4], s) })
	}
	f := func(want bool, function, to string, root *trace.Frame) {
		t.Helper()
		if got := asked(built(root), function, to); got != want {
			t.Errorf("%s of %s: asked %v, want %v", function, to, got, want)
		}
	}
	give := func(who, token string) *trace.Frame { return call(who, "give_1()", pay(token, "tool", 5000)) }
	f(true, balance, "dai", attackBy(all(give("farm", "dai"), fillers(3))...))
	two := attackBy(all(give("farm", "dai"), give("bank", "usd"), fillers(3))...)
	f(true, balance, "dai", two)
	f(false, balance, "usd", two) // of the first loser only

	// An answer about one account explains nothing of another.
	same := answer{balance, "dai", "", "", []int64{9000}}
	rules := func(want bool, root *trace.Frame) {
		t.Helper()
		if got := allFired(withAnswers(root, "", same)); (got != "") != want {
			t.Errorf("fired %q, want any %v", got, want)
		}
	}
	rules(false, attackBy(all(give("farm", "dai"), fillers(3))...))
	rules(true, two)

	// A pair is what two fungible assets moved.
	trade := func(in, out *trace.Frame) *trace.Frame {
		return attackBy(all(lent(5000, 5000, call("pool", "give_1()", in, out), fillers(22)[0]), fillers(3))...)
	}
	f(true, reserves, "pool", trade(pay("dai", "tool", 5000), pay("mkr", "tool", 5000)))
	for _, collection := range []string{"apes", "punks", "lure"} {
		for _, token := range []string{"dai", "mkr", "gno"} {
			f(false, reserves, "pool", trade(pay(token, "tool", 5000), nft(collection, "pool", "tool", 7)))
		}
	}
	f(false, reserves, "pool", trade(pay("dai", "tool", 5000), pay("dai", "tool", 5)))

	// Each answer counts for the asset of its place: the coin stands at the place of its wrapped token.
	for _, token := range []string{"dai", "mkr", "usd", "gno", "usdc"} {
		scene := attackBy(call("pool", "give_1()", pay(token, "tool", 5000), sends("tool", 10)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))
		words := []int64{1000, 20, 1}
		if a, b := who(token), who("weth"); a.Cmp(b) < 0 {
			words = []int64{20, 1000, 1}
		}
		g := func(words []int64) bool {
			c := withAnswers(scene, balance, answer{function: reserves, to: "pool", when: check.Before, words: words})
			return percentTold(c)
		}
		if g(words) {
			t.Errorf("%s: told of reserves that are less than what was paid", token)
		}
		if words = []int64{10000, 20, 1}; who(token).Cmp(who("weth")) > 0 {
			words = []int64{20, 10000, 1}
		}
		if !g(words) {
			t.Errorf("%s: not told by how much the product fell", token)
		}
	}

	// A pair that is no poorer explains the payment, and one that reverts tells nothing.
	scene := attackBy(all(swapped("pool", "dai", 10000, "mkr", 50000), swapped("other", "dai", 101, "mkr", 6000), swapped("pool", "mkr", 51000, "dai", 10450))...)
	at := func(x, y int64, reverted bool) *assemble.Analysis {
		if d, m := who("dai"), who("mkr"); d.Cmp(m) > 0 {
			x, y = y, x
		}
		var views []check.View
		for _, q := range built(scene).Triage.Questions {
			if slices.Equal(q.Data, calldata(reserves)) {
				v := check.View{Question: q, Reverted: reverted}
				for _, n := range []int64{x, y, 1} {
					v.Output = append(v.Output, calldata("", int(n))[4:]...)
				}
				views = append(views, v)
			}
		}
		return built(scene, views...)
	}
	g := func(suspicious bool, c *assemble.Analysis) {
		t.Helper()
		if _, s := graded(c); s != suspicious {
			t.Errorf("suspicious %v, want %v: %s", s, suspicious, allFired(c))
		}
	}
	g(true, built(scene))
	g(false, at(100000, 100000, false))
	g(true, at(100000, 100000, true))
	g(true, at(1000, 6000, false))
}

// percentTold reports whether the summary says how much poorer a pair is.
func percentTold(c *assemble.Analysis) bool {
	s := c.Triage.Unusual
	for {
		switch s.Form {
		case verdict.AndProductFell:
			return true
		case verdict.UnusualGain, verdict.AndBalanceFell:
			s = s.Args[0].(verdict.Sentence)
		default:
			return false
		}
	}
}
