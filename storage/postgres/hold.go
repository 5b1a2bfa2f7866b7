package postgres

import (
	"context"
	"sync"
	"time"
)

// hold is the lease by the monotonic clock of this process, which ends before that of the
// database does. What waits for the database ends with it. It is safe for concurrent use.
type hold struct {
	mu     sync.Mutex
	until  time.Time
	timer  *time.Timer
	ctx    context.Context
	cancel context.CancelFunc
	kept   bool // it does not end any more
}

// extend sets the end. A hold that has ended begins again.
func (h *hold) extend(until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept {
		return
	}
	h.until = until
	h.begin()
	if h.timer == nil {
		h.timer = time.AfterFunc(time.Until(until), h.end)
		return
	}
	h.timer.Reset(time.Until(until))
}

// begin makes a context unless there is one that has not ended. h.mu must be held.
func (h *hold) begin() {
	if h.ctx == nil || h.ctx.Err() != nil {
		h.ctx, h.cancel = context.WithCancel(context.Background())
	}
}

// end ends the hold, unless it was extended meanwhile.
func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.kept && !time.Now().Before(h.until) {
		h.cancel()
	}
}

// keep lets the hold last: a process that has given its lease back still reads.
func (h *hold) keep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = true
	h.begin()
}

// context returns a context that ends with the hold.
func (h *hold) context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx
}

// ended reports whether the lease has ended by the clock of this process.
func (h *hold) ended() bool { return h.context().Err() != nil }

// close ends the hold for good.
func (h *hold) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = true
	if h.timer != nil {
		h.timer.Stop()
		h.cancel()
	}
}
