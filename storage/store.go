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
	_ job.Store     = (*Store)(nil)
	_ job.RunStore  = (*Store)(nil)
	_ job.KeptStore = (*Store)(nil)
)

// FileName is the name of the database in its folder.
const FileName = "txlens.db"

var (
	bucketMeta = []byte("meta")
	bucketJobs = []byte("jobs")
	bucketRuns = []byte("runs")

	bucketStreams  = []byte("streams")
	bucketBlocking = []byte("blocking")

	bucketKept     = []byte("kept")      // entries of job.KeptStore
	bucketKeptRuns = []byte("kept runs") // their keys, by run
	bucketEvidence = []byte("evidence")  // records of class job.RunEvidence

	keySchema = []byte("schema")
)

// Errors of a Store, for errors.Is.
var (
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrLocked means that another process uses the file.
	ErrLocked = errors.New("another process has it open")
	// ErrNewer means that a newer version of the program wrote the file.
	ErrNewer = errors.New("its layout is newer than this program")
	// ErrForeign means that the file is not a database of this program.
	ErrForeign = errors.New("it is no database of txlens")
	// ErrDamaged means that the file or a value in it is damaged.
	ErrDamaged = errors.New("the database is damaged")
	// ErrBroken means that a write reached the file but could not be synced. The store accepts
	// no more writes and does not show the last one to readers. Open the database again.
	ErrBroken = errors.New("the disk did not keep what was written")
	// ErrTooLarge means that the body of a record exceeds the limit for reading it.
	ErrTooLarge = errors.New("too large to be stored")
)

// OpenError is the error of Open: why the database could not be opened, and what to do.
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
	LockTimeout time.Duration    // how long to wait for another process to release the file, default 2 s
	ExpireEvery time.Duration    // time between two deletions of expired records, default one minute; negative: never
	Now         func() time.Time // default time.Now
	Log         *slog.Logger     // nil: nothing is logged
	// MaxBytes is the size that the file should not exceed; 0: no bound. See package budget.
	MaxBytes int64

	maxBody int // limit of an uncompressed body; tests make it small
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

// Store stores jobs, run records and the ledger in one file. It is safe for concurrent use.
type Store struct {
	db      *bolt.DB
	options Options
	enc     *zstd.Encoder
	dec     *zstd.Decoder

	mu      sync.RWMutex // held for reading while an operation is sent to the writer
	closed  bool
	ops     chan operation
	stop    chan struct{}  // closed when the deletion of expired records must end
	workers sync.WaitGroup // the writer and the deletion of expired records
	readers sync.WaitGroup // reads in progress

	commitTx  func(*bolt.Tx) error // (*bolt.Tx).Commit; tests replace it to simulate errors
	broken    error                // set by the writer: why it commits nothing more
	syncing   sync.RWMutex         // locked by the writer during a commit
	durableTx atomic.Int64         // number of the last transaction that is on disk

	budget counters
}

// Open opens the database in folder dir. It creates folder and database where they are
// missing.
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
	s := &Store{db: db, options: o, ops: make(chan operation, maxGroup), stop: make(chan struct{}), commitTx: (*bolt.Tx).Commit}
	if err := s.openCoders(); err != nil {
		return nil, errors.Join(openError(path, err), db.Close())
	}
	if err := db.View(func(tx *bolt.Tx) error { s.durableTx.Store(int64(tx.ID())); return nil }); err != nil {
		return nil, errors.Join(&OpenError{Path: path, Err: err}, s.closeFile())
	}
	if err := s.openBudget(); err != nil {
		return nil, errors.Join(openError(path, err), s.closeFile())
	}
	s.workers.Add(2)
	go s.writeLoop()
	go s.expireLoop()
	return s, nil
}

// Close commits the pending writes, waits for the reads in progress and closes the file.
// Later calls of other methods return ErrClosed.
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
	return s.closeFile()
}

// closeFile closes what Open opened.
func (s *Store) closeFile() error {
	s.dec.Close()
	s.enc.Close()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// enter reports whether the store is open, and counts the caller as a read in progress. If
// it returns true, the caller must call readers.Done.
func (s *Store) enter() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	s.readers.Add(1)
	return true
}

// Backup writes a consistent copy of the whole file to w while the store is in use, and
// returns its size. w should be fast: pages that are freed meanwhile are not reused.
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

// view calls f in a read transaction and returns when everything f saw is on disk. bbolt
// shows a commit before it is synced, so a power cut could undo it.
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
	if seen <= s.durableTx.Load() {
		return nil
	}
	s.syncing.RLock() // wait for the commit that the transaction saw
	defer s.syncing.RUnlock()
	if seen > s.durableTx.Load() {
		return ErrBroken
	}
	return nil
}

// guard turns a panic or memory fault of bbolt on a damaged file into an error.
func (s *Store) guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer s.recoverAsError(&err)
	return f()
}
