package transport

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// partial is what an analysis knows when it is told to finish.
func partial(req api.Request) *api.Result {
	res := result(req)
	res.AnalysisModel, res.Confidence, res.Summary = api.ModelPartial, api.Low, "**Partial result: price failed**"
	return res
}

// finishes plays an analysis that goes on until it is told to finish.
func finishes(began chan<- struct{}, end func(api.Request) (*api.Result, error)) script {
	return func(ctx context.Context, job RunSpec) (*api.Result, error) {
		began <- struct{}{}
		select {
		case <-job.Finish:
			job.Sink(api.Event{Type: api.EventComplete})
			return end(job.Request)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func stopAtOnce(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(ctx); err == nil {
		t.Error("Shutdown does not tell that it cut something off")
	}
}

// TestFinishedStream: at the end of the grace period a stream is told where its
// partial result can be had, if that was kept, and gets it if not.
func TestFinishedStream(t *testing.T) {
	none := func(api.Request) (*api.Result, error) { return nil, api.ErrStopping }
	some := func(req api.Request) (*api.Result, error) { return partial(req), nil }
	all := func(req api.Request) (*api.Result, error) { return result(req), nil }
	f := func(runs *fakeRuns, end func(api.Request) (*api.Result, error), want, wantKept string) {
		t.Helper()
		cfg := Config{}
		if runs != nil {
			cfg.Runs = runs
		}
		began := make(chan struct{}, 1)
		s, url := play(t, cfg, finishes(began, end))
		_, resp := open(t, url, goodBody)
		<-began
		got := make(chan []frame, 1)
		go func() { got <- frames(t, resp) }()
		stopAtOnce(t, s)
		fs := <-got
		if kinds(fs) != want {
			t.Fatalf("%s, want %s", kinds(fs), want)
		}
		last, id := fs[len(fs)-1], resp.Header.Get("X-Request-Id")
		if hint := last["recover"]; (hint != nil) != (want == "error" && wantKept != "") || hint != nil && hint != "GET /explain/run/"+id {
			t.Errorf("recover %v", hint)
		}
		if want == "error" && last["code"] != "stopping" {
			t.Errorf("code %v", last["code"])
		}
		if wantKept == "" {
			return
		}
		run, err := runs.Recover(id)
		if err != nil || !strings.Contains(string(run.Frames[1]), wantKept) {
			t.Errorf("kept %v, %v", run, err)
		}
	}
	keeps := func() *fakeRuns { return &fakeRuns{frames: map[string][]jsontext.Value{}} }
	f(keeps(), some, "error", api.ModelPartial)
	f(keeps(), all, "complete result", api.ModelRules)
	f(keeps(), none, "error", "")
	f(&fakeRuns{broken: true}, some, "complete result", "")
	f(nil, some, "complete result", "")
}

// TestFinishedBlocking: a client that waits for one answer gets the partial result.
func TestFinishedBlocking(t *testing.T) {
	began := make(chan struct{}, 1)
	s, url := play(t, Config{}, finishes(began, func(req api.Request) (*api.Result, error) { return partial(req), nil }))
	got := make(chan answer, 1)
	go func() {
		got <- do(t, client(t), "POST", url+"/explain", "application/json", strings.NewReader(goodBody))
	}()
	<-began
	stopAtOnce(t, s)
	if a := <-got; a.status != 200 || !strings.Contains(a.body, api.ModelPartial) || !a.close {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestDrainRefuses: while the server drains, a request on an open connection is
// refused and its connection closed, and what runs is not touched.
func TestDrainRefuses(t *testing.T) {
	began, free := make(chan struct{}, 2), make(chan struct{})
	in := newPipes()
	s := serve(t, Config{Explainer: script(func(_ context.Context, job RunSpec) (*api.Result, error) {
		began <- struct{}{}
		<-free
		return result(job.Request), nil
	})}, nil, in)
	resp := ask(t, in.dial(t), goodBody)
	<-began
	got := make(chan []frame, 1)
	go func() { got <- frames(t, resp) }()

	// A request whose head is under way when the drain begins keeps its connection
	// from being closed as an idle one.
	c := in.dial(t)
	fmt.Fprint(c, "GET /health HTTP/1.1\r\n") // which is read when this returns
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(t.Context()) }()
	until(t, "draining", s.draining.Load)
	fmt.Fprint(c, "Host: x\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(30 * time.Second))
	refused, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	if refused.StatusCode != 503 || !refused.Close || refused.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", refused.StatusCode, refused.Header)
	}
	close(free)
	if fs := <-got; kinds(fs) != "complete result" {
		t.Errorf("the stream: %s", kinds(fs))
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestShutdownBeforeServe: a server that is stopped before it has begun, or while it
// does, ends.
func TestShutdownBeforeServe(t *testing.T) {
	for i := range 50 {
		s := New(Config{})
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		serve := func() { ended <- s.Serve(ln) }
		if i%2 == 0 {
			go serve()
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if i%2 == 1 {
			go serve()
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("it serves on")
		}
	}
}
