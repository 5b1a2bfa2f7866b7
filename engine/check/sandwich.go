package check

import (
	"txlens/engine/api"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   120,
	Name:    "sandwich",
	Title:   "sandwich around the transaction",
	Causes:  []api.Category{api.SlippageExposure},
	Flags:   []verdict.Flag{verdict.Sandwich},
	Open:    true,
	ruleOut: (*inspection).checkSandwich,
})

func (l *inspection) checkSandwich() verdict.Outcome {
	if l.Verdict.Sandwich != nil {
		return verdict.Outcome{Result: verdict.Found}
	}
	if l.Verdict.TxType == nil || *l.Verdict.TxType != api.TypeSwap {
		return ruled(verdict.NotApplicable, verdict.WhyNoSwap)
	}
	if l.Neighbours != nil {
		return ruled(verdict.Clean, verdict.WhyNobodyAround)
	}
	return ruled(verdict.NotChecked, verdict.WhyNeighboursUnknown)
}
