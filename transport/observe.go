package transport

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
)

// Observer counts what the server does. It is called on the way of requests, from
// many goroutines, and must not block.
type Observer interface {
	// Answered: a request is over. The route is its method and the pattern of its
	// path, such as GET /result/{jobId}, or Other. A stream is over when it ends.
	Answered(route string, status int, took time.Duration)
	// StreamOpened and StreamClosed: slow says that the client was cut off because it
	// did not read.
	StreamOpened()
	StreamClosed(slow bool)
}

// Other is the route of requests that no handler takes: whatever they name must
// not become a label of a metric or a word in the log.
const Other = "other"

// nobody is an Observer.
type nobody struct{}

func (nobody) Answered(string, int, time.Duration) {}
func (nobody) StreamOpened()                       {}
func (nobody) StreamClosed(bool)                   {}

// visit is one request, from its head to its line in the log. Chain and phase are
// told by the analysis, on goroutines of its own.
type visit struct {
	id      requestID
	method  string // empty when no handler takes it
	path    string // the pattern
	route   string // as an Observer is told it; empty: Other
	start   time.Time
	streams bool // its end is that of the stream
	heard   bool // an analysis may tell it more, even after the end
	routine bool // one of the many vouchers of a stream

	mu    sync.Mutex
	code  string // of the error that was answered
	chain string
	phase string // that failed, the first of them
}

// visits are used again: most requests are over at once, and a server that makes
// no garbage for them has nothing to collect.
var visits = sync.Pool{New: func() any { return new(visit) }}

// free gives back a visit that nobody holds any more.
func (v *visit) free() {
	if v.heard {
		return
	}
	v.method, v.route, v.code, v.chain, v.phase, v.routine = "", "", "", "", "", false
	visits.Put(v)
}

const visitKey = "visit"

func newVisit(ctx *fasthttp.RequestCtx) *visit {
	start := ctx.Time()
	if start.IsZero() {
		start = time.Now() // nothing could be read of it
	}
	v := visits.Get().(*visit)
	v.id, v.path, v.start = newRequestID(start), Other, start
	ctx.SetUserValue(visitKey, v)
	return v
}

func visitOf(ctx *fasthttp.RequestCtx) *visit {
	v, _ := ctx.UserValue(visitKey).(*visit)
	return v
}

// hear takes from the events of an analysis what the log is to say of it.
func (v *visit) hear(e api.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Chain != "" {
		v.chain = e.Chain
	}
	if e.State == api.StateFailed && v.phase == "" {
		v.phase = e.Phase
	}
	if len(e.Failed) > 0 { // in the order of the work
		v.phase = e.Failed[0]
	}
}

// failed notes the code of an error that is answered.
func (v *visit) failed(code string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.code = code
}

// quiet are requests that say nothing by being answered: probes, documents, and the
// vouchers that a stream asks for by the dozen.
func (v *visit) quiet(status int) bool {
	return status < 400 && (v.routine || v.method == fasthttp.MethodGet && !strings.HasSuffix(v.path, "}"))
}

// tell ends a visit: it is counted, and has its line in the log.
func (s *Server) tell(v *visit, status int, more ...slog.Attr) {
	took := time.Since(v.start)
	s.cfg.Observer.Answered(cmp.Or(v.route, Other), status, took)
	level := slog.LevelInfo
	switch {
	case status >= 500:
		level = slog.LevelWarn
	case v.quiet(status):
		level = slog.LevelDebug
	}
	if !s.cfg.Log.Enabled(context.Background(), level) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	attrs := []slog.Attr{
		slog.String("request", v.id.String()), slog.String("method", v.method), slog.String("path", v.path),
		slog.Int("status", status), slog.Duration("took", took),
	}
	for _, a := range []slog.Attr{slog.String("chain", v.chain), slog.String("phase", v.phase), slog.String("code", v.code)} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	s.cfg.Log.LogAttrs(context.Background(), level, "request", append(attrs, more...)...)
}

// tellStream ends the visit of a stream.
func (s *Server) tellStream(v *visit, cut error) {
	s.cfg.Observer.StreamClosed(errors.Is(cut, errSlow))
	end := "whole"
	switch {
	case errors.Is(cut, errSlow):
		end = "cut off, too slow"
	case errors.Is(cut, errClientGone):
		end = "client gone"
	case cut != nil:
		end = "broken off"
	}
	s.tell(v, fasthttp.StatusOK, slog.String("stream", end))
}
