package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
)

// maxProgress limits the notifications of one call.
const maxProgress = 500

// progress returns a function that sends events to a caller that asked for them. Events are
// dropped for a caller that reads slowly. end sends those that wait; none is sent after it.
func (s *Server) progress(ctx context.Context, req *sdk.CallToolRequest) (sink func(api.Event), end func()) {
	token := req.Params.GetProgressToken()
	if token == nil || req.Session == nil {
		return func(api.Event) {}, func() {}
	}
	events, over, done := make(chan string, 64), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; n <= maxProgress; n++ {
			text, ok := next(events, over)
			if !ok {
				return
			}
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(n), Message: text}
			if err := req.Session.NotifyProgress(ctx, p); err != nil {
				return
			}
		}
	}()
	sink = func(e api.Event) {
		if text := tell(e); text != "" {
			select {
			case events <- text:
			default:
			}
		}
	}
	return sink, func() { close(over); <-done }
}

// next waits for an event. Once over is closed it returns those that wait, then false.
func next(events <-chan string, over <-chan struct{}) (string, bool) {
	select {
	case text := <-events:
		return text, true
	case <-over:
	}
	select {
	case text := <-events:
		return text, true
	default:
		return "", false
	}
}

// tell returns one line for an event; empty: the event is not sent.
func tell(e api.Event) string {
	switch e.Type {
	case api.EventPreflightStart:
		return "fetching the evidence"
	case api.EventPreflightStatus:
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Phase, e.State, e.Chain))
	case api.EventPreflightDone:
		return "the evidence is there"
	case api.EventToolCall:
		return "calling " + e.Tool
	case api.EventIteration:
		return fmt.Sprintf("turn %d of the model", *e.Iteration)
	case api.EventComplete:
		return "the analysis is complete"
	}
	return ""
}
