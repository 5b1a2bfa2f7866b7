package postgres

import (
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
)

// The methods of this file list everything that a store contains, for copies. Each returns up to
// limit rows that have not expired, in the order of their keys, after a key that is not returned;
// the empty or zero key is before all others.

// ids returns the ids of a query whose parameters are an id that is not returned, the least id
// that has not expired, and a limit.
func (s *Store) ids(sql, after, oldest string, limit int) ([]string, error) {
	if after == "" {
		after = uuid.Nil.String()
	}
	return list(s, sql, []any{after, oldest, limit}, func(r pgx.Row) (id string, err error) {
		err = r.Scan(&id)
		return id, err
	})
}

// JobsAfter lists jobs with their bodies by id.
func (s *Store) JobsAfter(id string, limit int) (rows []job.Row, err error) {
	ids, err := s.ids(`SELECT id::text FROM jobs WHERE id > $1 AND id >= $2 ORDER BY id LIMIT $3`, id, s.oldest(api.JobRetention), limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		row, err := s.Job(id)
		if errors.Is(err, api.ErrNoJob) {
			continue // it has expired
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// RunsAfter lists run records of all classes with their frames by id, but no evidence.
func (s *Store) RunsAfter(id string, limit int) (rows []job.RunRow, err error) {
	const sql = `SELECT id::text FROM runs WHERE id > $1 AND id >= $2 AND class < 3 ORDER BY id LIMIT $3`
	ids, err := s.ids(sql, id, s.oldest(api.RunRetention), limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		row, err := s.Run(id)
		if errors.Is(err, api.ErrNoRun) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// BillsAfter lists bills by id.
func (s *Store) BillsAfter(id string, limit int) ([]channel.Bill, error) {
	if id == "" {
		id = uuid.Nil.String()
	}
	return s.bills("id > $1 AND id >= $2 ORDER BY id LIMIT $3", id, s.oldest(billRetention), limit)
}

// TicketsAfter lists tickets by key.
func (s *Store) TicketsAfter(key channel.TicketKey, limit int) ([]channel.Ticket, error) {
	const sql = `SELECT key, bill::text, charged::text FROM tickets WHERE key > $1 AND bill >= $2 ORDER BY key LIMIT $3`
	all, err := list(s, sql, []any{key[:], s.oldest(billRetention), limit}, func(r pgx.Row) (t channel.Ticket, err error) {
		var raw []byte
		var charged string
		if err := r.Scan(&raw, &t.Bill, &charged); err != nil {
			return t, err
		}
		p := parser{}
		t.Charged = p.amount(charged)
		copy(t.Key[:], raw)
		return t, p.err
	})
	return all, ledgerError(err)
}

// Secrets returns all secrets by their names.
func (s *Store) Secrets() (map[string][]byte, error) {
	type secret struct {
		name  string
		value []byte
	}
	rows, err := list(s, `SELECT name, value FROM secrets`, nil, func(r pgx.Row) (one secret, err error) {
		err = r.Scan(&one.name, &one.value)
		return one, err
	})
	all := map[string][]byte{}
	for _, one := range rows {
		all[one.name] = one.value
	}
	return all, err
}

// noteCopy is the name of the note about how far a copy into this store has come.
const noteCopy = "copy"

// CopyState returns how far a copy into this store has come, as SetCopyState wrote it; empty
// unless a copy has begun and not ended.
func (s *Store) CopyState() (state string, err error) {
	err = s.row(nil, `SELECT value FROM notes WHERE name = $1`, []any{noteCopy}, &state)
	return state, err
}

// SetCopyState stores how far a copy has come; empty: it has ended.
func (s *Store) SetCopyState(state string) error {
	if state == "" {
		return s.apply(0, statement{sql: `DELETE FROM notes WHERE name = $1`, args: []any{noteCopy}})
	}
	return s.apply(0, statement{
		sql:  `INSERT INTO notes (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		args: []any{noteCopy, state},
	})
}
