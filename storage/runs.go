package storage

import (
	"errors"
	"fmt"

	"txlens/actors/job"
	"txlens/engine/api"
)

// runHead is the stored part of a run record without its body.
type runHead struct {
	State      job.RunState `json:"state"`
	FinishedAt int64        `json:"finishedAt"`
	Frames     int          `json:"frames,omitzero"` // length in the body
}

func (h runHead) parts() []int { return []int{h.Frames} }

func (h runHead) validate() error {
	switch h.State {
	case job.RunReplayable, job.RunErrored, job.RunTooLarge:
		return nil
	}
	return fmt.Errorf("%w: a run that is %q", ErrDamaged, h.State)
}

var runs = records[runHead]{table[runHead]{bucketRuns}, "run", api.RunRetention, api.ErrNoRun}

// PutRun creates or replaces a record and returns when it is on disk.
func (s *Store) PutRun(row job.RunRow) error {
	p, err := runs.pack(s, row.ID, runHead{row.State, row.FinishedAt, len(row.Frames)}, row.Frames)
	if len(p.body) > job.MaxRunBytes || errors.Is(err, ErrTooLarge) {
		p, err = runs.pack(s, row.ID, runHead{job.RunTooLarge, row.FinishedAt, 0})
	}
	if err != nil {
		return err
	}
	return runs.put(s, p)
}

// Run returns one record, or api.ErrNoRun.
func (s *Store) Run(id string) (job.RunRow, error) {
	rid, h, parts, err := runs.get(s, id)
	if err != nil {
		return job.RunRow{}, err
	}
	return job.RunRow{ID: rid.String(), State: h.State, FinishedAt: h.FinishedAt, Frames: parts[0]}, nil
}
