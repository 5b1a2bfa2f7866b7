package storage

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
)

var rnd = rand.New(rand.NewPCG(1, 2))

// TestOpenRefuses: what cannot be opened is refused with a reason and an advice,
// and is left as it was.
func TestOpenRefuses(t *testing.T) {
	f := func(make func(path string), want error, words ...string) {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, FileName)
		make(path)
		before, _ := os.ReadFile(path)
		s, err := Open(dir, Options{LockTimeout: 50 * time.Millisecond})
		var told *OpenError
		if err == nil {
			s.Close()
		}
		if !errors.Is(err, want) || !errors.As(err, &told) || told.Hint == "" {
			t.Errorf("got %v, want %v", err, want)
			return
		}
		for _, w := range append(words, path, "--data") {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: does not say %q", err, w)
			}
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%v: and the file was changed", err)
		}
	}
	layout := func(write func(*bolt.Tx) error) func(string) {
		return func(path string) {
			db := must(bolt.Open(path, 0o600, nil))(t)
			if err := errors.Join(db.Update(write), db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	version := func(v ...byte) func(string) {
		return layout(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucket(bucketMeta)
			return errors.Join(err, b.Put(keySchema, v))
		})
	}
	f(version(byte(len(layouts)+1)), ErrNewer, fmt.Sprintf("layout %d", len(layouts)+1), fmt.Sprintf("up to %d", len(layouts)))
	f(version(0), ErrForeign)
	f(version(1, 2), ErrForeign)
	f(layout(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("else")); return err }), ErrForeign)
	f(version(1), ErrDamaged, "it has no jobs", "put a backup")
	f(func(path string) { os.WriteFile(path, bytes.Repeat([]byte("text "), 9000), 0o600) }, ErrForeign)
	f(func(path string) { open(t, filepath.Dir(path), Options{}) }, ErrLocked, "stop the txlens")
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	id := recordid.New()
	if err := s.PutJobs(newJob(id)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	f := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	}
	f(s.PutJobs(newJob(id)))
	f(s.PutRun(job.RunRow{ID: id}))
	_, err := s.Job(id)
	f(err)
	_, err = s.Run(id)
	f(err)
	_, err = s.UnfinishedJobs()
	f(err)
	_, err = s.Expire()
	f(err)
}

// TestIDs: a store takes only ids that carry their time, and finds nothing under
// others.
func TestIDs(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	for _, id := range []string{"", "x", someHash, "0f8fad5b-d9cb-469f-a165-70867728950e", "{" + recordid.New() + "}", strings.ReplaceAll(recordid.New(), "-", "")} {
		if s.PutJobs(newJob(id)) == nil || s.PutRun(job.RunRow{ID: id}) == nil {
			t.Errorf("%q is taken", id)
		}
		if _, err := s.Job(id); !errors.Is(err, api.ErrNoJob) {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := s.Run(id); !errors.Is(err, api.ErrNoRun) {
			t.Errorf("%q: %v", id, err)
		}
	}
	id := recordid.New()
	if err := s.PutJobs(newJob(id)); err != nil {
		t.Fatal(err)
	}
	if row, err := s.Job(strings.ToUpper(id)); err != nil || row.ID != id {
		t.Errorf("%s in upper case: %v, %v", id, row.ID, err)
	}
}

// TestRetention: a record is there until the moment its time is over, whether
// deleted or not.
func TestRetention(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	id := idAt(c.Now(), rnd)
	if err := errors.Join(s.PutJobs(newJob(id)), s.PutRun(job.RunRow{ID: id, State: job.RunErrored})); err != nil {
		t.Fatal(err)
	}
	f := func(job, run error, unfinished int) {
		t.Helper()
		if _, err := s.Job(id); !errors.Is(err, job) {
			t.Errorf("job: %v, want %v", err, job)
		}
		if _, err := s.Run(id); !errors.Is(err, run) {
			t.Errorf("run: %v, want %v", err, run)
		}
		if rows, err := s.UnfinishedJobs(); err != nil || len(rows) != unfinished {
			t.Errorf("%d unfinished jobs, %v; want %d", len(rows), err, unfinished)
		}
	}
	c.add(time.Hour - time.Millisecond)
	f(nil, nil, 1)
	c.add(time.Millisecond)
	f(api.ErrNoJob, nil, 0)
	c.add(30*24*time.Hour - time.Hour - time.Millisecond)
	f(api.ErrNoJob, nil, 0)
	c.add(time.Millisecond)
	f(api.ErrNoJob, api.ErrNoRun, 0)
}

// TestExpiryInSmallSteps: no transaction deletes more than its bound, and what
// lives is left alone.
func TestExpiryInSmallSteps(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	put := func(n int) {
		var rows []job.Row
		for range n {
			rows = append(rows, newJob(idAt(c.Now(), rnd)))
		}
		if err := s.PutJobs(rows...); err != nil {
			t.Fatal(err)
		}
	}
	put(2*maxExpired + 17)
	c.add(time.Hour)
	put(3)
	before := writes(s)
	if n, err := s.expireFront(bucketJobs, api.JobRetention, nil); n != maxExpired || err != nil {
		t.Errorf("the first step deletes %d, %v", n, err)
	}
	if n, err := s.Expire(); n != maxExpired+17 || err != nil {
		t.Errorf("the rest: %d, %v", n, err)
	}
	if n := keys(t, s, bucketJobs); n != 3 {
		t.Errorf("%d jobs live, want 3", n)
	}
	after := writes(s)
	if n, err := s.Expire(); n != 0 || err != nil || after == before || writes(s) != after {
		t.Errorf("with nothing due it deletes %d and writes, %v", n, err)
	}
}

func writes(s *Store) int64 {
	stats := s.db.Stats()
	return stats.TxStats.GetWrite()
}

// TestExpiresByItself: the background deletes without being asked.
func TestExpiresByItself(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: time.Millisecond})
	if err := s.PutJobs(newJob(idAt(c.Now(), rnd))); err != nil {
		t.Fatal(err)
	}
	c.add(2 * time.Hour)
	for end := time.Now().Add(30 * time.Second); keys(t, s, bucketJobs) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is still there")
		}
	}
}

// TestTooLargeRun: the record says so and holds no frames.
func TestTooLargeRun(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	f := func(frames []byte, want job.RunState) {
		t.Helper()
		id := recordid.New()
		if err := s.PutRun(job.RunRow{ID: id, State: job.RunReplayable, FinishedAt: 5, Frames: frames}); err != nil {
			t.Fatal(err)
		}
		row, err := s.Run(id)
		if err != nil || row.State != want || row.FinishedAt != 5 || (row.Frames != nil) != (want == job.RunReplayable) {
			t.Errorf("%s with %d bytes, %v; want %s", row.State, len(row.Frames), err, want)
		}
		if want == job.RunReplayable && !bytes.Equal(row.Frames, frames) {
			t.Error("the frames have changed")
		}
	}
	f(noise(rnd, job.MaxRunBytes), job.RunTooLarge) // what does not compress grows by its frame
	f(noise(rnd, job.MaxRunBytes-64<<10), job.RunReplayable)
	f(make([]byte, 4*job.MaxRunBytes), job.RunReplayable) // it counts compressed
}

// TestOneFailureCostsOne: neighbours in a group are written all the same.
func TestOneFailureCostsOne(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	hold, held := make(chan struct{}), make(chan struct{})
	go s.update(0, func(*change) error { close(held); <-hold; return nil })
	<-held
	broken := errors.New("cannot be done")
	var wg sync.WaitGroup
	errs := make([]error, 20)
	ids := make([]string, len(errs))
	for i := range errs {
		ids[i] = recordid.New()
		wg.Go(func() {
			if i%5 == 3 {
				errs[i] = s.update(0, func(*change) error { return broken })
				return
			}
			errs[i] = s.PutJobs(newJob(ids[i]))
		})
	}
	for end := time.Now().Add(30 * time.Second); len(s.ops) < len(errs) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	wg.Wait()
	for i, err := range errs {
		if want := i%5 == 3; errors.Is(err, broken) != want || !want && err != nil {
			t.Errorf("%d: %v", i, err)
		}
		if _, err := s.Job(ids[i]); (err == nil) == (i%5 == 3) {
			t.Errorf("%d is stored: %v", i, err)
		}
	}
}

// TestHotBackup: a copy made under load opens, is whole, and holds all that was
// acknowledged before it began.
func TestHotBackup(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	var ids []string
	for range 200 {
		ids = append(ids, recordid.New())
		row := newJob(ids[len(ids)-1])
		row.Status, row.Result = api.JobComplete, noise(rnd, 5000)
		if err := s.PutJobs(row); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.PutJobs(newJob(recordid.New()))
				}
			}
		})
	}
	dir := t.TempDir()
	f := must(os.Create(filepath.Join(dir, FileName)))(t)
	n, err := s.Backup(f)
	close(stop)
	wg.Wait()
	if info, _ := f.Stat(); err != nil || info.Size() != n {
		t.Fatalf("%d bytes, %v", n, err)
	}
	f.Close()
	b := open(t, dir, Options{})
	check(t, b)
	for _, id := range ids {
		if row, err := b.Job(id); err != nil || len(row.Result) != 5000 {
			t.Fatalf("%s: %v", id, err)
		}
	}
	if _, err := BackupFile(dir, &bytes.Buffer{}); !errors.Is(err, ErrLocked) {
		t.Errorf("offline backup of an open store: %v", err)
	}
	b.Close()
	var buf bytes.Buffer
	if n, err := BackupFile(dir, &buf); err != nil || n != int64(buf.Len()) || n == 0 {
		t.Errorf("offline backup: %d bytes, %v", n, err)
	}
	if _, err := BackupFile(t.TempDir(), &buf); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestCompaction: a file of free pages is rewritten at the start, and what lives
// is still there.
func TestCompaction(t *testing.T) {
	c := newClock()
	o := Options{Now: c.Now, ExpireEvery: -1}
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	s := open(t, dir, o)
	big := noise(rnd, 1<<20)
	for range 40 {
		row := newJob(idAt(c.Now(), rnd))
		row.Status, row.Result = api.JobComplete, big
		if err := s.PutJobs(row); err != nil {
			t.Fatal(err)
		}
	}
	c.add(2 * time.Hour)
	live := idAt(c.Now(), rnd)
	if err := s.PutJobs(newJob(live)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	before := must(os.Stat(path))(t).Size()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(path+compactSuffix, []byte("left by a crash"), 0o600)
	s = open(t, dir, o)
	after := must(os.Stat(path))(t).Size()
	if after > before/10 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	if _, err := os.Stat(path + compactSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary file: %v", err)
	}
	if _, err := s.Job(live); err != nil {
		t.Error(err)
	}
	if err := s.PutJobs(newJob(live)); err != nil {
		t.Error(err)
	}
	check(t, s)
}

// TestCompactionNotSynced: when it is not known which of the two files a power cut
// leaves, none is written to.
func TestCompactionNotSynced(t *testing.T) {
	c := newClock()
	o := Options{Now: c.Now, ExpireEvery: -1}
	dir := t.TempDir()
	s := open(t, dir, o)
	for range 20 {
		row := newJob(idAt(c.Now(), rnd))
		row.Status, row.Result = api.JobComplete, noise(rnd, 1<<20)
		if err := s.PutJobs(row); err != nil {
			t.Fatal(err)
		}
	}
	c.add(2 * time.Hour)
	live := idAt(c.Now(), rnd)
	if _, err := s.Expire(); errors.Join(err, s.PutJobs(newJob(live)), s.Close()) != nil {
		t.Fatal(err)
	}
	works, lost := syncDir, errors.New("input/output error")
	syncs := 0
	syncDir = func(string) error {
		if syncs++; syncs == 1 {
			return nil // that of the file as it was
		}
		return lost
	}
	defer func() { syncDir = works }()
	var told *OpenError
	if s, err := Open(dir, o); !errors.Is(err, lost) || !errors.As(err, &told) {
		t.Errorf("%v", err)
		s.Close()
	}
	syncs = 0
	s = open(t, dir, o) // small now: nothing to compact
	if _, err := s.Job(live); err != nil {
		t.Error(err)
	}
}

// TestNewFileNotSynced: a file that a power cut could take away with all that it
// acknowledged is not served from.
func TestNewFileNotSynced(t *testing.T) {
	works, lost := syncDir, errors.New("input/output error")
	syncDir = func(string) error { return lost }
	defer func() { syncDir = works }()
	if s, err := Open(t.TempDir(), Options{}); !errors.Is(err, lost) {
		t.Errorf("%v", err)
		s.Close()
	}
}

// TestWaitsForTheFileInPlace: who waited for the lock of a file that was replaced
// meanwhile gets the new one.
func TestWaitsForTheFileInPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	s := open(t, dir, Options{})
	id := recordid.New()
	if err := s.PutJobs(newJob(id)); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := Open(dir, Options{LockTimeout: 10 * time.Second})
		if err == nil {
			var row job.Row
			if row, err = second.Job(id); row.Status != api.JobPending {
				err = errors.Join(err, errors.New("it has the file that is gone"))
			}
			err = errors.Join(err, second.Close())
		}
		got <- err
	}()
	awaitSecond(t, path)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	f := must(os.Create(path))(t)
	if _, err := s.Backup(f); err != nil {
		t.Fatal(err)
	}
	f.Close()
	s.PutJobs(job.Row{ID: id, Status: api.JobError}) // into the file that is gone
	s.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// awaitSecond waits until the file at path is open twice in this process: then somebody
// waits for its lock.
func awaitSecond(t *testing.T, path string) {
	t.Helper()
	const opened = "/proc/self/fd"
	if _, err := os.Stat(opened); err != nil {
		t.Skip("what is open cannot be seen here")
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		n := 0
		for _, fd := range must(os.ReadDir(opened))(t) {
			if to, err := os.Readlink(filepath.Join(opened, fd.Name())); err == nil && to == path {
				n++
			}
		}
		if n >= 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s is open %d times", path, n)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, writers := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			work := make(chan struct{}, writers)
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for range work {
						if err := s.PutJobs(newJob(recordid.New())); err != nil {
							b.Error(err)
						}
					}
				})
			}
			b.ResetTimer()
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
		})
	}
}
