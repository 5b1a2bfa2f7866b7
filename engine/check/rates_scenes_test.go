package check_test

import (
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// findingOf compares the roles of the finding of a cause whose check has a term.
func findingOf(t *testing.T, c *assemble.Analysis, cause api.Category, term, want string) {
	t.Helper()
	record(t, c)
	got := ""
	if x := found(c, cause, term); x != nil {
		got = roles(x)
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMovedRate: a lender paid by a rate that the party had moved by more than 5 %.
func TestMovedRate(t *testing.T) {
	const rate = "price_1()"
	f := func(want string, root *trace.Frame, list ...reply) {
		t.Helper()
		findingOf(t, replied(evidenceOf(root), list...), api.PriceManipulation, "output(", want)
	}
	at := func(n int64) reply { return reply{rate, word(big.NewInt(n))} }
	push := call("oracle", "push_1()", view("x", "z()", 1))
	lend := func(n int) *trace.Frame {
		return call("bank", "use_1()", view("oracle", rate, n), pay("dai", "tool", 5000))
	}
	const fooled = "price_manipulation confirmed low: lost bank; faulty bank; gained sender tool"
	f(fooled, attackBy(push, lend(1060)), at(1000))
	f(fooled, attackBy(push, lend(1051)), at(1000))
	f("", attackBy(push, lend(1050)), at(1000))
	f("", attackBy(push, lend(1000)), at(1050)) // and down
	f(fooled, attackBy(push, lend(1000)), at(1051))
	f("", attackBy(push, lend(1000)), at(1000))
	f("", attackBy(push, lend(1060)), at(0))
	f("", attackBy(push, lend(1060)), reply{rate, nil})
	f("", attackBy(push, lend(1060)))                                                                              // not known
	f("", attackBy(lend(1060), push), at(1000))                                                                    // moved afterwards
	f("", attackBy(call("other", "push_1()", view("x", "z()", 1)), lend(1060)), at(1000))                          // of another
	f("", attackBy(call("oracle", "push_1()"), lend(1060)), at(1000))                                              // nothing was done there
	f("", attackBy(pay("dai", "other", 1), lend(1060)), at(1000))                                                  // nothing was given to it
	f("", attackBy(push, lend(1060), pay("mkr", "bank", 5000)), at(1000))                                          // something was given for it
	f("", attackBy(push, call("bank", "use_1()", pay("dai", "tool", 5000), view("oracle", rate, 1060))), at(1000)) // read after it paid
	f("", attackBy(push, call("bank", "use_1()", view("oracle", rate, 1060), pay("dai", "alice", 5000))), at(1000))
	f("", attackBy(push, view("oracle", rate, 1060), call("bank", "use_1()", pay("dai", "tool", 5000))), at(1000)) // the party read it
}

// TestPriceFlag: the price of a pair moved by more than 5 %, and a contract of others that
// does not trade there read it.
func TestPriceFlag(t *testing.T) {
	f := func(want bool, inside ...*trace.Frame) {
		t.Helper()
		c := built(attackBy(inside...))
		if got := slices.ContainsFunc(c.Triage.Flags, func(r verdict.Risk) bool { return r.Flag == verdict.PriceMoved }); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	at := func(x, y int) *trace.Frame {
		return emits(call("pair", "move_1()"), "Sync(uint112,uint112)", nil, x, y)
	}
	reads := func(who, pool string) *trace.Frame { return call(who, "use_1()", view(pool, "getReserves()", 5)) }
	f(true, at(1000, 1000), at(1051, 1000), reads("bank", "pair"))
	f(false, at(1000, 1000), at(1050, 1000), reads("bank", "pair"))
	f(true, at(1000, 1000), at(1000, 1051), reads("bank", "pair"))
	for _, fn := range []string{"getReserves()", "slot0()", "observe(uint32[])"} {
		f(true, at(1000, 1000), at(1200, 1000), call("bank", "use_1()", view("pair", fn, 5)))
		f(false, at(1000, 1000), at(1200, 1000), call("bank", "use_1()", failing(view("pair", fn, 5))))
		f(false, at(1000, 1000), at(1200, 1000), call("bank", "use_1()", call("pair", fn)))
	}
	f(false, at(1000, 1000), at(1200, 1000))                         // nobody read it
	f(false, at(1000, 1000), at(1200, 1000), reads("bank", "other")) // of another pair
	f(false, at(1000, 1000), at(1200, 1000), view("pair", "getReserves()", 5))
	f(false, at(1000, 1000), at(1200, 1000), call("bank", "use_1()", view("pair", "getReserves()", 5), call("pair", "swap_1()"))) // who trades reads, too
	f(false, at(1000, 1000), at(1200, 1000), call("bank", "use_1()", view("pair", "token_1()", 5)))                               // no price
	elsewhere := call("helper", "x_1()", at(1000, 1000), at(1200, 1000))
	f(true, elsewhere, reads("bank", "pair"))
	f(false, elsewhere, view("pair", "getReserves()", 5)) // the party asked
	f(false, at(1000, 1000), at(1200, 0), reads("bank", "pair"))
	short := at(1200, 1000)
	short.Logs[0].Data = short.Logs[0].Data[:32]
	f(false, at(1000, 1000), short, reads("bank", "pair"))
	nameless := at(1200, 1000)
	nameless.Logs[0].Topics = nil
	f(false, at(1000, 1000), nameless, reads("bank", "pair"))
	f(false, at(1000, 1000), emits(call("pair", "move_1()"), "Other(uint112,uint112)", nil, 1200, 1000), reads("bank", "pair"))
	root := func(n int) *trace.Frame { // of a pool by its square root
		return emits(call("pair", "move_1()"), "Swap(address,address,int256,int256,uint160,uint128,int24)", []string{"a", "b"}, 1, 1, n, 1, 1)
	}
	f(true, root(10000), root(10250), reads("bank", "pair")) // 5.06 %
	f(false, root(10000), root(10246), reads("bank", "pair"))
	f(false, at(0, 1000), at(1200, 1000), reads("bank", "pair")) // it was empty
}

// TestInflatedShares: a gift made one share dear, so that who came next got too few.
func TestInflatedShares(t *testing.T) {
	buys := func(by, to string, paid, shares int) *trace.Frame {
		f := call("vault", "deposit(uint256,address)", paid, to, take("dai", by, "vault", paid))
		emits(f, "Deposit(address,address,uint256,uint256)", []string{by, to}, paid, shares)
		if shares > 0 {
			moved(f, "zero", to, shares)
		}
		return f
	}
	later := func(by string, paid, shares int) *trace.Frame {
		return call("queue", "next_1()", buys(by, by, paid, shares))
	}
	leaves := func(n int) *trace.Frame { return call("vault", "redeem(uint256)", 1, pay("dai", "tool", n)) }
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		findingOf(t, built(attackBy(inside...)), api.ShareInflation, "received(", want)
	}
	const robbed = "share_inflation confirmed high: lost alice; faulty vault; gained sender tool"
	own, gift := buys("tool", "tool", 100, 1), pay("dai", "vault", 1000)
	f(robbed, own, gift, later("alice", 500, 0), leaves(1600))
	f("", buys("tool", "tool", 100, 0), gift, later("alice", 500, 0), leaves(1600)) // it bought none itself
	f("", own, gift, later("alice", 500, 0), leaves(1100))                          // no more than it put in
	f(robbed, own, gift, later("alice", 500, 0), leaves(1101))
	f("", own, later("alice", 500, 0), leaves(600))                           // no gift
	f("", own, pay("dai", "vault", 100), later("alice", 500, 0), leaves(700)) // no more than the share cost
	f(robbed, own, pay("dai", "vault", 101), later("alice", 500, 0), leaves(701))
	f("", own, pay("dai", "other", 1000), later("alice", 500, 0), leaves(600)) // to another
	f("", own, pay("mkr", "vault", 1000), later("alice", 500, 0), leaves(600)) // another asset
	f("", gift, own, later("alice", 500, 0), leaves(1600))                     // before
	f("", own, later("alice", 500, 0), gift, leaves(1600))                     // after
	f("", own, gift, later("alice", 1100, 1), leaves(1600))                    // the price of a share
	f(robbed, own, gift, later("alice", 1101, 1), leaves(1600))
	f("", own, gift, call("vault", "deposit(uint256,address)", 500, "alice", take("dai", "tool", "vault", 500)), leaves(1601)) // its own money
	f("", own, gift, later("alice", 500, 0), call("queue", "back_1()", pay("dai", "alice", 500)), leaves(1600))                // she is paid back
	silent := func(f *trace.Frame) *trace.Frame {                                                                              // a vault that tells by its shares alone
		f = clone(f)
		f.Logs = slices.DeleteFunc(f.Logs, func(g trace.Log) bool { return len(g.Data) > 32 })
		return f
	}
	f(robbed, silent(own), gift, later("alice", 500, 0), leaves(1600))
	f(robbed, own, gift, call("queue", "next_1()", silent(buys("alice", "alice", 1101, 1))), leaves(1600))
	f("", own, gift, call("queue", "next_1()", silent(buys("alice", "alice", 500, 0))), leaves(1600)) // not known to be a purchase
	other := buys("alice", "alice", 500, 0)
	other.To, other.Children[0].Input = who("shop"), calldata("transferFrom(address,address,uint256)", "alice", "shop", 500)
	for i := range other.Logs {
		other.Logs[i].Address = other.To
	}
	f("", own, gift, call("queue", "next_1()", other), call("vault", "redeem(uint256)", 1, pay("dai", "tool", 1101))) // of another vault
}

// TestPaidTwice: a contract that was entered again paid twice what it had booked.
func TestPaidTwice(t *testing.T) {
	slot := crypto.Keccak256Hash(account("tool"), make([]byte, 32))
	term := ""
	f := func(want string, before, after int64, inside ...*trace.Frame) {
		t.Helper()
		ev := evidenceOf(attackBy(inside...))
		at := func(n int64) *ethrpc.Account {
			return &ethrpc.Account{Storage: map[common.Hash]common.Hash{slot: common.BigToHash(big.NewInt(n))}}
		}
		ev.Diff = &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{who("vault"): at(before)}, Post: map[common.Address]*ethrpc.Account{who("vault"): at(after)}}
		findingOf(t, assemble.Build(ev), api.Reentrancy, term, want)
	}
	again := func(n uint64) *trace.Frame {
		return call("vault", "leave_1()", sends("tool", n, call("vault", "leave_1()", sends("tool", n))))
	}
	const robbed = "reentrancy confirmed low: lost vault; faulty vault; gained sender tool"
	f(robbed, 500, 0, again(500))
	f(robbed, 1000, 1, again(500))
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500)), call("vault", "leave_1()", sends("tool", 500))) // one after the other
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500, call("other", "leave_1()", sends("tool", 500)))))
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500, view("vault", "claims_1()", 1)))) // only looked at
	put := func(n uint64) *trace.Frame { return sends("vault", n) }
	f(robbed, 5, 5, put(500), again(500))
	f("", 5, 5, put(1000), again(500)) // no more than it put in
	f(robbed, 5, 5, put(999), again(500))

	term = "sent(" // what was booked, not the outcome alone
	f(robbed, 500, 0, again(500))
	f("", 500, 0, pay("mkr", "vault", 5), again(500)) // for shares
	f(robbed+" bank", 500, 0, pay("mkr", "bank", 5), again(500))
	f("", 1000, 0, again(500)) // all that was paid is booked
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500, call("vault", "other_1()", sends("tool", 500)))))
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500, failing(call("vault", "leave_1()", sends("tool", 500))))))
	f("", 500, 0, call("vault", "leave_1()", sends("tool", 500, call("vault", "leave_1()", sends("alice", 500)))))
	f("", 500, 0, call("vault", "leave_1()", sends("alice", 500, call("vault", "leave_1()", sends("alice", 500)))))
}

// TestPaidForNoShares: three withdrawals that took no shares are no rounding by chance.
func TestPaidForNoShares(t *testing.T) {
	f := func(want string, shares ...int) {
		t.Helper()
		findingOf(t, built(attackBy(times(len(shares), func(i int) *trace.Frame {
			x := call("vault", "withdraw(uint256)", i, pay("dai", "tool", 500))
			return emits(x, "Withdraw(address,address,address,uint256,uint256)", []string{"tool", "tool", "tool"}, 500, shares[i])
		})...)), api.PrecisionLoss, "", want)
	}
	told, to := 500, "tool"
	g := func(want bool) {
		t.Helper()
		c := built(attackBy(times(3, func(i int) *trace.Frame {
			x := call("vault", "withdraw(uint256)", i, pay("dai", to, 500))
			return emits(x, "Withdraw(address,address,address,uint256,uint256)", []string{"tool", "tool", "tool"}, told, 0)
		})...))
		if got := found(c, api.PrecisionLoss, "arg(") != nil; got != want {
			t.Errorf("told %d, paid to %s: %v, want %v", told, to, got, want)
		}
	}
	g(true)
	told = 400 // not what was paid
	g(false)
	told = 0
	g(false)
	told, to = 500, "alice"
	g(false)
	f("precision_loss confirmed low: lost vault; faulty vault; gained sender tool", 0, 0, 0)
	f("", 0, 0)
	f("", 0, 0, 1)

	// What the party's own contract says of itself is passed over.
	leave := func(from string) *trace.Frame {
		x := call(from, "withdraw(uint256)", 1, pay("dai", "tool", 500))
		return emits(x, "Withdraw(address,address,address,uint256,uint256)", []string{"tool", "tool", "tool"}, 500, 0)
	}
	vault := leave("vault")
	if found(built(attackBy(leave("tool"), vault, vault, vault)), api.PrecisionLoss, "arg(") == nil {
		t.Error("not told after an event of the party")
	}
	if found(built(attackBy(leave("tool"), leave("tool"), leave("tool"))), api.PrecisionLoss, "") != nil {
		t.Error("told of the party's own contract")
	}
}
