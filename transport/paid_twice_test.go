package transport

import (
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/sale"
	"txlens/engine/api"
)

// slowJobs submits the first job only when another request waits for it or has submitted, too.
type slowJobs struct {
	*fakeJobs
	waits func() bool

	mu  sync.Mutex
	ids []string
}

func (j *slowJobs) SubmitAs(id string, _ api.Request) error {
	j.mu.Lock()
	j.ids = append(j.ids, id)
	j.mu.Unlock()
	for end := time.Now().Add(time.Minute); !j.waits() && j.submitted() < 2 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.jobs[id] = &api.Job{JobID: id, Status: api.JobPending}
	return nil
}

func (j *slowJobs) submitted() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.ids)
}

func (j *slowJobs) Job(id string) (*api.Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fakeJobs.Job(id)
}

// TestSameJobAtOnce: a request that is repeated with a fresh challenge before its job is stored
// waits, and gets that job.
func TestSameJobAtOnce(t *testing.T) {
	jobs := &slowJobs{}
	sh := sellWith(t, spends(0), func(c *Config, _ *sale.Options) {
		jobs.fakeJobs = c.Jobs.(*fakeJobs)
		c.Jobs = jobs
	})
	jobs.waits = func() bool { return sh.s.submissions.Users() > 1 }
	first := sh.answerTo("/explain/async", 10_000, opening(30_000))
	second := sh.answerTo("/explain/async", 10_000, opening(30_000))
	answers := make(chan answer, 2)
	for _, credential := range []string{first, second} {
		go func() { answers <- sh.ask("POST", "/explain/async", goodBody, "Authorization", credential) }()
	}
	a, b := <-answers, <-answers
	if a.status != 202 || b.status != 202 || a.body != b.body {
		t.Errorf("%d %s and %d %s", a.status, a.body, b.status, b.body)
	}
	if n := jobs.submitted(); n != 1 || sh.s.submissions.Users() != 0 {
		t.Errorf("%d jobs of one request, %d requests hold locks", n, sh.s.submissions.Users())
	}
}

// TestFreshRequest: the member fresh of a body asks for a new run, and is no part of the tickets.
func TestFreshRequest(t *testing.T) {
	f := func(path, body string, wantNew bool) {
		t.Helper()
		sh := sellWith(t, spends(0), nil)
		sh.buy(path, goodBody, voucher(90_000))
		sh.buy(path, body, voucher(90_000))
		sh.rests()
		sh.till.change(func() {
			plain, other := sh.till.orders[0], sh.till.orders[1]
			if other.NewRun != wantNew || plain.NewRun || other.Key != plain.Key || other.Request != plain.Request {
				t.Errorf("%s %s: %+v and %+v", path, body, plain, other)
			}
			if len(sh.till.bills) != 1 {
				t.Errorf("%s %s: %d bills for one voucher", path, body, len(sh.till.bills))
			}
		})
	}
	for _, path := range []string{"/explain", "/explain/async"} {
		f(path, goodBody, false)
		f(path, strings.TrimSuffix(goodBody, "}")+`,"fresh":true}`, true)
		f(path, strings.TrimSuffix(goodBody, "}")+`,"fresh":false}`, false)
	}
}
