package storage

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/engine/api"
)

// keptRow is a job.Kept without its key.
type keptRow struct {
	Run       string `json:"run"`
	ChainID   uint64 `json:"chainId"`
	Block     []byte `json:"block"`
	Time      int64  `json:"time"`
	CheckedAt int64  `json:"checkedAt"`
	MadeAt    int64  `json:"madeAt"`
}

var keptRows = table[keptRow]{bucketKept}

// PutKept creates or replaces entries. Those whose run is not in the store are left out.
func (s *Store) PutKept(rows ...job.Kept) error {
	err := s.update(len(rows)*headSize, func(c *change) error {
		for _, row := range rows {
			if err := putKept(c, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}

func putKept(c *change, row job.Kept) error {
	id, err := parseID(row.Run)
	if err != nil {
		return err
	}
	there, err := hasRun(c, id)
	if err != nil || !there {
		return err
	}
	if err := forget(c, row.Key[:]); err != nil {
		return err
	}
	if err := c.put(bucketKeptRuns, keptRunKey(id, row.Key[:]), []byte{}); err != nil {
		return err
	}
	return keptRows.put(c, row.Key[:], keptRow{id.String(), row.ChainID, row.Block[:], row.Time, row.CheckedAt, row.MadeAt})
}

// hasRun reports whether there is a run record of any class.
func hasRun(c *change, id recordID) (bool, error) {
	for _, r := range runs {
		b, err := c.bucket(r.bucket)
		if err != nil || b.Get(id.headKey()) != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// keptRunKey orders the keys of entries by their runs.
func keptRunKey(id recordID, key []byte) []byte { return append(id[:len(id):len(id)], key...) }

// forget deletes an entry, if there is one.
func forget(c *change, key []byte) error {
	row, there, err := keptRows.get(c.tx, key)
	if err != nil || !there {
		return err
	}
	id, err := parseID(row.Run)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err := c.delete(bucketKeptRuns, keptRunKey(id, key)); err != nil {
		return err
	}
	return keptRows.delete(c, key)
}

// forgetRun deletes the entries of a run record, whose key is that of its head or of a chunk.
func forgetRun(c *change, recordKey []byte) error {
	id, err := idOfKey(recordKey)
	if err != nil {
		return err
	}
	b, err := c.bucket(bucketKeptRuns)
	if err != nil {
		return err
	}
	var keys [][]byte
	cur := b.Cursor()
	for k, _ := cur.Seek(id[:]); bytes.HasPrefix(k, id[:]); k, _ = cur.Next() {
		keys = append(keys, bytes.Clone(k[len(id):]))
	}
	for _, key := range keys {
		if err := forget(c, key); err != nil {
			return err
		}
	}
	return nil
}

// Kept returns one entry, or api.ErrNoRun.
func (s *Store) Kept(key job.KeptKey) (job.Kept, error) {
	var row keptRow
	there := false
	err := s.view(func(tx *bolt.Tx) (err error) { row, there, err = keptRows.get(tx, key[:]); return err })
	if err != nil {
		return job.Kept{}, fmt.Errorf("find a kept result: %w", err)
	}
	if !there {
		return job.Kept{}, api.ErrNoRun
	}
	id, err := parseID(row.Run)
	if err != nil || len(row.Block) != len(job.Mined{}.Block) {
		return job.Kept{}, fmt.Errorf("%w: kept result %x", ErrDamaged, key)
	}
	if s.hasExpired(id, api.RunRetention) {
		return job.Kept{}, api.ErrNoRun
	}
	at := job.Mined{ChainID: row.ChainID, Block: [32]byte(row.Block), Time: row.Time}
	return job.Kept{Key: key, Run: row.Run, Mined: at, CheckedAt: row.CheckedAt, MadeAt: row.MadeAt}, nil
}
