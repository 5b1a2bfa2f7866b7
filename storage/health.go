package storage

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Ping returns nil when the store accepts reads and writes, ErrClosed after Close, and
// ErrBroken when it no longer accepts writes.
func (s *Store) Ping() error {
	return s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			return ErrForeign
		}
		return nil
	})
}

// Size returns the size of the file and the bytes in use, as of the last commit. Both are 0
// after Close.
func (s *Store) Size() (file, live int64) {
	err := s.view(func(tx *bolt.Tx) error {
		info, err := os.Stat(s.db.Path())
		if err != nil {
			return err
		}
		stats := s.db.Stats()
		free := int64(stats.FreePageN+stats.PendingPageN) * int64(s.db.Info().PageSize)
		file, live = info.Size(), tx.Size()-free // bbolt grows the file in steps, so it can be larger than tx.Size
		return nil
	})
	if err != nil {
		return 0, 0
	}
	return file, live
}

// Inspect checks the database in folder dir without changing it. It returns nil when there
// is a sound database or none yet, ErrLocked when a server uses it, or the error that Open
// would return.
func Inspect(dir string) error {
	path := filepath.Join(dir, FileName)
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &OpenError{Path: path, Err: err}
	case info.Size() == 0:
		return nil // an empty file: Open creates the layout
	}
	db, err := openVerified(path, 100*time.Millisecond)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = readSchema(db, path)
	return err
}
