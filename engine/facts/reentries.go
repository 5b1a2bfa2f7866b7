package facts

import (
	"slices"

	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Reentry is a call of a contract while an earlier call of it was running, from a contract that the
// earlier call had called. Calls of a contract to itself and delegate calls are none.
type Reentry struct {
	Outer *trace.Frame // the innermost earlier call, which may change state
	Inner *trace.Frame // the call, which may be a static one
}

// Reentries are those of calls that took effect, in the order of the inner calls.
func (a *Case) Reentries() []Reentry {
	a.reentered.Do(func() {
		if a.Tree == nil {
			return
		}
		for _, f := range a.Tree.Frames {
			if f.Kind != trace.Call && f.Kind != trace.StaticCall || f.From == f.To || f.Status != trace.OK {
				continue
			}
			for up := f.Parent; up != nil; up = up.Parent {
				if up.To == f.To && up.Kind == trace.Call {
					a.reentries = append(a.reentries, Reentry{up, f})
					break
				}
			}
		}
	})
	return a.reentries
}

// Reentered are the contracts of re-entries, each once.
func (a *Case) Reentered() (out []common.Address) {
	for _, r := range a.Reentries() {
		if !slices.Contains(out, r.Inner.To) {
			out = append(out, r.Inner.To)
		}
	}
	return out
}
