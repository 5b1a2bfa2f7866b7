package check

import (
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   150,
	Name:    "bad_debt",
	Title:   "bad debt",
	Flags:   []verdict.Flag{verdict.BadDebt},
	ruleOut: always(verdict.Clean, verdict.WhyNoBadDebt),
})

var _ = register(&Check{
	order:   220,
	Name:    "solvency",
	Title:   "assets of a lender cover its debts",
	Flags:   []verdict.Flag{verdict.BadDebt},
	Open:    true,
	ruleOut: (*inspection).checkSolvency,
})

func (l *inspection) checkSolvency() verdict.Outcome {
	if l.Verdict.SubType != "borrow" && l.Verdict.SubType != "withdraw" && l.Verdict.SubType != "liquidation" {
		return ruled(verdict.NotApplicable, verdict.WhyNobodyBorrowed)
	}
	return ruled(verdict.NotChecked, verdict.WhyBooksUnknown)
}
