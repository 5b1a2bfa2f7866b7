package upstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"txlens/engine/api"
	"txlens/engine/meter"
)

// Session makes the requests of one analysis: each logical call is made once, and its typed
// outcome is kept, metered and recorded. It is safe for concurrent use. Values it returns
// are shared and must not be changed.
type Session struct {
	// OnStart and OnCall, if set before first use, are called at the start of each logical
	// call with its arguments, and at its end with outcome, duration and price. Both get
	// the same id, which is unique in the session. The end of a call that was stopped, or
	// is not in the bundle, is not reported. They are called from several goroutines and
	// must not block.
	OnStart func(id, tool, args string)
	OnCall  func(id string, c api.ToolCall)

	client     *Client // nil for a replay
	bundle     *Bundle // nil for a live session
	meter      *meter.Meter
	rec        *Recorder
	sourcesOff bool
	room       *room        // nil: answers are not counted
	started    atomic.Int64 // number of calls so far, for their ids
	missed     atomic.Int64 // calls that a replay did not find

	mu      sync.Mutex
	flights map[string]*flight
}

// Session starts the session of one analysis. Calls are metered by m and recorded by rec;
// either may be nil.
func (c *Client) Session(m *meter.Meter, rec *Recorder) *Session {
	rec.note(c.cfg.SourcesOff, c.cfg.RPCOnly)
	s := &Session{client: c, meter: m, rec: rec, sourcesOff: c.cfg.SourcesOff, flights: map[string]*flight{}}
	if m != nil && m.Room != nil {
		s.room = &room{ask: m.Room}
	}
	return s
}

// ReplaySession answers from a bundle alone, with the recorded durations and costs. A call
// that is not in it fails with ErrNotRecorded and is not metered, because the recorded
// analysis did not make it. If a deadline cut the recorded analysis off, all its calls are
// metered at once, because the replay may not make all of them.
func ReplaySession(b *Bundle, m *meter.Meter) *Session {
	if len(b.Meta.Expired) > 0 {
		b.book(m)
		m = nil
	}
	return &Session{bundle: b, meter: m, sourcesOff: b.Meta.SourcesOff, flights: map[string]*flight{}}
}

// call is one logical call.
type call struct {
	tool   string
	key    string // source, chain id, method, canonical parameters; no URL
	chain  string // slug
	decode decodeFunc
	// most returns how many requests with a price live makes at most; nil means 1.
	most func(c *Client) int
	// live makes the requests. It counts those that have a price; 0 means 1.
	live func(ctx context.Context, c *Client, keep bool) (out reply, units int, err *Error)
	// bad reports whether a value is unusable although the call succeeded.
	bad func(value any) bool
}

// flight is a running or finished call that several callers share. val and err are set
// before done is closed.
type flight struct {
	done   chan struct{}
	cancel context.CancelCauseFunc
	waits  int // callers waiting; guarded by Session.mu
	val    any
	err    *Error
}

// ask returns the outcome of a call, and makes it if no caller has. The call has its own
// context: a caller that leaves does not affect the others, and the last one to leave
// cancels it and waits for its end.
func (s *Session) ask(ctx context.Context, c call) (any, error) {
	s.mu.Lock()
	f, ok := s.flights[c.key]
	if !ok {
		if err := stopped(ctx); err != nil {
			s.mu.Unlock()
			return nil, err.at(c.tool, "", c.chain)
		}
		f = s.launch(ctx, c)
	}
	f.waits++
	s.mu.Unlock()
	select {
	case <-f.done:
		return f.outcome()
	case <-ctx.Done():
	}
	if s.leave(ctx, c, f) {
		<-f.done
		return f.outcome()
	}
	return nil, stopped(ctx).at(c.tool, "", c.chain)
}

func (f *flight) outcome() (any, error) {
	if f.err != nil {
		return nil, f.err
	}
	return f.val, nil
}

// launch starts a flight; the caller holds s.mu.
func (s *Session) launch(ctx context.Context, c call) *flight {
	own, cancel := context.WithCancelCause(s.withRoom(context.WithoutCancel(ctx)))
	f := &flight{done: make(chan struct{}), cancel: cancel}
	s.flights[c.key] = f
	b := s.begin(c.tool, c.args())
	go func() {
		defer cancel(nil)
		defer close(f.done)
		s.complete(own, c, f, b)
	}()
	return f
}

// leave removes a caller from a flight and reports whether it was the last; then the flight
// is canceled and forgotten.
func (s *Session) leave(ctx context.Context, c call, f *flight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.waits--; f.waits > 0 {
		return false
	}
	if s.flights[c.key] == f {
		delete(s.flights, c.key)
	}
	f.cancel(context.Cause(ctx))
	return true
}

// complete makes the call, then meters and records it. A call that was canceled because all
// callers left has no outcome and is not metered.
func (s *Session) complete(ctx context.Context, c call, f *flight, b startedCall) {
	e := s.perform(ctx, c)
	if e.hold != nil {
		defer e.hold.End()
	}
	f.val, f.err = e.value, e.err
	if e.skip || (e.err != nil && e.err.Kind == KindCanceled) {
		if e.hold != nil {
			e.hold.Break()
		}
		s.forget(c, f)
		return
	}
	if e.hold != nil {
		e.hold.Use(e.nano)
	}
	s.mu.Lock()
	if _, other := s.flights[c.key]; !other {
		s.flights[c.key] = f // it was forgotten by the last caller, but did land
	}
	s.mu.Unlock()
	s.book(c, e, b)
}

func (s *Session) forget(c call, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flights[c.key] == f && f.err != nil && f.err.Kind == KindCanceled {
		delete(s.flights, c.key)
	}
}

// outcome is the result of a finished call.
type outcome struct {
	entry
	value any
	skip  bool       // neither metered nor recorded
	hold  meter.Hold // released when the price is recorded; nil: nothing is held
}

// perform makes the call, live or from the bundle. A decoder that panics on an answer
// affects this call only.
func (s *Session) perform(ctx context.Context, c call) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			o.value, o.raw = nil, nil
			o.err = newError(KindInternal, api.Clean(fmt.Sprintf("decode answer: panic: %v", r), 200)).at(c.tool, "", c.chain)
		}
	}()
	o.tool = c.tool
	if s.bundle != nil {
		return s.replay(c)
	}
	hold, refused := s.reserve(ctx, c.tool, c.chain, s.mostOf(c))
	if refused != nil {
		return outcome{entry: entry{tool: c.tool, err: refused}, skip: true}
	}
	o.hold = hold
	start := time.Now()
	got, units, err := c.live(ctx, s.client, s.rec != nil)
	o.took = time.Since(start).Truncate(time.Millisecond)
	o.value, o.raw, o.err = got.value, got.raw, err.at(c.tool, "", c.chain)
	o.nano = s.client.cfg.charge(c.tool, units, err)
	return o
}

// mostOf returns the highest price that a call can have, in nano-dollars.
func (s *Session) mostOf(c call) int64 {
	n := 1
	if c.most != nil {
		n = max(n, c.most(s.client))
	}
	return s.client.cfg.price(c.tool) * int64(n)
}

// reserve asks the meter's gate whether a purchase of at most the given nano-dollars may be
// made. A rejected call was not made, so it is neither metered nor recorded.
func (s *Session) reserve(ctx context.Context, tool, chain string, most int64) (meter.Hold, *Error) {
	hold, err := s.meter.Reserve(ctx, most)
	switch {
	case err == nil:
		return hold, nil
	case ctx.Err() != nil:
		return nil, stopped(ctx).at(tool, "", chain)
	}
	return nil, newError(KindUnpaid, err.Error()).at(tool, "", chain)
}

func (s *Session) replay(c call) (o outcome) {
	e, ok := s.bundle.entries[c.key]
	if !ok {
		s.missed.Add(1)
		err := newError(KindNotRecorded, ErrNotRecorded.Error()).at(c.tool, "", c.chain)
		return outcome{entry: entry{tool: c.tool, err: err}, skip: true}
	}
	o.entry = *e
	if e.err != nil {
		return o
	}
	v, err := e.raw.decode(c.decode)
	if err != nil {
		o.err = newError(KindGarbage, "recorded answer cannot be read: "+api.Clean(err.Error(), 200)).at(c.tool, "", c.chain)
		return o
	}
	o.value = v
	return o
}

// Missed returns how many calls of a replay were not in the bundle.
func (s *Session) Missed() int { return int(s.missed.Load()) }

// book meters all recorded calls. Whether a value was unusable is not recorded. If calls
// are numbered, a call without a number was not metered: its answer came with that of
// another.
func (b *Bundle) book(m *meter.Meter) {
	numbered := false
	for _, e := range b.entries {
		numbered = numbered || e.seq > 0
	}
	for key, e := range b.entries {
		if numbered && e.seq == 0 {
			continue
		}
		bucket := meter.DataCollection
		if strings.HasPrefix(key, "local ") {
			bucket = meter.CodeExecution
		}
		m.Add(
			meter.Call{
				Bucket:   bucket,
				Seq:      e.seq,
				Tool:     e.tool,
				Key:      key,
				Duration: e.took,
				OK:       e.err == nil || e.err.Kind.answered(),
				Nano:     e.nano,
			},
		)
	}
}

// book meters, records and reports a finished call.
func (s *Session) book(c call, o outcome, b startedCall) {
	ok := o.err == nil || o.err.Kind.answered()
	if ok && o.err == nil && c.bad != nil && c.bad(o.value) {
		ok = false
	}
	o.seq = s.seq(o.entry, b)
	s.meter.Add(meter.Call{Bucket: meter.DataCollection, Seq: o.seq, Tool: c.tool, Key: c.key, Duration: o.took, OK: ok, Nano: o.nano})
	s.rec.put(c.key, o.entry)
	s.tellEnd(b, o.entry, ok)
}

// startedCall is a call that has started.
type startedCall struct {
	id  string
	seq int64
}

// begin numbers a call and reports its start.
func (s *Session) begin(tool, args string) startedCall {
	b := startedCall{seq: s.number()}
	s.tellStart(&b, tool, args)
	return b
}

// number returns the position of a call among those of the meter. On replay it is in the
// recording.
func (s *Session) number() int64 {
	if s.bundle != nil {
		return 0
	}
	return s.meter.Begin()
}

func (s *Session) tellStart(b *startedCall, tool, args string) {
	b.id = "w" + strconv.FormatInt(s.started.Add(1), 10)
	if s.OnStart != nil {
		s.OnStart(b.id, tool, args)
	}
}

// seq is the number of a call's start: on replay that of the recording.
func (s *Session) seq(e entry, b startedCall) int64 {
	if s.bundle != nil {
		return e.seq
	}
	return b.seq
}

// args returns the arguments of the call: the chain, and the parameters as in the key.
func (c *call) args() string {
	parts := strings.SplitN(c.key, "|", 3)
	rest := strings.TrimPrefix(parts[len(parts)-1], c.tool+" ")
	return strings.TrimSpace(c.chain + " " + rest)
}

func (s *Session) tellEnd(b startedCall, e entry, ok bool) {
	if s.client != nil && s.client.cfg.OnCall != nil {
		outcome := OutcomeOK
		switch {
		case e.err != nil:
			outcome = string(e.err.Kind)
		case !ok:
			outcome = OutcomeBad
		}
		s.client.cfg.OnCall(e.tool, outcome, e.took)
	}
	if s.OnCall != nil {
		s.OnCall(b.id, api.ToolCall{Tool: e.tool, DurationMs: e.took.Milliseconds(), OK: ok, CostUSD: api.NanoDollars(e.nano)})
	}
}

// keep stores an outcome that came with another call, unless the call has one. It reports
// whether it did.
func (s *Session) keep(c call, value any, err *Error) bool {
	f := &flight{done: make(chan struct{}), cancel: func(error) {}, val: value, err: err}
	close(f.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.flights[c.key]; known {
		return false
	}
	s.flights[c.key] = f
	return true
}
