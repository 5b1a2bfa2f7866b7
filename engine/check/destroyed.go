package check

import (
	"slices"

	"txlens/engine/trace"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   100,
	Name:    "self_destruct",
	Title:   "self-destruct, or a caller that is a constructor",
	ruleOut: (*inspection).checkDestroyed,
})

func (l *inspection) checkDestroyed() verdict.Outcome {
	if !l.full() {
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	}
	for _, f := range l.Tree.Frames {
		if f.Kind == trace.SelfDestruct && f.Status == trace.OK || f.Kind.Creates() && f.Status == trace.OK &&
			slices.ContainsFunc(f.Children, func(c *trace.Frame) bool { return c.Kind == trace.Call && len(c.Input) >= 4 && !l.party(c.To) }) {
			return ruled(verdict.NotChecked, verdict.WhyDestroys, verdict.Path(f.Path()))
		}
	}
	return ruled(verdict.Clean, verdict.WhyNothingDestroyed)
}
