package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"txlens/engine/api"
	"txlens/storage/budget"
)

// What a row takes on disk is estimated from the lengths of its values: with what PostgreSQL adds to a
// row, to the parts of a body that it stores apart, and with the entries of the indexes. For bodies from
// nothing to 100 KB that is what was measured, within a fifth.
const (
	bodySize = `octet_length(body)::int8 * 17 / 16 + CASE WHEN octet_length(body) > 2000 THEN 512 ELSE 0 END`
	runSize  = `(192 + octet_length(error) + ` + bodySize + `)`
	jobSize  = `(192 + octet_length(error) + octet_length(request) + ` + bodySize + `)`
	keptSize = `256`
)

// ledgerTables are the tables whose rows are not counted one by one: they are as large as their files.
const ledgerTables = `('channels'), ('bills'), ('tickets'), ('intents')`

// growth is what a statement or a transaction adds, in estimated bytes.
type growth struct {
	promised, evictable int64
	freed               int64 // bytes of runs and jobs that were deleted or replaced
	rows                int64 // rows that were deleted, or put
}

// counters count what is in a database with a bound.
type counters struct {
	promised, evictable atomic.Int64 // of jobs, runs and entries of kept results
	ledger, disk        atomic.Int64 // bytes of files: of the ledger, of all tables
	evicted             atomic.Uint64
	freed               atomic.Int64 // bytes of rows deleted or replaced since the last vacuum

	doubt     atomic.Bool     // the counters may be wrong
	counting  atomic.Bool     // all rows are being counted
	vacuuming atomic.Bool     // space is being made free
	counted   chan struct{}   // closed when all was counted for the first time
	ctx       context.Context // ends with the store
	cancel    context.CancelFunc
}

func (s *Store) openBudget() {
	b := &s.budget
	b.counted = make(chan struct{})
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.doubt.Store(true)
}

// Usage returns what the database contains. It is zero for a database without a bound. Until all
// was counted for the first time, soon after the start, it is only what was added since.
func (s *Store) Usage() budget.Usage {
	b := &s.budget
	promised := max(0, b.promised.Load()+b.ledger.Load())
	return budget.Usage{
		Live: promised + max(0, b.evictable.Load()), Promised: promised, Max: s.options.MaxBytes, Evicted: b.evicted.Load(),
	}
}

// Size returns the bytes of the files of all tables, as of the last minute, and the bytes in use. Both
// are 0 without a bound.
func (s *Store) Size() (file, live int64) { return s.budget.disk.Load(), s.Usage().Live }

// Room returns api.ErrFull if nothing more should be promised to a caller, otherwise nil. It does
// not ask the database.
func (s *Store) Room() error {
	if s.Usage().Full() {
		return api.ErrFull
	}
	return nil
}

// counting is a statement whose answer is its growth.
func counting(sql string, args ...any) statement {
	g := new(growth)
	return statement{sql: sql, args: args, growth: g, scan: func(r pgx.Row) error {
		return r.Scan(&g.promised, &g.evictable, &g.freed, &g.rows)
	}}
}

// putting is a statement that puts a row and, where there is a bound, counts it. was selects class and
// size of the row that is replaced; what is promised has class 0.
func (s *Store) putting(put, class, size, was string, args ...any) statement {
	if s.options.MaxBytes <= 0 {
		return statement{sql: put, args: args}
	}
	return counting(`WITH was AS (`+was+`), put AS (`+put+` RETURNING `+class+` AS class, `+size+` AS size),
		changed AS (SELECT class, size FROM put UNION ALL SELECT class, -size FROM was)
		SELECT COALESCE(sum(size) FILTER (WHERE class = 0), 0)::int8, COALESCE(sum(size) FILTER (WHERE class > 0), 0)::int8,
		(SELECT COALESCE(sum(size), 0)::int8 FROM was), (SELECT count(*) FROM put) FROM changed`, args...)
}

// puttingGuarded is putting for a guarded row, see put.
func (s *Store) puttingGuarded(put, class, size, was string, args ...any) statement {
	if s.options.MaxBytes <= 0 {
		return s.put(put+` RETURNING 1`, args...)
	}
	st := s.putting(put, class, size, was, append(args, s.epoch, s.owner)...)
	scan := st.scan
	st.scan = func(r pgx.Row) error {
		err := scan(r)
		if err == nil && st.growth.rows == 0 {
			err = errOverwrites
		}
		return err
	}
	return st
}

// deleting is a statement that deletes rows of table and counts them. which selects their ids.
func deleting(table, key, class, size, which string, args ...any) statement {
	kept := `0`
	if table == "runs" {
		kept = keptSize + ` * (SELECT count(*) FROM kept WHERE run IN (SELECT id FROM gone))`
	}
	return counting(`WITH gone AS (DELETE FROM `+table+` WHERE `+key+` IN (`+which+`) RETURNING `+key+` AS id, `+class+` AS class, `+size+` AS size)
		SELECT -COALESCE(sum(size) FILTER (WHERE class = 0), 0)::int8, -COALESCE(sum(size) FILTER (WHERE class > 0), 0)::int8 - `+kept+`,
		COALESCE(sum(size), 0)::int8, count(*) FROM gone`, args...)
}

// book counts what a group has changed.
func (s *Store) book(group []write) {
	b := &s.budget
	for _, w := range group {
		for _, st := range w.statements {
			g := st.growth
			if g == nil || s.options.MaxBytes <= 0 {
				continue
			}
			b.promised.Add(g.promised)
			b.evictable.Add(g.evictable)
			b.freed.Add(g.freed)
			if w.evicts {
				b.evicted.Add(uint64(g.rows))
			}
		}
	}
}

// The oldest records of which the first ones have so many bytes.
const evictable = `SELECT id FROM (
	SELECT id, sum(size) OVER (ORDER BY class DESC, id) - size AS before FROM (
		SELECT id, class, ` + runSize + ` AS size FROM runs WHERE class > 0 ORDER BY class DESC, id LIMIT $2
	) AS first
) AS summed WHERE before < $1`

// eviction deletes about as many bytes of records that were not promised as need to go before so many
// bytes in so many writes are added.
func (s *Store) eviction(added int64, writes int) write {
	st := deleting("runs", "id", "class", runSize, evictable, budget.Excess(added), maxExpired+2*writes)
	return write{statements: []statement{st}, evicts: true, onDone: s.notEvicted}
}

// notEvicted logs the error of an eviction.
func (s *Store) notEvicted(err error) {
	if err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrReleased) {
		s.options.Log.Error("delete records to make room", "error", err)
	}
}

// makeRoom adds the deletion of records to a group that would not fit. Only the holder of the lease
// deletes.
func (s *Store) makeRoom(group []write) []write {
	added := int64(0)
	for _, w := range group {
		added += int64(w.size)
	}
	if !s.Usage().Crowded(added) || s.isReleased() {
		return group
	}
	return append(group, s.eviction(added, len(group)))
}

// shrink has records deleted until there is room, or nothing more to delete, or the store is closed.
func (s *Store) shrink(write func(write)) {
	for s.Usage().Crowded(0) && !s.isReleased() && s.budget.ctx.Err() == nil {
		before := s.budget.evicted.Load()
		write(s.eviction(0, 0))
		if s.budget.evicted.Load() == before {
			return
		}
	}
}

// afterGroup does what a bound asks for between two groups. The writer calls it.
func (s *Store) afterGroup() {
	if s.Usage().Full() {
		s.shrink(func(w write) {
			if len(s.writes) == 0 { // no write waits for a deletion that is not part of its group
				s.writeGroup([]write{w})
			}
		})
	}
	s.recount()
	s.vacuum()
}

// recount counts all rows if the counters may be wrong, in the background. It is called between two
// groups: what is written later is not in the snapshot that is counted.
func (s *Store) recount() {
	b := &s.budget
	if s.options.MaxBytes <= 0 || !b.doubt.Load() || b.counting.Load() {
		return
	}
	ctx, cancel := context.WithCancel(b.ctx)
	tx, err := s.snapshot(ctx)
	if err != nil {
		cancel()
		s.options.Log.Warn("count what is in the database", "error", err)
		return
	}
	b.doubt.Store(false)
	b.counting.Store(true)
	promised, evictable := b.promised.Load(), b.evictable.Load()
	s.workers.Go(func() {
		defer cancel()
		defer b.counting.Store(false)
		now, err := countAll(ctx, tx)
		if err != nil {
			b.doubt.Store(true)
			return
		}
		b.promised.Add(now.promised - promised)
		b.evictable.Add(now.evictable - evictable)
		select {
		case <-b.counted:
		default:
			close(b.counted)
		}
	})
}

// snapshot begins a transaction that sees what is committed now.
func (s *Store) snapshot(ctx context.Context) (pgx.Tx, error) {
	begin, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	tx, err := s.pool.BeginTx(begin, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(begin, `SET LOCAL statement_timeout = 0`)
	if err == nil {
		err = s.measure(begin, tx)
	}
	if err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return nil, err
	}
	return tx, nil
}

// countAll adds up the rows of a snapshot, and ends it. It reads no body that is stored apart.
func countAll(ctx context.Context, tx pgx.Tx) (g growth, err error) {
	const sql = `SELECT (SELECT COALESCE(sum(` + jobSize + `), 0)::int8 FROM jobs) + COALESCE(sum(` + runSize + `) FILTER (WHERE class = 0), 0)::int8,
		(SELECT count(*) FROM kept) * ` + keptSize + ` + COALESCE(sum(` + runSize + `) FILTER (WHERE class > 0), 0)::int8 FROM runs`
	err = tx.QueryRow(ctx, sql).Scan(&g.promised, &g.evictable)
	_ = tx.Rollback(context.WithoutCancel(ctx))
	return g, err
}

// measure reads the sizes of files.
func (s *Store) measure(ctx context.Context, on interface {
	QueryRow(context.Context, string, ...any) pgx.Row
},
) error {
	const sql = `SELECT sum(size) FILTER (WHERE ledger)::int8, sum(size)::int8 FROM (
		SELECT pg_total_relation_size(name::regclass) AS size, true AS ledger FROM (VALUES ` + ledgerTables + `) AS a (name)
		UNION ALL SELECT pg_total_relation_size(name::regclass), false FROM (VALUES ('jobs'), ('runs'), ('kept')) AS b (name)
	) AS tables`
	var ledger, disk int64
	if err := on.QueryRow(ctx, sql).Scan(&ledger, &disk); err != nil {
		return fmt.Errorf("measure the tables: %w", err)
	}
	s.budget.ledger.Store(ledger)
	s.budget.disk.Store(disk)
	return nil
}

// vacuumPart is the part of the bound that is deleted or replaced before the space is made free for new
// rows: PostgreSQL by itself waits for a fifth of a table.
const vacuumPart = 32

// recountEvery is how often all rows are counted anew: a process that has given its lease back
// writes runs which this one does not see.
const recountEvery = time.Hour

// vacuum makes the space of deleted rows free for new ones, in the background, when there is enough of it.
// So the files grow no further, whatever the server is set up to do by itself.
func (s *Store) vacuum() {
	b := &s.budget
	enough := s.options.MaxBytes > 0 && b.freed.Load() >= s.options.MaxBytes/vacuumPart
	if !enough || s.isReleased() || !b.vacuuming.CompareAndSwap(false, true) {
		return
	}
	b.freed.Store(0)
	s.workers.Go(func() {
		defer b.vacuuming.Store(false)
		if err := s.vacuumNow(b.ctx); err != nil && b.ctx.Err() == nil {
			s.options.Log.Warn("make space in the database free", "error", err)
		}
	})
}

func (s *Store) vacuumNow(ctx context.Context) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	if _, err := c.Exec(ctx, `SET statement_timeout = 0`); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `VACUUM runs, jobs, kept`)
	_, reset := c.Exec(ctx, `RESET statement_timeout`)
	return errors.Join(err, reset)
}

// tend does what a bound needs beside the writes.
func (s *Store) tend() {
	if s.options.MaxBytes <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.budget.ctx, StatementTimeout)
	defer cancel()
	if err := s.measure(ctx, s.pool); err != nil {
		s.options.Log.Warn("measure the database", "error", err)
	}
}
