package storage

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"txlens/actors/job"
	"txlens/engine/api"
)

func TestMain(m *testing.M) {
	suite.Main()
	if dir := os.Getenv(crashDir); dir != "" {
		writeUntilKilled(dir)
	}
	if how, dir, ok := strings.Cut(os.Getenv(powercutEnv), ":"); ok {
		if err := writeTraced(how, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_760_000_000_000)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// idAt is an id of that time.
func idAt(t time.Time, rnd *rand.Rand) string {
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(t.UnixMilli()))
	u := uuid.UUID{}
	binary.BigEndian.PutUint64(u[6:14], rnd.Uint64())
	binary.BigEndian.PutUint64(u[8:16], rnd.Uint64())
	copy(u[:6], ms[2:])
	u[6], u[8] = u[6]&0x0f|0x70, u[8]&0x3f|0x80
	return u.String()
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// validate runs bbolt's own consistency check, while nobody writes: it compares a tree
// with the list of free pages of that moment.
func check(t *testing.T, s *Store) {
	t.Helper()
	tx, err := s.db.Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for err := range tx.Check() {
		t.Errorf("file: %v", err)
	}
}

func keys(t *testing.T, s *Store, bucket []byte) (n int) {
	t.Helper()
	if err := s.view(func(tx *bolt.Tx) error { n = tx.Bucket(bucket).Stats().KeyN; return nil }); err != nil {
		t.Error(err)
	}
	return n
}

const someHash = "0x5c504ed432cb51138bcf09aa5e8a410dd4a1e204ef84bfed1be16dfba1b22060"

func newJob(id string) job.Row {
	return job.Row{ID: id, Status: api.JobPending, Attempts: 1, Request: api.Request{TxHash: someHash, ChainID: 1, Context: "why?", Report: true}}
}

// noise does not compress.
func noise(rnd *rand.Rand, n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], rnd.Uint64())
	b := make([]byte, n)
	rand.NewChaCha8(seed).Read(b)
	return b
}
