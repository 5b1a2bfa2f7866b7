package check_test

import (
	"math/big"
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// slotOf is where the first mapping of a token keeps the balance of an account.
func slotOf(name string) common.Hash {
	return crypto.Keccak256Hash(account(name), make([]byte, 32))
}

// balances is a state diff in which balances of tokens went from one number to another.
func balances(list ...balance) *ethrpc.StateDiff {
	d := &ethrpc.StateDiff{Pre: map[common.Address]*ethrpc.Account{}, Post: map[common.Address]*ethrpc.Account{}}
	for _, b := range list {
		for accounts, n := range map[*map[common.Address]*ethrpc.Account]int64{&d.Pre: b.before, &d.Post: b.after} {
			a := (*accounts)[who(b.token)]
			if a == nil {
				a = &ethrpc.Account{Storage: map[common.Hash]common.Hash{}}
				(*accounts)[who(b.token)] = a
			}
			a.Storage[slotOf(b.holder)] = common.BigToHash(big.NewInt(n))
		}
	}
	return d
}

type balance struct {
	token, holder string
	before, after int64
}

// TestDrainedAccounts: which accounts and assets count as drained, each once.
func TestDrainedAccounts(t *testing.T) {
	f := func(want int, root *trace.Frame, list ...balance) {
		t.Helper()
		ev := evidenceOf(root)
		ev.Diff = balances(list...)
		c := replied(ev, reply{"totalSupply()", word(big.NewInt(2000))})
		record(t, c)
		got := 0
		for _, r := range c.Triage.Flags {
			if r.Flag == verdict.Drain {
				got++
			}
		}
		if got != want {
			t.Errorf("%d drains, want %d", got, want)
		}
	}
	of := func(token, holder string) balance { return balance{token, holder, 1000, 0} }
	f(1, attackBy(call("vault", "get_1()", pay("dai", "tool", 1000))), of("dai", "vault"))
	f(1, attackBy(call("vault", "get_1()", pay("dai", "tool", 1000), pay("usd", "tool", 1000))), of("dai", "vault"), of("usd", "vault"))
	f(2, attackBy(call("vault", "get_1()", pay("dai", "tool", 1000)), call("bank", "get_1()", pay("dai", "tool", 1000))), of("dai", "vault"), of("dai", "bank"))
	f(0, attackBy(permit("usdc", "alice", "tool", top(256)), take("usdc", "alice", "tool", 700), call("vault", "get_1()", pay("dai", "tool", 700)), pay("dai", "sender", 1700)), of("dai", "tool")) // the party's own
	f(0, attackBy(call("vault", "get_1()", pay("dai", "alice", 1000))), of("dai", "vault"))
	apes := balance{"apes", "vault", 1, 0}
	f(0, attackBy(call("vault", "get_1()", nft("apes", "vault", "tool", 7))), apes)

	// A wallet without code is not drained by its own user.
	taken := call("bank", "get_1()", take("dai", "alice", "tool", 1000))
	f(0, attackBy(taken), of("dai", "alice"))
	f(1, attackBy(taken, call("alice", "x_1()", call("x", "y_1()"))), of("dai", "alice"))
	f(1, attackBy(taken, emits(call("alice", "x_1()"), "Told(uint256)", nil, 5)), of("dai", "alice"))
	f(0, attackBy(taken, call("alice", "x_1()")), of("dai", "alice"))
	f(1, attackBy(taken), of("dai", "alice"), balance{"alice", "bob", 5, 6}) // it keeps something
	f(0, attackBy(taken), of("dai", "alice"), balance{"alice", "bob", 5, 5})

	// Items of which there are several are no asset of amounts.
	items := emits(call("items", "move_1()"), "TransferSingle(address,address,address,uint256,uint256)", []string{"vault", "vault", "tool"}, 7, 1000)
	f(0, attackBy(call("vault", "get_1()", items)), of("items", "vault"))
}

// TestNumbersOfAnswers: what reverted told no number, whatever it returned.
func TestNumbersOfAnswers(t *testing.T) {
	supply := evmsig.Func("totalSupply()")
	f := func(want bool, reverted bool, output []byte) {
		t.Helper()
		root := emits(call("mkr", "approve(address,uint256)", "tool", 5000), "Approval(address,address,uint256)", []string{"sender", "tool"}, 5000)
		c := built(root)
		var views []check.View
		for _, q := range c.Triage.Questions {
			if supply.Begins(q.Data) {
				views = append(views, check.View{Question: q, Output: output, Reverted: reverted})
			}
		}
		if got := verdict.Flagged(built(root, views...).Triage.Flags, verdict.UnlimitedApproval); got != want || len(views) != 1 {
			t.Errorf("%v, want %v; %d questions", got, want, len(views))
		}
	}
	f(true, false, word(big.NewInt(10)))
	f(false, true, word(big.NewInt(10)))
	f(false, false, []byte{10})
}

// TestUnlimitedIsNotAsked: where the number alone tells that an allowance has no limit, nobody is asked
// for the supply.
func TestUnlimitedIsNotAsked(t *testing.T) {
	f := func(questions int, n []byte) {
		t.Helper()
		root := emits(call("mkr", "approve(address,uint256)", "tool", n), "Approval(address,address,uint256)", []string{"sender", "tool"})
		root.Logs[0].Data = n
		if c := built(root); len(c.Triage.Questions) != questions {
			t.Errorf("%d questions, want %d", len(c.Triage.Questions), questions)
		}
	}
	f(0, top(256))
	f(1, word(big.NewInt(5000)))
}

// TestOneClaim: the earlier claims of one account are looked up. An unknown claim explains nothing, and
// the finding does not say that there was none.
func TestOneClaim(t *testing.T) {
	reward := func(payer string) *trace.Frame { return call(payer, "getReward_1()", pay("dai", "tool", 5000)) }
	asked := func(want bool, function, of string, root *trace.Frame) {
		t.Helper()
		s := evmsig.Func(function)
		if got := slices.ContainsFunc(built(root).Triage.Questions, func(q check.Question) bool { return s.Begins(q.Data) && q.To == who(of) }); got != want {
			t.Errorf("%s of %s: asked %v, want %v", function, of, got, want)
		}
	}
	two := attackBy(all(reward("farm"), reward("vault"), fillers(3))...)
	asked(true, "earned(address)", "farm", two)
	asked(false, "earned(address)", "vault", two)
	asked(true, "allowance(address,address)", "dai", two)
	coin := attackBy(all(call("farm", "getReward_1()", sends("tool", 5000)), fillers(3))...)
	asked(true, "earned(address)", "farm", coin)
	asked(false, "allowance(address,address)", "zero", coin)
	asked(true, "getReward_1()", "farm", coin)
	silent := attackBy(all(sends("farm", 0, pay("dai", "tool", 5000)), fillers(3))...)
	asked(true, "earned(address)", "farm", silent)

	unclaimed := func(want bool, silent string) {
		t.Helper()
		c := withAnswers(attackBy(all(reward("farm"), fillers(3))...), silent)
		record(t, c)
		// What is said of a claim has the gain and the payer, and the state has no part in it.
		if got := slices.ContainsFunc(c.Triage.Flags, func(r verdict.Risk) bool { return r.Why.Form == verdict.GainUnclaimed }); got != want {
			t.Errorf("without %q: %v, want %v", silent, got, want)
		}
	}
	unclaimed(true, "")
	for _, fn := range []string{"earned(address)", "maxWithdraw(address)", "allowance(address,address)", "balanceOf(address)", "getReward_1()"} {
		unclaimed(false, fn)
	}
}

// TestSharesGivenBack: who has fewer shares after the transaction was paid for them.
func TestSharesGivenBack(t *testing.T) {
	scene := attackBy(all(call("farm", "getReward_1()", pay("dai", "tool", 5000)), fillers(3))...)
	f := func(suspicious bool, list ...answer) {
		t.Helper()
		if _, s := graded(withAnswers(scene, "", list...)); s != suspicious {
			t.Errorf("suspicious %v, want %v", s, suspicious)
		}
	}
	had := func(n ...int64) answer { return answer{"balanceOf(address)", "farm", "", check.Before, n} }
	has := func(n ...int64) answer { return answer{"balanceOf(address)", "farm", "", check.After, n} }
	f(false, had(70), has(69))
	f(true, had(70), has(70))
	f(true, had(70))        // what it has now is not known
	f(true, has(70))        // nor what it had
	f(true, had(70), has()) // no number
	f(true, had(), has(70))
}

// TestMovementsOfTheEntry: the called contract tells of a movement itself, outside of any call of the
// party: nothing of that names a call.
func TestMovementsOfTheEntry(t *testing.T) {
	scene := func(from, to string, inside ...*trace.Frame) *trace.Frame {
		return moved(attackBy(inside...), from, to, 5000)
	}
	f := firing(t)
	f("unpaid robbed_by_others", scene("vault", "sender", all(call("vault", "y_1()", view("x", "z()", 1)), fillers(3))...))
	f("", scene("zero", "sender", fillers(3)...))
	f("", scene("alice", "sender", fillers(3)...))
	f("", scene("sender", "vault", all(call("vault", "y_1()", view("x", "z()", 1)), fillers(3))...))
}

// TestMintGuards: what is free, and who bought it.
func TestMintGuards(t *testing.T) {
	const mint = "mint(address,uint256)"
	boss := reply{"owner()", account("boss")}
	f := func(want string, inside ...*trace.Frame) {
		t.Helper()
		judgeFinding(t, want, replied(evidenceOf(attackBy(inside...)), boss, open(mint)), api.AccessControl, "minted(")
	}
	minting := func(token, from, to string, n int, more ...*trace.Frame) *trace.Frame {
		x := call(token, mint, to, n)
		x.Children = more
		return moved(x, from, to, n)
	}
	sale := swapped("pool", "mkr", 5000, "dai", 900)
	const stolen = "access_control confirmed low: lost pool; faulty mkr; gained sender tool"
	free := minting("mkr", "zero", "tool", 5000)
	f(stolen, all(free, sale)...)
	f("", all(minting("mkr", "boss", "tool", 5000), sale)...) // it was somebody's
	f("", all(minting("mkr", "zero", "tool", 0), sale)...)
	f("", all(creates("mkr"), free, sale)...)
	f(stolen, all(call("shop", "x_1()", take("usd", "alice", "mkr", 700)), free, sale)...) // somebody else paid
	f("", all(pay("usd", "mkr", 700), free, sale)...)
	f(stolen+" bank", all(pay("usd", "bank", 700), free, sale)...) // and who got it gained

	// Who bought it is whoever gave something for it to the party.
	f("", free, pay("mkr", "sender", 5000), call("bank", "x_1()", pay("dai", "tool", 900))) // to itself
	f("", free, pay("mkr", "zero", 5000), call("bank", "x_1()", pay("dai", "tool", 900)))   // burnt
	f("", free, call("shop", "x_1()", take("mkr", "alice", "bank", 5000)), call("bank", "x_1()", pay("dai", "tool", 900)))
	f("", free, pay("usd", "bank", 5), call("bank", "x_1()", pay("dai", "tool", 900)))
	f(stolen+" alice", all(free, pay("mkr", "alice", 5), sale)...)
}

// TestSolvency: of what is lent or taken out of a lender the books are not known.
func TestSolvency(t *testing.T) {
	f := func(want verdict.Ruled, subType string) {
		t.Helper()
		c := built(attackBy(call("x", "y_1()")))
		in := &check.Input{Case: c.Case, Verdict: c.Verdict}
		in.Verdict.SubType = subType
		for _, o := range check.Run(in).Outcomes {
			if o.Name == "solvency" && o.Result != want {
				t.Errorf("%q: %s, want %s", subType, o.Result, want)
			}
		}
	}
	f(verdict.NotApplicable, "")
	f(verdict.NotApplicable, "deposit")
	f(verdict.NotChecked, "borrow")
	f(verdict.NotChecked, "withdraw")
	f(verdict.NotChecked, "liquidation")
}

// TestIncompleteTraces: of an execution that is not whole no check of its calls is clean.
func TestIncompleteTraces(t *testing.T) {
	whole := func(*assemble.Evidence) {}
	quick := func(ev *assemble.Evidence) { ev.Tree.Source = trace.SourceReplayQuick }
	f := func(change func(*assemble.Evidence), want map[string]verdict.Ruled) {
		t.Helper()
		ev := evidenceOf(attackBy(call("vault", "x_1()")))
		change(ev)
		for _, o := range assemble.Build(ev).Triage.Outcomes {
			if r, ok := want[o.Name]; ok && r != o.Result {
				t.Errorf("%s: %v, want %v", o.Name, o.Result, r)
			}
		}
	}
	f(whole, map[string]verdict.Ruled{"caught_inner_failure": verdict.Clean, "self_destruct": verdict.Clean, "unverified_delegatecall": verdict.NotApplicable, "price_moved": verdict.Clean, "caller_controlled_target": verdict.Clean, "unearned_gain": verdict.Clean})
	f(quick, map[string]verdict.Ruled{"caught_inner_failure": verdict.NotChecked, "self_destruct": verdict.NotChecked, "unverified_delegatecall": verdict.NotChecked, "price_moved": verdict.NotChecked, "caller_controlled_target": verdict.NotChecked, "unearned_gain": verdict.NotChecked})
}
