package job

import (
	"bytes"
	"fmt"
	"time"

	"txlens/engine/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// KeepRuns says which run records are written. Its values are settings.
type KeepRuns string

const (
	KeepAll     KeepRuns = "all"     // every run; the empty string means the same
	KeepPaid    KeepRuns = "paid"    // runs that are sold
	KeepStreams KeepRuns = "streams" // runs that are sold, and unmetered streams
	KeepNone    KeepRuns = "none"    // no run; not for a server that sells
)

// Keeps reports whether records of a class are written.
func (k KeepRuns) Keeps(class RunClass) bool {
	switch k {
	case KeepNone:
		return false
	case KeepPaid:
		return class == RunPaid
	case KeepStreams:
		return class == RunPaid || class == RunUnmeteredStream
	}
	return true
}

// Runs stores the final frames of synchronous runs for clients whose connection broke. It is
// safe for concurrent use. It needs no actor, because a record is written once and never
// changes.
type Runs struct {
	store RunStore
	keep  KeepRuns
}

// NewRuns returns Runs that write to store what keep says.
func NewRuns(store RunStore, keep KeepRuns) *Runs { return &Runs{store, keep} }

// Keeps reports whether records of a class are written.
func (r *Runs) Keeps(class RunClass) bool { return r.keep.Keeps(class) }

// FinishedRun is the record of a run with its final frames in the order in which they are sent,
// each a JSON object with a type.
func FinishedRun(requestID string, class RunClass, frames ...jsontext.Value) (RunRow, error) {
	all, err := json.Marshal(frames)
	if err != nil {
		return RunRow{}, fmt.Errorf("record run: %w", err)
	}
	return RunRow{ID: requestID, Class: class, State: RunReplayable, FinishedAt: time.Now().Unix(), Frames: all}, nil
}

// FailedRun is the record of a run that has no frames to replay. It says why if the caller may
// know the cause.
func FailedRun(requestID string, class RunClass, f api.Fault) RunRow {
	if f.Code == api.CodeInternal {
		f = api.Fault{}
	}
	return RunRow{
		ID: requestID, Class: class, State: RunErrored, FinishedAt: time.Now().Unix(), Error: f.Message, ErrorCode: f.Code,
	}
}

// Put stores a record. Call it before the last frame is sent: a client that received it may
// request the record at once. It returns ErrNotKept if the record is not written on purpose.
func (r *Runs) Put(row RunRow) error {
	if !r.Keeps(row.Class) {
		return ErrNotKept
	}
	return r.store.PutRun(row)
}

// Recover returns the frames of FinishedRun, or api.ErrNoRun, api.ErrRunErrored (an *api.RunFailed
// if the cause is known), api.ErrRunTooLarge.
func (r *Runs) Recover(requestID string) (*api.RunRecovery, error) {
	row, err := r.replayable(requestID)
	if err != nil {
		return nil, err
	}
	out := &api.RunRecovery{RequestID: row.ID, FinishedAt: row.FinishedAt}
	if err := json.Unmarshal(row.Frames, &out.Frames); err != nil {
		return nil, fmt.Errorf("read run %s: %w", requestID, err)
	}
	return out, nil
}

// replayable returns a record that has frames, or an error of Recover.
func (r *Runs) replayable(requestID string) (RunRow, error) {
	row, err := r.store.Run(requestID)
	switch {
	case err != nil:
		return row, err
	case row.Class == RunEvidence:
		return row, api.ErrNoRun
	case row.State == RunErrored && row.ErrorCode != "":
		return row, &api.RunFailed{Fault: api.Fault{Code: row.ErrorCode, Message: row.Error}}
	case row.State == RunErrored:
		return row, api.ErrRunErrored
	case row.State == RunTooLarge:
		return row, api.ErrRunTooLarge
	}
	return row, nil
}

// last returns the last frame of a run with the errors of Recover. It is api.ErrNoRun if there is
// none.
func (r *Runs) last(requestID string) (jsontext.Value, error) {
	row, err := r.replayable(requestID)
	if err != nil {
		return nil, err
	}
	if frame, ok := afterComplete(row.Frames); ok {
		return frame, nil
	}
	var frames []jsontext.Value
	if err := json.Unmarshal(row.Frames, &frames); err != nil {
		return nil, fmt.Errorf("read run %s: %w", requestID, err)
	}
	if len(frames) == 0 {
		return nil, api.ErrNoRun
	}
	return frames[len(frames)-1], nil
}

// afterComplete returns the frame that follows a first one of type complete, which is the last. It
// is not read: the store checks that it has what was written.
func afterComplete(frames []byte) (jsontext.Value, bool) {
	const first, end = `[{"type":"complete",`, "]"
	if !bytes.HasPrefix(frames, []byte(first)) || !bytes.HasSuffix(frames, []byte("}"+end)) {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(frames))
	if _, err := dec.ReadToken(); err != nil || dec.SkipValue() != nil {
		return nil, false
	}
	rest := frames[dec.InputOffset():]
	if !bytes.HasPrefix(rest, []byte(",{")) {
		return nil, false
	}
	return rest[1 : len(rest)-len(end)], true
}

// finishEvidence stores what an analysis read.
func (r *Runs) finishEvidence(id string, bundle []byte) error {
	if !r.Keeps(RunEvidence) {
		return ErrNotKept
	}
	return r.store.PutRun(RunRow{ID: id, Class: RunEvidence, State: RunReplayable, FinishedAt: time.Now().Unix(), Frames: bundle})
}

// evidence returns what finishEvidence stored, or api.ErrNoRun.
func (r *Runs) evidence(id string) ([]byte, error) {
	row, err := r.store.Run(id)
	if err == nil && (row.Class != RunEvidence || row.State != RunReplayable) {
		err = api.ErrNoRun
	}
	return row.Frames, err
}
