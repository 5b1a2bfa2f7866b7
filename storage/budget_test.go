package storage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/storage/budget"
	"txlens/testkit/size"
)

// putRuns writes n records of about 4 KB, many at a time, and returns their ids.
func putRuns(t testing.TB, s *Store, c *clock, class job.RunClass, n int) (ids []string, err error) {
	t.Helper()
	for len(ids) < n {
		rows := make([]job.RunRow, min(100, n-len(ids)))
		for i := range rows {
			c.add(time.Millisecond)
			rows[i] = job.RunRow{ID: idAt(c.Now(), rnd), Class: class, State: job.RunReplayable, FinishedAt: 1, Frames: noise(rnd, 3900)}
			ids = append(ids, rows[i].ID)
		}
		err = errors.Join(err, writeAll(s, rows))
	}
	return ids, err
}

// kept counts the records of ids that are still there.
func kept(t testing.TB, s *Store, ids []string) (n int) {
	t.Helper()
	for _, id := range ids {
		switch _, err := s.Run(id); {
		case err == nil:
			n++
		case !errors.Is(err, api.ErrNoRun):
			t.Fatal(err)
		}
	}
	return n
}

func fileSize(t testing.TB, dir string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// recount compares the counters of a store with what is in its file.
func recount(t testing.TB, s *Store) {
	t.Helper()
	var want growth
	if err := s.view(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			return b.ForEach(func(k, v []byte) error { want.note(name, k, v, 1); return nil })
		})
	}); err != nil {
		t.Fatal(err)
	}
	if got := (growth{s.budget.promised.Load(), s.budget.evictable.Load()}); got != want {
		t.Errorf("counted %+v, the file has %+v", got, want)
	}
}

const testBound = 24 << 20

// TestEvictionOrder: evidence goes first, then blocking runs, the oldest of them, then streams; paid runs and
// jobs stay, and so does the size of the file.
func TestEvictionOrder(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := open(t, dir, Options{Now: c.Now, ExpireEvery: -1, MaxBytes: testBound})
	ids := map[job.RunClass][]string{}
	put := func(class job.RunClass, n int) {
		t.Helper()
		more, err := putRuns(t, s, c, class, n)
		if err != nil {
			t.Fatal(err)
		}
		ids[class] = append(ids[class], more...)
	}
	waiting := newJob(idAt(c.Now(), rnd))
	if err := s.PutJobs(waiting); err != nil {
		t.Fatal(err)
	}
	put(job.RunPaid, 300)
	put(job.RunUnmeteredStream, 300)
	put(job.RunUnmeteredBlocking, 300)
	put(job.RunEvidence, 6000)
	if n := kept(t, s, ids[job.RunUnmeteredBlocking]); n != 300 {
		t.Errorf("%d blocking runs are left of 300 while there was evidence", n)
	}
	evidence := ids[job.RunEvidence]
	if n := kept(t, s, evidence); n == 0 || n == len(evidence) || kept(t, s, evidence[len(evidence)-n:]) != n {
		t.Errorf("%d records of evidence are left, not the last ones", n)
	}
	put(job.RunUnmeteredBlocking, 6000)
	if n := kept(t, s, evidence); n != 0 {
		t.Errorf("%d records of evidence are left while blocking runs were deleted", n)
	}
	if paid, streams := kept(t, s, ids[job.RunPaid]), kept(t, s, ids[job.RunUnmeteredStream]); paid != 300 || streams != 300 {
		t.Errorf("%d paid runs and %d streams are left of 300 each while there were blocking runs", paid, streams)
	}
	blocking := ids[job.RunUnmeteredBlocking]
	n := kept(t, s, blocking)
	if n == 0 || n == len(blocking) || kept(t, s, blocking[len(blocking)-n:]) != n {
		t.Errorf("%d blocking runs are left, not the last ones", n)
	}
	put(job.RunUnmeteredStream, 6000)
	if n := kept(t, s, blocking); n != 0 {
		t.Errorf("%d blocking runs are left while streams were deleted", n)
	}
	streams := ids[job.RunUnmeteredStream]
	if n := kept(t, s, streams); n == 0 || n == len(streams) || kept(t, s, streams[len(streams)-n:]) != n {
		t.Errorf("%d streams are left, not the last ones", n)
	}
	if n := kept(t, s, ids[job.RunPaid]); n != 300 {
		t.Errorf("%d paid runs are left of 300", n)
	}
	if _, err := s.Job(waiting.ID); err != nil {
		t.Error(err)
	}
	if size := fileSize(t, dir); size > testBound {
		t.Errorf("the file has %d bytes, at most %d", size, testBound)
	}
	if u := s.Usage(); u.Evicted == 0 || u.Tight() || u.Max != testBound || u.Promised <= 0 || u.Promised >= u.Live {
		t.Errorf("%+v", u)
	}
	recount(t, s)
	check(t, s)
}

// TestFullOfPromises: what was promised is never deleted. When it fills the file there is no
// room for further promises, unmetered runs are not kept, and expiry makes room again.
func TestFullOfPromises(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	s := open(t, dir, Options{Now: c.Now, ExpireEvery: -1, MaxBytes: testBound})
	var paid []string
	tight := false
	for s.Room() == nil {
		ids, err := putRuns(t, s, c, job.RunPaid, 20)
		if err != nil {
			t.Fatal(err)
		}
		paid = append(paid, ids...)
		if u := s.Usage(); u.Tight() != tight {
			tight = true
			if n := budget.EvictFrom(testBound); u.Promised < n || u.Promised > n+n/20 {
				t.Errorf("warned at %d of %d", u.Promised, n)
			}
		}
	}
	if !errors.Is(s.Room(), api.ErrFull) || !tight {
		t.Errorf("%v, tight %v", s.Room(), tight)
	}
	for _, class := range []job.RunClass{job.RunUnmeteredStream, job.RunUnmeteredBlocking} {
		if ids, err := putRuns(t, s, c, class, 1); !errors.Is(err, job.ErrNotKept) || kept(t, s, ids) != 0 {
			t.Errorf("class %d: %v", class, err)
		}
	}
	late, err := putRuns(t, s, c, job.RunPaid, 20) // these were admitted before
	if err != nil {
		t.Fatal(err)
	}
	paid = append(paid, late...)
	if len(s.budget.passed) == 0 {
		t.Error("each write looks at all paid runs anew")
	}
	if n := kept(t, s, paid); n != len(paid) || s.Usage().Evicted != 0 {
		t.Errorf("%d of %d paid runs are left", n, len(paid))
	}
	if size := fileSize(t, dir); size > testBound {
		t.Errorf("the file has %d bytes, at most %d", size, testBound)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, Options{Now: c.Now, ExpireEvery: -1, MaxBytes: testBound})
	if s.Room() == nil || !s.Usage().Tight() {
		t.Errorf("after a restart: %v, %+v", s.Room(), s.Usage())
	}
	recount(t, s)
	c.add(api.RunRetention)
	if _, err := s.Expire(); err != nil {
		t.Fatal(err)
	}
	if err := s.Room(); err != nil || s.Usage().Tight() {
		t.Errorf("after expiry: %v, %+v", err, s.Usage())
	}
	recount(t, s)
}

// TestBoundOfAnOlderFile: a file of an earlier version has runs that do not say whether they
// are sold. Those with a bill stay; expiry deletes the others until there is room.
func TestBoundOfAnOlderFile(t *testing.T) {
	dir, c := t.TempDir(), newClock()
	o := Options{Now: c.Now, ExpireEvery: -1}
	s := open(t, dir, o)
	sold, err := putRuns(t, s, c, job.RunPaid, 1500)
	if err != nil {
		t.Fatal(err)
	}
	free, err := putRuns(t, s, c, job.RunPaid, 6000)
	if err != nil {
		t.Fatal(err)
	}
	var entries []channel.Entry
	for _, id := range sold {
		entries = append(entries, channel.Entry{Bill: &channel.Bill{ID: id}})
	}
	if err := errors.Join(s.Commit(entries...), forgetClass(s), s.Close()); err != nil {
		t.Fatal(err)
	}
	o.MaxBytes = testBound
	s = open(t, dir, o)
	if s.Room() == nil {
		t.Error("a file above its bound has room")
	}
	for range 3 { // each looks at maxPassed records at least
		if _, err := s.Expire(); err != nil {
			t.Fatal(err)
		}
	}
	if n := kept(t, s, sold); n != len(sold) {
		t.Errorf("%d of %d runs that were sold are left", n, len(sold))
	}
	if n := kept(t, s, free); n == 0 || n == len(free) || kept(t, s, free[len(free)-n:]) != n {
		t.Errorf("%d of %d other runs are left", n, len(free))
	}
	if err := s.Room(); err != nil {
		t.Error(err)
	}
	recount(t, s)
	check(t, s)
}

// forgetClass takes the mark from all runs that says that they are sold.
func forgetClass(s *Store) error {
	return s.update(0, func(c *change) error {
		heads := map[string]runHead{}
		cur := c.tx.Bucket(bucketRuns).Cursor()
		for k, v := cur.First(); k != nil; k, v = cur.Next() {
			if k[len(recordID{})] != partHead {
				continue
			}
			h, err := runs[job.RunPaid].decode(k, v)
			if err != nil {
				return err
			}
			h.Paid = false
			heads[string(k)] = h
		}
		for k, h := range heads {
			if err := runs[job.RunPaid].table.put(c, []byte(k), h); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestRunChangesClass: a record that is written again under another class is there once.
func TestRunChangesClass(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	id := idAt(c.Now(), rnd)
	for _, class := range []job.RunClass{job.RunPaid, job.RunUnmeteredBlocking, job.RunUnmeteredStream, job.RunPaid} {
		row := job.RunRow{ID: id, Class: class, State: job.RunReplayable, Frames: noise(rnd, 3*chunkSize)}
		if err := s.PutRun(row); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Run(id); err != nil || got.Class != class || string(got.Frames) != string(row.Frames) {
			t.Errorf("class %d: %d, %v", class, got.Class, err)
		}
		if n := keys(t, s, bucketRuns) + keys(t, s, bucketStreams) + keys(t, s, bucketBlocking); n != 5 {
			t.Errorf("class %d: %d keys", class, n)
		}
	}
}

// TestBoundHolds writes records of all sizes at full speed, so many or for the time
// in TXLENS_SOAK, and compares the file with its bound. No paid record is lost.
func TestBoundHolds(t *testing.T) {
	records, bound := size.Of(5000, 40_000), size.Of[int64](32<<20, 64<<20) // more than the bound holds
	soak, err := time.ParseDuration(os.Getenv("TXLENS_SOAK"))
	if err == nil {
		records, bound = 1<<62, 1_000_000_000
	}
	dir, c := t.TempDir(), newClock()
	s := open(t, dir, Options{Now: c.Now, ExpireEvery: -1, MaxBytes: bound})
	began, told := time.Now(), time.Now()
	var paid []string
	var most int64
	for i := 0; i < records && (soak == 0 || time.Since(began) < soak); i += 50 {
		rows := make([]job.RunRow, 50)
		for j := range rows {
			c.add(time.Second)
			length := 500 + rnd.IntN(8000)
			if rnd.IntN(100) == 0 {
				length = rnd.IntN(1 << 20)
			}
			class := []job.RunClass{job.RunUnmeteredStream, job.RunUnmeteredBlocking, job.RunUnmeteredBlocking, job.RunUnmeteredBlocking}[rnd.IntN(4)]
			if rnd.IntN(500) == 0 {
				class = job.RunPaid
			}
			rows[j] = job.RunRow{ID: idAt(c.Now(), rnd), Class: class, State: job.RunReplayable, Frames: noise(rnd, length)}
			if class == job.RunPaid {
				paid = append(paid, rows[j].ID)
			}
		}
		if err := writeAll(s, rows); err != nil {
			t.Fatal(err)
		}
		most = max(most, fileSize(t, dir))
		if time.Since(told) > time.Minute {
			told = time.Now()
			t.Logf("%s: %d records, file %d, live %d, evicted %d", time.Since(began).Round(time.Second), i, most, s.Usage().Live, s.Usage().Evicted)
		}
		if i%size.Of(1000, 5000) == 0 {
			if _, err := s.Expire(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if most > bound {
		t.Errorf("the file had %d bytes, at most %d", most, bound)
	}
	u := s.Usage()
	if u.Evicted == 0 {
		t.Errorf("nothing was deleted: %+v", u)
	}
	for _, id := range paid {
		if u, _ := parseID(id); s.hasExpired(u, api.RunRetention) {
			continue
		}
		if _, err := s.Run(id); err != nil {
			t.Errorf("a paid run: %v", err)
		}
	}
	t.Logf("file %d of %d at most, %+v", most, bound, u)
	recount(t, s)
	check(t, s)
}

// writeAll writes rows at the same time.
func writeAll(s *Store, rows []job.RunRow) (err error) {
	errs := make(chan error, len(rows))
	for _, row := range rows {
		go func() { errs <- s.PutRun(row) }()
	}
	for range rows {
		err = errors.Join(err, <-errs)
	}
	return err
}

// TestFailedEviction: records that cannot be read cost their deletion, and no other write.
func TestFailedEviction(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1, MaxBytes: testBound})
	blocking, err := putRuns(t, s, c, job.RunUnmeteredBlocking, 20)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, s, bucketBlocking, []byte("no key of a record, behind them"), []byte{1})
	if _, err := putRuns(t, s, c, job.RunPaid, 6500); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); u.Evicted != 0 || u.Promised < testBound {
		t.Errorf("%+v", u)
	}
	if n := kept(t, s, blocking); n != len(blocking) {
		t.Errorf("%d of %d runs are left by a deletion that failed", n, len(blocking))
	}
	recount(t, s)
}

// TestUnboundedFile: without a bound nothing is deleted and there is always room.
func TestUnboundedFile(t *testing.T) {
	c := newClock()
	s := open(t, t.TempDir(), Options{Now: c.Now, ExpireEvery: -1})
	if _, err := putRuns(t, s, c, job.RunUnmeteredBlocking, 100); err != nil {
		t.Fatal(err)
	}
	if u := s.Usage(); fmt.Sprint(u) != "{0 0 0 0}" || s.Room() != nil || u.Tight() {
		t.Errorf("%+v, %v", u, s.Room())
	}
}
