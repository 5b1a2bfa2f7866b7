package storage

import (
	"errors"
	"testing"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/engine/api"
)

// TestEvictionOfKept: entries go with their runs, whether these are deleted early or at their time.
func TestEvictionOfKept(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := open(t, dir, Options{Now: c.Now, ExpireEvery: -1, MaxBytes: testBound})
	keyOf := func(id string) (key job.KeptKey) { copy(key[:], id); return key }
	var ids []string
	for range 12 {
		more, err := putRuns(t, s, c, job.RunUnmeteredBlocking, 500)
		if err != nil {
			t.Fatal(err)
		}
		var rows []job.Kept
		for _, id := range more {
			rows = append(rows, job.Kept{Key: keyOf(id), Run: id})
		}
		if err := s.PutKept(rows...); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, more...)
	}
	left := kept(t, s, ids)
	if left == 0 || left == len(ids) || fileSize(t, dir) > testBound {
		t.Fatalf("%d of %d runs are left, the file has %d bytes", left, len(ids), fileSize(t, dir))
	}
	for _, id := range ids {
		_, runErr := s.Run(id)
		if _, err := s.Kept(keyOf(id)); (err == nil) != (runErr == nil) || err != nil && !errors.Is(err, api.ErrNoRun) {
			t.Fatalf("run %v, entry %v", runErr, err)
		}
	}
	hasEntries(t, s, left)
	recount(t, s)
	c.add(api.RunRetention)
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	hasEntries(t, s, 0)
	recount(t, s)
}

func hasEntries(t *testing.T, s *Store, want int) {
	t.Helper()
	if err := s.view(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketKept, bucketKeptRuns} {
			if n := tx.Bucket(name).Stats().KeyN; n != want {
				t.Errorf("%s has %d entries of %d runs", name, n, want)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
