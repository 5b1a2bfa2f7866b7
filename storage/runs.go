package storage

import (
	"errors"
	"fmt"

	"txlens/actors"
	"txlens/engine/api"
)

// runHead is what of a run record is not in its body.
type runHead struct {
	State      actors.RunState `json:"state"`
	FinishedAt int64           `json:"finishedAt"`
	Frames     int             `json:"frames,omitzero"` // bytes in the body
}

func (h runHead) parts() []int { return []int{h.Frames} }

func (h runHead) check() error {
	switch h.State {
	case actors.RunReplayable, actors.RunErrored, actors.RunTooLarge:
		return nil
	}
	return fmt.Errorf("%w: a run that is %q", ErrDamaged, h.State)
}

var runs = records[runHead]{table[runHead]{bucketRuns}, "run", api.RunRetention, api.ErrNoRun}

// PutRun creates or replaces a record and returns when it is on disk.
func (s *Store) PutRun(row actors.RunRow) error {
	p, err := runs.pack(s, row.ID, runHead{row.State, row.FinishedAt, len(row.Frames)}, row.Frames)
	if len(p.body) > actors.MaxRunBytes || errors.Is(err, ErrTooLarge) {
		p, err = runs.pack(s, row.ID, runHead{actors.RunTooLarge, row.FinishedAt, 0})
	}
	if err != nil {
		return err
	}
	return runs.put(s, p)
}

// Run returns one record, or api.ErrNoRun.
func (s *Store) Run(id string) (actors.RunRow, error) {
	rid, h, parts, err := runs.get(s, id)
	if err != nil {
		return actors.RunRow{}, err
	}
	return actors.RunRow{ID: rid.String(), State: h.State, FinishedAt: h.FinishedAt, Frames: parts[0]}, nil
}
