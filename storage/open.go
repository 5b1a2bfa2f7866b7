package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	// mapped is address space reserved for the file: while it is not outgrown, a
	// long read never makes the writer wait.
	mapped = 1 << 30
	// worthCompacting: smaller files are left as they are.
	worthCompacting = 16 << 20
)

// openFile opens, checks and where it pays compacts the file.
func openFile(path string, o Options) (*bolt.DB, error) {
	db, err := lock(path, o.LockTimeout, false)
	if err != nil {
		return nil, err
	}
	if err := prepare(db, path); err != nil {
		db.Close()
		return nil, err
	}
	// Only the holder of the lock writes beside the file, so what lies there is
	// left from a compaction that a crash cut off.
	os.Remove(path + compacting)
	before, free := sizes(db)
	if before < worthCompacting || free*2 < before {
		return db, nil
	}
	if err := compact(db, path); err != nil {
		// The old file is whole: serve from it.
		o.Log.Warn("compact database", "error", err)
		os.Remove(path + compacting)
		return db, nil
	}
	if err := db.Close(); err != nil {
		return nil, &OpenError{Path: path, Err: err}
	}
	if db, err = lock(path, o.LockTimeout, false); err != nil {
		return nil, err
	}
	after, _ := sizes(db)
	o.Log.Info("compacted database", "before", before, "after", after)
	return db, nil
}

// lock opens the file at path and locks it. Another process may have replaced the
// file while this one waited for the lock of the old one: then it starts over.
func lock(path string, patience time.Duration, readOnly bool) (*bolt.DB, error) {
	for {
		var f *os.File
		o := &bolt.Options{
			Timeout: patience, ReadOnly: readOnly, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapped,
			OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
				f, err = os.OpenFile(name, flag, mode)
				return f, err
			},
		}
		db, err := bolt.Open(path, 0o600, o)
		if err != nil {
			return nil, explainOpen(path, err)
		}
		if there, err := sameFile(f, path); err == nil && there {
			return db, nil
		} else if err != nil {
			db.Close()
			return nil, &OpenError{Path: path, Err: err}
		}
		db.Close()
	}
}

func sameFile(f *os.File, path string) (bool, error) {
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

func explainOpen(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return &OpenError{path, ErrLocked, "stop the txlens that serves from this folder, or name another folder with --data"}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return &OpenError{path, fmt.Errorf("%w: %w", ErrForeign, err), "put a backup in its place, or name another folder with --data"}
	case errors.Is(err, os.ErrPermission):
		return &OpenError{path, err, "give the user that runs txlens the right to write there, or name another folder with --data"}
	}
	return &OpenError{Path: path, Err: err}
}

// prepare checks the layout before it writes anything, and makes a new one in an
// empty file.
func prepare(db *bolt.DB, path string) error {
	empty, err := checkSchema(db, path)
	if err != nil || !empty {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketMeta, bucketJobs, bucketRuns} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keySchema, []byte{schema})
	})
	if err != nil {
		return &OpenError{path, fmt.Errorf("lay out: %w", err), ""}
	}
	return nil
}

func checkSchema(db *bolt.DB, path string) (empty bool, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			first, _ := tx.Cursor().First()
			if empty = first == nil; !empty {
				return &OpenError{path, ErrForeign, "name another folder with --data"}
			}
			return nil
		}
		switch v := meta.Get(keySchema); {
		case len(v) != 1 || v[0] == 0:
			return &OpenError{path, ErrForeign, "name another folder with --data"}
		case v[0] > schema:
			return &OpenError{path, fmt.Errorf("%w: it has layout %d, this program knows up to %d", ErrNewer, v[0], schema),
				"run the txlens that wrote it or a newer one, or name another folder with --data"}
		}
		return nil
	})
	return empty, err
}

// sizes returns the bytes of the file and those of them that hold nothing.
func sizes(db *bolt.DB) (all, free int64) {
	// A transaction that writes nothing brings the count of free pages up to date.
	if tx, err := db.Begin(true); err == nil {
		all = tx.Size()
		tx.Rollback()
	}
	s := db.Stats()
	return all, int64(s.FreePageN+s.PendingPageN) * int64(db.Info().PageSize)
}

const compacting = ".compacting"

// compact writes what lives in db into a new file and puts it in the place of the
// old one. The lock on the old one is held until the caller closes it.
func compact(db *bolt.DB, path string) error {
	tmp := path + compacting
	dst, err := bolt.Open(tmp, 0o600, &bolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	if err := bolt.Compact(dst, db, 4<<20); err != nil {
		dst.Close()
		return err
	}
	if err := dst.Close(); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(path)
}

// BackupFile copies the database of folder dir to w. No server may run on it.
func BackupFile(dir string, w io.Writer) (int64, error) {
	path := databasePath(dir)
	if _, err := os.Stat(path); err != nil {
		return 0, &OpenError{path, err, "name the folder that txlens serve has its data in with --data"}
	}
	db, err := lock(path, time.Second, true)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	if empty, err := checkSchema(db, path); err != nil {
		return 0, err
	} else if empty {
		return 0, &OpenError{path, ErrForeign, "it is empty"}
	}
	return (&Store{db: db}).Backup(w)
}
