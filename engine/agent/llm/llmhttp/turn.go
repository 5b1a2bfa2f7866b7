package llmhttp

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"txlens/engine/agent/llm"
)

// Turn makes attempts until one brought a whole answer or the provider is given up.
// Each repeat is told, as what the attempt before it said is void, and what that
// attempt has used is counted and told.
func (c *Client) Turn(
	ctx context.Context,
	r *llm.Request,
	hear func(llm.Delta),
	attempt func(context.Context, *Answer) error,
) (llm.Reply, error) {
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
		if !again || !hasTime(bounded, wait) {
			return a.spent(), fault
		}
		if before = a.spent(); before.Usage != (llm.Usage{}) {
			hear(llm.Delta{Usage: &before.Usage})
		}
		hear(llm.Delta{Retry: &llm.Retry{Attempt: n + 1, Wait: wait, Err: fault.Err}})
		if !waitFor(bounded, wait) {
			return before, cmp.Or[error](ctx.Err(), fault)
		}
		if r.Repeat != nil {
			if err := r.Repeat(bounded); err != nil {
				return before, err
			}
		}
	}
}

// asFault returns the fault in err. Any other error means that an event could not be
// read; its text may quote the stream and is not passed on.
func asFault(err error) *llm.Fault {
	var f *llm.Fault
	if errors.As(err, &f) {
		return f
	}
	return &llm.Fault{Err: llm.ErrMalformed, Detail: "an event of the stream is not what it should be", Passing: true}
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

// hasTime reports whether ctx will not end within the wait.
func hasTime(ctx context.Context, wait time.Duration) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > wait
}

// waitFor reports whether it waited to the end.
func waitFor(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
