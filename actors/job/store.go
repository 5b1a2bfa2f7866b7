package job

import "txlens/engine/api"

// Row is a stored async job.
type Row struct {
	ID        string // made by recordid.New
	Status    api.JobStatus
	Attempts  int // starts of the job that were not given back
	Request   api.Request
	Error     string
	ErrorCode string
	Result    []byte // JSON; nil unless complete
	HTML      []byte // nil unless complete and requested
}

// Store keeps jobs for api.JobRetention from the time in their id. It is safe for concurrent
// use.
type Store interface {
	// PutJobs creates or replaces the rows, all or none. If it returns nil they survive a
	// crash.
	PutJobs(rows ...Row) error
	// Job returns one row, or api.ErrNoJob.
	Job(id string) (Row, error)
	// UnfinishedJobs returns the pending and running rows, oldest first.
	UnfinishedJobs() ([]Row, error)
}

// MaxRunBytes bounds the compressed frames of a run record.
const MaxRunBytes = 16 << 20

// RunState says whether a run record can be replayed.
type RunState string

const (
	RunReplayable RunState = "replayable"
	RunErrored    RunState = "errored"   // the run has no result
	RunTooLarge   RunState = "too_large" // more than MaxRunBytes
)

// RunRow is the record of a finished synchronous run.
type RunRow struct {
	ID         string // request id, made by recordid.New
	State      RunState
	FinishedAt int64  // Unix seconds
	Frames     []byte // a JSON array of objects; nil unless replayable
}

// RunStore keeps run records for api.RunRetention from the time in their id. It is safe for
// concurrent use.
type RunStore interface {
	// PutRun creates or replaces a record. Frames above MaxRunBytes compressed are not stored,
	// and State says so. If it returns nil the record survives a crash.
	PutRun(row RunRow) error
	// Run returns one record, or api.ErrNoRun.
	Run(id string) (RunRow, error)
}
