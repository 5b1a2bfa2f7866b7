package check_test

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// moved adds the event of a movement to a call of a token.
func moved(f *trace.Frame, from, to string, amount int) *trace.Frame {
	return emits(f, "Transfer(address,address,uint256)", []string{from, to}, amount)
}

// minted is a call that mints.
func minted(token, to string, n int) *trace.Frame {
	return moved(call(token, "book_0()"), "zero", to, n)
}

// TestExplained: a debt that is booked, a price that goes to another account and a trade of
// a constructor explain a gain; none of them is taken for granted.
func TestExplained(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		if got := allFired(judged(t, root)); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	filler := []*trace.Frame{call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()")}

	// Borrowed, with and without a debt that is booked.
	borrow := func(name string, booked ...*trace.Frame) *trace.Frame {
		f := call("lender", name, 1, pay("dai", "tool", 9000))
		f.Children = append(f.Children, booked...)
		return f
	}
	f("", attackBy(all(borrow("borrow(uint256)", minted("debt", "tool", 9000)), filler)...))
	f("unpaid robbed_by_others", attackBy(all(borrow("borrow(uint256)", minted("debt", "alice", 9000)), filler)...))
	f("unpaid robbed_by_others", attackBy(all(borrow("borrow(uint256)"), filler)...))
	f("unpaid robbed_by_others", attackBy(all(borrow("take_1(uint256)", minted("debt", "tool", 9000)), filler)...))

	// Sold for a price that goes to somebody else.
	sale := func(price ...*trace.Frame) *trace.Frame {
		f := call("grants", "claim_9(uint256)", 5)
		f.Children = append(price, pay("mkr", "tool", 900))
		return f
	}
	f("", attackBy(all(sale(take("dai", "tool", "issuer", 5000)), filler)...))
	f("unpaid robbed_by_others", attackBy(all(sale(take("dai", "tool", "issuer", 50)), filler)...))             // dust
	f("unpaid robbed_by_others", attackBy(all(pay("dai", "issuer", 5000), sale(), filler)...))                  // to a wallet of the party's choice
	f("unpaid robbed_by_others", attackBy(all(sale(take("dai", "alice", "issuer", 5000)), filler)...))          // somebody else's money
	f("unpaid", attackBy(all(call("shop", "buy_1()", take("dai", "tool", "issuer", 5000)), sale(), filler)...)) // for something else

	f("unpaid", attackBy(all(sale(take("dai", "tool", "bank", 5000)), call("bank", "y_1()", view("x", "z()", 1)), filler)...))
	inside := sale()
	inside.Input = calldata("give_1()")
	f("unpaid", attackBy(all(call("shop", "buy_1()", take("dai", "tool", "issuer", 5000), inside), filler)...))                    // the shop was called, not who lost
	f("unpaid robbed_by_others", attackBy(all(borrow("borrow(uint256)", pay("mkr", "tool", 9000)), filler)...))                    // two assets are no debt
	f("fresh_gain unpaid robbed_by_others", attackBy(all(creates("made"), sale(take("made", "tool", "issuer", 5000)), filler)...)) // a token of the party's own
	gift := call("grants", "claim_9(uint256)", 5, pay("mkr", "sender", 900))
	f("unpaid robbed_by_others", attackBy(all(gift, filler)...)) // what the sender gets is no price

	redeem := call("vault", "leave_1()", take("vault", "tool", "zero", 40), pay("dai", "tool", 5000))
	f("", attackBy(all(redeem, filler)...)) // few shares may be worth much

	// A constructor that trades, and one that does more.
	arbitrage := all(swapped("pool", "dai", 1000, "mkr", 5000), swapped("other", "mkr", 5000, "dai", 1200))
	f("", creates("tool", lent(1000, 1000, arbitrage...)))
	f("constructor_attack fresh_gain", creates("tool", lent(1000, 1000, all(arbitrage, call("vault", "poke_1()"))...)))
	f("", creates("tool", lent(1000, 1000, call("vault", "poke_1()"), call("vault", "poke_1()"), call("vault", "poke_1()")))) // nothing gained

	// Both ways through one pool with borrowed money.
	trip := func(sold, back int, between ...*trace.Frame) []*trace.Frame {
		return all(swapped("pool", "dai", 10000, "mkr", 50000), swapped("other", "dai", 101, "mkr", 6000), between, swapped("pool", "mkr", sold, "dai", back))
	}
	f("", attackBy(lent(50000, 50000, trip(55000, 10400)...)))
	f("round_trip!", attackBy(lent(50000, 50000, trip(51000, 10450)...))) // a better rate than before
	f("round_trip!", attackBy(lent(50000, 50000, trip(55000, 10400, call("vault", "poke_1()"))...)))
	f("", attackBy(trip(55000, 10400, call("vault", "poke_1()"))...))

	// A loan that is minted and burnt.
	back := call("tool", "onFlashLoan(address,address,uint256,uint256,bytes)", "tool", pay("usd", "x", 0))
	back.Children = append(back.Children, pay("dai", "tool", 5000))
	minting := call("mint", "lend_11()", moved(call("usd", "make_1()"), "zero", "tool", 90000), back, moved(call("usd", "burn_1()"), "tool", "zero", 90000))
	c := built(attackBy(all(minting, call("vault", "give_1()", pay("dai", "tool", 5000)), filler)...))
	if !verdict.Flagged(c.Triage.Flags, verdict.FlashLoan) {
		t.Errorf("no loan: %v", c.Triage.Fired)
	}
}

// allFired are all rules that fire in a scene, with ! where they decide.
func allFired(c *assemble.Analysis) string {
	var out []string
	for _, f := range c.Triage.Fired {
		if f.Decisive {
			f.Rule += "!"
		}
		out = append(out, f.Rule)
	}
	return strings.Join(out, " ")
}

// TestClaims: an earlier claim of the party explains a payment; the questions are
// put where no rule decides, and are few.
func TestClaims(t *testing.T) {
	scene := func() *trace.Frame {
		return attackBy(call("farm", "getReward_1()", pay("dai", "tool", 5000)), call("x", "y_1()"), call("x", "y_2()"), call("x", "y_3()"))
	}
	open := built(scene())
	if n := len(open.Triage.Questions); n == 0 || n > 10 {
		t.Fatalf("%d questions", n)
	}
	// answers gives each question one answer by its function; the rest revert.
	answers := func(by map[string]int64, from map[string]bool) (views []check.View) {
		for _, q := range open.Triage.Questions {
			v := check.View{Question: q, Reverted: true}
			for name, n := range by {
				fn, when, _ := strings.Cut(name, "@")
				if s := evmsig.Func(fn); s.Begins(q.Data) && (q.To == who("farm") || fn != "balanceOf(address)") && (when == "" || when == string(q.When)) {
					v.Reverted, v.Output = false, common.BigToHash(big.NewInt(n)).Bytes()
				}
			}
			if fn := evmsig.Func("getReward_1()"); fn.Begins(q.Data) {
				v.Reverted = !(from["tool"] && q.From == who("tool") || from["anybody"])
			}
			views = append(views, v)
		}
		return views
	}
	f := func(suspicious bool, by map[string]int64, from ...string) {
		t.Helper()
		can := map[string]bool{}
		for _, name := range from {
			can[name] = true
		}
		c := built(scene(), answers(by, can)...)
		if _, s := graded(c); s != suspicious {
			t.Errorf("suspicious %v, want %v: %s", s, suspicious, c.Result.Summary)
		}
		if told := strings.Contains(c.Result.Summary, "before the transaction the sender had no balance"); told != suspicious {
			t.Errorf("told %v: %s", told, c.Result.Summary)
		}
	}
	f(true, nil)
	f(false, map[string]int64{"earned(address)": 4000})
	f(true, map[string]int64{"earned(address)": 2000}) // less than half
	f(false, map[string]int64{"maxWithdraw(address)": 5000})
	f(true, map[string]int64{"maxWithdraw(address)": 0})
	f(false, map[string]int64{"allowance(address,address)": 5000})
	f(true, map[string]int64{"allowance(address,address)": 5})
	f(false, map[string]int64{"balanceOf(address)@before": 70, "balanceOf(address)@after": 10})
	f(true, map[string]int64{"balanceOf(address)@before": 70, "balanceOf(address)@after": 70})
	f(false, nil, "tool")
	f(true, nil, "tool", "anybody") // open to all: no right of the sender's own

	// A call with coin cannot be tried, since questions carry none.
	paid := scene()
	paid.Children[0].Value.SetUint64(5)
	asked := built(paid).Triage.Questions
	if len(asked) == 0 {
		t.Errorf("nothing asked: %s", allFired(built(paid)))
	}
	for _, q := range asked {
		if s := evmsig.Func("getReward_1()"); s.Begins(q.Data) {
			t.Errorf("asked %v", q)
		}
	}

	// Without all answers nothing is said of what was not asked.
	if _, s := graded(open); !s || strings.Contains(open.Result.Summary, "before the transaction the sender had no") {
		t.Errorf("without state: suspicious %v, %s", s, open.Result.Summary)
	}
	// Where a rule decides nothing is asked.
	theft := built(attackBy(call("x", "y_1()"), call("x", "y_2()"), call("vault", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000)), call("vault", "get_1(uint256)", 1, pay("dai", "tool", 1500))))
	for _, q := range theft.Triage.Questions {
		if s := evmsig.Func("earned(address)"); s.Begins(q.Data) {
			t.Errorf("asked %v", q)
		}
	}
}
