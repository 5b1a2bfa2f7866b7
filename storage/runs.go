package storage

import (
	"errors"
	"fmt"

	"txlens/actors/job"
	"txlens/engine/api"
)

// runHead is the part of a run record that is not in its body.
type runHead struct {
	State      job.RunState `json:"state"`
	FinishedAt int64        `json:"finishedAt"`
	Frames     int          `json:"frames,omitzero"` // length of the body
	// Paid means that the class is job.RunPaid. Records of earlier versions do not have it.
	Paid      bool   `json:"paid,omitzero"`
	Error     string `json:"error,omitempty"`
	ErrorCode string `json:"errorCode,omitempty"`
}

func (h runHead) parts() []int { return []int{h.Frames} }

func (h runHead) validate() error {
	switch h.State {
	case job.RunReplayable, job.RunErrored, job.RunTooLarge:
		return nil
	}
	return fmt.Errorf("%w: a run that is %q", ErrDamaged, h.State)
}

// runs are the records of each class. Each class has its own bucket, so that its oldest
// record is the first key. Records of earlier versions are all in the bucket of
// job.RunPaid.
var runs = [...]records[runHead]{
	job.RunPaid:              runsIn(bucketRuns),
	job.RunUnmeteredStream:   runsIn(bucketStreams),
	job.RunUnmeteredBlocking: runsIn(bucketBlocking),
	job.RunEvidence:          runsIn(bucketEvidence),
}

func runsIn(bucket []byte) records[runHead] {
	return records[runHead]{table[runHead]{bucket}, "run", api.RunRetention, api.ErrNoRun}
}

// PutRun creates or replaces a record and returns when it is on disk.
func (s *Store) PutRun(row job.RunRow) error {
	if row.Class != job.RunPaid && s.Usage().Full() {
		return job.ErrNotKept
	}
	put, size, err := s.runPut(row)
	if err == nil {
		err = s.update(size, put)
	}
	if err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	return nil
}

// runPut is what writes a record, and the number of bytes that it writes.
func (s *Store) runPut(row job.RunRow) (put func(*change) error, size int, err error) {
	r, paid := runs[row.Class], row.Class == job.RunPaid
	p, err := r.pack(s, row.ID, runHead{row.State, row.FinishedAt, len(row.Frames), paid, row.Error, row.ErrorCode}, row.Frames)
	if len(p.body) > job.MaxRunBytes || errors.Is(err, ErrTooLarge) {
		p, err = r.pack(s, row.ID, runHead{State: job.RunTooLarge, FinishedAt: row.FinishedAt, Paid: paid})
	}
	if err != nil {
		return nil, 0, err
	}
	return func(c *change) error {
		for class, other := range runs {
			if job.RunClass(class) == row.Class {
				continue
			}
			if err := other.drop(c, p.id); err != nil {
				return err
			}
		}
		return r.putOne(c, p)
	}, len(p.body) + headSize, nil
}

// Run returns one record, or api.ErrNoRun.
func (s *Store) Run(id string) (job.RunRow, error) {
	for class, r := range runs {
		rid, h, parts, err := r.get(s, id)
		if err == nil {
			return job.RunRow{
				ID: rid.String(), Class: job.RunClass(class), State: h.State, FinishedAt: h.FinishedAt, Frames: parts[0],
				Error: h.Error, ErrorCode: h.ErrorCode,
			}, nil
		}
		if !errors.Is(err, api.ErrNoRun) {
			return job.RunRow{}, err
		}
	}
	return job.RunRow{}, api.ErrNoRun
}
