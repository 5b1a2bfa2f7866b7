package upstream

import (
	"context"
	"time"

	"txlens/engine/meter"
)

// Names under which local work is metered.
const (
	ToolReplay   = "local-replay" // the re-execution of a transaction
	ToolSimulate = "simulate"     // the re-execution with changes, and the unchanged one it is compared with
)

// Local runs work on this machine and meters it as code execution. Duration and price are
// recorded, and read from the record on replay. The work itself is repeated on replay, so
// it must depend only on the session's answers. Work stopped by a context is not metered.
// If ctx carries a ticket of the same tool, this is the call that the ticket announced.
func (s *Session) Local(ctx context.Context, tool, key string, work func(context.Context) error) error {
	var hold meter.Hold
	if s.bundle == nil {
		var refused *Error
		if hold, refused = s.reserve(ctx, tool, "", s.client.cfg.price(tool)); refused != nil {
			return refused
		}
		defer hold.End()
	}
	ticket := meter.TicketOf(ctx, tool)
	var b startedCall
	if ticket == nil {
		b = s.begin(tool, key)
	}
	start := time.Now()
	err := work(ctx)
	if ctx.Err() != nil {
		return err
	}
	e := entry{tool: tool, took: time.Since(start).Truncate(time.Millisecond), raw: packBytes([]byte("null"))}
	key = "local " + tool + " " + key
	if s.bundle == nil {
		e.nano = s.client.cfg.price(tool)
	} else if recorded, ok := s.bundle.entries[key]; ok {
		e = *recorded
	} else {
		return err // the recorded analysis did not come so far
	}
	e.seq = s.seq(e, b)
	if ticket.Take() {
		b.id, e.seq = ticket.ID, ticket.Seq
	}
	if hold != nil {
		hold.Use(e.nano)
	}
	s.meter.Add(meter.Call{Bucket: meter.CodeExecution, Seq: e.seq, Tool: tool, Key: key, Duration: e.took, OK: err == nil, Nano: e.nano})
	s.rec.put(key, e)
	s.tellEnd(b, e, err == nil)
	return err
}
