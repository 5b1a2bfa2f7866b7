//go:build postgres

package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/zstd"

	"txlens/actors/channel"
	"txlens/actors/job"
)

var (
	_ job.Store    = (*Store)(nil)
	_ job.RunStore = (*Store)(nil)
	_              = channel.StoreOf[*Store]
)

// Errors for errors.Is.
var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLeased means that another process writes to the database.
	ErrLeased = errors.New("another process holds the lease of the database")
	// ErrLeaseLost means that the lease ended before a write. The store writes nothing more.
	ErrLeaseLost = errors.New("the lease of the database is lost")
	// ErrNewer means that the schema is newer than this program.
	ErrNewer = errors.New("the schema of the database is newer than this program")
	// ErrDamaged means that a row cannot have been written by this program.
	ErrDamaged = errors.New("the database is damaged")
	// ErrTooLarge means that a body is larger than any that can be read again.
	ErrTooLarge = errors.New("too large to be stored")
)

const (
	// PoolSize is the number of connections that read.
	PoolSize = 8
	// StatementTimeout is the time limit of one statement.
	StatementTimeout = 30 * time.Second
)

// Options of a Store. Zero values mean the defaults named at each field.
type Options struct {
	Lease       time.Duration    // how long a process that stopped keeps others out, default 15 s
	LeaseWait   time.Duration    // how long Open waits for a lease of another process, default 30 s
	ExpireEvery time.Duration    // default one minute; negative: Expire is only called by others
	Now         func() time.Time // default time.Now; leases use the clock of the database
	Log         *slog.Logger     // nil: nothing is logged
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Lease, 15*time.Second)
	set(&o.LeaseWait, 30*time.Second)
	set(&o.ExpireEvery, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store stores jobs, run records and the ledger in a database. It is safe for concurrent use.
type Store struct {
	pool    *pgxpool.Pool // of the readers
	writer  *pgxpool.Pool // of the writer: one connection
	options Options
	enc     *zstd.Encoder
	dec     *zstd.Decoder
	owner   string
	epoch   int64

	mu      sync.RWMutex // held for reading while a write is sent to the writer
	closed  bool
	writes  chan write
	stop    chan struct{}
	workers sync.WaitGroup
	lost    error // set by the writer: why it writes nothing more
}

// Open connects to the database of a URL or connection string, as libpq reads it, brings its
// schema to the version of this program and takes the lease.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{options: o, owner: rand.Text(), writes: make(chan write, maxGroup), stop: make(chan struct{})}
	var err error
	if s.pool, err = connect(ctx, url, PoolSize); err != nil {
		return nil, err
	}
	if s.writer, err = connect(ctx, url, 1); err == nil {
		err = migrate(ctx, s.writer)
	}
	if err == nil {
		err = s.takeLease(ctx)
	}
	if err != nil {
		s.closePools()
		return nil, err
	}
	// With constant options neither constructor returns an error.
	s.enc, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	s.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBody))
	s.workers.Add(2)
	go s.writeLoop()
	go s.expireLoop()
	return s, nil
}

func connect(ctx context.Context, url string, size int32) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the database cannot be read") // the error of pgx may repeat it
	}
	c.MaxConns, c.MinConns = size, 1
	c.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(StatementTimeout.Milliseconds(), 10)
	c.ConnConfig.RuntimeParams["application_name"] = "txlens"
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err == nil {
		if err = p.Ping(ctx); err != nil {
			p.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return p, nil
}

//go:embed migrations
var migrations embed.FS

// lastMigration is the version of the schema that this program uses.
const lastMigration = 1

// migrate applies the migrations that the database does not have. Two processes that start at
// the same time both try: the primary key of schema_versions lets one of them commit.
func migrate(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS schema_versions (version INT8 PRIMARY KEY)`); err != nil && !isConflict(err) {
		return fmt.Errorf("read the version of the schema: %w", err)
	}
	for {
		var have int64
		if err := pool.QueryRow(ctx, `SELECT COALESCE(max(version), 0) FROM schema_versions`).Scan(&have); err != nil {
			return fmt.Errorf("read the version of the schema: %w", err)
		}
		switch {
		case have > lastMigration:
			return fmt.Errorf("%w: it has version %d, this program knows up to %d", ErrNewer, have, lastMigration)
		case have == lastMigration:
			return nil
		}
		text, err := migrations.ReadFile(fmt.Sprintf("migrations/%04d.sql", have+1))
		if err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `INSERT INTO schema_versions (version) VALUES ($1)`, have+1); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, string(text))
			return err
		})
		if err != nil && !isConflict(err) {
			return fmt.Errorf("bring the schema to version %d: %w", have+1, err)
		}
	}
}

// isConflict reports whether another transaction did the same at the same time, or the
// database asks for a transaction to be repeated.
func isConflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01" || e.Code == "23505" || e.Code == "42P07")
}

// Close writes what callers have handed over, gives the lease back and disconnects.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	close(s.writes)
	s.mu.Unlock()
	s.workers.Wait()
	err := s.giveLease()
	s.closePools()
	s.dec.Close()
	return errors.Join(err, s.enc.Close())
}

func (s *Store) closePools() {
	for _, p := range []*pgxpool.Pool{s.pool, s.writer} {
		if p != nil {
			p.Close()
		}
	}
}

// Ping returns ErrClosed, ErrLeaseLost, or the error of a database that does not answer.
func (s *Store) Ping() error {
	s.mu.RLock()
	closed, lost := s.closed, s.lost
	s.mu.RUnlock()
	if closed {
		return ErrClosed
	}
	if lost != nil {
		return lost
	}
	ctx, cancel := context.WithTimeout(context.Background(), StatementTimeout)
	defer cancel()
	return s.pool.Ping(ctx)
}
