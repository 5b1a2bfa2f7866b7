package check

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by repetition: the same call pays again and again.
var _ = register(&Check{
	order:  400,
	Name:   "repetition",
	Title:  "call that pays again and again",
	Causes: []api.Category{api.AccountingError, api.BusinessLogic, api.GovernanceAttack},
	rules: []rule{
		{name: "self_liquidation", fires: (*attack).selfLiquidation, sentence: render(verdict.CauseSelfLiquidation, ofFaulty)},
		{name: "same_call", fires: (*attack).sameCall, sentence: render(verdict.CauseRepetition, ofFaulty, ofTimes)},
		{name: "hammer", fires: (*attack).repeatedFunction, sentence: render(verdict.CauseSameFunction, ofFaulty, ofTimes)},
		{name: "clones", fires: (*attack).clones, sentence: render(verdict.CauseClones, ofContracts)},
		{name: "flash_vote", fires: (*attack).flashVote, sentence: render(verdict.CauseBorrowedVotes, ofFaulty)},
	},
})

// sameCall: identical calldata paid the cluster four times or more, with nothing given.
func (a *attack) sameCall() (out []match) {
	type call struct {
		target common.Address
		input  string
	}
	calls := map[call][]int{}
	var order []call
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		if evmsig.TokenFunctions[d.Selector] || d.Into >= 0 || a.f.Liquidates(d.Frame) || len(a.f.Given(i)) > 0 || len(a.f.Taken(i)) == 0 {
			continue
		}
		c := call{d.Target, string(a.callFrame(i).Input)}
		if calls[c] == nil {
			order = append(order, c)
		}
		calls[c] = append(calls[c], i)
	}
	for _, c := range order {
		list := calls[c]
		if loser := a.f.Loses(c.target) != nil; len(list) >= 4 && (loser || a.loan) && !a.old {
			out = append(
				out,
				match{
					grade:    decisive,
					category: api.AccountingError,
					faulty:   c.target,
					victims:  a.lossCandidatesOf(list),
					calls:    []int{list[0], list[1], list[len(list)-1]},
					count:    len(list),
					position: a.f.Taken(list[0])[0],
				},
			)
		}
	}
	return out
}

// lossCandidatesOf are the loss candidates that paid the cluster in external calls.
func (a *attack) lossCandidatesOf(calls []int) (out []common.Address) {
	for _, d := range calls {
		for _, i := range a.f.ExternalCalls[d].Moves {
			if v := a.f.Moves[i].From; a.f.Loses(v) != nil && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// hammer: one function that is none of tokens was called ten times or more.
func (a *attack) repeatedFunction() (out []match) {
	if !a.gain || a.old {
		return nil
	}
	type function struct {
		target   common.Address
		selector evmsig.Selector
	}
	calls := map[function][]int{}
	var order []function
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		if len(a.callFrame(i).Input) < 4 || evmsig.TokenFunctions[d.Selector] || a.f.Liquidates(d.Frame) {
			continue
		}
		fn := function{d.Target, d.Selector}
		if calls[fn] == nil {
			order = append(order, fn)
		}
		calls[fn] = append(calls[fn], i)
	}
	for _, fn := range order {
		n := len(calls[fn])
		if n < 10 || !a.loan && len(a.unpaidLossCandidates()) == 0 {
			continue
		}
		h := match{
			grade:    suspicious,
			category: api.AccountingError,
			faulty:   fn.target,
			victims:  a.lossCandidatesOf(calls[fn]),
			calls:    []int{calls[fn][0], calls[fn][n-1]},
			count:    n,
		}
		if a.loan && n >= 20 || len(a.f.Fresh) > 3 && len(a.f.LossCandidates) > 0 {
			h.grade = decisive
		}
		out = append(out, h)
	}
	return out
}

// clones: five contracts or more were made to act in turn, with borrowed money.
func (a *attack) clones() []match {
	if len(a.f.Fresh) < 5 || !a.loan || !a.gain && len(a.f.LossCandidates) == 0 || a.old {
		return nil
	}
	return []match{{grade: decisive, category: api.BusinessLogic, count: len(a.f.Fresh)}}
}

// selfLiquidation: the party had its own position liquidated.
func (a *attack) selfLiquidation() (out []match) {
	if !a.loan || !a.gain {
		return nil
	}
	members := map[common.Address]bool{a.f.Tx.From: true}
	for _, t := range a.f.Tools {
		members[t] = true
	}
	for i := range a.f.ExternalCalls {
		d := &a.f.ExternalCalls[i]
		if a.f.Liquidates(d.Frame) && a.f.Names(d.Frame, members) != (common.Address{}) && a.f.Names(d.Frame, members) != a.callFrame(i).From {
			out = append(out, match{grade: decisive, category: api.AccountingError, faulty: d.Target, calls: []int{i}})
		}
	}
	return out
}

// flashVote: a tool voted or proposed between a loan and its repayment.
func (a *attack) flashVote() (out []match) {
	if !a.loan || !a.gain {
		return nil
	}
	for i := range a.f.ExternalCalls {
		name := strings.ToLower(a.l.function(a.f.ExternalCalls[i].Frame))
		if strings.HasPrefix(name, "castvote") || strings.HasPrefix(name, "propose") || strings.HasPrefix(name, "emergencycommit") ||
			name == "vote" {
			out = append(out, match{grade: decisive, category: api.GovernanceAttack, faulty: a.f.ExternalCalls[i].Target, calls: []int{i}})
		}
	}
	return out
}

// largest is the position of a list that is worth most where that can be told, else its
// first.
func (a *attack) largest(list []facts.Position) (best facts.Position) {
	for i, p := range list {
		if i == 0 || a.l.worthMore(p, best) {
			best = p
		}
	}
	return best
}

// worthMore reports whether prices tell that one position is worth more than another.
func (l *inspection) worthMore(p, q facts.Position) bool {
	if p.Amount == nil || q.Amount == nil {
		return p.Amount != nil
	}
	x, y := l.worth(p.Key, p.Amount), l.worth(q.Key, q.Amount)
	return x != nil && (y == nil || x.Cmp(y) > 0)
}
