package app

import (
	"errors"
	"testing"

	"txlens/actors/job"
	"txlens/engine/api"
)

// oneJob is a store with one job, or with none if its error says so.
type oneJob struct {
	job.Store
	row job.Row
	err error
}

func (s oneJob) Job(string) (job.Row, error) { return s.row, s.err }

// TestInProgress: a store that does not answer says nothing about a job.
func TestInProgress(t *testing.T) {
	f := func(status api.JobStatus, err error, want bool, unknown error) {
		t.Helper()
		got, bad := new(Sales).inProgress(oneJob{row: job.Row{Status: status}, err: err})("id")
		if got != want || !errors.Is(bad, unknown) || bad != nil && unknown == nil {
			t.Errorf("%s, %v: %t, %v; want %t, %v", status, err, got, bad, want, unknown)
		}
	}
	f(api.JobRunning, nil, true, nil)
	f(api.JobPending, nil, true, nil)
	f(api.JobComplete, nil, false, nil)
	f("", api.ErrNoJob, false, nil)
	f("", api.ErrStoreAway, false, api.ErrStoreAway)
}
