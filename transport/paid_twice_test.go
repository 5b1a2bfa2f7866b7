package transport

import (
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
