package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"txlens/engine/agent/llm"
)

// Turn makes attempts until one brought something or the provider is given up. A
// request is not repeated once the model has begun to speak: its words are on their
// way to a reader, and paid for. What an attempt before that has used is counted.
func (c *Client) Turn(ctx context.Context, r *llm.Request, hear func(llm.Delta), attempt func(context.Context, *Answer) error) (llm.Reply, error) {
	bounded, cancel := context.WithTimeout(ctx, c.limits.Turn)
	defer cancel()
	var before llm.Reply
	for n := 0; ; n++ {
		a := newAnswer(r, hear, before)
		err := attempt(bounded, a)
		if err == nil {
			var reply llm.Reply
			if reply, err = a.reply(); err == nil {
				return reply, nil
			}
		}
		switch {
		case ctx.Err() != nil:
			return a.spent(), ctx.Err()
		case bounded.Err() != nil:
			return a.spent(), &llm.Fault{Err: llm.ErrCut, Detail: "the turn took longer than " + c.limits.Turn.String()}
		}
		fault := asFault(err)
		wait, again := c.wait(n, fault)
		if !again || a.spoke() || !waitFor(bounded, wait) {
			if ctx.Err() != nil {
				return a.spent(), ctx.Err()
			}
			return a.spent(), fault
		}
		before = a.spent()
	}
}

// asFault keeps the words of libraries from callers: what is no fault is a stream
// that could not be read.
func asFault(err error) *llm.Fault {
	var f *llm.Fault
	if errors.As(err, &f) {
		return f
	}
	return &llm.Fault{Err: llm.ErrMalformed, Detail: "an event of the stream is not what it should be"}
}

// wait is how long to wait before the next attempt, if there is to be one. A
// provider that asks for more than MaxRetryAfter is not waited for.
func (c *Client) wait(n int, f *llm.Fault) (time.Duration, bool) {
	if !f.Passing || n >= c.limits.Retries {
		return 0, false
	}
	wait := c.limits.Backoff << min(n, 10)
	wait += rand.N(wait)
	var busy *llm.OverloadedError
	if errors.As(f, &busy) && busy.After > 0 {
		return busy.After + rand.N(c.limits.Backoff), busy.After <= c.limits.MaxRetryAfter
	}
	return min(wait, c.limits.MaxRetryAfter), true
}

// waitFor reports whether it waited; it does not begin to when ctx ends before.
func waitFor(ctx context.Context, wait time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
