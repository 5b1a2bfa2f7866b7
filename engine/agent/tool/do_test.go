package tool

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// working is a tool that does what a test wants.
func working(limit time.Duration, run func(context.Context) (any, error)) Tool {
	type none struct{}
	return define("x", "", limit, func(ctx context.Context, _ *Env, _ *none) (any, error) { return run(ctx) })
}

// TestLimits: a tool has its own time, a shorter one of the caller goes before it, and
// there is one message for its end.
func TestLimits(t *testing.T) {
	d := owned(t)
	f := func(own, most, want time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			x := working(own, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
			_, err := x.Do(t.Context(), d, jsontext.Value(`{}`), most)
			if took := time.Since(began); took != want || err == nil || err.Error() != "no answer within "+want.String()+": ask for less" {
				t.Errorf("%s and %s: %v after %s, want %s", own, most, err, took, want)
			}
		})
	}
	f(90*time.Second, 0, 90*time.Second)
	f(0, 0, 30*time.Second)
	f(90*time.Second, time.Second, time.Second)
	f(time.Second, time.Minute, time.Second)
	if x := tool(t, "simulate"); x.Limit != 90*time.Second {
		t.Errorf("simulate has %s", x.Limit)
	}
}

// TestAwaited: a tool that is stopped has returned when Do does, so that nothing runs
// on behind the analysis; one that does not stop costs a bounded time.
func TestAwaited(t *testing.T) {
	d := owned(t)
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		slow := func(ctx context.Context) (any, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // what it still has to end
			stopped = true
			return nil, ctx.Err()
		}
		x := working(time.Minute, slow)
		if _, err := x.Do(t.Context(), d, jsontext.Value(`{}`), 0); err == nil || !stopped {
			t.Errorf("at the end of its time: %v, stopped %v", err, stopped)
		}
		stopped = false
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := x.Do(ctx, d, jsontext.Value(`{}`), 0); !errors.Is(err, context.Canceled) || !stopped {
			t.Errorf("at the end of the analysis: %v, stopped %v", err, stopped)
		}
		late := working(time.Minute, func(ctx context.Context) (any, error) { <-ctx.Done(); return 7, nil })
		if answer, err := late.Do(t.Context(), d, jsontext.Value(`{}`), 0); err != nil || answer != 7 {
			t.Errorf("an answer that came with the end of its time: %v, %v", answer, err)
		}
		release := make(chan struct{})
		stuck := working(time.Minute, func(context.Context) (any, error) { <-release; return nil, nil })
		began := time.Now()
		if _, err := stuck.Do(t.Context(), d, jsontext.Value(`{}`), 0); !errors.Is(err, errNotStopped) || time.Since(began) != time.Minute+stopTime {
			t.Errorf("a tool that does not stop: %v after %s", err, time.Since(began))
		}
		close(release)
	})
}

// TestPanics: a tool that falls over costs its answer.
func TestPanics(t *testing.T) {
	x := working(time.Minute, func(context.Context) (any, error) { panic("a hostile value") })
	if _, err := x.Do(t.Context(), owned(t), jsontext.Value(`{}`), 0); err == nil || err.Error() != "internal fault: a hostile value" {
		t.Error(err)
	}
}
