package check

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   20,
	Name:    "flash_loan",
	Title:   "flash loan, borrowed and repaid",
	Flags:   []verdict.Flag{verdict.FlashLoan},
	flag:    (*inspection).flashLoans,
	ruleOut: always(verdict.Clean, verdict.WhyNoFlashLoan),
})

// flashLoans: a lender gave an asset, called a known callback of lenders or pools, and had at least as much
// of it back when its own call was over.
func (l *inspection) flashLoans() (out []verdict.Risk) {
	if l.flagged(verdict.FlashLoan) {
		return nil
	}
	for _, c := range l.Tree.Frames {
		if c.Kind != trace.Call || c.Status != trace.OK || !evmsig.Callbacks[evmsig.Called(c.Input)] {
			continue
		}
		lending := c.Parent
		for lending != nil && lending.Kind != trace.Call { // a proxy of the lender runs the code of another
			lending = lending.Parent
		}
		if lending == nil {
			continue
		}
		if p, back := l.lentAndRepaid(lending, c); p != nil {
			return []verdict.Risk{
				risk(
					verdict.FlashLoan,
					verdict.LentForFrame,
					verdict.Who(c.From),
					amountOf(p),
					verdict.Who(p.To),
					l.at(lending),
					amount(p.Key, back),
				),
			}
		}
	}
	return out
}

func (l *inspection) lentAndRepaid(lending, call *trace.Frame) (*facts.Move, *big.Int) {
	for i := range l.moves {
		p := &l.moves[i]
		if p.From != call.From || p.Frame > call.Index+1 || !l.inside(p, lending) || p.Amount.Sign() == 0 ||
			p.Key.NFT ||
			l.inside(p, call) && p.Frame != call.Index {
			continue
		}
		back := l.total(p.Key, func(q *facts.Move) bool {
			return q.To == call.From && l.inside(q, lending) && q.Frame >= call.Index
		})
		if back.Cmp(p.Amount) >= 0 {
			return p, back
		}
	}
	return nil, nil
}
