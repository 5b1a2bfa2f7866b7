package storagetest

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"time"

	"txlens/actors/job"
	"txlens/engine/api"
)

func testJobs(f *fixture) {
	pending, running, done, failed := newJob(f.id()), newJob(f.id()), newJob(f.id()), newJob(f.id())
	running.Status, running.Attempts = api.JobRunning, 2
	done.Status, done.Result, done.HTML = api.JobComplete, []byte(`{"a":1}`), []byte("<p>report</p>")
	failed.Status, failed.Error, failed.ErrorCode = api.JobError, "it broke", api.CodeInternal
	f.no(f.Jobs.PutJobs(done, running))
	f.no(f.Jobs.PutJobs(failed, pending))
	f.twice(func() {
		f.Helper()
		for _, want := range []job.Row{pending, running, done, failed} {
			if got, err := f.Jobs.Job(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				f.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		if got, err := f.Jobs.UnfinishedJobs(); err != nil || !reflect.DeepEqual(got, []job.Row{pending, running}) {
			f.Errorf("unfinished: %+v, %v", got, err)
		}
		for _, id := range []string{f.id(), "", "x", "0199a000-0000-4000-8000-000000000000"} {
			if _, err := f.Jobs.Job(id); !errors.Is(err, api.ErrNoJob) {
				f.Errorf("job %q: %v", id, err)
			}
		}
	})
	pending.Status, pending.Result = api.JobComplete, []byte("[]")
	f.no(f.Jobs.PutJobs(pending)) // a replaced row leaves nothing of the one before
	done.Status, done.Result, done.HTML = api.JobPending, nil, nil
	f.no(f.Jobs.PutJobs(done))
	f.twice(func() {
		f.Helper()
		for _, want := range []job.Row{pending, done} {
			if got, err := f.Jobs.Job(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				f.Errorf("replaced: %+v, %v; want %+v", got, err, want)
			}
		}
	})
}

func testJobsAllOrNone(f *fixture) {
	first, last := newJob(f.id()), newJob(f.id())
	if err := f.Jobs.PutJobs(first, newJob("no id"), last); err == nil {
		f.Error("a job whose id has no time is stored")
	}
	f.twice(func() {
		f.Helper()
		for _, row := range []job.Row{first, last} {
			if _, err := f.Jobs.Job(row.ID); !errors.Is(err, api.ErrNoJob) {
				f.Errorf("a row of a batch that failed: %v", err)
			}
		}
	})
}

func testRuns(f *fixture) {
	var rows []job.RunRow
	for _, class := range []job.RunClass{job.RunPaid, job.RunUnmeteredStream, job.RunUnmeteredBlocking, job.RunEvidence} {
		rows = append(rows,
			job.RunRow{ID: f.id(), Class: class, State: job.RunReplayable, FinishedAt: 7, Frames: []byte(`[{"type":"complete"}]`)},
			job.RunRow{ID: f.id(), Class: class, State: job.RunErrored, FinishedAt: 8},
			job.RunRow{ID: f.id(), Class: class, State: job.RunErrored, FinishedAt: 8, Error: "not found", ErrorCode: api.CodeNotFound},
			job.RunRow{ID: f.id(), Class: class, State: job.RunTooLarge, FinishedAt: 9},
		)
	}
	for _, row := range rows {
		f.no(f.Runs.PutRun(row))
	}
	rows[1].State, rows[1].Frames = job.RunReplayable, f.noise(5000)
	rows[3].Class, rows[3].Frames = job.RunPaid, []byte("[]")
	f.no(errors.Join(f.Runs.PutRun(rows[1]), f.Runs.PutRun(rows[3])))
	f.twice(func() {
		f.Helper()
		for _, want := range rows {
			if got, err := f.Runs.Run(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				f.Errorf("%.200v, %v; want %.200v", got, err, want)
			}
		}
		for _, id := range []string{f.id(), "", "x"} {
			if _, err := f.Runs.Run(id); !errors.Is(err, api.ErrNoRun) {
				f.Errorf("run %q: %v", id, err)
			}
		}
		list, err := f.Runs.(interface {
			RunsAfter(id string, limit int) ([]job.RunRow, error)
		}).RunsAfter("", 100)
		if err != nil || len(list) != 12 || slices.ContainsFunc(list, func(r job.RunRow) bool { return r.Class == job.RunEvidence }) {
			f.Errorf("a copy would have %d runs, %v", len(list), err)
		}
	})
	if err := f.Runs.PutRun(job.RunRow{ID: "no id", State: job.RunErrored}); err == nil {
		f.Error("a run whose id has no time is stored")
	}
}

func testLargeBodies(f *fixture) {
	big := newJob(f.id())
	big.Status, big.Result, big.HTML = api.JobComplete, f.noise(5<<20), bytes.Repeat([]byte("<p>"), 3<<20)
	f.no(f.Jobs.PutJobs(big))
	run := job.RunRow{ID: f.id(), State: job.RunReplayable, Frames: f.noise(job.MaxRunBytes - 1<<16)}
	over := job.RunRow{ID: f.id(), State: job.RunReplayable, FinishedAt: 3, Frames: f.noise(job.MaxRunBytes + 1)}
	flat := job.RunRow{ID: f.id(), State: job.RunReplayable, Frames: bytes.Repeat([]byte("0"), 2*job.MaxRunBytes)}
	f.no(errors.Join(f.Runs.PutRun(run), f.Runs.PutRun(over), f.Runs.PutRun(flat)))
	f.twice(func() {
		f.Helper()
		if got, err := f.Jobs.Job(big.ID); err != nil || !reflect.DeepEqual(got, big) {
			f.Errorf("%d and %d bytes, %v", len(got.Result), len(got.HTML), err)
		}
		for _, want := range []job.RunRow{run, flat} {
			if got, err := f.Runs.Run(want.ID); err != nil || !reflect.DeepEqual(got, want) {
				f.Errorf("%s, %d bytes of %d, %v", got.State, len(got.Frames), len(want.Frames), err)
			}
		}
		if got, err := f.Runs.Run(over.ID); err != nil || got.State != job.RunTooLarge || got.Frames != nil || got.FinishedAt != 3 {
			f.Errorf("%s, %d bytes, %v", got.State, len(got.Frames), err)
		}
	})
	big.Result, big.HTML = []byte("1"), nil
	f.no(f.Jobs.PutJobs(big)) // the rest of the larger body is gone
	if got, err := f.Jobs.Job(big.ID); err != nil || !reflect.DeepEqual(got, big) {
		f.Errorf("%d and %d bytes, %v", len(got.Result), len(got.HTML), err)
	}
}

// testRetention: a record is there until the last millisecond of its time and no longer,
// whether it was deleted or not.
func testRetention(f *fixture) {
	old, young := newJob(f.id()), newJob("")
	run := job.RunRow{ID: f.id(), State: job.RunErrored, FinishedAt: 1}
	f.no(errors.Join(f.Jobs.PutJobs(old), f.Runs.PutRun(run)))
	began := f.clock.Now()
	is := func(jobGone, runGone bool) {
		f.Helper()
		if _, err := f.Jobs.Job(old.ID); (err == nil) == jobGone || jobGone && !errors.Is(err, api.ErrNoJob) {
			f.Errorf("after %s the job: %v", f.clock.Now().Sub(began), err)
		}
		if list, err := f.Jobs.UnfinishedJobs(); err != nil || (len(list) == 0) != jobGone {
			f.Errorf("after %s: %d jobs, %v", f.clock.Now().Sub(began), len(list), err)
		}
		if _, err := f.Runs.Run(run.ID); (err == nil) == runGone || runGone && !errors.Is(err, api.ErrNoRun) {
			f.Errorf("after %s the run: %v", f.clock.Now().Sub(began), err)
		}
	}
	expire := func() {
		f.Helper()
		_, err := f.Expire()
		f.no(err)
	}
	f.clock.add(api.JobRetention - 2*time.Millisecond) // the job is one older than the run
	is(false, false)
	expire()
	is(false, false)
	f.clock.add(2 * time.Millisecond)
	is(true, false)
	expire()
	is(true, false)
	young.ID = f.id()
	f.no(f.Jobs.PutJobs(young))
	expire()
	if _, err := f.Jobs.Job(young.ID); err != nil {
		f.Error(err)
	}
	f.clock.add(api.RunRetention - f.clock.Now().Sub(began) - time.Millisecond)
	if _, err := f.Runs.Run(run.ID); err != nil {
		f.Errorf("a millisecond before its end: %v", err)
	}
	f.clock.add(time.Millisecond)
	is(true, true)
	expire()
	f.reopen()
	is(true, true)
}
