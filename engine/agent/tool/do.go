package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"txlens/engine/api"

	"github.com/go-json-experiment/json/jsontext"
)

// stopTime is how long Do waits for a tool whose context has ended. Requests end with their
// context, and the work between them is bounded.
const stopTime = 5 * time.Second

// errNotStopped: the tool did not return after the end of its context. Its goroutine keeps
// running.
var errNotStopped = errors.New("internal fault: the tool does not stop")

// outcome is what a tool returned.
type outcome struct {
	answer any
	err    error
}

// Do runs the tool for at most its own limit, or for at most most if that is above zero and
// smaller. When the time is over or ctx ends, Do ends the context of the tool and waits for
// it to return. A panic on hostile data is an error of this call alone.
func (t *Tool) Do(ctx context.Context, d *Env, input jsontext.Value, most time.Duration) (any, error) {
	limit := cmp.Or(t.Limit, limitRemote)
	if most > 0 {
		limit = min(limit, most)
	}
	own, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan outcome, 1)
	go func() { done <- t.safely(own, d, input) }()
	o := awaited(own, done)
	if o.err != nil && o.err != errNotStopped && ctx.Err() == nil && own.Err() != nil {
		o.err = fmt.Errorf("no answer within %s: ask for less", limit)
	}
	return o.answer, o.err
}

// awaited waits for the outcome, for at most stopTime after the end of ctx.
func awaited(ctx context.Context, done <-chan outcome) outcome {
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	}
	late := time.NewTimer(stopTime)
	defer late.Stop()
	select {
	case o := <-done:
		return o
	case <-late.C:
		return outcome{err: errNotStopped}
	}
}

func (t *Tool) safely(ctx context.Context, d *Env, input jsontext.Value) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o = outcome{err: fmt.Errorf("internal fault: %s", api.Clean(fmt.Sprint(p), 200))}
		}
	}()
	o.answer, o.err = t.Run(ctx, d, input)
	return o
}
