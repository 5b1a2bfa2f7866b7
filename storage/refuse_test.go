package storage

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	bolt "go.etcd.io/bbolt"

	"txlens/actors/channel"
	"txlens/engine/api"
)

func TestOptionDefaults(t *testing.T) {
	f := func(o Options, lock, expire time.Duration, body int) {
		t.Helper()
		o = o.withDefaults()
		if o.LockTimeout != lock || o.ExpireEvery != expire || o.maxBody != body || o.Now == nil || o.Log == nil {
			t.Errorf("%+v", o)
		}
	}
	f(Options{}, 2*time.Second, time.Minute, 1<<30)
	f(Options{LockTimeout: 1, ExpireEvery: 1, maxBody: 1}, 1, 1, 1)
	f(Options{LockTimeout: -1, ExpireEvery: -1, maxBody: -1}, 2*time.Second, -1, 1<<30)
}

// overwrite puts bytes under a key that exists or not.
func overwrite(t *testing.T, s *Store, bucket, key, value []byte) {
	t.Helper()
	if err := s.update(0, func(c *change) error { return c.put(bucket, key, value) }); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedRowsAreRefused: a row that cannot have been written is an error of each
// reading that comes by it, and no gap in a list.
func TestDamagedRowsAreRefused(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	rnd := rand.New(rand.NewPCG(1, 2))
	wantDamaged := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}

	job := idAt(c.Now(), rnd)
	id, _ := parseID(job)
	overwrite(t, s, bucketJobs, id.headKey(), []byte(`{"status":"odd"}`))
	_, err := s.UnfinishedJobs()
	wantDamaged("the list of jobs", err)
	_, err = s.Job(job)
	wantDamaged("a job", err)
	overwrite(t, s, bucketJobs, id.headKey(), []byte(`{"status"`))
	_, err = s.UnfinishedJobs()
	wantDamaged("the list of jobs", err)

	payer := common.Address{1}
	bill := channel.Bill{ID: idAt(c.Now(), rnd), Payer: payer, Price: amount(5), Final: true}
	if err := s.Commit(channel.Entry{Bill: &bill}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Debts(payer); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	bid, _ := parseID(bill.ID)
	overwrite(t, s, bucketBills, bid.headKey(), []byte(`{"collected":`))
	_, err = s.Debts(payer)
	wantDamaged("debts", err)
	_, err = s.Bill(bill.ID)
	wantDamaged("a bill", err)
	overwrite(t, s, bucketDebts, append(bytes.Clone(payer[:]), 1, 2, 3), []byte{})
	_, err = s.Debts(payer)
	wantDamaged("debts under a key of no bill", err)

	run := idAt(c.Now(), rnd)
	rid, _ := parseID(run)
	overwrite(t, s, bucketRuns, rid.headKey(), []byte(`{"state":"odd"}`))
	if _, err := s.Run(run); !errors.Is(err, ErrDamaged) || errors.Is(err, api.ErrNoRun) {
		t.Errorf("a run: %v", err)
	}
}

// TestBackupOfNothing: a file that no server has laid out is no backup of anything.
func TestBackupOfNothing(t *testing.T) {
	dir := t.TempDir()
	db, err := bolt.Open(filepath.Join(dir, FileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var e *OpenError
	if n, err := BackupFile(dir, io.Discard); !errors.Is(err, ErrForeign) || !errors.As(err, &e) || e.Hint != "it is empty" || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := BackupFile(t.TempDir(), io.Discard); !errors.As(err, &e) || e.Hint == "" {
		t.Errorf("%v", err)
	}
}

// unreadable is a file that can be read up to a byte.
type unreadable struct {
	io.ReaderAt
	from int64
}

var errUnreadable = errors.New("the disk is gone")

func (u unreadable) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > u.from {
		return 0, errUnreadable
	}
	return u.ReaderAt.ReadAt(p, off)
}

// TestUnreadablePage: that a page cannot be read is told as that, and not as damage.
func TestUnreadablePage(t *testing.T) {
	first := make([]byte, 4096)
	s := &page{r: unreadable{bytes.NewReader(make([]byte, 8192)), 4096}, length: 8192, first: first}
	if b, err := s.bytes(3, 4000, 96); err != nil || len(b) != 96 {
		t.Errorf("%d, %v", len(b), err)
	}
	if _, err := s.bytes(3, 4000, 97); !errors.Is(err, errUnreadable) {
		t.Errorf("%v", err)
	}
	p := &pageCheck{file: unreadable{bytes.NewReader(make([]byte, 8192)), 0}, size: 4096, pageCount: 4, visited: make([]bool, 4)}
	if err := p.checkTree(3, 0, nil, nil); !errors.Is(err, errUnreadable) {
		t.Errorf("%v", err)
	}
	// A bucket whose inline page lies where the file cannot be read.
	if err := p.checkNested(3, &page{r: s.r, length: 8192, first: first}, 0, 4064, 200); !errors.Is(err, errUnreadable) {
		t.Errorf("%v", err)
	}
	for _, bad := range [][2]int64{{-1, 1}, {0, -1}, {8192, 1}, {8000, 193}} {
		if _, err := s.bytes(3, bad[0], bad[1]); !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
