package storage

import (
	"testing"
	"time"

	"txlens/storage/storagetest"
)

var suite = storagetest.Suite{
	Create: func(t *testing.T) string { return t.TempDir() },
	Open: func(dir string, now func() time.Time) (storagetest.Store, error) {
		s, err := Open(dir, Options{Now: now})
		return storagetest.StoreOf(s), err
	},
	OpenBounded: func(dir string, now func() time.Time, bound int64) (storagetest.Store, error) {
		s, err := Open(dir, Options{Now: now, ExpireEvery: -1, MaxBytes: bound})
		return storagetest.StoreOf(s), err
	},
}

func TestContract(t *testing.T) { suite.Run(t) }
