package postgres

import (
	"fmt"

	"txlens/actors/job"
	"txlens/engine/api"
)

const putKept = `INSERT INTO kept (key, run, chain, block, block_time, checked_at, made_at)
	SELECT $1, id, $3, $4, $5, $6, $7 FROM runs WHERE id = $2
	ON CONFLICT (key) DO UPDATE SET run = excluded.run, chain = excluded.chain, block = excluded.block,
	block_time = excluded.block_time, checked_at = excluded.checked_at,
	made_at = excluded.made_at`

// wasKept is the entry that putKept replaces.
const wasKept = `SELECT 1 AS class, ` + keptSize + ` AS size FROM kept WHERE key = $1 AND EXISTS (SELECT FROM runs WHERE id = $2)`

// PutKept creates or replaces entries. Those whose run is not in the store are left out.
func (s *Store) PutKept(rows ...job.Kept) error {
	var all []statement
	for _, row := range rows {
		if err := checkID(row.Run); err != nil {
			return fmt.Errorf("keep a result: %w", err)
		}
		all = append(all, s.putting(putKept, `1`, keptSize, wasKept,
			row.Key[:], row.Run, int64(row.ChainID), row.Block[:], row.Time, row.CheckedAt, row.MadeAt))
	}
	if err := s.send(write{statements: all, unleased: true}); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}

// Kept returns one entry, or api.ErrNoRun.
func (s *Store) Kept(key job.KeptKey) (job.Kept, error) {
	row, chain, block := job.Kept{Key: key}, int64(0), []byte(nil)
	const sql = `SELECT run::text, chain, block, block_time, checked_at, made_at FROM kept WHERE key = $1 AND run >= $2`
	args := []any{key[:], s.oldest(api.RunRetention)}
	err := s.row(api.ErrNoRun, sql, args, &row.Run, &chain, &block, &row.Time, &row.CheckedAt, &row.MadeAt)
	if err != nil {
		return job.Kept{}, err
	}
	row.ChainID, row.Block = uint64(chain), [32]byte(block)
	return row, nil
}
