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
			for _, err := range []error{r.Put(RunRow{ID: recordid.New(), Class: class}), r.Put(FailedRun(recordid.New(), class, api.Fault{}))} {
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

// TestLastFrame: the last frame of a run is found whether or not the frames before it are read.
func TestLastFrame(t *testing.T) {
	f := func(frames, want string, wantErr bool) {
		t.Helper()
		store := newShelf()
		id := recordid.New()
		store.runs[id] = RunRow{ID: id, State: RunReplayable, Frames: []byte(frames)}
		got, err := NewRuns(store, KeepAll).last(id)
		if string(got) != want || (err != nil) != wantErr {
			t.Errorf("%s: %s, %v", frames, got, err)
		}
	}
	f(`[{"type":"complete","requestId":"a"},{"type":"result","x":["},{"]}]`, `{"type":"result","x":["},{"]}`, false)
	f(`[{"type":"complete","requestId":"},{"},{}]`, `{}`, false)
	f(`[{"type":"complete","requestId":"a"}]`, `{"type":"complete","requestId":"a"}`, false)
	f(`[{"type":"complete","requestId":"a"} , {"b":1} ]`, `{"b":1}`, false)
	f(`[{"type":"error","x":1},{"b":1},{"c":1}]`, `{"c":1}`, false)
	f(`[{"type":"complete","requestId":"a"},{"b":[1]`, ``, true)
	f(`[]`, ``, true)
	f(`[{"type":"complete","requestId":"a"`, ``, true)
	f(``, ``, true)
}
