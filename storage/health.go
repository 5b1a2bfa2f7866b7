package storage

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

// Ping reports whether the store answers: ErrClosed when it does not any more,
// ErrBroken when it takes no writes.
func (s *Store) Ping() error {
	return s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketMeta) == nil {
			return ErrForeign
		}
		return nil
	})
}

// Size returns the bytes of the file, and those of them that hold something, as of
// the last commit. Both are 0 once the store is closed.
func (s *Store) Size() (file, live int64) {
	err := s.view(func(tx *bolt.Tx) error {
		info, err := os.Stat(s.db.Path())
		if err != nil {
			return err
		}
		stats := s.db.Stats()
		free := int64(stats.FreePageN+stats.PendingPageN) * int64(s.db.Info().PageSize)
		file, live = info.Size(), tx.Size()-free // the file grows in steps, ahead of tx.Size
		return nil
	})
	if err != nil {
		return 0, 0
	}
	return file, live
}

// Inspect says what Open would find in folder dir, and changes nothing: nil when
// there is a database or none yet, ErrLocked when a server runs on it, or why it
// could not be opened.
func Inspect(dir string) error {
	path := filepath.Join(dir, FileName)
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return &OpenError{Path: path, Err: err}
	case info.Size() == 0:
		return nil // Open lays it out
	}
	db, err := openWhole(path, 100*time.Millisecond)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = readSchema(db, path)
	return err
}
