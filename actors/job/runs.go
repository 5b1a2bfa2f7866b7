package job

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// Runs stores the final frames of synchronous runs for clients whose connection broke. It is
// safe for concurrent use. It needs no actor, because a record is written once and never
// changes.
type Runs struct{ store RunStore }

// NewRuns returns Runs that use store.
func NewRuns(store RunStore) *Runs { return &Runs{store} }

// Finish stores the final frames of a run in the order in which they are sent, each a JSON
// object with a type. Call it before the last frame is sent: a client that received it may
// request the record at once.
func (r *Runs) Finish(requestID string, frames ...jsontext.Value) error {
	all, err := json.Marshal(frames)
	if err != nil {
		return fmt.Errorf("record run: %w", err)
	}
	return r.store.PutRun(RunRow{ID: requestID, State: RunReplayable, FinishedAt: time.Now().Unix(), Frames: all})
}

// Fail stores that a run has no frames to replay.
func (r *Runs) Fail(requestID string) error {
	return r.store.PutRun(RunRow{ID: requestID, State: RunErrored, FinishedAt: time.Now().Unix()})
}

// Recover returns the frames of Finish, or api.ErrNoRun, api.ErrRunErrored,
// api.ErrRunTooLarge.
func (r *Runs) Recover(requestID string) (*api.RunRecovery, error) {
	row, err := r.store.Run(requestID)
	if err != nil {
		return nil, err
	}
	switch row.State {
	case RunErrored:
		return nil, api.ErrRunErrored
	case RunTooLarge:
		return nil, api.ErrRunTooLarge
	}
	out := &api.RunRecovery{RequestID: row.ID, FinishedAt: row.FinishedAt}
	if err := json.Unmarshal(row.Frames, &out.Frames); err != nil {
		return nil, fmt.Errorf("read run %s: %w", requestID, err)
	}
	return out, nil
}
