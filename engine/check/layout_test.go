package check_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
)

// What the layout of a case says of a scene, in a short form: each fact with its twins.

// short names an account.
func short(a common.Address) string { return named(api.AddrOf(a)) }

func held(p facts.Position) string {
	if p.Key == (facts.Key{}) {
		return fmt.Sprintf("%s coin", p.Amount)
	}
	return fmt.Sprintf("%s %s", p.Amount, short(p.Key.Token))
}

// laid is one part of the layout of a scene.
func laid(part string, root *trace.Frame) string {
	l := built(root).Case.Layout()
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	switch part {
	case "party":
		for _, a := range l.Tools {
			add("%s", short(a))
		}
		for _, a := range l.Fresh {
			add("fresh %s", short(a))
		}
		for _, a := range l.ProfitReceivers {
			add("gains %s", short(a))
		}
	case "calls":
		for i := range l.ExternalCalls {
			d := &l.ExternalCalls[i]
			s := short(d.Target)
			for _, p := range l.Given(i) {
				s += " -" + held(p)
			}
			for _, p := range l.Taken(i) {
				s += " +" + held(p)
			}
			if d.Nested {
				s += " nested"
			}
			if d.Into >= 0 {
				s += fmt.Sprintf(" into %d", d.Into)
			}
			add("%s", s)
		}
	case "loans":
		for _, x := range l.Loans {
			add("%s lent %s to %s, repaid %s", short(x.Lender), held(facts.Position{Key: x.Key, Amount: x.Amount}), short(x.Borrower), x.Repaid)
		}
	case "trades":
		for _, x := range l.Trades {
			add("%s: %s for %s", short(x.Pool), held(facts.Position{Key: x.Paid, Amount: x.In}), held(facts.Position{Key: x.Got, Amount: x.Out}))
		}
	case "round trips":
		for _, x := range l.RoundTrips() {
			add("%s: spent %s, back %s, bought %s, sold %s", short(x.Pool), held(facts.Position{Key: x.Paid, Amount: x.Spent}), x.Back, held(facts.Position{Key: x.Held, Amount: x.Bought}), x.Sold)
		}
	case "lost":
		for _, x := range l.LossCandidates {
			s := short(x.Address)
			if x.Direct {
				s += " directly"
			}
			for _, p := range x.Lost {
				s += " " + held(p)
			}
			add("%s", s)
		}
	case "outcome":
		for _, p := range l.Gains {
			add("+%s", held(p))
		}
		for _, p := range l.Spent {
			add("-%s", held(p))
		}
		if l.Free() {
			add("free")
		}
	case "debts":
		for _, i := range l.OldDebt {
			add("%s", short(l.Tree.Frames[i].To))
		}
	case "signed":
		for _, s := range l.Signed {
			text := fmt.Sprintf("%s %d", short(s.Signer), s.Kind)
			if s.Kind != facts.SignedOrder {
				text += " for " + short(s.Spender)
				for _, t := range s.Tokens {
					text += " " + short(t)
				}
				switch {
				case s.Unlimited():
					text += " unlimited"
				case s.Limit != nil:
					text += " " + s.Limit.String()
				}
			}
			add("%s", text)
		}
	}
	return strings.Join(out, "; ")
}

// rich is the call of a tool that was paid by others first, without which it would pay out of what
// it had as a contract of others does.
func rich(inside ...*trace.Frame) *trace.Frame {
	return attackBy(all(call("bank", "fund_1()", pay("usd", "tool", 1)), inside)...)
}

// part compares one part of the layout.
func part(t *testing.T, name string) func(want string, root *trace.Frame) {
	return func(want string, root *trace.Frame) {
		t.Helper()
		if got := laid(name, root); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// TestPartyOfLayout: who acts for the sender, and who gains for it.
func TestPartyOfLayout(t *testing.T) {
	f := part(t, "party")
	f("tool", attackBy(call("vault", "x_1()")))
	f("tool; part; fresh part", attackBy(creates("part")))
	f("tool; part; second; fresh part; fresh second", attackBy(creates("part", creates("second"))))
	f("tool", attackBy(call("vault", "make_1()", creates("part")))) // by somebody else
	f("tool", attackBy(failing(creates("part"))))
	f("tool; fresh tool", creates("tool"))
	f("gains alice", call("token", "transfer(address,uint256)", "alice", 5))
	f("gains vault", sends("vault", 5))
	f("", call("vault", "get_1()", pay("dai", "sender", 500)))    // it pays out of its own
	f("vault", call("vault", "get_1()", pay("dai", "sender", 0))) // and here nothing
	f("vault", call("vault", "get_1()", take("dai", "bank", "vault", 900), pay("dai", "sender", 500)))
	f("vault", call("vault", "get_1()", take("dai", "bank", "vault", 500), pay("dai", "sender", 500), take("mkr", "bank", "sender", 5)))

	// Who was paid by the party of its own accord, and did nothing.
	f("tool; gains thief", rich(pay("dai", "thief", 500)))
	f("tool; gains thief", rich(sends("thief", 500)))
	f("", attackBy(pay("dai", "thief", 500))) // it pays out of its own
	f("tool", rich(pay("dai", "thief", 0)))
	f("tool", rich(sends("thief", 500, view("x", "z()", 1))))                                         // it ran code
	f("tool", rich(pay("dai", "thief", 500), call("shop", "x_1()", take("dai", "thief", "shop", 5)))) // it paid others
	f("tool", rich(call("shop", "x_1()", take("dai", "tool", "thief", 500))))                         // a price, by the word of others
	f("tool", rich(call("shop", "x_1()", pay("dai", "thief", 500))))                                  // of others
	f("tool", rich(pay("dai", "zero", 500)))
	f("tool; gains thief; gains partner", rich(pay("dai", "thief", 500), pay("dai", "partner", 500)))
}

// TestCallsOfLayout: what passed the border of the party in each of its calls.
func TestCallsOfLayout(t *testing.T) {
	f := part(t, "calls")
	f("bank +1 usd; vault -1000 dai", rich(call("vault", "put_1()", take("dai", "tool", "vault", 1000))))
	f("vault +1000 dai", attackBy(call("vault", "get_1()", pay("dai", "tool", 1000))))
	f("vault -1000 dai +7 mkr", attackBy(call("vault", "put_1()", take("dai", "tool", "vault", 1000), pay("mkr", "tool", 7))))
	f("vault", attackBy(call("vault", "put_1()", take("dai", "alice", "vault", 1000)))) // of others
	f("vault", attackBy(call("vault", "put_1()", take("dai", "tool", "vault", 0))))
	f("", attackBy(view("vault", "x_1()", 1)))
	f("", attackBy(failing(call("vault", "x_1()"))))
	f("", attackBy(creates("part")))
	f("vault", attackBy(call("vault", "x_1()", call("bank", "y_1()")))) // the outermost alone
	f("vault nested; bank +5 dai", attackBy(call("vault", "x_1()", call("tool", "back_1()", call("bank", "y_1()", pay("dai", "tool", 5))))))
	f("vault; bank", attackBy(call("vault", "x_1()", call("tool", "back_1()", call("bank", "y_1()")))))
	f("first nested; second nested; bank +5 dai", attackBy(call("first", "x_1()", call("tool", "a_1()", call("second", "x_1()", call("tool", "b_1()", call("bank", "y_1()", pay("dai", "tool", 5))))))))

	// A payment belongs to the call that it is for.
	f("dai -1000 dai into 1; pool -1000 dai +5 mkr", attackBy(swapped("pool", "dai", 1000, "mkr", 5)...))
	f("dai -1000 dai into 1; router -1000 dai +5 mkr", attackBy(pay("dai", "pool", 1000), call("router", "x_1()", call("pool", "y_1()", pay("mkr", "tool", 5)))))
	f("bank +1 usd; dai; pool", rich(pay("dai", "vault", 1000), call("pool", "x_1()"))) // to a profit receiver
	f("bank +1 usd; pool; dai -1000 dai", rich(call("pool", "x_1()"), pay("dai", "pool", 1000)))
	f("bank +1 usd; dai -1 dai into 3; dai -2 dai into 3; pool -3 dai", rich(pay("dai", "pool", 1), pay("dai", "pool", 2), call("pool", "x_1()")))
	f("bank +1 usd; dai -1 dai into 2; pool -1 dai; pool", rich(pay("dai", "pool", 1), call("pool", "x_1()"), call("pool", "x_1()"))) // once
	f("pool -900 dai +5 mkr nested; dai -900 dai into 0", attackBy(call("pool", "x_1()", pay("mkr", "tool", 5), call("tool", "back_1()", pay("dai", "pool", 900)))))
	f("pool +5 mkr nested; dai -900 dai into 2; vault -900 dai", attackBy(call("pool", "x_1()", pay("mkr", "tool", 5), call("tool", "back_1()", pay("dai", "vault", 900))), call("vault", "x_1()")))
	f("dai +1000 dai; pool", attackBy(call("dai", "gift_1()", pay("dai", "tool", 1000)), call("pool", "x_1()")))
}

// TestLoansOfLayout: what was lent and repaid in one call.
func TestLoansOfLayout(t *testing.T) {
	f := part(t, "loans")
	back := func(to string, n int) *trace.Frame { return call("tool", "back_1()", pay("dai", to, n)) }
	loan := func(inside ...*trace.Frame) *trace.Frame {
		x := call("lender", "lend_11()")
		x.Children = inside
		return attackBy(x)
	}
	out := pay("dai", "tool", 5000)
	f("lender lent 5000 dai to tool, repaid 5000", loan(out, back("lender", 5000)))
	f("lender lent 5000 dai to tool, repaid 5005", loan(out, back("lender", 5005)))
	f("", loan(out, back("lender", 4999)))
	f("lender lent 5000 dai to tool, repaid 5000", loan(out, back("lender", 2000), back("lender", 3000)))
	f("", loan(out, back("vault", 5000)))
	f("", loan(out, call("tool", "back_1()"), back("bank", 5000)))
	f("lender lent 5000 dai to tool, repaid 5000", loan(out, call("tool", "back_1()"), take("dai", "tool", "lender", 5000)))
	f("", loan(out, take("dai", "tool", "lender", 5000)))                              // nothing was done in between
	f("", loan(out, view("tool", "back_1()", 1), take("dai", "tool", "lender", 5000))) // it was only asked
	f("", loan(out, sends("tool", 0), take("dai", "tool", "lender", 5000)))
	f("", loan(out, failing(back("lender", 5000)), take("dai", "tool", "lender", 5000)))
	f("", loan(back("lender", 5000), out)) // given after
	f("lender lent 5000 dai to tool, repaid 5000", loan(call("tool", "back_1()", call("lender", "more_1()", out), pay("dai", "lender", 5000))))
	f("", loan(call("tool", "back_1()", call("bank", "more_1()", out), pay("dai", "bank", 5000)))) // that of another
	f("", attackBy(out, call("lender", "lend_11()", back("lender", 5000))))
	f("", loan(pay("dai", "tool", 0), back("lender", 0)))
	f("bank lent 5000 dai to tool, repaid 5000", loan(call("bank", "give_1()", out), back("bank", 5000))) // the lender keeps it elsewhere
	f("", loan(nft("apes", "lender", "tool", 7), call("tool", "back_1()", nft("apes", "tool", "lender", 7))))
	f("", attackBy(call("weth", "lend_11()", sends("tool", 7, view("x", "z()", 1)), call("tool", "back_1()", sends("weth", 7)))))
}

// TestTradesOfLayout: exchanges with pools, whoever lies in between.
func TestTradesOfLayout(t *testing.T) {
	f := part(t, "trades")
	f("pool: 1000 dai for 5 mkr", attackBy(swapped("pool", "dai", 1000, "mkr", 5)...))
	f("pool: 1000 dai for 5 mkr", attackBy(call("router", "x_1()", take("dai", "tool", "pool", 1000), call("pool", "y_1()", pay("mkr", "tool", 5)))))
	f("", attackBy(pay("dai", "pool", 1000), call("other", "x_1()", pay("mkr", "tool", 5))))
	f("", attackBy(call("pool", "x_1()", take("dai", "tool", "pool", 1000), pay("mkr", "tool", 5), pay("usd", "tool", 5)))) // two assets
	f("", attackBy(call("pool", "x_1()", take("dai", "tool", "pool", 1000), take("usd", "tool", "pool", 1000), pay("mkr", "tool", 5))))
	f("", attackBy(call("pool", "x_1()", take("dai", "tool", "pool", 1000))))
	f("", attackBy(call("pool", "x_1()", pay("mkr", "tool", 5))))
	f("pool: 1000 coin for 5 mkr", attackBy(sends("pool", 1000, pay("mkr", "tool", 5))))

	g := part(t, "round trips")
	buy, sell := swapped("pool", "dai", 1000, "mkr", 5), swapped("pool", "mkr", 4, "dai", 900)
	g("pool: spent 1000 dai, back 900, bought 5 mkr, sold 4", attackBy(all(buy, sell)...))
	g("pool: spent 2000 dai, back 900, bought 10 mkr, sold 4", attackBy(all(buy, buy, sell)...))
	g("pool: spent 1000 dai, back 1800, bought 5 mkr, sold 8", attackBy(all(buy, sell, sell)...))
	g("", attackBy(all(buy, buy)...))
	g("", attackBy(all(buy, swapped("other", "mkr", 4, "dai", 900))...))
	g("", attackBy(all(buy, swapped("pool", "mkr", 4, "usd", 900))...))
}

// TestOutcomeOfLayout: what the party gained and spent, and who lost to it.
func TestOutcomeOfLayout(t *testing.T) {
	f := part(t, "outcome")
	get := func(n int) *trace.Frame { return call("vault", "get_1()", pay("dai", "tool", n)) }
	f("+500 dai; free", attackBy(get(500)))
	f("+101 dai; free", attackBy(get(101)))
	f("", attackBy(get(100))) // dust
	f("+500 dai; -101 mkr", attackBy(get(500), call("bank", "put_1()", take("mkr", "tool", "bank", 101))))
	f("+500 dai; -100 mkr; free", attackBy(get(500), call("bank", "put_1()", take("mkr", "tool", "bank", 100))))
	f("+500 dai; free", attackBy(get(500), pay("dai", "thief", 500))) // its own profit receiver
	f("+500 dai; -1 apes", attackBy(get(500), nft("apes", "tool", "bank", 7), call("bank", "x_1()")))
	f("-500 dai", rich(call("bank", "put_1()", take("dai", "tool", "bank", 500))))
	f("-900 dai", attackBy(call("vault", "put_1()", minted("shares", "tool", 500), pay("usd", "tool", 1), take("dai", "tool", "vault", 900), take("usd", "tool", "vault", 1))))
	f("+500 dai; free", attackBy(call("lender", "borrow(uint256)", 5, minted("debt", "tool", 700), pay("dai", "tool", 500)))) // the debt is no gain
	f("+700 mkr; free", attackBy(minted("mkr", "tool", 700)))
	f("", attackBy(creates("mkr"), minted("mkr", "tool", 700))) // worth nothing

	g := part(t, "lost")
	g("vault directly 500 dai", attackBy(get(500)))
	g("vault directly 101 dai", attackBy(get(101)))
	g("", attackBy(get(100)))
	g("", attackBy(get(500), pay("mkr", "vault", 101))) // it has something for it
	g("vault directly 500 dai", attackBy(get(500), pay("mkr", "vault", 100)))
	g("", attackBy(get(500), nft("apes", "tool", "vault", 7)))
	g("", attackBy(get(500), pay("dai", "vault", 500)))
	g("", attackBy(call("dai", "x_1()", take("dai", "alice", "tool", 500)))) // an account without code
	g("vault directly 500 dai; bank directly 700 dai", attackBy(get(500), call("bank", "x_1()", pay("dai", "tool", 700))))
	through := func(lost, got int) *trace.Frame {
		return attackBy(call("router", "x_1()", call("vault", "get_1()", pay("dai", "router", lost)), pay("dai", "tool", got)))
	}
	g("vault 1000 dai", through(1000, 500)) // half of it came to the party
	g("", through(1001, 500))
	g("", attackBy(creates("mkr"), call("vault", "get_1()", pay("mkr", "tool", 500)))) // made here
}

// TestDebtsOfLayout: a debt that is settled and was not opened here.
func TestDebtsOfLayout(t *testing.T) {
	f := part(t, "debts")
	f("bank", attackBy(call("bank", "repayBorrow(uint256)", 1)))
	f("bank", attackBy(call("bank", "repay(address,uint256,uint256,address)", "mkr", 1, 1, "alice")))
	f("bank", attackBy(call("bank", "liquidateBorrow(address,uint256,address)", "alice", 1, "mkr")))
	f("", attackBy(failing(call("bank", "repayBorrow(uint256)", 1))))
	f("bank", attackBy(call("bank", "seize(address,address,uint256)", "alice", "alice", 1)))
	f("", attackBy(call("bank", "seize(address,address,uint256)", "tool", "alice", 1)))
	f("", attackBy(call("bank", "deposit(uint256)", 1)))
	f("", attackBy(call("bank", "borrow(uint256)", 1), call("bank", "repayBorrow(uint256)", 1)))
	f("bank", attackBy(call("bank", "repayBorrow(uint256)", 1), call("bank", "borrow(uint256)", 1))) // opened after
	f("bank", attackBy(call("vault", "borrow(uint256)", 1), call("bank", "repayBorrow(uint256)", 1)))
	f("", attackBy(call("bank", "liquidateBorrow(address,uint256,address)", "tool", 1, "mkr"))) // its own
	f("bank", attackBy(call("bank", "repay(address,uint256,uint256,address)", "tool", 1, 1, "tool")))
}

// TestSignedOfLayout: signatures that were brought and looked at, and what they say.
func TestSignedOfLayout(t *testing.T) {
	f := part(t, "signed")
	const order, payment, right = "1", "2", "3"
	f("alice "+right+" for tool usdc unlimited", attackBy(permit("usdc", "alice", "tool", top(256))))
	f("alice "+right+" for tool usdc 700", attackBy(permit("usdc", "alice", "tool", word(big.NewInt(700)))))
	f("", attackBy(call("usdc", permit2612, "alice", "tool", top(256), 9999999, 27, 1, 2)))                            // nobody looked at it
	f("bob "+order, attackBy(call("usdc", permit2612, "alice", "tool", top(256), 9999999, 27, 1, 2, recovers("bob")))) // another signed
	f("", attackBy(failing(permit("usdc", "alice", "tool", top(256)))))
	f("alice "+right+" for tool dai unlimited", attackBy(call("dai", permitDAI, "alice", "tool", 0, 9999999, 1, 27, 1, 2, recovers("alice"))))
	f("alice "+right+" for tool dai unlimited", attackBy(call("permit2", permit2Single, "alice", "dai", top(160), 9, 0, "tool", 9, 0x100, recovers("alice"))))
	f("alice "+right+" for tool mkr 500", attackBy(call("permit2", permit2Transfer, "mkr", 500, 1, 9, "tool", 500, "alice", 0x100, recovers("alice"))))
	f("alice "+payment+" for tool usdc 900", attackBy(call("usdc", receiveSigned, "alice", "tool", 900, 0, 9, 1, 27, 1, 2, recovers("alice"))))
	f("alice "+right+" for tool dai mkr 9", attackBy(call("permit2", permit2Batch, "alice", 0x60, 0x200, 0x60, "tool", 99, 2, "dai", 7, 9, 0, "mkr", 9, 9, 0, recovers("alice"))))
	f("alice "+order, attackBy(call("market", "fill_1()", recovers("alice"))))
	f("", attackBy(call("market", "fill_1()", recovers("zero"))))
	f("alice "+order, attackBy(call("market", "fill_1()", acceptedBy("alice"))))
	f("", attackBy(call("market", "fill_1()", view("alice", "isValidSignature(bytes32,bytes)", 1, 1, 0x40, 0)))) // it said no
	f("", attackBy(call("market", "fill_1()", failing(recovers("alice")))))
	told := emits(call("usdc", permit2612, "alice", "tool", 700, 9999999, 27, 1, 2), "Approval(address,address,uint256)", []string{"alice", "tool"}, 700)
	f("alice "+right+" for tool usdc 700", attackBy(told))
	other := emits(call("usdc", permit2612, "alice", "tool", 700, 9999999, 27, 1, 2), "Approval(address,address,uint256)", []string{"bob", "tool"}, 700)
	f("", attackBy(other))
}

// TestNegligibleReturn: what a loser has got counts for nothing below 1 % of what it lost, at prices
// that hold for years, on both sides of them.
func TestNegligibleReturn(t *testing.T) {
	f := func(want bool, chain uint64, inside ...*trace.Frame) {
		t.Helper()
		l := assemble.Build(recorded.OfTree(chain, "0x"+strings.Repeat("12", 32), treeOf(attackBy(inside...)))).Case.Layout()
		if got := l.Robbed(who("vault")) != nil; got != want {
			t.Errorf("lost %v, want %v", got, want)
		}
	}
	dollars := func(n int) *trace.Frame { return call("vault", "get_1()", pay("realUSDC", "tool", n)) }
	coin := func(n uint64) *trace.Frame { return call("vault", "get_1()", sends("tool", n)) }
	paid := func(n int) *trace.Frame { return pay("realUSDC", "vault", n) }
	const million, ether = 1_000_000, 1_000_000_000_000_000_000
	// A thousand dollars for coin of which one is worth 6,000 at most.
	f(true, 1, dollars(1000*million), sends("vault", ether/6000*10-1_000_000))
	f(false, 1, dollars(1000*million), sends("vault", ether/6000*10+1_000_000))
	// A coin, which is worth 80 at least, for dollars.
	f(true, 1, coin(ether), paid(799_999))
	f(false, 1, coin(ether), paid(800_000))
	// For dollars.
	f(true, 1, dollars(1000*million), paid(0), pay("mkr", "vault", 100)) // dust
	f(false, 1, dollars(1000*million), pay("mkr", "vault", 101))         // of which no price is known
	f(false, 1, dollars(1000*million), nft("apes", "tool", "vault", 1))
	// BNB: 10 at least, 1,500 at most; another coin has no price.
	f(true, 56, coin(ether), pay("busd", "vault", 99_000_000_000_000_000))
	f(false, 56, coin(ether), pay("busd", "vault", 100_000_000_000_000_000))
	f(false, 137, coin(ether), sends("vault", 1), pay("mkr", "vault", 101))
}
