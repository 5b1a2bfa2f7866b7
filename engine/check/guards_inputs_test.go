package check_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// flagging compares whether a scene raises a flag.
func flagging(t *testing.T, flag verdict.Flag) func(want bool, root *trace.Frame) {
	return func(want bool, root *trace.Frame) {
		t.Helper()
		if got := verdict.Flagged(built(root).Triage.Flags, flag); got != want {
			t.Errorf("%s: %v, want %v", flag, got, want)
		}
	}
}

// theFinding is the one finding of a scene.
func theFinding(t *testing.T, root *trace.Frame) *verdict.Finding {
	t.Helper()
	c := built(root)
	record(t, c)
	if len(c.Triage.Findings) != 1 {
		t.Fatalf("%d findings: %s", len(c.Triage.Findings), allFired(c))
	}
	return &c.Triage.Findings[0]
}

// TestPassiveTargets: a second call of a token, of the wrapped coin or of a contract of many users
// means nothing; tokens of a contract that pays are more.
func TestPassiveTargets(t *testing.T) {
	f := fire(t, "reenter")
	again := func(who string, inner *trace.Frame) *trace.Frame {
		return attackBy(call(who, "leave_1()", sends("tool", 5, inner), pay("dai", "tool", 500)))
	}
	leave := func(who string) *trace.Frame { return call(who, "leave_1()", pay("dai", "tool", 500)) }
	f("x", again("vault", leave("vault")))
	f("", again("weth", leave("weth")))

	// Shares of the vault are moved while it runs, and it pays.
	f("x", again("vault", pay("vault", "carol", 5)))
	f("x", again("vault", take("vault", "tool", "carol", 5)))
	f("", again("vault", call("vault", "approve(address,uint256)", "carol", 5)))
	f("", again("weth", pay("weth", "carol", 5)))
	hook := func(paid ...*trace.Frame) *trace.Frame {
		inner := call("tool", "tokensReceived(address,address,address,uint256,bytes,bytes)", 1, 2, 3, pay("vault", "carol", 5))
		x := call("vault", "leave_1()", inner)
		x.Children = append(x.Children, paid...)
		return attackBy(x, call("shop", "give_1()", pay("dai", "tool", 500)))
	}
	f("x", hook(pay("usd", "tool", 50)))
	f("", hook()) // a token alone
}

// TestSharedBooks: which contract two others share.
func TestSharedBooks(t *testing.T) {
	f := fire(t, "reenter_other")
	coin := func(inside ...*trace.Frame) *trace.Frame { return sends("tool", 5, inside...) }
	win := pay("dai", "tool", 500)
	ask := func(books string) *trace.Frame { return view(books, "state_1()", 1) }
	scene := func(first, second *trace.Frame, more ...*trace.Frame) *trace.Frame {
		return attackBy(all(call("first", "leave_1()", first, coin(second)), more)...)
	}
	second := func(inside ...*trace.Frame) *trace.Frame {
		x := call("second", "borrow_1()", win)
		x.Children = append(inside, x.Children...)
		return x
	}
	f("x", scene(ask("books"), second(ask("books"))))
	f("", scene(ask("books"), second(ask("other"))))
	f("", scene(ask("books"), second(call("helper", "x_1()", ask("books"))))) // a helper asked
	f("", scene(call("helper", "x_1()", ask("books")), second(ask("books"))))
	f("x", scene(call("books", "state_1()"), second(call("books", "state_1()"))))
	f("", scene(ask("dai"), second(ask("dai"))))       // a token
	f("", scene(ask("weth"), second(ask("weth"))))     // the wrapped coin
	f("", scene(ask("tool"), second(ask("tool"))))     // the party
	f("", scene(ask("second"), second(ask("second")))) // of itself
	f("", scene(ask("first"), second(ask("first"))))
	f("", scene(ask("books"), call("second", "borrow_1()", ask("books")), call("shop", "give_1()", win))) // the second paid nothing
	f("", scene(ask("books"), call("weth", "borrow_1()", ask("books"), win)))
	f("", scene(ask("books"), call("first", "borrow_1()", ask("books"), win))) // the same contract
	f("", attackBy(call("first", "leave_1()", ask("books"), call("tool", "onFlashLoan(address,address,uint256,uint256,bytes)", "tool", second(ask("books"))))))
	delegated := ask("books")
	delegated.Kind = trace.DelegateCall
	f("", scene(delegated, second(ask("books"))))
	f("", scene(ask("books"), second(delegated)))
	f("", scene(ask("books"), second(ask("books")), take("usd", "tool", "bank", 9), call("bank", "spend_1()", take("dai", "tool", "bank", 500)))) // no gain
}

// TestGrantedToTools: approvals of contracts of others for a tool.
func TestGrantedToTools(t *testing.T) {
	f := fire(t, "granted_approval")
	approve := func(by, spender string, n int) *trace.Frame {
		return call(by, "z_1()", call("dai", "approve(address,uint256)", spender, n))
	}
	f("x", attackBy(approve("a", "tool", 9), approve("b", "tool", 9), approve("c", "tool", 9)))
	f("", attackBy(approve("a", "tool", 9), approve("b", "tool", 9)))
	f("", attackBy(call("vault", "give_1()", pay("dai", "tool", 700))))                                                                      // nobody approved anything
	f("", attackBy(approve("a", "tool", 0), approve("b", "tool", 0), approve("c", "tool", 0), call("a", "give_1()", pay("dai", "tool", 7)))) // of nothing
	f("", attackBy(failing(approve("a", "tool", 9)), approve("b", "tool", 9), approve("c", "tool", 9)))
}

// TestAbsurdBounds: both sides of the bounds of absurd amounts and arguments.
func TestAbsurdBounds(t *testing.T) {
	f := firing(t)
	out := func(bits uint) *trace.Frame { return call("vault", "x_1()", payBits("mkr", "tool", bits)) }
	f("absurd_amount", attackBy(out(255)))
	f("", attackBy(out(126)))

	// By the called contract itself, in no call of the party.
	minted := emits(call("tool", "x_1()"), "Transfer(address,address,uint256)", []string{"zero", "alice"})
	minted.Logs[0].Data = word(new(big.Int).Lsh(common.Big1, 130))
	f("absurd_amount", minted)

	wrap := word(new(big.Int).Lsh(common.Big1, 255))
	at := func(n int) *trace.Frame {
		args := make([]byte, 32*n)
		return call("token", "batch_1(uint256)", append(args, wrap...))
	}
	f("absurd_argument!", at(0))
	f("absurd_argument!", at(63))
	f("", at(64))
	f("", call("token", "batch_1(uint256)", wrap[:31]))
	f("", call("token", "batch_1(uint256)"))
	f("", sends("token", 5))
}

// TestRatesAskedOfOthers: a rate is one whoever it is asked about; only the balance of the reader or of the
// party is none.
func TestRatesAskedOfOthers(t *testing.T) {
	const rate = "price_1(address)"
	f := func(want string, about string, answers int) {
		t.Helper()
		push := call("oracle", "push_1()", view("x", "z()", 1))
		lend := call("bank", "use_1()", view("oracle", rate, answers, about), pay("dai", "tool", 5000))
		c := replied(evidenceOf(attackBy(push, lend)), reply{rate, word(big.NewInt(1000))})
		findingOf(t, c, api.PriceManipulation, "output(", want)
	}
	const fooled = "price_manipulation confirmed low: lost bank; faulty bank; gained sender tool"
	for _, about := range []string{"bank", "tool", "pool"} { // a price for somebody is a price
		f(fooled, about, 1060)
		f("", about, 1050)
	}
}

// TestWrappedCoinIsNotRobbed: what the wrapped coin pays it pays for its own units.
func TestWrappedCoinIsNotRobbed(t *testing.T) {
	f := fire(t, "robbed_by_others")
	through := func(payer string) *trace.Frame {
		x := call("router", "route_1()", call(payer, "give_1()", pay("dai", "router", 5000)), pay("dai", "tool", 5000))
		return attackBy(all(fillers(2), x)...)
	}
	f("s", through("vault"))
	f("", through("weth"))
	f("", through("balancer"))
	f("", through("dai"))
}

// TestClonesWithoutLosers: contracts made to act in turn tell a theft where the party gained, whoever
// paid it.
func TestClonesWithoutLosers(t *testing.T) {
	f := fire(t, "clones")
	clone := func(n int) []*trace.Frame {
		return times(n, func(i int) *trace.Frame { return creates("clone" + string(rune('a'+i))) })
	}
	made := moved(call("mkr", "make_1()"), "zero", "tool", 5000)
	f("x", attackBy(lent(5000, 5000, all(clone(5), made)...)))
	f("", attackBy(lent(5000, 5000, clone(5)...)))
	f("", attackBy(lent(5000, 5000, all(clone(5), made, call("bank", "repayBorrow(uint256)", 1))...)))
	lost := call("vault", "give_1()", pay("dai", "tool", 5000))
	f("x", attackBy(lent(5000, 5000, all(clone(5), lost, call("bank", "spend_1()", take("dai", "tool", "bank", 5000)))...))) // a loser is enough
}

// TestDecidedWithoutLosers: what decides is no finding where nobody lost anything, but unusual all the
// same.
func TestDecidedWithoutLosers(t *testing.T) {
	f := func(findings int, unusual verdict.Form, inside ...*trace.Frame) {
		t.Helper()
		parts := times(5, func(i int) *trace.Frame { return creates("part" + string(rune('a'+i))) })
		r := built(attackBy(lent(5000, 5000, all(parts, inside)...))).Triage
		if len(r.Findings) != findings || r.Unusual.Form != unusual || verdict.Flagged(r.Flags, verdict.UnearnedGain) != (unusual != 0) {
			t.Errorf("%d findings, unusual %v, flags %v; want %d and %v", len(r.Findings), r.Unusual, names(r.Flags), findings, unusual)
		}
	}
	made := moved(call("mkr", "make_1()"), "zero", "tool", 5000)
	f(0, verdict.UnusualGain, made)
	f(1, 0, call("vault", "give_1()", pay("mkr", "tool", 5000)))
	f(1, 0, made, call("vault", "give_1()", pay("usd", "tool", 500)))
	f(0, 0)
}

// TestFakeInputWithoutLosers: with a gain and nobody who lost, a fake address is none.
func TestFakeInputWithoutLosers(t *testing.T) {
	f := fire(t, "fake_input")
	asks := view("tool", "balanceOf(address)", 5, "vault")
	fake := call("vault", "swap_9(address)", "tool", asks)
	made := moved(call("mkr", "make_1()"), "zero", "tool", 5000)
	lost := call("other", "give_1()", pay("usd", "tool", 900))
	f("", attackBy(fake, made))
	f("x", attackBy(fake, lost))
	f("x", attackBy(lent(5000, 5000, fake, made)))
	f("", attackBy(lent(5000, 5000, fake)))
	f("", attackBy(fake, lost, call("bank", "spend_1()", take("usd", "tool", "bank", 900)))) // nothing gained
	f("", attackBy(call("vault", "swap_9(address)", "alice", asks), lost))                   // not passed
}

// TestKindsOfRoundTrips: what the party did between the two halves names the kind of the cause.
func TestKindsOfRoundTrips(t *testing.T) {
	f := func(category api.Category, faulty string, between ...*trace.Frame) {
		t.Helper()
		root := attackBy(lent(50000, 50000, all(swapped("pool", "dai", 10000, "mkr", 50000), between, swapped("pool", "mkr", 49000, "dai", 12000))...))
		x := theFinding(t, root)
		if got := named(*x.Facts.FaultyContract); x.Facts.Category != category || got != faulty {
			t.Errorf("%s of %s, want %s of %s", x.Facts.Category, got, category, faulty)
		}
	}
	f(api.PriceManipulation, "pool")
	f(api.BusinessLogic, "vault", call("vault", "poke_1()"))
	f(api.PriceManipulation, "vault", call("vault", "poke_1()", view("pool", "getReserves()", 5)))
	f(api.PriceManipulation, "vault", call("vault", "poke_1()", view("dai", "balanceOf(address)", 5, "pool")))
	f(api.BusinessLogic, "vault", call("vault", "poke_1()", view("dai", "balanceOf(address)", 5, "bank")))
	f(api.BusinessLogic, "vault", call("vault", "poke_1()", view("other", "getReserves()", 5)))
	f(api.BusinessLogic, "vault", call("vault", "poke_1()", call("pool", "getReserves()")))
	f(api.PriceManipulation, "bank", call("vault", "poke_1()"), call("bank", "poke_1()", view("pool", "getReserves()", 5))) // who read it
	f(api.PriceManipulation, "pool", call("vault", "sell(uint256)", 1))                                                     // a trade
	f(api.PriceManipulation, "pool", call("vault", "getPrice()"))                                                           // a view is nothing
	burn := call("mkr", "burn_1(address)", "pool", call("mkr", "transferFrom(address,address,uint256)", "pool", "burner", 4000))
	f(api.TokenIncompatibility, "mkr", burn)
	f(api.TokenIncompatibility, "mkr", burn, call("vault", "poke_1()", view("pool", "getReserves()", 5)))
}

// TestTakeoverFlag: a call of an initialiser that keeps what it was told, and nothing else, may take a
// contract over.
func TestTakeoverFlag(t *testing.T) {
	f := flagging(t, verdict.UninitialisedTakeover)
	f(true, call("vault", "initialize(address)", "sender"))
	f(true, call("vault", "init(address)", "sender"))
	f(false, call("vault", "setOwner_1(address)", "sender"))
	f(false, call("vault", "reinitialize(address)", "sender"))
	f(false, call("vault", "initialize()"))
	f(true, call("vault", "initialize(address)", "sender", view("x", "y_1()", 1)))
	f(false, call("vault", "initialize(address)", "sender", call("x", "y_1()")))
	f(false, call("vault", "initialize(address)", "sender", pay("dai", "alice", 5)))
	f(false, emits(call("vault", "initialize(address)", "sender"), "Initialized(uint8)", nil, 1))
	code := call("code", "initialize(address)", "sender")
	code.Kind = trace.DelegateCall
	f(true, call("vault", "initialize(address)", "sender", code))
	made := creates("vault")
	made.Input = calldata("initialize(address)", "sender")
	f(false, made)
}

// TestTakingsOfOthers: a transfer tells whose right was used by its first argument.
func TestTakingsOfOthers(t *testing.T) {
	f := func(want string, taken *trace.Frame) {
		t.Helper()
		run := call("router", "run_9(address,bytes)", "dai", taken.Input, taken)
		findingOf(t, built(attackBy(run)), api.ArbitraryCall, "received(", want)
	}
	const stolen = "arbitrary_call confirmed high: lost alice; faulty router; gained sender tool"
	taking := func(fn, owner string, n int) *trace.Frame {
		return moved(call("dai", fn, owner, "tool", n), "alice", "tool", 700)
	}
	f(stolen, taking("transferFrom(address,address,uint256)", "alice", 700))
	f("", taking("transferFrom(address,address,uint256)", "bob", 0))
	f("", taking("transferFrom_1(address,address,uint256)", "alice", 700))
	f("", moved(call("dai", "transferFrom(address,address,uint256)", "zero", "tool", 0), "zero", "tool", 700)) // minted
	f("", moved(call("dai", "transferFrom(address,address,uint256)", "alice", "carol", 700), "alice", "carol", 700))
	direct := func(inside ...*trace.Frame) *trace.Frame {
		x := call("router", "run_9(address,bytes)", "dai", calldata("transferFrom(address,address,uint256)", "alice", "tool", 700))
		x.Children = inside
		return x
	}
	taken := taking("transferFrom(address,address,uint256)", "alice", 700)
	findingOf(t, built(attackBy(direct(taken))), api.ArbitraryCall, "received(", stolen)
	for i, root := range []*trace.Frame{
		attackBy(call("helper", "x_1()", direct(taken))),                       // another had it called
		attackBy(direct(call("helper", "x_1()", taken))),                       // another took them
		attackBy(failing(direct(taken)), direct()),                             // in vain
		attackBy(direct(taken), call("alice", "x_1()", call("x", "y_1()"))),    // she acts here
		attackBy(direct(taken), call("shop", "x_1()", pay("mkr", "alice", 1))), // and has something
		attackBy(direct(take("dai", "alice", "tool", 700), pay("dai", "alice", 700))),
	} {
		if c := built(root); found(c, api.ArbitraryCall, "received(") != nil {
			t.Errorf("twin %d: %s", i, allFired(c))
		}
	}
	findingOf(t, built(attackBy(direct(taken), failing(call("alice", "x_1()", call("x", "y_1()"))), view("alice", "x_1()", 1, view("x", "y_1()", 1)))), api.ArbitraryCall, "received(", strings.Replace(stolen, "high", "low", 1))
}

// TestSupplyOfNothing: an allowance for a token that has no units yet is not for more than all.
func TestSupplyOfNothing(t *testing.T) {
	const approve = "approve(address,uint256)"
	asked := false
	f := func(want bool, root *trace.Frame, list ...reply) {
		t.Helper()
		ev := evidenceOf(root)
		ev.Triage = asked
		c := replied(ev, list...)
		if got := verdict.Flagged(c.Triage.Flags, verdict.UnlimitedApproval); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	granted := func(event string, owner, spender string, data ...int) *trace.Frame {
		return emits(call("mkr", approve, spender, 5000), event, []string{owner, spender}, data...)
	}
	const event = "Approval(address,address,uint256)"
	supply := func(n int64) reply { return reply{"totalSupply()", word(big.NewInt(n))} }
	f(true, granted(event, "sender", "tool", 5000), supply(4999))
	f(false, granted(event, "sender", "tool", 5000), supply(5000))
	f(false, granted(event, "sender", "tool", 5000), supply(0))
	f(false, granted(event, "sender", "tool", 5000), reply{"totalSupply()", []byte{1}}) // no number
	f(false, granted(event, "sender", "tool", 5000))                                    // not known
	f(false, granted(event, "alice", "tool", 5000), supply(4999))                       // somebody else's allowance
	f(false, granted("Approval_1(address,address,uint256)", "sender", "tool", 5000), supply(4999))
	f(false, granted(event, "sender", "tool", 5000, 1), supply(4999))
	f(false, granted(event, "sender", "tool"), supply(4999))
	f(false, granted(event, "sender", "tool", 0), supply(0))
	short := granted(event, "sender", "tool", 5000)
	short.Logs[0].Topics = short.Logs[0].Topics[:2]
	f(false, short, supply(4999))
	f(false, granted(event, "sender", "balancer", 5000), supply(4999)) // a contract that is known
	asked = true
	f(true, granted(event, "sender", "balancer", 5000), supply(4999))
}

// TestSumsOfDrains: what a drain took of one asset is that of all its owners, and a right is told once.
func TestSumsOfDrains(t *testing.T) {
	stolen := func(owners ...string) *trace.Frame {
		var inside []*trace.Frame
		for i, o := range owners {
			inside = append(inside, permit("usdc", o, "tool", top(256)), take("usdc", o, "thief", 800+i), take("usdc", o, "partner", 200))
		}
		return attackBy(inside...)
	}
	f := func(lost int64, rights int, owners ...string) {
		t.Helper()
		x := theFinding(t, stolen(owners...))
		if len(x.Lost) != 1 || x.Lost[0].N.Cmp(big.NewInt(lost)) != 0 || len(x.Facts.Victim) != len(owners) {
			t.Errorf("lost %v of %s", x.Lost, named(x.Facts.Victim...))
		}
		if told := x.Headline.Args[len(x.Headline.Args)-1].(verdict.List); len(told) != rights || len(x.Facts.Revoke) != len(owners) {
			t.Errorf("%d rights told, %d listed", len(told), len(x.Facts.Revoke))
		}
	}
	f(1000, 1, "alice")
	f(2001, 1, "alice", "bob")
	f(3003, 1, "alice", "bob", "carol")
}

// TestCodeOfFindings: the code that ran for the victim is told once, and no other.
func TestCodeOfFindings(t *testing.T) {
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		x := theFinding(t, attackBy(inside...))
		if got := named(x.Facts.Code...); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	by := func(kind trace.Kind, code, fn string, n int, inside ...*trace.Frame) *trace.Frame {
		x := call(code, fn, n)
		x.Kind, x.Children = kind, inside
		return call("vault", fn, n, x)
	}
	put := by(trace.DelegateCall, "second", "put_1(uint256)", 1, take("dai", "tool", "vault", 1000))
	get := func(kind trace.Kind, code string) *trace.Frame {
		return by(kind, code, "get_1(uint256)", 2, pay("dai", "tool", 1500))
	}
	f("second", put, get(trace.DelegateCall, "second"))
	f("second first", put, get(trace.DelegateCall, "first"))
	other := call("first", "x_1()")
	other.Kind = trace.DelegateCall
	f("second", put, get(trace.DelegateCall, "second"), call("bank", "x_1()", other)) // of another
	f("second", put, get(trace.DelegateCall, "second"), call("vault", "x_1()", failing(other)))
}

// TestEnteredThroughOthers: the entry point is what was called where it was decided, and for a
// signature who had it checked.
func TestEnteredThroughOthers(t *testing.T) {
	f := func(want string, root *trace.Frame) {
		t.Helper()
		x := theFinding(t, root)
		got := ""
		if x.Facts.EntryPoint != nil {
			got = named(*x.Facts.EntryPoint)
		}
		if got != want {
			t.Errorf("entered %s, want %s", got, want)
		}
	}
	split := []*trace.Frame{take("usdc", "alice", "thief", 800), take("usdc", "alice", "partner", 200)}
	right := permit("usdc", "alice", "tool", top(256))
	f("usdc", attackBy(all(right, split)...))
	f("usdc", attackBy(all(call("market", "bring_1()", right), split)...))
	wrap := word(new(big.Int).Lsh(common.Big1, 255))
	f("token", call("token", "batch_1(uint256)", wrap))
}

// TestDelegatedCode: where code of another ran, its source tells whether it is known.
func TestDelegatedCode(t *testing.T) {
	f := func(want verdict.Ruled, root *trace.Frame, change ...func(*assemble.Evidence)) {
		t.Helper()
		ev := evidenceOf(root)
		for _, c := range change {
			c(ev)
		}
		i := slices.IndexFunc(assemble.Build(ev).Triage.Outcomes, func(o check.Outcome) bool { return o.Name == "unverified_delegatecall" })
		if got := assemble.Build(ev).Triage.Outcomes[i].Result; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	of := func(kind trace.Kind) *trace.Frame {
		x := call("code", "x_1()")
		x.Kind = kind
		return attackBy(call("vault", "x_1()", x))
	}
	f(verdict.NotApplicable, of(trace.Call))
	f(verdict.NotChecked, of(trace.DelegateCall))
	f(verdict.NotChecked, of(trace.CallCode))
	f(verdict.NotChecked, of(trace.Call), func(ev *assemble.Evidence) { ev.Tree.Source = trace.SourceReplayQuick })
}
