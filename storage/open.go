package storage

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"txlens/internal/durable"
)

const (
	// mapSize is the address space reserved for the file. While the file is smaller, the writer
	// never waits for a long read.
	mapSize = 1 << 30
	// minCompactSize is the size below which a file is not compacted.
	minCompactSize = 16 << 20
)

// layouts lists the buckets that each version of the layout added, from version 1. Published
// entries never change; a new version is appended.
var layouts = [][][]byte{
	{bucketMeta, bucketJobs, bucketRuns},
	{bucketChannels, bucketClosed, bucketBills, bucketTickets, bucketAdmissions, bucketIntents},
	{bucketDebts, bucketPayers},
	{}, // no new bucket: rows of channels have Authorised (rowLayout)
	{bucketStreams, bucketBlocking},
	{bucketKept, bucketKeptRuns},
	{bucketEvidence},
}

// migrations are the functions that compute the new buckets of a version from older data; nil
// where there is nothing to compute.
var migrations = map[int]func(*bolt.Tx) error{3: fillPayers}

// fillPayers builds the index of open channels by payer.
func fillPayers(tx *bolt.Tx) error {
	return tx.Bucket(bucketChannels).ForEach(func(_, raw []byte) error {
		row, err := decodeChannel(raw)
		if err != nil {
			return err
		}
		return tx.Bucket(bucketPayers).Put(payerKey(row.Descriptor.Payer, row.ID), []byte{})
	})
}

// openFile verifies, opens and, if it saves enough space, compacts the file.
func openFile(path string, o Options) (*bolt.DB, error) {
	if err := removeOtherPermissions(path); err != nil {
		o.Log.Warn("others may read the database", "error", err)
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		// bbolt does not verify a file that it opens for writing, so do it first.
		db, err := openVerified(path, o.LockTimeout)
		if err != nil {
			return nil, err
		}
		if err := db.Close(); err != nil {
			return nil, &OpenError{Path: path, Err: err}
		}
	}
	db, _, err := lock(path, o.LockTimeout, false)
	if err != nil {
		return nil, err
	}
	if err := prepare(db, path); err != nil {
		db.Close()
		return nil, err
	}
	// Make the directory entry of a new file survive a power cut.
	if err := syncDir(path); err != nil {
		db.Close()
		return nil, &OpenError{Path: path, Err: fmt.Errorf("sync the folder: %w", err)}
	}
	// Only the owner of the lock writes beside the file, so a temporary file here is the
	// remains of a compaction that a crash interrupted.
	os.Remove(path + compactSuffix)
	before, free := fileSizes(db)
	if before < minCompactSize || free*2 < before {
		return db, nil
	}
	replaced, err := compact(db, path)
	if err != nil && !replaced {
		// The old file is complete and still in its place: use it.
		o.Log.Warn("compact database", "error", err)
		os.Remove(path + compactSuffix)
		return db, nil
	}
	// The old file was replaced in its folder: writes to it would be lost.
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, &OpenError{Path: path, Err: fmt.Errorf("compact: %w", err)}
	}
	if db, _, err = lock(path, o.LockTimeout, false); err != nil {
		return nil, err
	}
	after, _ := fileSizes(db)
	o.Log.Info("compacted database", "before", before, "after", after)
	return db, nil
}

// removeOtherPermissions removes the permissions of other users from a file that holds secrets. A
// restored file has the permissions of the copy.
func removeOtherPermissions(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return nil // opening the file reports the error
	}
	return os.Chmod(path, info.Mode().Perm()&^0o077)
}

// lock opens the file at path and locks it. If another process replaced the file while this
// one waited for the lock of the old file, it starts over.
func lock(path string, patience time.Duration, readOnly bool) (db *bolt.DB, f *os.File, err error) {
	for {
		o := &bolt.Options{
			Timeout: patience, ReadOnly: readOnly, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, InitialMmapSize: mapSize,
			OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
				f, err = os.OpenFile(name, flag, mode)
				return f, err
			},
		}
		if db, err = bolt.Open(path, 0o600, o); err != nil {
			return nil, nil, openError(path, err)
		}
		if there, err := sameFile(f, path); err == nil && there {
			return db, f, nil
		} else if err != nil {
			db.Close()
			return nil, nil, &OpenError{Path: path, Err: err}
		}
		db.Close()
	}
}

// openVerified opens a file for reading and verifies it.
func openVerified(path string, patience time.Duration) (*bolt.DB, error) {
	db, f, err := lock(path, patience, true)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = verify(db, f, info.Size())
	}
	if err != nil {
		db.Close()
		return nil, openError(path, err)
	}
	return db, nil
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

func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return &OpenError{path, ErrLocked, "stop the txlens that serves from this folder, or name another folder with --data"}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrVersionMismatch), errors.Is(err, berrors.ErrChecksum):
		return &OpenError{path, fmt.Errorf("%w: %w", ErrForeign, err), "put a backup in its place, or name another folder with --data"}
	case errors.Is(err, ErrDamaged):
		return &OpenError{path, err, "put a backup in its place, or name another folder with --data"}
	case errors.Is(err, os.ErrPermission):
		return &OpenError{path, err, "give the user that runs txlens the right to write there, or name another folder with --data"}
	}
	return &OpenError{Path: path, Err: err}
}

// prepare checks the layout before it writes, and migrates an empty or older file to the
// layout of this program.
func prepare(db *bolt.DB, path string) error {
	have, err := readSchema(db, path)
	if err != nil || have == len(layouts) {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range slices.Concat(layouts[have:]...) {
			if _, err := tx.CreateBucket(name); err != nil {
				return fmt.Errorf("make %s: %w", name, err)
			}
		}
		for version := have + 1; version <= len(layouts); version++ {
			if fill := migrations[version]; fill != nil {
				if err := fill(tx); err != nil {
					return fmt.Errorf("bring to layout %d: %w", version, err)
				}
			}
		}
		return tx.Bucket(bucketMeta).Put(keySchema, []byte{byte(len(layouts))})
	})
	if err != nil {
		return &OpenError{path, fmt.Errorf("lay out: %w", err), ""}
	}
	return nil
}

// readSchema returns the version of the layout, 0 for an empty file.
func readSchema(db *bolt.DB, path string) (version int, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			if first, _ := tx.Cursor().First(); first != nil {
				return &OpenError{path, ErrForeign, "name another folder with --data"}
			}
			return nil
		}
		v := meta.Get(keySchema)
		if len(v) != 1 || v[0] == 0 {
			return &OpenError{path, ErrForeign, "name another folder with --data"}
		}
		if version = int(v[0]); version > len(layouts) {
			return &OpenError{path, fmt.Errorf("%w: it has layout %d, this program knows up to %d", ErrNewer, version, len(layouts)),
				"run the txlens that wrote it or a newer one, or name another folder with --data"}
		}
		for _, name := range slices.Concat(layouts[:version]...) {
			if tx.Bucket(name) == nil {
				return openError(path, fmt.Errorf("%w: it has no %s", ErrDamaged, name))
			}
		}
		return nil
	})
	return version, err
}

// fileSizes returns the size of the file and its free bytes.
func fileSizes(db *bolt.DB) (all, free int64) {
	// An empty write transaction updates the count of free pages.
	if tx, err := db.Begin(true); err == nil {
		all = tx.Size()
		tx.Rollback()
	}
	s := db.Stats()
	return all, int64(s.FreePageN+s.PendingPageN) * int64(db.Info().PageSize)
}

const compactSuffix = ".compacting"

// compact copies the data of db into a new file and replaces the old file by it. The caller
// holds the lock of the old file until it closes db. If an error follows the rename, a power
// cut may leave either file.
func compact(db *bolt.DB, path string) (replaced bool, err error) {
	tmp := path + compactSuffix
	dst, err := bolt.Open(tmp, 0o600, &bolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return false, err
	}
	if err := bolt.Compact(dst, db, 4<<20); err != nil {
		dst.Close()
		return false, err
	}
	if err := dst.Close(); err != nil {
		return false, err
	}
	if err := os.Rename(tmp, path); err != nil {
		return false, err
	}
	return true, syncDir(path)
}

// syncDir makes a rename in the folder of path durable. Tests replace it to simulate errors.
var syncDir = func(path string) error { return durable.SyncDir(filepath.Dir(path)) }

// BackupFile copies the database of folder dir to w. It fails while a server uses the
// database.
func BackupFile(dir string, w io.Writer) (n int64, err error) {
	path := filepath.Join(dir, FileName)
	if _, err := os.Stat(path); err != nil {
		return 0, &OpenError{path, err, "name the folder that txlens serve has its data in with --data"}
	}
	db, err := openVerified(path, time.Second)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	version, err := readSchema(db, path)
	if err == nil && version == 0 {
		err = &OpenError{path, ErrForeign, "it is empty"}
	}
	if err != nil {
		return 0, err
	}
	err = db.View(func(tx *bolt.Tx) error { n, err = tx.WriteTo(w); return err })
	if err != nil {
		return n, fmt.Errorf("back up database: %w", err)
	}
	return n, nil
}
