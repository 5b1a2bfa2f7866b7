package job

import "txlens/engine/api"

// Row is an async job as it is stored.
type Row struct {
	ID        string // by recordid.New
	Status    api.JobStatus
	Attempts  int // processes that had the job in hand and did not give it back
	Request   api.Request
	Error     string
	ErrorCode string
	Result    []byte // JSON; nil unless complete
	HTML      []byte // nil unless complete and asked for
}

// Store keeps jobs for api.JobRetention from the time in their id. It is
// safe for concurrent use.
type Store interface {
	// PutJobs creates or replaces the rows, all of them or none. When it has
	// returned nil they outlive a crash.
	PutJobs(rows ...Row) error
	// Job returns one row, or api.ErrNoJob.
	Job(id string) (Row, error)
	// UnfinishedJobs returns the rows that are pending or running, oldest first.
	UnfinishedJobs() ([]Row, error)
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
	ID         string // the request id, by recordid.New
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
