package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/internal/durable"
)

var (
	_ job.Store    = (*Store)(nil)
	_ job.RunStore = (*Store)(nil)
)

// FileName is the name of the database in its folder.
const FileName = "txlens.db"

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
	// ErrDamaged: what is in the file cannot have been written so.
	ErrDamaged = errors.New("the database is damaged")
	// ErrBroken: a write reached the file and could not be synced. The store takes no
	// more writes, and what it wrote last is not told to anybody; open it again.
	ErrBroken = errors.New("the disk did not keep what was written")
	// ErrTooLarge: the body of a record is larger than any that can be read again.
	ErrTooLarge = errors.New("too large to be stored")
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

	maxBody int // bytes that one body may unpack to; tests make it small
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
	if o.maxBody <= 0 {
		o.maxBody = 1 << 30
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
	readers sync.WaitGroup // those that entered

	commitTx func(*bolt.Tx) error // (*bolt.Tx).Commit; tests break it
	broken   error                // of the writer: why it commits nothing more
	syncing  sync.RWMutex         // held by the writer while it commits
	durable  atomic.Int64         // the last transaction that is on disk
}

// Open opens the database in folder dir, and makes both where they are missing.
func Open(dir string, o Options) (*Store, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	o = o.withDefaults()
	path := filepath.Join(dir, FileName)
	db, err := openFile(path, o)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, o: o, ops: make(chan op, maxGroup), stop: make(chan struct{}), commitTx: (*bolt.Tx).Commit}
	if err := db.View(func(tx *bolt.Tx) error { s.durable.Store(int64(tx.ID())); return nil }); err != nil {
		return nil, errors.Join(&OpenError{Path: path, Err: err}, db.Close())
	}
	// Neither fails without a reader or writer and with constant options.
	s.enc, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2))
	s.dec, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecodeAllCapLimit(true))
	s.workers.Add(2)
	go s.writeAlways()
	go s.expireAlways()
	return s, nil
}

// Close writes what was handed over and waits for those that read, then closes the
// file. Who comes later gets ErrClosed.
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
	s.readers.Wait()
	s.dec.Close()
	s.enc.Close()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// enter reports whether the store is open. After true call readers.Done.
func (s *Store) enter() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	s.readers.Add(1)
	return true
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

// view reads what is on disk. bbolt shows a commit from the moment it is written,
// which is before it is synced: what a power cut could still undo is waited for, so
// that nobody is told of it.
func (s *Store) view(read func(*bolt.Tx) error) (err error) {
	if !s.enter() {
		return ErrClosed
	}
	defer s.readers.Done()
	var seen int64
	if err := s.guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error { seen = int64(tx.ID()); return read(tx) })
	}); err != nil {
		return err
	}
	if seen <= s.durable.Load() {
		return nil
	}
	s.syncing.RLock() // waits for the commit that it saw
	defer s.syncing.RUnlock()
	if seen > s.durable.Load() {
		return ErrBroken
	}
	return nil
}

// guard makes an error of what bbolt does where the file is damaged: it panics, or
// touches memory that is not there.
func (s *Store) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer s.caught(&err)
	return f()
}
