package llmhttp

import (
	"context"
	"errors"
	"io"
	"time"

	"txlens/engine/agent/llm"
)

// Bounds of a stream. A token comes in some 300 bytes at the most talkative
// servers; the largest piece is a whole call in one event, its JSON quoted.
const (
	maxStream = 64 << 20
	maxEvent  = 2 << 20
	// maxOpen is how many objects and arrays one event may open. Decoding the two bytes
	// of an empty object allocates a struct that is far larger.
	maxOpen = 16 << 10
)

// body reads a stream and ends it when it is too large, too complex or silent.
type body struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	silence time.Duration
	timer   *time.Timer

	total, event, open int
	blank              bool // the line has nothing in it yet
}

func newBody(rc io.ReadCloser, ctx context.Context, silence time.Duration, cancel context.CancelCauseFunc) *body {
	return &body{
		ReadCloser: rc, ctx: ctx, cancel: cancel, silence: silence, blank: true,
		timer: time.AfterFunc(silence, func() { cancel(errSilent) }),
	}
}

// Read implements io.Reader. Its errors are io.EOF, that of the context, or a fault.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.timer.Reset(b.silence)
		if fault := b.count(p[:n]); fault != nil {
			return 0, fault
		}
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	f := &llm.Fault{Err: llm.ErrCut, Detail: "the connection broke", Passing: true}
	switch cause := context.Cause(b.ctx); {
	case errors.Is(cause, errSilent), errors.Is(cause, errNoHead): // the latter in the last moment
		f.Detail = "nothing came for " + b.silence.String()
	case b.ctx.Err() != nil:
		return n, b.ctx.Err()
	}
	return n, f
}

// count keeps the sizes of the stream and of the event, which a blank line ends.
func (b *body) count(p []byte) error {
	b.total += len(p)
	for _, c := range p {
		b.event++
		switch c {
		case '\n':
			if b.blank {
				b.event, b.open = 0, 0
			}
			b.blank = true
		case '\r':
		case '{', '[':
			b.open++
			b.blank = false
		default:
			b.blank = false
		}
		if b.event > maxEvent || b.open > maxOpen {
			return &llm.Fault{Err: llm.ErrMalformed, Detail: "an event of the stream is too large"}
		}
	}
	if b.total > maxStream {
		return &llm.Fault{Err: llm.ErrMalformed, Detail: "the stream is too long"}
	}
	return nil
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
