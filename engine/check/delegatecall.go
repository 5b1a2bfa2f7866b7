package check

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/trace"
	"txlens/engine/verdict"
)

var _ = register(&Check{
	order:   90,
	Name:    "unverified_delegatecall",
	Title:   "delegatecall to unverified or fresh code",
	Causes:  []api.Category{api.StorageCollision},
	Flags:   []verdict.Flag{verdict.UnverifiedDelegatecall},
	ruleOut: (*inspection).checkDelegate,
})

func (l *inspection) checkDelegate() verdict.Outcome {
	switch {
	case !l.full():
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	case !slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool { return f.Kind == trace.DelegateCall || f.Kind == trace.CallCode }):
		return ruled(verdict.NotApplicable, verdict.WhyNoDelegatecall)
	case len(l.Contracts) == 0:
		return ruled(verdict.NotChecked, verdict.WhyNoSources)
	}
	return ruled(verdict.Clean, verdict.WhyCodeKnown)
}
