package job

import (
	"errors"
	"slices"
	"testing"

	"txlens/actors/recordid"
	"txlens/engine/api"
)

// TestKeepRuns: a run of a class that is not kept is not written, and the caller learns it.
func TestKeepRuns(t *testing.T) {
	f := func(keep KeepRuns, want ...RunClass) {
		t.Helper()
		store := newShelf()
		r := NewRuns(store, keep)
		for _, class := range []RunClass{RunPaid, RunUnmeteredStream, RunUnmeteredBlocking, RunEvidence} {
			kept := slices.Contains(want, class)
			for _, err := range []error{r.Finish(recordid.New(), class), r.Fail(recordid.New(), class, api.Fault{})} {
				if kept != (err == nil) || !kept && !errors.Is(err, ErrNotKept) || r.Keeps(class) != kept {
					t.Errorf("%q, class %d: %v", keep, class, err)
				}
			}
		}
		if len(store.runs) != 2*len(want) {
			t.Errorf("%q: %d records", keep, len(store.runs))
		}
	}
	f("", RunPaid, RunUnmeteredStream, RunUnmeteredBlocking, RunEvidence)
	f(KeepAll, RunPaid, RunUnmeteredStream, RunUnmeteredBlocking, RunEvidence)
	f(KeepStreams, RunPaid, RunUnmeteredStream)
	f(KeepPaid, RunPaid)
	f(KeepNone)
}
