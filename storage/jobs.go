package storage

import (
	"fmt"

	"txlens/actors/job"
	"txlens/engine/api"
)

// jobHead is the stored part of a job without its body.
type jobHead struct {
	Status    api.JobStatus `json:"status"`
	Attempts  int           `json:"attempts"`
	Request   api.Request   `json:"request"`
	Error     string        `json:"error,omitempty"`
	ErrorCode string        `json:"errorCode,omitempty"`
	Result    int           `json:"result,omitzero"` // length in the body; it precedes HTML
	HTML      int           `json:"html,omitzero"`
}

func (h jobHead) parts() []int { return []int{h.Result, h.HTML} }

func (h jobHead) validate() error {
	switch h.Status {
	case api.JobPending, api.JobRunning, api.JobComplete, api.JobError:
		return nil
	}
	return fmt.Errorf("%w: a job that is %q", ErrDamaged, h.Status)
}

// row returns the job without its body.
func (h jobHead) row(id recordID) job.Row {
	return job.Row{ID: id.String(), Status: h.Status, Attempts: h.Attempts, Request: h.Request, Error: h.Error, ErrorCode: h.ErrorCode}
}

var jobs = records[jobHead]{table[jobHead]{bucketJobs}, "job", api.JobRetention, api.ErrNoJob}

// PutJobs creates or replaces jobs, all or none, and returns when they are on disk.
func (s *Store) PutJobs(rows ...job.Row) error {
	all := make([]packedRecord[jobHead], len(rows))
	for i, row := range rows {
		h := jobHead{row.Status, row.Attempts, row.Request, row.Error, row.ErrorCode, len(row.Result), len(row.HTML)}
		p, err := jobs.pack(s, row.ID, h, row.Result, row.HTML)
		if err != nil {
			return err
		}
		all[i] = p
	}
	return jobs.put(s, all...)
}

// Job returns one job, or api.ErrNoJob.
func (s *Store) Job(id string) (job.Row, error) {
	rid, h, parts, err := jobs.get(s, id)
	if err != nil {
		return job.Row{}, err
	}
	row := h.row(rid)
	row.Result, row.HTML = parts[0], parts[1]
	return row, nil
}

// UnfinishedJobs returns the pending and running jobs, oldest first.
func (s *Store) UnfinishedJobs() (rows []job.Row, err error) {
	err = jobs.eachHead(s, func(id recordID, h jobHead) {
		if h.Status.Unfinished() {
			rows = append(rows, h.row(id))
		}
	})
	return rows, err
}
