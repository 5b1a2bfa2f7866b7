package check

import (
	"math/big"

	"txlens/engine/evmsig"
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

// callbacks are what lenders call on who borrows for the length of a call.
var callbacks = map[[4]byte]string{
	evmsig.SelOnFlashLoan:         "ERC-3156",
	evmsig.SelExecuteOperations:   "Aave",
	evmsig.SelExecuteOperation:    "Aave",
	evmsig.SelReceiveFlashLoan:    "Balancer",
	evmsig.SelOnMorphoFlashLoan:   "Morpho",
	evmsig.SelUniswapV2Call:       "Uniswap v2",
	evmsig.SelPancakeCall:         "Pancake v2",
	evmsig.SelUniswapV3Flash:      "Uniswap v3",
	evmsig.SelPancakeV3Flash:      "Pancake v3",
	evmsig.SelUnlockCallback:      "Uniswap v4",
	evmsig.SelDVMFlashLoanCall:    "DODO",
	evmsig.SelDPPFlashLoanCall:    "DODO",
	evmsig.SelCallFunctionOfLoans: "dYdX",
	evmsig.SelOnERC3156FlashLoan:  "ERC-3156",
}

// flashLoans: a lender gave an asset, called a known callback, and had at least as much
// of it back when its own call was over.
func (l *inspection) flashLoans() (out []verdict.Risk) {
	if l.flagged(verdict.FlashLoan) {
		return nil
	}
	for _, c := range l.Tree.Frames {
		if c.Kind != trace.Call || c.Status != trace.OK || callbacks[evmsig.Called(c.Input)] == "" {
			continue
		}
		lending := c.Parent
		for lending != nil && (lending.To != c.From || lending.Kind != trace.Call) {
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
					amount(p.key, p.amount),
					verdict.Who(p.to),
					l.at(lending),
					amount(p.key, back),
				),
			}
		}
	}
	return out
}

func (l *inspection) lentAndRepaid(lending, call *trace.Frame) (*payment, *big.Int) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.from != call.From || p.frame == nil || p.frame.Index > call.Index+1 || !below(p.frame, lending) || p.amount.Sign() == 0 ||
			p.key.NFT ||
			below(p.frame, call) && p.frame != call {
			continue
		}
		back := l.total(p.key, func(q *payment) bool {
			return q.to == call.From && q.frame != nil && below(q.frame, lending) && q.frame.Index >= call.Index
		})
		if back.Cmp(p.amount) >= 0 {
			return p, back
		}
	}
	return nil, nil
}
