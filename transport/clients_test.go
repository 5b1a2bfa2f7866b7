package transport

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"txlens/engine/explain"

	"github.com/go-json-experiment/json/jsontext"
)

// flood tells events until its stream is cut off or n are told, and keeps how long
// the longest call of the sink took.
func flood(ctx context.Context, job Job, n int) (longest time.Duration, cause error) {
	e := explain.Event{Type: explain.EventAgentText, Text: strings.Repeat("word ", 800), Iteration: new(int64)}
	for range n {
		began := time.Now()
		job.Sink(e)
		longest = max(longest, time.Since(began))
		if ctx.Err() != nil {
			return longest, context.Cause(ctx)
		}
	}
	return longest, nil
}

// TestSlowClient: one that reads nothing costs its bound of memory and is dropped;
// the analysis never waits for it, and goes on where its run is kept.
func TestSlowClient(t *testing.T) {
	f := func(keep bool, wantCause error) {
		t.Helper()
		ended := make(chan error, 1)
		asked := make(chan string, 1)
		var longest time.Duration
		cfg := Config{MaxBacklog: 1 << 20, KeepRunning: func(id string) bool { asked <- id; return keep }}
		_, url := play(t, cfg, func(ctx context.Context, job Job) (*explain.Result, error) {
			var cause error
			longest, cause = flood(ctx, job, 20_000) // 80 MB
			ended <- cause
			return result(job.Request), ctx.Err()
		})
		c, resp := open(t, url, goodBody)
		if cause := <-ended; !errors.Is(cause, wantCause) || wantCause == nil && cause != nil {
			t.Errorf("the analysis ended by %v, want %v", cause, wantCause)
		}
		if id := <-asked; id != resp.Header.Get("X-Request-Id") {
			t.Errorf("asked for %q", id)
		}
		if longest > 5*time.Second {
			t.Errorf("the analysis waited %v for its client", longest)
		}
		c.SetDeadline(time.Now().Add(5 * time.Second))
		if _, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Error("a stream that was cut off looks like a whole one")
		}
	}
	f(false, errSlow)
	f(true, nil)
}

// TestStuckClient: a client that stops reading while little is told is noticed by
// the deadline of the write; one that reads slowly but steadily gets all.
func TestStuckClient(t *testing.T) {
	large := &explain.Result{Summary: strings.Repeat("x", 24<<20)}
	ended := make(chan struct{}, 1)
	s, url := play(t, Config{WriteTimeout: time.Second}, func(context.Context, Job) (*explain.Result, error) {
		ended <- struct{}{}
		return large, nil
	})
	open(t, url, goodBody)
	<-ended
	for end := time.Now().Add(20 * time.Second); s.busy(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a client that reads nothing keeps its connection")
		}
	}
	_, resp := open(t, url, goodBody)
	began, n := time.Now(), int64(0)
	for {
		m, err := io.CopyN(io.Discard, resp.Body, 1<<20)
		n += m
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n < 24<<20 || time.Since(began) < 2*time.Second {
		t.Errorf("%d bytes in %v", n, time.Since(began))
	}
}

// TestClientGoneWhileSilent: the analysis is cancelled within 100 ms, however the
// client leaves, also one that sent more than its request; and not where it goes on.
func TestClientGoneWhileSilent(t *testing.T) {
	f := func(keep bool, leave func(c *net.TCPConn)) {
		t.Helper()
		began, cancelled, free := make(chan struct{}), make(chan error, 1), make(chan struct{})
		s, url := play(t, Config{KeepRunning: func(string) bool { return keep }}, func(ctx context.Context, job Job) (*explain.Result, error) {
			close(began)
			select {
			case <-ctx.Done():
				cancelled <- context.Cause(ctx)
			case <-free:
			}
			return result(job.Request), nil
		})
		c, _ := open(t, url, goodBody)
		<-began
		left := time.Now()
		leave(c.(*net.TCPConn))
		select {
		case err := <-cancelled:
			if d := time.Since(left); !errors.Is(err, errClientGone) || d > 100*time.Millisecond || keep {
				t.Errorf("cancelled after %v: %v", d, err)
			}
		case <-time.After(300 * time.Millisecond):
			if !keep {
				t.Error("nobody noticed")
			}
			if n := s.slots.Counts().Running; n != 1 {
				t.Errorf("%d slots are taken while the analysis goes on", n)
			}
		}
		close(free)
	}
	for _, keep := range []bool{false, true} {
		f(keep, func(c *net.TCPConn) { c.Close() })
		f(keep, func(c *net.TCPConn) { c.SetLinger(0); c.Close() })
		f(keep, func(c *net.TCPConn) { c.CloseWrite() })
		f(keep, func(c *net.TCPConn) {
			io.WriteString(c, "GET /health HTTP/1.1\r\n"+strings.Repeat("x", 100_000))
			time.Sleep(20 * time.Millisecond)
			c.Close()
		})
	}
}

// panickingRuns falls over where the run of a stream is kept: beside any handler.
type panickingRuns struct{ fakeRuns }

func (*panickingRuns) Finish(string, ...jsontext.Value) error { panic("the store fell over") }

// TestStreamOutlivesItsRecord: a panic while the run is kept ends that stream in an
// error, and costs the process nothing.
func TestStreamOutlivesItsRecord(t *testing.T) {
	_, url := start(t, Config{Runs: &panickingRuns{}}, byContext)
	for range 2 {
		_, resp := open(t, url, `{"txHash":"`+hash+`"}`)
		got := frames(t, resp)
		if end := got[len(got)-1]; end.kind() != "error" || end["code"] != "internal_error" {
			t.Errorf("%v", end)
		}
	}
}
