package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// roomStep is how many bytes of answers are read before memory is asked for them. Small answers
// never ask.
const roomStep = 256 << 10

// noRoomError means that there is no memory for an answer.
type noRoomError struct{ err error }

func (e *noRoomError) Error() string { return "no memory for the answer: " + e.err.Error() }
func (e *noRoomError) Unwrap() error { return e.err }

func isNoRoom(err error) bool {
	_, ok := errors.AsType[*noRoomError](err)
	return ok
}

// room counts the bytes that the answers of one session have.
type room struct {
	ask   func(ctx context.Context, bytes int64) error
	bytes atomic.Int64
}

type roomKey struct{}

// withRoom returns a context whose answers are counted for the session.
func (s *Session) withRoom(ctx context.Context) context.Context {
	if s.room == nil {
		return ctx
	}
	return context.WithValue(ctx, roomKey{}, s.room)
}

// countBytes returns what an answer of ctx calls with the bytes that it has read; nil: nobody counts.
func countBytes(ctx context.Context) func(n int) error {
	r, ok := ctx.Value(roomKey{}).(*room)
	if !ok {
		return nil
	}
	return func(n int) error {
		now := r.bytes.Add(int64(n))
		if now/roomStep == (now-int64(n))/roomStep {
			return nil
		}
		if err := r.ask(ctx, now); err != nil {
			return &noRoomError{fmt.Errorf("after %d bytes: %w", now, err)}
		}
		return nil
	}
}
