package transport

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"context"

	"txlens/engine/api"
)

// tally is an Observer that writes down what it is told.
type tally struct {
	mu           sync.Mutex
	answered     []string
	open, closed int
	slow         int
}

func (c *tally) Answered(route string, status int, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if took < 0 || took > time.Hour {
		route += " took " + took.String()
	}
	c.answered = append(c.answered, fmt.Sprint(route, " ", status))
}

func (c *tally) StreamOpened() { c.mu.Lock(); c.open++; c.mu.Unlock() }

func (c *tally) Kept(bool, int) {}

func (c *tally) StreamClosed(slow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
	if slow {
		c.slow++
	}
}

func (c *tally) has(n int) bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.answered) >= n }

// TestOneLineARequest: each request is counted once and has one line, whose words
// are ours and never the caller's.
func TestOneLineARequest(t *testing.T) {
	f := func(method, path, body, wantRoute string, wantStatus int, wantLine string) {
		t.Helper()
		var count tally
		log := new(lockedLog)
		_, url := play(t, Config{Observer: &count, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, func(ctx context.Context, job RunSpec) (*api.Result, error) {
			job.Sink(api.Event{Type: api.EventPreflightStatus, Phase: "probe", State: api.StateFound, Chain: "base-mainnet"})
			job.Sink(api.Event{Type: api.EventPreflightStatus, Phase: "trace", State: api.StateFailed})
			return byContext(ctx, job.Request)
		})
		a := do(t, client(t), method, url+path, "application/json", strings.NewReader(body))
		until(t, "a count", func() bool { return count.has(1) })
		if want := fmt.Sprint(wantRoute, " ", wantStatus); !slices.Equal(count.answered, []string{want}) || a.status != wantStatus {
			t.Errorf("counted %q for %d, want %q", count.answered, a.status, want)
		}
		var line string
		for l := range strings.Lines(log.String()) {
			if strings.Contains(l, "msg=request ") {
				line += l
			}
		}
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, wantLine) || !strings.Contains(line, "request="+a.header.Get("X-Request-Id")) {
			t.Errorf("line %q lacks %q", line, wantLine)
		}
		if strings.Contains(log.String(), "SECRET") {
			t.Errorf("the caller's words are in the log: %s", log.String())
		}
	}
	f("GET", "/health?key=SECRET", "", "GET /health", 200, "level=DEBUG")
	f("HEAD", "/health", "", "GET /health", 200, "path=/health")
	f("GET", "/SECRET", "", Other, 404, "path=other status=404")
	f("SECRET", "/health", "", Other, 405, `method="" path=/health status=405`)
	f("POST", "/explain", `{"txHash":"SECRET"}`, "POST /explain", 400, "level=INFO")
	f("POST", "/explain", `{"txHash":"`+hash+`"}`, "POST /explain", 200, "path=/explain status=200")
	f("POST", "/explain", `{"txHash":"`+hash+`"}`, "POST /explain", 200, "chain=base-mainnet phase=trace")
	f("POST", "/explain", `{"txHash":"`+hash+`","context":"nowhere"}`, "POST /explain", 404, "code=transaction_not_found")
	f("POST", "/explain", `{"txHash":"`+hash+`","context":"panic"}`, "POST /explain", 500, "level=WARN")
	f("POST", "/explain/async", `{"txHash":"`+hash+`"}`, "POST /explain/async", 503, "code=jobs_off")
	f("GET", "/explain/run/"+jobID, "", "GET /explain/run/{requestId}", 404, "code=run_not_found")
	f("GET", "/result/SECRET", "", "GET /result/{jobId}", 404, "path=/result/{jobId}")
}

// TestOneLineAStream: a stream is told at its end, with how it ended.
func TestOneLineAStream(t *testing.T) {
	f := func(end func(job RunSpec) (*api.Result, error), leave bool, wantLine string) {
		t.Helper()
		var count tally
		log := new(lockedLog)
		_, url := play(t, Config{Observer: &count, Log: slog.New(slog.NewTextHandler(log, nil))}, func(ctx context.Context, job RunSpec) (*api.Result, error) {
			if leave {
				<-ctx.Done()
			}
			return end(job)
		})
		c, resp := open(t, url, goodBody)
		if leave {
			c.Close()
		} else {
			frames(t, resp)
		}
		until(t, "a count", func() bool { return count.has(1) })
		if !slices.Equal(count.answered, []string{"POST /explain 200"}) || count.open != 1 || count.closed != 1 || count.slow != 0 {
			t.Errorf("%+v", &count)
		}
		until(t, "a line", func() bool { return strings.Contains(log.String(), "msg=request ") })
		if !strings.Contains(log.String(), wantLine) || strings.Count(log.String(), "msg=request ") != 1 {
			t.Errorf("%s lacks %s", log.String(), wantLine)
		}
	}
	f(func(job RunSpec) (*api.Result, error) { return result(job.Request), nil }, false, "stream=whole")
	f(func(RunSpec) (*api.Result, error) { return nil, api.ErrPending }, false, "code=transaction_pending stream=whole")
	f(func(RunSpec) (*api.Result, error) { return nil, context.Canceled }, true, `stream="client gone"`)
}

// TestQuietVisits: what is answered many times a minute has no line of its own.
func TestQuietVisits(t *testing.T) {
	f := func(v *visit, status int, want bool) {
		t.Helper()
		if got := v.quiet(status); got != want {
			t.Errorf("quiet %v", got)
		}
	}
	f(&visit{method: "GET", path: "/health"}, 200, true)
	f(&visit{method: "GET", path: "/result/{jobId}"}, 200, false)
	f(&visit{method: "POST", path: "/explain"}, 204, false) // a channel that is opened, say
	f(&visit{method: "POST", path: "/explain", routine: true}, 204, true)
	f(&visit{method: "POST", path: "/explain", routine: true}, 402, false)
}
