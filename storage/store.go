package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"txlens/actors"
)

var (
	_ actors.JobStore = (*Store)(nil)
	_ actors.RunStore = (*Store)(nil)
)

// FileName is the name of the database in its folder.
const FileName = "txlens.db"

// schema is the version of the layout that this program writes.
const schema = 1

var (
	bucketMeta = []byte("meta")
	bucketJobs = []byte("jobs")
	bucketRuns = []byte("runs")
	keySchema  = []byte("schema")
)

// Sentinels for errors.Is.
var (
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("another process has it open")
	// ErrNewer: a newer program has written the file.
	ErrNewer = errors.New("its layout is newer than this program")
	// ErrForeign: the file is none of ours.
	ErrForeign = errors.New("it is no database of txlens")
)

// OpenError says why a database could not be opened, and what to do about it.
type OpenError struct {
	Path string
	Err  error
	Hint string
}

func (e *OpenError) Error() string {
	if e.Hint == "" {
		return fmt.Sprintf("open database %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("open database %s: %v; %s", e.Path, e.Err, e.Hint)
}

func (e *OpenError) Unwrap() error { return e.Err }

// Options of a Store. Zero values mean the defaults named at each field.
type Options struct {
	LockTimeout time.Duration    // how long to wait for another process, default 2 s
	ExpireEvery time.Duration    // default one minute; negative: never by itself
	Now         func() time.Time // default time.Now
	Log         *slog.Logger     // nil: silent
}

func (o Options) withDefaults() Options {
	if o.LockTimeout <= 0 {
		o.LockTimeout = 2 * time.Second
	}
	if o.ExpireEvery == 0 {
		o.ExpireEvery = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store keeps jobs and run records in one file. It is safe for concurrent use.
type Store struct {
	db  *bolt.DB
	o   Options
	enc *zstd.Encoder
	dec *zstd.Decoder

	mu      sync.RWMutex // held for reading while an operation is handed over
	closed  bool
	ops     chan op
	stop    chan struct{}  // closed when expiry is to end
	workers sync.WaitGroup // writer and expiry
}

// Open opens the database in folder dir, and makes both where they are missing.
func Open(dir string, o Options) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	o = o.withDefaults()
	path := filepath.Join(dir, FileName)
	db, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, o: o, ops: make(chan op, maxGroup), stop: make(chan struct{})}
	// Neither fails without a reader or writer and with constant options.
	s.enc, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	s.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBody))
	s.workers.Add(2)
	go s.write()
	go s.expireAlways()
	return s, nil
}

// Close writes what was handed over, then closes the file. Puts that come later
// get ErrClosed.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.stop)
	close(s.ops)
	s.mu.Unlock()
	s.workers.Wait()
	s.dec.Close()
	s.enc.Close()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// Backup writes a consistent copy of the whole file while the store is in use,
// and returns its size. Give it a fast writer: pages freed meanwhile stay unused.
func (s *Store) Backup(w io.Writer) (n int64, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	if err != nil {
		return n, fmt.Errorf("back up database: %w", err)
	}
	return n, nil
}

// view reads. bbolt would tell a closed file by its own error.
func (s *Store) view(read func(*bolt.Tx) error) error {
	err := s.db.View(read)
	if errors.Is(err, berrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}
