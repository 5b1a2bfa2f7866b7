package storagetest

import (
	"errors"
	"time"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/storage/budget"
	"txlens/testkit/size"
)

// bound is the size of the databases of these tests; so many records of putRuns do not fit.
var (
	bound   = size.Of[int64](8<<20, 16<<20)
	tooMany = size.Of(2500, 5000)
)

// openBounded opens the database of f anew with a bound.
func (f *fixture) openBounded() {
	f.Helper()
	f.no(f.Store.Close())
	store, err := f.suite.OpenBounded(f.name, f.clock.Now, bound)
	f.no(err)
	f.Store = store
}

// putRuns writes n records of about 4 KB, many at a time, and returns their ids.
func (f *fixture) putRuns(class job.RunClass, n int) (ids []string, err error) {
	for len(ids) < n {
		batch := min(100, n-len(ids))
		errs := make(chan error, batch)
		for range batch {
			row := job.RunRow{ID: f.id(), Class: class, State: job.RunReplayable, FinishedAt: 1, Frames: f.noise(3900)}
			ids = append(ids, row.ID)
			go func() { errs <- f.Runs.PutRun(row) }()
		}
		for range batch {
			err = errors.Join(err, <-errs)
		}
	}
	return ids, err
}

// left counts the records of ids that are still there.
func (f *fixture) left(ids []string) (n int) {
	f.Helper()
	for _, id := range ids {
		switch _, err := f.Runs.Run(id); {
		case err == nil:
			n++
		case !errors.Is(err, api.ErrNoRun):
			f.Fatal(err)
		}
	}
	return n
}

// testEvictionOrder: evidence goes first, then blocking runs, then streams, the oldest of each, and the
// entries of kept results with their runs. Paid runs, jobs and bills stay.
func testEvictionOrder(f *fixture) {
	f.openBounded()
	ids := map[job.RunClass][]string{}
	put := func(class job.RunClass, n int) {
		f.Helper()
		more, err := f.putRuns(class, n)
		f.no(err)
		ids[class] = append(ids[class], more...)
	}
	all := func(class job.RunClass) {
		f.Helper()
		if n := f.left(ids[class]); n != len(ids[class]) {
			f.Errorf("%d records of class %d are left of %d", n, class, len(ids[class]))
		}
	}
	newest := func(class job.RunClass) {
		f.Helper()
		list := ids[class]
		if n := f.left(list); n == 0 || n == len(list) || f.left(list[len(list)-n:]) != n {
			f.Errorf("%d records of class %d are left of %d, not the last ones", n, class, len(list))
		}
	}
	waiting, bill := newJob(f.id()), channel.Bill{ID: f.id()}
	f.no(errors.Join(f.Jobs.PutJobs(waiting), f.Commit(channel.Entry{Bill: &bill})))
	put(job.RunPaid, 100)
	put(job.RunUnmeteredStream, 100)
	put(job.RunUnmeteredBlocking, 100)
	entry := job.Kept{Key: job.KeptKey{1}, Run: ids[job.RunUnmeteredBlocking][0]}
	f.no(f.Kept.PutKept(entry))
	put(job.RunEvidence, tooMany)
	newest(job.RunEvidence)
	all(job.RunUnmeteredBlocking)
	if _, err := f.Kept.Kept(entry.Key); err != nil {
		f.Error(err)
	}
	put(job.RunUnmeteredBlocking, tooMany)
	if n := f.left(ids[job.RunEvidence]); n != 0 {
		f.Errorf("%d records of evidence are left while blocking runs were deleted", n)
	}
	newest(job.RunUnmeteredBlocking)
	all(job.RunUnmeteredStream)
	if _, err := f.Kept.Kept(entry.Key); !errors.Is(err, api.ErrNoRun) {
		f.Errorf("an entry without its run: %v", err)
	}
	put(job.RunUnmeteredStream, tooMany)
	if n := f.left(ids[job.RunUnmeteredBlocking]); n != 0 {
		f.Errorf("%d blocking runs are left while streams were deleted", n)
	}
	newest(job.RunUnmeteredStream)
	all(job.RunPaid)
	if _, err := f.Jobs.Job(waiting.ID); err != nil {
		f.Error(err)
	}
	if _, err := f.Bill(bill.ID); err != nil {
		f.Error(err)
	}
	gone := 0
	for _, list := range ids {
		gone += len(list) - f.left(list)
	}
	u := f.Usage()
	if u.Evicted != uint64(gone) || u.Tight() || u.Full() || u.Max != bound || u.Promised < 100*3900 || u.Promised >= u.Live {
		f.Errorf("%+v; %d records are gone", u, gone)
	}
	if from := budget.EvictFrom(bound); u.Live > from+from/20 || u.Live < from/2 {
		f.Errorf("%d bytes in use, want about %d", u.Live, from)
	}
}

// testFullOfPromises: what was promised is never deleted. When it fills the database there is no room
// for further promises, unmetered runs are not kept, and expiry makes room again.
func testFullOfPromises(f *fixture) {
	f.openBounded()
	var paid []string
	tight := false
	for f.Room() == nil {
		ids, err := f.putRuns(job.RunPaid, 20)
		f.no(err)
		paid = append(paid, ids...)
		if u := f.Usage(); u.Tight() != tight {
			tight = true
			if n := budget.EvictFrom(bound); u.Promised < n || u.Promised > n+n/20 {
				f.Errorf("warned at %d of %d", u.Promised, n)
			}
		}
	}
	full := func() {
		f.Helper()
		if !errors.Is(f.Room(), api.ErrFull) || !f.Usage().Tight() {
			f.Errorf("%v, %+v", f.Room(), f.Usage())
		}
		for _, class := range []job.RunClass{job.RunUnmeteredStream, job.RunUnmeteredBlocking, job.RunEvidence} {
			if ids, err := f.putRuns(class, 1); !errors.Is(err, job.ErrNotKept) || f.left(ids) != 0 {
				f.Errorf("class %d: %v", class, err)
			}
		}
		late, err := f.putRuns(job.RunPaid, size.Of(1, 20)) // these were admitted before
		f.no(err)
		paid = append(paid, late...)
		if n := f.left(paid); n != len(paid) || f.Usage().Evicted != 0 {
			f.Errorf("%d of %d paid runs are left", n, len(paid))
		}
	}
	full()
	f.openBounded()
	full()
	f.clock.add(api.RunRetention)
	if n, err := f.Expire(); err != nil || n < len(paid) {
		f.Errorf("%d rows, %v", n, err)
	}
	if f.Room() != nil || f.Usage().Tight() {
		f.Errorf("after expiry: %v, %+v", f.Room(), f.Usage())
	}
	free, err := f.putRuns(job.RunUnmeteredStream, 1)
	if f.no(err); f.left(free) != 1 {
		f.Error("a run is not kept")
	}
}

// testLoweredBound: a database above its bound has no room until records were deleted.
func testLoweredBound(f *fixture) {
	paid, err := f.putRuns(job.RunPaid, 100)
	f.no(err)
	free, err := f.putRuns(job.RunUnmeteredStream, tooMany)
	f.no(err)
	f.openBounded()
	if !errors.Is(f.Room(), api.ErrFull) || f.Usage().Tight() {
		f.Errorf("%v, %+v", f.Room(), f.Usage())
	}
	_, err = f.Expire()
	f.no(err)
	if n := f.left(free); f.Room() != nil || n == 0 || n == len(free) || f.left(free[len(free)-n:]) != n {
		f.Errorf("%v, %d of %d runs are left", f.Room(), n, len(free))
	}
	more, err := f.putRuns(job.RunUnmeteredStream, 10)
	f.no(err)
	if f.left(more) != 10 || f.left(paid) != 100 || f.Usage().Live > budget.EvictFrom(bound)*21/20 {
		f.Errorf("%d new runs and %d paid runs are left, %+v", f.left(more), f.left(paid), f.Usage())
	}
}

// testUnbounded: without a bound nothing is deleted and there is always room.
func testUnbounded(f *fixture) {
	ids, err := f.putRuns(job.RunUnmeteredBlocking, 100)
	f.no(err)
	f.clock.add(time.Hour)
	_, err = f.Expire()
	f.no(err)
	if u := f.Usage(); u.Max != 0 || u.Promised != 0 || u.Evicted != 0 || u.Tight() || u.Full() || f.Room() != nil || f.left(ids) != 100 {
		f.Errorf("%+v, %v, %d runs", u, f.Room(), f.left(ids))
	}
}
