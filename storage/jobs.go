package storage

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	bolt "go.etcd.io/bbolt"

	"txlens/actors"
	"txlens/engine/explain"
)

// jobHead is what of a job is not in its body.
type jobHead struct {
	Status    explain.JobStatus `json:"status"`
	Attempts  int               `json:"attempts"`
	Request   explain.Request   `json:"request"`
	Error     string            `json:"error,omitempty"`
	ErrorCode string            `json:"errorCode,omitempty"`
	Result    int               `json:"result,omitzero"` // bytes in the body, before HTML
	HTML      int               `json:"html,omitzero"`
}

// packed is a record ready to be written.
type packed struct {
	id         recordID
	head, body []byte
}

// PutJobs creates or replaces jobs, all or none, and returns when they are on disk.
func (s *Store) PutJobs(rows ...actors.JobRow) error {
	size := 0
	records := make([]packed, len(rows))
	for i, row := range rows {
		r, err := s.packJob(row)
		if err != nil {
			return fmt.Errorf("store job: %w", err)
		}
		records[i] = r
		size += len(r.head) + len(r.body)
	}
	err := s.commit(size, func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketJobs)
		for _, r := range records {
			if err := putRecord(b, r.id, r.head, r.body); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store job: %w", err)
	}
	return nil
}

func (s *Store) packJob(row actors.JobRow) (packed, error) {
	id, err := parseID(row.ID)
	if err != nil {
		return packed{}, err
	}
	head, err := json.Marshal(jobHead{row.Status, row.Attempts, row.Request, row.Error, row.ErrorCode, len(row.Result), len(row.HTML)})
	if err != nil {
		return packed{}, err
	}
	return packed{id, head, s.pack(row.Result, row.HTML)}, nil
}

// Job returns one job, or explain.ErrNoJob.
func (s *Store) Job(id string) (actors.JobRow, error) {
	rid, err := parseID(id)
	if err != nil || s.expired(rid, explain.JobRetention) {
		return actors.JobRow{}, explain.ErrNoJob
	}
	var head, body []byte
	err = s.view(func(tx *bolt.Tx) (err error) {
		head, body, err = getRecord(tx.Bucket(bucketJobs), rid)
		return err
	})
	if errors.Is(err, errNoRecord) {
		return actors.JobRow{}, explain.ErrNoJob
	}
	if err != nil {
		return actors.JobRow{}, fmt.Errorf("read job: %w", err)
	}
	row, h, err := jobRow(rid, head)
	if err != nil {
		return actors.JobRow{}, err
	}
	parts, err := s.unpack(body, h.Result, h.HTML)
	if err != nil {
		return actors.JobRow{}, fmt.Errorf("read job %s: %w", id, err)
	}
	row.Result, row.HTML = parts[0], parts[1]
	return row, nil
}

// jobRow reads a head; the body is not in the row.
func jobRow(id recordID, head []byte) (actors.JobRow, jobHead, error) {
	var h jobHead
	if err := json.Unmarshal(head, &h); err != nil {
		return actors.JobRow{}, h, fmt.Errorf("read job %s: %w", id, err)
	}
	return actors.JobRow{ID: id.String(), Status: h.Status, Attempts: h.Attempts, Request: h.Request, Error: h.Error, ErrorCode: h.ErrorCode}, h, nil
}

// UnfinishedJobs returns the pending and running jobs, oldest first.
func (s *Store) UnfinishedJobs() ([]actors.JobRow, error) {
	var rows []actors.JobRow
	err := s.view(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketJobs).Cursor()
		for k, v := c.First(); k != nil; {
			id := recordID(k[:len(recordID{})])
			if k[len(id)] == partHead && !s.expired(id, explain.JobRetention) {
				row, _, err := jobRow(id, v)
				if err != nil {
					return err
				}
				if row.Status.Unfinished() {
					rows = append(rows, row)
				}
			}
			k, v = c.Seek(append(id[:len(id):len(id)], 0xff)) // past its chunks
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list unfinished jobs: %w", err)
	}
	return rows, nil
}
