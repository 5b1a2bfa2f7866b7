package transport

import (
	"context"
	"errors"
	"sync"

	"txlens/actors/job"
	"txlens/engine/api"
)

// flights are the analyses in progress that equal requests share. They are safe for concurrent
// use; the zero flights are empty.
type flights struct {
	mu  sync.Mutex
	all map[job.KeptKey]*flight
}

// flight is one analysis. It goes on while one of those who share it waits.
type flight struct {
	done  chan struct{} // closed when it has ended
	res   *api.Result
	err   error
	mined *job.Mined // nil: the result is not to be kept

	mu      sync.Mutex
	sinks   []func(api.Event)
	waiting int
	cancel  context.CancelCauseFunc
}

// join adds a sink, which may be nil, to the flight of a key. leads means that the caller has to
// run it, with land at the end.
func (s *flights) join(key job.KeptKey, sink func(api.Event)) (f *flight, leads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = s.all[key]
	if leads = f == nil || !f.take(sink); leads {
		f = &flight{done: make(chan struct{}), waiting: 1}
		if sink != nil {
			f.sinks = append(f.sinks, sink)
		}
		if s.all == nil {
			s.all = make(map[job.KeptKey]*flight)
		}
		s.all[key] = f
	}
	return f, leads
}

// land lets no more requests join.
func (s *flights) land(key job.KeptKey, f *flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key] == f {
		delete(s.all, key)
	}
}

// take adds one who waits, unless the flight is being cancelled.
func (f *flight) take(sink func(api.Event)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting == 0 {
		return false
	}
	f.waiting++
	if sink != nil {
		f.sinks = append(f.sinks, sink)
	}
	return true
}

// leave removes one who waits. The last cancels the flight.
func (f *flight) leave(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting--; f.waiting == 0 && f.cancel != nil {
		f.cancel(cause)
	}
}

// hear passes an event to all who wait.
func (f *flight) hear(e api.Event) {
	f.mu.Lock()
	sinks := f.sinks // only grows
	f.mu.Unlock()
	for _, sink := range sinks {
		sink(e)
	}
}

// board sets what cancels the flight.
func (f *flight) board(cancel context.CancelCauseFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cancel = cancel; f.waiting == 0 {
		cancel(errClientGone)
	}
}

// shared runs the analysis of a request, or waits for that of an equal one. work ends the wait;
// the analysis ends with the last who waits for it. mined is not nil if the caller is to keep the
// result, before it calls landed.
func (s *Server) shared(work context.Context, spec RunSpec) (res *api.Result, mined *job.Mined, landed func(), err error) {
	landed = nothing
	switch {
	case !s.keeps():
		res, err = s.attempt(work, spec)
	case spec.Request.Fresh:
		spec.Whole = func(m job.Mined) { mined = &m }
		res, err = s.attempt(work, spec)
	default:
		key := s.cfg.Kept.Key(spec.Request)
		f, leads := s.flights.join(key, spec.Sink)
		defer context.AfterFunc(work, func() { f.leave(context.Cause(work)) })()
		if leads {
			s.fly(f, spec)
			mined, landed = f.mined, func() { s.flights.land(key, f) }
		}
		res, err = f.wait(work)
	}
	if res != nil && spec.streams {
		err = nil
	}
	return res, mined, landed, err
}

// fly runs the analysis of a flight.
func (s *Server) fly(f *flight, spec RunSpec) {
	defer close(f.done)
	work, cancel := s.begin()
	defer cancel(nil)
	f.board(cancel)
	if f.res = s.keptResult(work, spec.Request); f.res != nil {
		return
	}
	spec.Sink, spec.Whole = f.hear, func(m job.Mined) { f.mined = &m }
	f.res, f.err = s.attempt(work, spec)
}

// keptResult is the result of an equal request that ended since this one was read.
func (s *Server) keptResult(ctx context.Context, req api.Request) *api.Result {
	a, err := s.cfg.Kept.Find(ctx, req, api.EventResult)
	if err != nil {
		return nil
	}
	res, err := api.DecodeResult(a.Frame)
	if err != nil {
		return nil
	}
	return res
}

// wait returns how a flight ended, or why its end is not waited for.
func (f *flight) wait(work context.Context) (*api.Result, error) {
	select {
	case <-f.done:
	default:
		select {
		case <-f.done:
		case <-work.Done():
			return nil, context.Cause(work)
		}
	}
	if f.err != nil && work.Err() != nil {
		return f.res, errors.Join(context.Cause(work), f.err)
	}
	return f.res, f.err
}
