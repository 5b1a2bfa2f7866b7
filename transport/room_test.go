package transport

import (
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"txlens/actors/job"
	"txlens/actors/sale"
	"txlens/engine/api"

	"github.com/go-json-experiment/json/jsontext"
)

// TestNoRoom: a server that cannot store more refuses what it would have to keep, charges
// nothing for it, and goes on with what was promised before and with what nobody was promised.
func TestNoRoom(t *testing.T) {
	var full error
	room := func() error { return full }

	jobs := &fakeJobs{refuse: byRequestContext, jobs: map[string]*api.Job{}}
	_, url := start(t, Config{Jobs: jobs, Runs: &fakeRuns{frames: map[string][]jsontext.Value{}}, Room: room}, byContext)
	c := client(t)
	f := func(path string, status int, says string) {
		t.Helper()
		if got := do(t, c, "POST", url+path, "application/json", strings.NewReader(goodBody)); got.status != status || !strings.Contains(got.body, says) {
			t.Errorf("%s: %d %.200s, want %d %q", path, got.status, got.body, status, says)
		}
	}
	f("/explain/async", 202, "jobId")
	full = api.ErrFull
	f("/explain/async", 503, api.CodeBusy)
	f("/explain", 200, "summary")
	full = nil
	f("/explain/async", 202, "jobId")

	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Room = room })
	a := sh.buy("/explain", goodBody, voucher(90_000))
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	full = api.ErrFull
	spent := sh.till.spent
	for _, path := range []string{"/explain", "/explain/async"} {
		a := sh.buy(path, withContext("another"), voucher(190_000))
		sh.wantFault(a, 503, api.CodeBusy, "no room to store")
		if !strings.Contains(a.body, "Nothing was charged") || sh.till.spent != spent {
			t.Errorf("%s: %d charged: %s", path, sh.till.spent-spent, a.body)
		}
	}
	// The run that was paid before.
	if a := sh.buy("/explain", goodBody, voucher(90_000)); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// classRuns notes the class of each record and keeps some of them.
type classRuns struct {
	fakeRuns
	keep  job.KeepRuns
	notes sync.Mutex
	seen  []job.RunClass
}

func (c *classRuns) Keeps(class job.RunClass) bool { return c.keep.Keeps(class) }

func (c *classRuns) Put(row job.RunRow) error {
	c.notes.Lock()
	c.seen = append(c.seen, row.Class)
	c.notes.Unlock()
	if !c.Keeps(row.Class) {
		return job.ErrNotKept
	}
	return c.fakeRuns.Put(row)
}

// TestClassesOfRuns: a record says whether it is sold, streamed or the answer itself. That it
// is not kept is no error and is not logged.
func TestClassesOfRuns(t *testing.T) {
	runs := &classRuns{fakeRuns: fakeRuns{frames: map[string][]jsontext.Value{}}, keep: job.KeepPaid}
	log := new(lockedLog)
	_, url := start(t, Config{Runs: runs, Log: slog.New(slog.NewTextHandler(log, nil))}, byContext)
	c := client(t)
	do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(goodBody))
	_, resp := open(t, url, goodBody)
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Runs = runs })
	sh.buy("/explain", goodBody, voucher(90_000))
	if want := []job.RunClass{job.RunUnmeteredBlocking, job.RunUnmeteredStream, job.RunPaid}; !slices.Equal(runs.seen, want) {
		t.Errorf("%v, want %v", runs.seen, want)
	}
	if runs.len() != 1 {
		t.Errorf("%d records are kept", runs.len())
	}
	if strings.Contains(log.String(), "record run") {
		t.Errorf("%s", log)
	}
	none := &classRuns{fakeRuns: fakeRuns{frames: map[string][]jsontext.Value{}}, keep: job.KeepNone}
	sh = sellWith(t, spends(0), func(c *Config, _ *sale.Options) { c.Runs = none })
	if a := sh.buy("/explain", goodBody, voucher(90_000)); kindsOf(a.body) != "preflight_start complete result [payment-receipt]" || len(none.seen) != 0 {
		t.Errorf("%s, %v", a.body, none.seen)
	}
}

// TestStreamThatIsNotKept: an analysis whose client has gone does not go on if nobody can have
// what it finds.
func TestStreamThatIsNotKept(t *testing.T) {
	f := func(keep job.KeepRuns, spec RunSpec, want bool) {
		t.Helper()
		s := New(Config{Runs: &classRuns{keep: keep}})
		if got := s.continues(spec); got != want {
			t.Errorf("%q: %v", keep, got)
		}
	}
	stream, sold := RunSpec{streams: true}, RunSpec{streams: true, priced: func(*api.Result, error, *job.RunRow) error { return nil }}
	f(job.KeepAll, stream, true)
	f(job.KeepStreams, stream, true)
	f(job.KeepPaid, stream, false)
	f(job.KeepPaid, sold, true)
	f(job.KeepNone, stream, false)
}
