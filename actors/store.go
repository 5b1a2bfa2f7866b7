package actors

import (
	"time"

	"github.com/google/uuid"

	"txlens/engine/api"
)

// NewID makes the id of a job or a run: a UUID of version 7, so that ids are in
// the order of their time. Stores count retention from that time.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// timeOf is when NewID made an id; ok is false where it did not.
func timeOf(id string) (t time.Time, ok bool) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, false
	}
	sec, nsec := u.Time().UnixTime()
	return time.Unix(sec, nsec), true
}

// JobRow is an async job as it is stored.
type JobRow struct {
	ID        string // by NewID
	Status    api.JobStatus
	Attempts  int // processes that had the job in hand and did not give it back
	Request   api.Request
	Error     string
	ErrorCode string
	Result    []byte // JSON; nil unless complete
	HTML      []byte // nil unless complete and asked for
}

// JobStore keeps jobs for api.JobRetention from the time in their id. It is
// safe for concurrent use.
type JobStore interface {
	// PutJobs creates or replaces the rows, all of them or none. When it has
	// returned nil they outlive a crash.
	PutJobs(rows ...JobRow) error
	// Job returns one row, or api.ErrNoJob.
	Job(id string) (JobRow, error)
	// UnfinishedJobs returns the rows that are pending or running, oldest first.
	UnfinishedJobs() ([]JobRow, error)
}

// MaxRunBytes bounds the compressed frames of a run record.
const MaxRunBytes = 16 << 20

// RunState says whether a run record can be replayed.
type RunState string

const (
	RunReplayable RunState = "replayable"
	RunErrored    RunState = "errored"   // the run left no result
	RunTooLarge   RunState = "too_large" // more than MaxRunBytes
)

// RunRow is the record of a finished synchronous run.
type RunRow struct {
	ID         string // the request id, by NewID
	State      RunState
	FinishedAt int64  // Unix seconds
	Frames     []byte // a JSON array of objects; nil unless replayable
}

// RunStore keeps run records for api.RunRetention from the time in their id.
// It is safe for concurrent use.
type RunStore interface {
	// PutRun creates or replaces a record. Frames that take more than MaxRunBytes
	// compressed are left out, and the state says so. When it has returned nil the
	// record outlives a crash.
	PutRun(row RunRow) error
	// Run returns one record, or api.ErrNoRun.
	Run(id string) (RunRow, error)
}
