package narrate

import (
	"math/big"
	"txlens/engine/classify"
	"txlens/engine/facts"
	"txlens/engine/verdict"
)

func (a *stepWriter) saleSteps() (steps []step) {
	for _, x := range a.Sales() {
		about := Detail{Kind: string(facts.ActNFTSale), Actor: &x.Buyer, Amounts: []verdict.Amount{
			{Key: x.NFT, N: big.NewInt(1)}, {Key: x.Price.Key, N: x.Price.Amount},
		}}
		steps = append(steps, step{at: 2*x.Log + 2, about: about, text: func() string {
			s := a.Who(
				x.Buyer,
			) + " bought " + a.Amount(
				x.NFT,
				big.NewInt(1),
			) + " from " + a.Who(
				x.Seller,
			) + " for " + a.Amount(
				x.Price.Key,
				x.Price.Amount,
			)
			if x.Fee.Sign() > 0 {
				s += ", of which " + a.Amount(x.Price.Key, x.Fee) + " did not reach the seller (fees)"
			}
			return s + "."
		}})
	}
	return steps
}

// aggregateSteps tell of what several events are together: a route, a loan and its
// repayment, a seizure, a sale, a crossing.
func (a *stepWriter) aggregateSteps(o *classify.Opinion) (steps []step) {
	if a.Receipt == nil {
		return nil
	}
	steps = append(steps, a.routeSteps(o)...)
	steps = append(steps, a.loanSteps()...)
	steps = append(steps, a.seizureSteps()...)
	steps = append(steps, a.saleSteps()...)
	return append(steps, a.crossingSteps()...)
}

func (a *stepWriter) loanSteps() (steps []step) {
	for _, x := range a.Loans() {
		about := Detail{Kind: string(facts.ActFlashLoan), Actor: &x.Lender, Amounts: []verdict.Amount{{Key: x.Key, N: x.Amount}}}
		steps = append(steps, step{at: 2*x.Log + 2, about: about, text: func() string {
			s := a.Who(
				x.Lender,
			) + " had lent " + a.Amount(
				x.Key,
				x.Amount,
			) + " to " + a.Who(
				x.Borrower,
			) + " for the length of the transaction and has it back"
			if x.Fee.Sign() > 0 {
				s += ", with " + a.Amount(x.Key, x.Fee) + " more for the loan"
			}
			return s + "."
		}})
	}
	return steps
}
