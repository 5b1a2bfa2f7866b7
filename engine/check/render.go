package check

import (
	"math/big"

	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// described is a match with what its sentence names.
type described struct {
	l *inspection
	*match
	victim, blamed verdict.Who // blamed: the contract whose rule did not hold
	accounts       int         // number of victims
}

// render gives the sentence of a rule: a form and its arguments, in their order.
func render(form verdict.Form, args ...func(*described) verdict.Arg) func(*described) verdict.Sentence {
	return func(t *described) verdict.Sentence {
		list := make([]verdict.Arg, len(args))
		for i, arg := range args {
			list[i] = arg(t)
		}
		return verdict.Say(form, list...)
	}
}

// renderLoss is the sentence of rules that show that somebody lost something for nothing, and
// not how.
var renderLoss = render(verdict.CauseUnpaid, ofVictim, ofLoss)

func ofVictim(t *described) verdict.Arg { return t.victim }

func ofFaulty(t *described) verdict.Arg { return t.blamed }

func ofAmount(t *described) verdict.Arg { return t.l.valued(t.position) }

func ofNumber(t *described) verdict.Arg { return verdict.Num(t.position.Amount) }

func ofFirstAnswer(t *described) verdict.Arg { return verdict.Num(t.values[0]) }

func ofSecondAnswer(t *described) verdict.Arg { return verdict.Num(t.values[1]) }

func ofAccounts(t *described) verdict.Arg {
	return verdict.Count{N: t.accounts, Of: verdict.OfAccounts}
}

func ofContracts(t *described) verdict.Arg { return verdict.Count{N: t.count, Of: verdict.OfContracts} }

func ofTimes(t *described) verdict.Arg { return verdict.Count{N: t.count, Of: verdict.OfTimes} }

func ofCaller(t *described) verdict.Arg { return verdict.Who(t.l.frame(t.frames[0]).From) }

func ofCallee(t *described) verdict.Arg { return verdict.Who(t.l.frame(t.frames[0]).To) }

func ofEntry(t *described) verdict.Arg { return verdict.Who(t.l.f.Tree.Root.To) }

// ofTakers names who has the assets of a drain.
func ofTakers(t *described) verdict.Arg {
	var out verdict.List
	for _, taker := range t.takers {
		if len(out) < maxListed {
			out = append(out, verdict.Who(taker))
		}
	}
	return out
}

// ofLoss lists what the victim lost; what the cluster gained, where its own ledger does not
// tell.
func ofLoss(t *described) verdict.Arg {
	var out verdict.List
	for _, p := range t.l.lost([]common.Address{common.Address(t.victim)}) {
		if len(out) < maxListed {
			out = append(out, t.l.valued(p))
		}
	}
	for _, p := range t.l.f.Gains {
		if len(out) == 0 {
			out = append(out, t.l.valued(p))
		}
	}
	if len(out) == 0 {
		out = append(out, amount(facts.Key{}, new(big.Int)))
	}
	return out
}

// describe says what happened, in the sentence of the rule that fired.
func (l *inspection) describe(h *match, victims []common.Address) verdict.Sentence {
	t := described{l: l, match: h, victim: verdict.Who(h.faulty), accounts: len(victims)}
	if len(victims) > 0 {
		t.victim = verdict.Who(victims[0])
	}
	if t.blamed = t.victim; h.faulty != (common.Address{}) {
		t.blamed = verdict.Who(h.faulty)
	}
	return h.rule.sentence(&t)
}
