package storage

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
)

// hold keeps the writer busy until release is called, so that what is handed over
// meanwhile becomes one group.
func hold(s *Store) (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	go s.update(0, func(*change) error { close(held); <-free; return nil })
	<-held
	return func() { close(free) }
}

// inOneGroup hands the operations over in their order and returns their outcomes.
func inOneGroup(t *testing.T, s *Store, ops ...func(*change) error) []error {
	t.Helper()
	release := hold(s)
	errs := make([]error, len(ops))
	var wg sync.WaitGroup
	for i, do := range ops {
		wg.Go(func() { errs[i] = s.update(0, do) })
		for end := time.Now().Add(30 * time.Second); len(s.ops) <= i; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("an operation was not handed over")
			}
		}
	}
	release()
	wg.Wait()
	return errs
}

var rows = table[string]{[]byte("rows")}

// withRows gives a store a bucket for tests of its own.
func withRows(t *testing.T, dir string) *Store {
	t.Helper()
	before := layouts
	layouts = append(slices.Clone(layouts), [][]byte{rows.bucket})
	t.Cleanup(func() { layouts = before })
	return open(t, dir, Options{ExpireEvery: -1})
}

func allRows(t *testing.T, s *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := s.view(func(tx *bolt.Tx) error {
		return rows.scan(tx, nil, func(key []byte, row string) error { out[string(key)] = row; return nil })
	}); err != nil {
		t.Error(err)
	}
	return out
}

func put(t *testing.T, s *Store, pairs ...string) {
	t.Helper()
	if err := s.update(0, func(c *change) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := rows.put(c, []byte(pairs[i]), pairs[i+1]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestEachItsOwnOutcome: operations of one group run once, in order, see what came
// before them, share one commit, and what fails among them leaves nothing.
func TestEachItsOwnOutcome(t *testing.T) {
	s := withRows(t, t.TempDir())
	put(t, s, "a", "1", "b", "2", "c", "3")
	commits, runs := 0, 0
	s.commitTx = func(tx *bolt.Tx) error { commits++; return tx.Commit() }
	refused := errors.New("refused")
	set := func(key, value string) func(*change) error {
		return func(c *change) error { runs++; return rows.put(c, []byte(key), value) }
	}
	spoil := func(c *change) error {
		runs++
		err := errors.Join(rows.put(c, []byte("a"), "spoilt"), rows.put(c, []byte("a"), "twice"), rows.delete(c, []byte("b")), rows.delete(c, []byte("none")),
			rows.put(c, []byte("b"), "again"), rows.put(c, []byte("new"), "x"), rows.delete(c, []byte("c")))
		return errors.Join(err, refused)
	}
	sees := func(key, want string) func(*change) error {
		return func(c *change) error {
			runs++
			if got, there, err := rows.get(c.tx, []byte(key)); got != want || there != (want != "") || err != nil {
				return fmt.Errorf("%s is %q, %v", key, got, err)
			}
			return nil
		}
	}
	errs := inOneGroup(t, s, set("d", "4"), spoil, sees("a", "1"), sees("b", "2"), sees("new", ""), sees("d", "4"),
		func(c *change) error { runs++; spoil(c); panic("a nil map, say") }, set("a", "5"), spoil, sees("a", "5"))
	for i, err := range errs {
		switch i {
		case 1, 8:
			if !errors.Is(err, refused) {
				t.Errorf("%d: %v", i, err)
			}
		case 6:
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("a panic gives %v", err)
			}
		default:
			if err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	if commits != 1 || runs != len(errs)+1 {
		t.Errorf("%d commits, %d runs of %d operations", commits, runs, len(errs))
	}
	if got, want := allRows(t, s), map[string]string{"a": "5", "b": "2", "c": "3", "d": "4"}; !maps.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if err := s.update(0, func(*change) error { return refused }); !errors.Is(err, refused) || commits != 1 {
		t.Errorf("%v, %d commits", err, commits)
	}
	if err := s.update(0, sees("a", "5")); err != nil || commits != 1 {
		t.Errorf("what writes nothing: %v, %d commits", err, commits)
	}
	check(t, s)
}

// TestCommitFails: the whole group hears of it, also who found something wrong; what
// was there stays, and later writes are taken.
func TestCommitFails(t *testing.T) {
	s := withRows(t, t.TempDir())
	put(t, s, "a", "1")
	full, refused := errors.New("no space left on device"), errors.New("refused")
	s.commitTx = func(tx *bolt.Tx) error { return errors.Join(full, tx.Rollback()) }
	errs := inOneGroup(t, s,
		func(c *change) error { return rows.put(c, []byte("a"), "2") },
		func(c *change) error { return refused }, // since it saw a 2
		func(c *change) error { return rows.put(c, []byte("b"), "2") })
	for i, err := range errs {
		if !errors.Is(err, full) || errors.Is(err, ErrBroken) || errors.Is(err, refused) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := s.PutJobs(newJob(recordid.New())); !errors.Is(err, full) {
		t.Errorf("PutJobs: %v", err)
	}
	s.commitTx = (*bolt.Tx).Commit
	put(t, s, "c", "3")
	if got, want := allRows(t, s), map[string]string{"a": "1", "c": "3"}; !maps.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	check(t, s)
}

// TestSyncFails: after a commit that was written and not synced there is no other,
// and nobody is told what it wrote.
func TestSyncFails(t *testing.T) {
	dir := t.TempDir()
	s := withRows(t, dir)
	put(t, s, "a", "1")
	lost := errors.New("input/output error")
	s.commitTx = func(tx *bolt.Tx) error { return errors.Join(tx.Commit(), lost) }
	set := func(c *change) error { return rows.put(c, []byte("a"), "2") }
	if err := s.update(0, set); !errors.Is(err, ErrBroken) || !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
	s.commitTx = func(*bolt.Tx) error { t.Error("it commits again"); return nil }
	if err := s.update(0, set); !errors.Is(err, ErrBroken) {
		t.Errorf("the next: %v", err)
	}
	if _, err := s.Job(recordid.New()); !errors.Is(err, ErrBroken) {
		t.Errorf("a read: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s = open(t, dir, Options{}); allRows(t, s)["a"] == "" {
		t.Error("what was synced before is gone")
	}
	put(t, s, "a", "3")
}

// TestNotToldBeforeSynced: a commit can be read from the file before it is synced.
func TestNotToldBeforeSynced(t *testing.T) {
	s := open(t, t.TempDir(), Options{ExpireEvery: -1})
	id := recordid.New()
	written, sync := make(chan struct{}), make(chan struct{})
	s.commitTx = func(tx *bolt.Tx) error {
		err := tx.Commit()
		close(written)
		<-sync
		return err
	}
	stored := make(chan error, 1)
	go func() { stored <- s.PutJobs(newJob(id)) }()
	<-written
	told := make(chan error, 1)
	go func() { _, err := s.Job(id); told <- err }()
	select {
	case err := <-told:
		told <- fmt.Errorf("told already: %v", err)
	case err := <-stored:
		stored <- fmt.Errorf("acknowledged already: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(sync)
	if err := errors.Join(<-told, <-stored); err != nil {
		t.Error(err)
	}
}

// TestCloseWhileRead: who reads gets the record or ErrClosed, and nothing falls over.
func TestCloseWhileRead(t *testing.T) {
	for range 20 {
		s := open(t, t.TempDir(), Options{})
		id := recordid.New()
		row := newJob(id)
		row.Status, row.Result = api.JobComplete, noise(rnd, 300_000)
		if err := s.PutJobs(row); err != nil {
			t.Fatal(err)
		}
		var wg, reading sync.WaitGroup
		reading.Add(4)
		for range 4 {
			wg.Go(func() {
				begun := sync.OnceFunc(reading.Done)
				defer begun()
				for {
					row, err := s.Job(id)
					begun()
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil || len(row.Result) != 300_000 {
						t.Errorf("%d bytes, %v", len(row.Result), err)
						return
					}
				}
			})
		}
		reading.Wait() // each has read once
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

// TestTooLarge: what could not be read again is not taken; of a run the record says so.
func TestTooLarge(t *testing.T) {
	s := open(t, t.TempDir(), Options{maxBody: 1000})
	id := recordid.New()
	row := newJob(id)
	row.Status, row.Result, row.HTML = api.JobComplete, make([]byte, 600), make([]byte, 401)
	if err := s.PutJobs(row); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	row.HTML = row.HTML[1:]
	if err := s.PutJobs(row); err != nil {
		t.Errorf("%v", err)
	}
	if got, err := s.Job(id); err != nil || len(got.Result)+len(got.HTML) != 1000 {
		t.Errorf("%d and %d bytes, %v", len(got.Result), len(got.HTML), err)
	}
	if err := s.PutRun(job.RunRow{ID: id, State: job.RunReplayable, Frames: make([]byte, 1001)}); err != nil {
		t.Error(err)
	}
	if run, err := s.Run(id); err != nil || run.State != job.RunTooLarge || run.Frames != nil {
		t.Errorf("%s, %v", run.State, err)
	}
}

// TestOlderLayout: an older file is brought to the layout of the program, with all
// that it holds, and then refused by the older program.
func TestOlderLayout(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	id := recordid.New()
	if err := errors.Join(s.PutJobs(newJob(id)), s.Close()); err != nil {
		t.Fatal(err)
	}
	old := layouts
	s = withRows(t, dir)
	put(t, s, "a", "1")
	if _, err := s.Job(id); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	newer := layouts
	layouts = old
	if s, err := Open(dir, Options{}); !errors.Is(err, ErrNewer) {
		t.Errorf("%v", err)
		s.Close()
	}
	layouts = newer
	s = open(t, dir, Options{})
	if allRows(t, s)["a"] != "1" {
		t.Error("the row is gone")
	}
}
