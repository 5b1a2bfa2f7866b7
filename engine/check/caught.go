package check

import (
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   160,
	Name:    "caught_inner_failure",
	Title:   "caught inner failure",
	Flags:   []verdict.Flag{verdict.CaughtInnerFailure, verdict.InnerFailure},
	ruleOut: (*inspection).checkCaught,
})

func (l *inspection) checkCaught() verdict.Outcome {
	switch {
	case !l.full():
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	case l.Tree.Failed > 0:
		return ruled(verdict.Clean, verdict.WhyPrecompileFailed)
	}
	return ruled(verdict.Clean, verdict.WhyNoCallFailed)
}
