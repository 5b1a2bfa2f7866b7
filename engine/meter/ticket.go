package meter

import (
	"context"
	"sync/atomic"
)

// Ticket is a call that was announced and is not recorded yet. A tool of the agent whose
// work is metered below it under the same name passes its ticket down, so that the call is
// listed and reported once. It is safe for concurrent use.
type Ticket struct {
	ID   string // of its events
	Tool string
	Seq  int64

	taken atomic.Bool
}

type ticketKey struct{}

// With returns a context that carries the ticket.
func (t *Ticket) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, ticketKey{}, t)
}

// TicketOf returns the open ticket of a call to tool in ctx, nil when there is none.
func TicketOf(ctx context.Context, tool string) *Ticket {
	if t, ok := ctx.Value(ticketKey{}).(*Ticket); ok && t.Tool == tool && !t.Taken() {
		return t
	}
	return nil
}

// Take reports whether the caller is the one to record the call and to report its end.
func (t *Ticket) Take() bool { return t != nil && t.taken.CompareAndSwap(false, true) }

// Taken reports whether the call was recorded and its end reported.
func (t *Ticket) Taken() bool { return t.taken.Load() }
