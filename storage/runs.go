package storage

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	bolt "go.etcd.io/bbolt"

	"txlens/actors"
	"txlens/engine/explain"
)

// runHead is what of a run record is not in its body.
type runHead struct {
	State      actors.RunState `json:"state"`
	FinishedAt int64           `json:"finishedAt"`
	Frames     int             `json:"frames,omitzero"` // bytes in the body
}

// PutRun creates or replaces a record and returns when it is on disk.
func (s *Store) PutRun(row actors.RunRow) error {
	id, err := parseID(row.ID)
	if err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	body := s.pack(row.Frames)
	if len(body) > actors.MaxRunBytes {
		row.State, row.Frames, body = actors.RunTooLarge, nil, nil
	}
	head, err := json.Marshal(runHead{row.State, row.FinishedAt, len(row.Frames)})
	if err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	err = s.commit(len(head)+len(body), func(tx *bolt.Tx) error { return putRecord(tx.Bucket(bucketRuns), id, head, body) })
	if err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	return nil
}

// Run returns one record, or explain.ErrNoRun.
func (s *Store) Run(id string) (actors.RunRow, error) {
	rid, err := parseID(id)
	if err != nil || s.expired(rid, explain.RunRetention) {
		return actors.RunRow{}, explain.ErrNoRun
	}
	var head, body []byte
	err = s.view(func(tx *bolt.Tx) (err error) {
		head, body, err = getRecord(tx.Bucket(bucketRuns), rid)
		return err
	})
	if errors.Is(err, errNoRecord) {
		return actors.RunRow{}, explain.ErrNoRun
	}
	if err != nil {
		return actors.RunRow{}, fmt.Errorf("read run: %w", err)
	}
	var h runHead
	if err := json.Unmarshal(head, &h); err != nil {
		return actors.RunRow{}, fmt.Errorf("read run %s: %w", id, err)
	}
	parts, err := s.unpack(body, h.Frames)
	if err != nil {
		return actors.RunRow{}, fmt.Errorf("read run %s: %w", id, err)
	}
	return actors.RunRow{ID: rid.String(), State: h.State, FinishedAt: h.FinishedAt, Frames: parts[0]}, nil
}
