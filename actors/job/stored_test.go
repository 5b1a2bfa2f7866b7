package job

import (
	"errors"
	"testing"
	"time"

	"txlens/engine/api"
)

// TestOnStored: the end of each job is reported once it is on disk, as it is on disk, and no
// other state is.
func TestOnStored(t *testing.T) {
	patience = []time.Duration{time.Millisecond}
	store := newShelf()
	type end struct {
		id, callback, code string
		status             api.JobStatus
	}
	ends := make(chan end, 16)
	told := func(id string, req api.Request, status api.JobStatus, code string) {
		if row, err := store.Job(id); err != nil || row.Status != status || row.ErrorCode != code {
			t.Errorf("%s %s is reported, %+v is stored, %v", status, code, row, err)
		}
		ends <- end{id, req.CallbackURL, code, status}
	}
	f := func(got end, want end) {
		t.Helper()
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	req := ask
	req.CallbackURL = "https://hooks.example.org/"
	j := startJobs(t, Options{Store: store, Analyst: analyst(fine), OnStored: told})
	id := submit(t, j, req)
	f(<-ends, end{id, req.CallbackURL, "", api.JobComplete})

	store.mu.Lock()
	store.refuse = func(row Row) error {
		if row.Status == api.JobComplete {
			return errors.New("disk full")
		}
		return nil
	}
	store.mu.Unlock()
	id = submit(t, j, req)
	f(<-ends, end{id, req.CallbackURL, api.CodeInternal, api.JobError})

	crashed := newShelf()
	crashed.jobs["old"] = Row{ID: "old", Status: api.JobRunning, Attempts: maxAttempts, Request: req}
	store = crashed
	startJobs(t, Options{Store: crashed, Analyst: analyst(fine), OnStored: told})
	f(<-ends, end{"old", req.CallbackURL, api.CodeInterrupted, api.JobError})
	if len(ends) > 0 {
		t.Errorf("%d ends too many", len(ends))
	}
}
