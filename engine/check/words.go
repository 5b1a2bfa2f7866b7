package check

import (
	"math/big"

	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// told is a match as its sentence tells of it.
type told struct {
	a *attack
	*match
	victim, broke verdict.Who // broke: the contract whose rule did not hold
	victims       int
}

// says gives the words of a rule: a form and its arguments, in their order.
func says(form verdict.Form, args ...func(*told) verdict.Arg) func(*told) verdict.Sentence {
	return func(t *told) verdict.Sentence {
		list := make([]verdict.Arg, len(args))
		for i, arg := range args {
			list[i] = arg(t)
		}
		return verdict.Say(form, list...)
	}
}

// saysLoss are the words of rules that show that somebody lost something for nothing, and
// not how.
var saysLoss = says(verdict.CauseUnpaid, ofVictim, ofLoss)

func ofVictim(t *told) verdict.Arg { return t.victim }

func ofFaulty(t *told) verdict.Arg { return t.broke }

func ofAmount(t *told) verdict.Arg { return t.a.told(t.position) }

func ofNumber(t *told) verdict.Arg { return verdict.Num(t.position.Amount) }

func ofFirstAnswer(t *told) verdict.Arg { return verdict.Num(t.values[0]) }

func ofSecondAnswer(t *told) verdict.Arg { return verdict.Num(t.values[1]) }

func ofAccounts(t *told) verdict.Arg { return verdict.Count{N: t.victims, Of: verdict.OfAccounts} }

func ofContracts(t *told) verdict.Arg { return verdict.Count{N: t.count, Of: verdict.OfContracts} }

func ofTimes(t *told) verdict.Arg { return verdict.Count{N: t.count, Of: verdict.OfTimes} }

func ofCaller(t *told) verdict.Arg { return verdict.Who(t.a.frame(t.frames[0]).From) }

func ofCallee(t *told) verdict.Arg { return verdict.Who(t.a.frame(t.frames[0]).To) }

func ofEntry(t *told) verdict.Arg { return verdict.Who(t.a.f.Tree.Root.To) }

// ofTakers names who has the assets of a drain.
func ofTakers(t *told) verdict.Arg {
	var out verdict.List
	for _, taker := range t.takers {
		if len(out) < maxTold {
			out = append(out, verdict.Who(taker))
		}
	}
	return out
}

// ofLoss lists what the victim lost; what the cluster gained, where its own ledger does not
// tell.
func ofLoss(t *told) verdict.Arg {
	var out verdict.List
	for _, p := range t.a.lost([]common.Address{common.Address(t.victim)}) {
		if len(out) < maxTold {
			out = append(out, t.a.told(p))
		}
	}
	for _, p := range t.a.f.Gains {
		if len(out) == 0 {
			out = append(out, t.a.told(p))
		}
	}
	if len(out) == 0 {
		out = append(out, amount(facts.Key{}, new(big.Int)))
	}
	return out
}

// story says what happened, in the words of the rule that fired.
func (a *attack) story(h *match, victims []common.Address) verdict.Sentence {
	t := told{a: a, match: h, victim: verdict.Who(h.faulty), victims: len(victims)}
	if len(victims) > 0 {
		t.victim = verdict.Who(victims[0])
	}
	if t.broke = t.victim; h.faulty != (common.Address{}) {
		t.broke = verdict.Who(h.faulty)
	}
	return h.rule.words(&t)
}
