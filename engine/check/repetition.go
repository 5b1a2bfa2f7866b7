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
		{name: "self_liquidation", fires: (*inspection).selfLiquidation, sentence: render(verdict.CauseSelfLiquidation, ofFaulty)},
		{name: "same_call", fires: (*inspection).sameCall, sentence: render(verdict.CauseRepetition, ofFaulty, ofTimes)},
		{name: "hammer", fires: (*inspection).repeatedFunction, sentence: render(verdict.CauseSameFunction, ofFaulty, ofTimes)},
		{name: "clones", fires: (*inspection).clones, sentence: render(verdict.CauseClones, ofContracts)},
		{name: "flash_vote", fires: (*inspection).flashVote, sentence: render(verdict.CauseBorrowedVotes, ofFaulty)},
	},
})

// sameCall: identical calldata paid the cluster four times or more, with nothing given.
func (l *inspection) sameCall() (out []match) {
	type call struct {
		target common.Address
		input  string
	}
	calls := map[call][]int{}
	var order []call
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if evmsig.TokenFunctions[d.Selector] || l.f.Liquidates(d.Frame) || len(l.f.Given(i)) > 0 || len(l.f.Taken(i)) == 0 {
			continue
		}
		c := call{d.Target, string(l.callFrame(i).Input)}
		if calls[c] == nil {
			order = append(order, c)
		}
		calls[c] = append(calls[c], i)
	}
	for _, c := range order {
		list := calls[c]
		if loser := l.f.Loses(c.target) != nil; len(list) >= 4 && (loser || l.borrowed) && !l.oldDebt {
			out = append(
				out,
				match{
					grade:    decisive,
					category: api.AccountingError,
					faulty:   c.target,
					victims:  l.lossCandidatesOf(list),
					calls:    []int{list[0], list[1], list[len(list)-1]},
					count:    len(list),
					position: l.f.Taken(list[0])[0],
				},
			)
		}
	}
	return out
}

// lossCandidatesOf are the loss candidates that paid the cluster in external calls.
func (l *inspection) lossCandidatesOf(calls []int) (out []common.Address) {
	for _, d := range calls {
		for _, i := range l.f.ExternalCalls[d].Moves {
			if v := l.f.Moves[i].From; l.f.Loses(v) != nil && !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// hammer: one function that is none of tokens was called ten times or more.
func (l *inspection) repeatedFunction() (out []match) {
	if !l.gained || l.oldDebt {
		return nil
	}
	type function struct {
		target   common.Address
		selector evmsig.Selector
	}
	calls := map[function][]int{}
	var order []function
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if len(l.callFrame(i).Input) < 4 || evmsig.TokenFunctions[d.Selector] || l.f.Liquidates(d.Frame) {
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
		if n < 10 || !l.borrowed && len(l.unpaidLossCandidates()) == 0 {
			continue
		}
		h := match{
			grade:    suspicious,
			category: api.AccountingError,
			faulty:   fn.target,
			victims:  l.lossCandidatesOf(calls[fn]),
			calls:    []int{calls[fn][0], calls[fn][n-1]},
			count:    n,
		}
		if l.borrowed && n >= 20 || len(l.f.Fresh) > 3 && len(l.f.LossCandidates) > 0 {
			h.grade = decisive
		}
		out = append(out, h)
	}
	return out
}

// clones: five contracts or more were made to act in turn, with borrowed money.
func (l *inspection) clones() []match {
	if len(l.f.Fresh) < 5 || !l.borrowed || !l.gained && len(l.f.LossCandidates) == 0 || l.oldDebt {
		return nil
	}
	return []match{{grade: decisive, category: api.BusinessLogic, count: len(l.f.Fresh)}}
}

// selfLiquidation: the party had its own position liquidated.
func (l *inspection) selfLiquidation() (out []match) {
	if !l.borrowed || !l.gained {
		return nil
	}
	members := map[common.Address]bool{l.f.Tx.From: true}
	for _, t := range l.f.Tools {
		members[t] = true
	}
	for i := range l.f.ExternalCalls {
		d := &l.f.ExternalCalls[i]
		if l.f.Liquidates(d.Frame) && l.f.Names(d.Frame, members) != (common.Address{}) && l.f.Names(d.Frame, members) != l.callFrame(i).From {
			out = append(out, match{grade: decisive, category: api.AccountingError, faulty: d.Target, calls: []int{i}})
		}
	}
	return out
}

// flashVote: a tool voted or proposed between a loan and its repayment.
func (l *inspection) flashVote() (out []match) {
	if !l.borrowed || !l.gained {
		return nil
	}
	for i := range l.f.ExternalCalls {
		name := strings.ToLower(l.CallName(l.f.ExternalCalls[i].Frame))
		if strings.HasPrefix(name, "castvote") || strings.HasPrefix(name, "propose") || strings.HasPrefix(name, "emergencycommit") ||
			name == "vote" {
			out = append(out, match{grade: decisive, category: api.GovernanceAttack, faulty: l.f.ExternalCalls[i].Target, calls: []int{i}})
		}
	}
	return out
}

// largest is the position of a list that is worth most where that can be told, else its
// first.
func (l *inspection) largest(list []facts.Position) (best facts.Position) {
	for _, p := range list {
		if l.worthMore(p, best) {
			best = p
		}
	}
	return best
}

// worthMore reports whether prices tell that one position is worth more than another, which may be
// none.
func (l *inspection) worthMore(p, q facts.Position) bool {
	if q.Amount == nil {
		return true
	}
	x, y := l.worth(p.Key, p.Amount), l.worth(q.Key, q.Amount)
	return x != nil && (y == nil || x.Cmp(y) > 0)
}
