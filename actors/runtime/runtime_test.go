package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"txlens/actors/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// funcActor is an actor that is one function.
type funcActor func(runtime.Context)

func (f funcActor) Receive(c runtime.Context) { f(c) }

type text struct {
	runtime.MayBeLate
	s string
}

func newSystem() (*runtime.System, *lockedBuffer) {
	log := new(lockedBuffer)
	return runtime.NewSystem(slog.New(slog.NewTextHandler(log, nil))), log
}

// TestLifeOfAnActor: messages come in order, between Started and Stopped, and what is
// sent afterwards is dropped in silence.
func TestLifeOfAnActor(t *testing.T) {
	sys, log := newSystem()
	got := make(chan string, 10)
	ended := make(chan struct{})
	ref := sys.Spawn(funcActor(func(c runtime.Context) {
		switch m := c.Message().(type) {
		case runtime.Started:
			got <- "started"
		case text:
			got <- m.s
			if m.s == "last" {
				c.Stop(c.Self())
			}
		case runtime.Stopping:
			got <- "stopping"
		case runtime.Stopped:
			got <- "stopped"
			close(ended)
		}
	}))
	sys.Send(ref, text{s: "first"})
	sys.Send(ref, text{s: "last"})
	<-ended
	sys.Send(ref, text{s: "late"})
	close(got)
	var all []string
	for s := range got {
		all = append(all, s)
	}
	if s := strings.Join(all, " "); s != "started first last stopping stopped" {
		t.Errorf("got %q", s)
	}
	if s := log.String(); strings.Contains(strings.ToLower(s), "deadletter") {
		t.Errorf("logged %q", s)
	}
}

// TestPanicStopsTheActor: a panic in Receive is logged with its stack, the actor ends
// and its parent is told which child it was.
func TestPanicStopsTheActor(t *testing.T) {
	sys, log := newSystem()
	gone := make(chan bool, 1)
	stopped := make(chan struct{})
	var child runtime.Ref
	parent := sys.Spawn(funcActor(func(c runtime.Context) {
		switch m := c.Message().(type) {
		case runtime.Started:
			child = c.Spawn(funcActor(func(c runtime.Context) {
				if _, ok := c.Message().(text); ok {
					panic("a fault")
				}
			}))
			sys.Send(child, text{})
		case runtime.Terminated:
			gone <- m.Who.Equal(child)
		case runtime.Stopped:
			close(stopped)
		}
	}))
	if !<-gone {
		t.Error("another actor is named")
	}
	sys.Stop(parent)
	<-stopped
	if s := log.String(); !strings.Contains(s, "actor panicked") || !strings.Contains(s, "a fault") || !strings.Contains(s, "runtime_test.go") {
		t.Errorf("logged %q", s)
	}
}

// TestKind: an actor of a Kind is stopped by a panic like any other.
func TestKind(t *testing.T) {
	sys, log := newSystem()
	stopped := make(chan struct{}, 2)
	k := sys.NewKind(func() runtime.Actor {
		return funcActor(func(c runtime.Context) {
			switch c.Message().(type) {
			case text:
				panic("a fault")
			case runtime.Stopped:
				stopped <- struct{}{}
			}
		})
	})
	a, b := k.Spawn(), k.Spawn()
	if a.Equal(b) || a.IsZero() || !(runtime.Ref{}).IsZero() {
		t.Errorf("%v and %v", a, b)
	}
	sys.Send(a, text{})
	sys.Stop(b)
	<-stopped
	<-stopped
	if !strings.Contains(log.String(), "a fault") {
		t.Errorf("logged %q", log)
	}
}

// TestSpawnWork: the parent gets the outcome of the work, or its panic as one, and the
// work ends with its child.
func TestSpawnWork(t *testing.T) {
	f := func(work func(context.Context) any, want string) {
		t.Helper()
		sys, _ := newSystem()
		got := make(chan any, 1)
		parent := sys.Spawn(funcActor(func(c runtime.Context) {
			switch m := c.Message().(type) {
			case runtime.Started:
				c.SpawnWork(t.Context(), work, func(err error) any { return text{s: err.Error()} })
			case text:
				got <- m.s
			}
		}))
		if s := <-got; s != want {
			t.Errorf("got %v, want %q", s, want)
		}
		sys.Stop(parent)
		sys.Wait()
	}
	f(func(context.Context) any { return text{s: "outcome"} }, "outcome")
	f(func(context.Context) any { panic("a fault") }, "internal fault: a fault")

	sys, _ := newSystem()
	began, cause := make(chan struct{}), make(chan error, 1)
	parent := sys.Spawn(funcActor(func(c runtime.Context) {
		if _, ok := c.Message().(runtime.Started); ok {
			c.SpawnWork(context.Background(), func(ctx context.Context) any {
				close(began)
				<-ctx.Done()
				cause <- ctx.Err()
				return text{}
			}, func(err error) any { return err })
		}
	}))
	<-began
	sys.Stop(parent)
	if err := <-cause; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	sys.Wait()
}

// TestWait: Wait returns only after the work that was begun.
func TestWait(t *testing.T) {
	sys, _ := newSystem()
	done := sys.Begin()
	over := false
	go func() { over = true; done() }()
	if sys.Wait(); !over {
		t.Error("the work is not over")
	}
}
