//go:build postgres

package postgres

import (
	"fmt"

	"txlens/actors/job"
	"txlens/engine/api"
)

const putKept = `INSERT INTO kept (key, run, chain, block, block_time, checked_at)
	SELECT $1, id, $3, $4, $5, $6 FROM runs WHERE id = $2
	ON CONFLICT (key) DO UPDATE SET run = excluded.run, chain = excluded.chain, block = excluded.block,
	block_time = excluded.block_time, checked_at = excluded.checked_at`

// PutKept creates or replaces entries. Those whose run is not in the store are left out.
func (s *Store) PutKept(rows ...job.Kept) error {
	var all []statement
	for _, row := range rows {
		if err := checkID(row.Run); err != nil {
			return fmt.Errorf("keep a result: %w", err)
		}
		all = append(all, statement{sql: putKept, args: []any{row.Key[:], row.Run, int64(row.ChainID), row.Block[:], row.Time, row.CheckedAt}})
	}
	if err := s.apply(0, all...); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}

// Kept returns one entry, or api.ErrNoRun.
func (s *Store) Kept(key job.KeptKey) (job.Kept, error) {
	row, chain, block := job.Kept{Key: key}, int64(0), []byte(nil)
	const sql = `SELECT run::text, chain, block, block_time, checked_at FROM kept WHERE key = $1 AND run >= $2`
	err := s.row(api.ErrNoRun, sql, []any{key[:], s.oldest(api.RunRetention)}, &row.Run, &chain, &block, &row.Time, &row.CheckedAt)
	if err != nil {
		return job.Kept{}, err
	}
	row.ChainID, row.Block = uint64(chain), [32]byte(block)
	return row, nil
}
