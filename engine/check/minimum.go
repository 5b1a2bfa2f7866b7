package check

import (
	"txlens/engine/classify"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   210,
	Name:    "bounded_output",
	Title:   "what a swap gave is at least the minimum of its calldata",
	Flags:   []verdict.Flag{verdict.NoSlippageLimit},
	Open:    true,
	ruleOut: (*inspection).checkMinimum,
})

// checkMinimum compares what came in with what the call asked for at least.
func (l *inspection) checkMinimum() verdict.Outcome {
	least, ok := classify.Minimum(l.Case)
	if !ok {
		return ruled(verdict.NotApplicable, verdict.WhyNoMinimum)
	}
	for i := range l.moves {
		k := l.moves[i].Key
		if l.gain(k).Cmp(least) >= 0 {
			return ruled(verdict.Clean, verdict.WhyMinimumCame, verdict.Num(least))
		}
	}
	return ruled(verdict.NotChecked, verdict.WhyOutputUnknown)
}
