package transport

import (
	"errors"
	"slices"
	"sync"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/transport/wire"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"
)

// Runs stores the final frames of synchronous runs.
type Runs interface {
	// Keeps reports whether runs of a class are recorded.
	Keeps(class job.RunClass) bool
	// Put stores the record of a run. Call it before the last frame is sent to the client, who
	// may ask for the record at once.
	Put(row job.RunRow) error
	// Recover returns the frames of a record, or api.ErrNoRun, api.ErrRunErrored or
	// api.ErrRunTooLarge.
	Recover(requestID string) (*api.RunRecovery, error)
}

// recoverRun answers GET /explain/run/{requestId}.
func (s *Server) recoverRun(ctx *fasthttp.RequestCtx) {
	if s.manageReadPath(ctx) {
		return
	}
	id, ok := pathID(ctx)
	if !ok {
		s.failRun(ctx, fasthttp.StatusNotFound, wire.RunError{Error: "unknown request id", Code: api.CodeNoRun})
		return
	}
	v, err := viewOf(ctx, "")
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	if s.cfg.Runs == nil {
		s.failRun(ctx, fasthttp.StatusNotFound, wire.RunError{Error: "this server keeps no runs", Code: api.CodeNoRun, RequestID: id})
		return
	}
	find := func() (*api.RunRecovery, bool) {
		atWork, err := s.runAtWork(id) // asked first: a run is stored before it is removed from the list
		var run *api.RunRecovery
		if err == nil {
			run, err = s.cfg.Runs.Recover(id)
		}
		if err != nil {
			s.noRun(ctx, id, atWork, err)
		}
		return run, err == nil
	}
	if s.sold() && (!s.exists(find) || !s.collectDebt(ctx, id, "complete", true)) {
		return
	}
	s.once(ctx, "run "+id+" "+string(v), func() (any, bool) {
		run, ok := find()
		if !ok {
			return nil, false
		}
		run, err := reducedRun(run, v)
		if err != nil {
			s.failWith(ctx, err)
			return nil, false
		}
		return run, true
	})
}

// Fleet are the servers that share a service, this one among them.
type Fleet interface {
	// Members is their number.
	Members() int
	// BeginRun tells them that this one works on a run, until end is called. It does not wait.
	BeginRun(id string) (end func())
	// RunAtWork reports whether one of them works on a run.
	RunAtWork(id string) (bool, error)
}

// beginRun notes that this server works on a run. The returned function removes the note.
func (s *Server) beginRun(id string) (ended func()) {
	here := s.runsInProgress.add(id)
	if s.cfg.Fleet == nil {
		return here
	}
	elsewhere := s.cfg.Fleet.BeginRun(id)
	return func() { elsewhere(); here() }
}

// runAtWork reports whether this server or another one works on a run.
func (s *Server) runAtWork(id string) (bool, error) {
	if s.runsInProgress.has(id) || s.cfg.Fleet == nil {
		return s.runsInProgress.has(id), nil
	}
	return s.cfg.Fleet.RunAtWork(id)
}

// exists reports whether find finds a run. Its frames are not kept, because they must not be in
// memory while the client pays.
func (s *Server) exists(find func() (*api.RunRecovery, bool)) bool {
	defer s.bodies.work()()
	_, ok := find()
	return ok
}

// reducedRun returns a run with its last frame in the requested view.
func reducedRun(run *api.RunRecovery, v api.View) (*api.RunRecovery, error) {
	told := *run
	if n := len(run.Frames); n > 0 {
		frame, err := reducedFrame(run.Frames[n-1], v, run.RequestID)
		if err != nil {
			return nil, err
		}
		told.Frames = append(slices.Clone(run.Frames[:n-1]), frame)
	}
	return &told, nil
}

const noSuchRun = "no run under this request id: it is unknown, older than 30 days, or was not kept"

const runInterrupted = "the server was interrupted while it worked on the run; repeat the request within the hour: it joins the run, and what was paid counts"

// interrupted reports whether a run is paid for that has neither ended nor is in progress.
func (s *Server) interrupted(id string) bool {
	if !s.sold() {
		return false
	}
	bill, _, err := s.cfg.Payments.Seller.Outstanding(id)
	if err != nil || bill.Final {
		return false
	}
	if s.cfg.Jobs == nil {
		return true
	}
	_, err = s.cfg.Jobs.Job(id) // a job is no run
	return errors.Is(err, api.ErrNoJob)
}

// noRun answers why a run cannot be replayed.
func (s *Server) noRun(ctx *fasthttp.RequestCtx, id string, atWork bool, err error) {
	f := api.FaultOf(err)
	switch {
	case errors.Is(err, api.ErrNoRun) && atWork:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, retryAfter[api.CodeRunAtWork])
		s.failRun(
			ctx,
			fasthttp.StatusConflict,
			wire.RunError{Error: "the run is still at work; ask again soon", Code: api.CodeRunAtWork, RequestID: id},
		)
	case errors.Is(err, api.ErrNoRun) && s.interrupted(id):
		s.failRun(ctx, fasthttp.StatusConflict, wire.RunError{Error: runInterrupted, Code: api.CodeRunInterrupted, RequestID: id})
	case errors.Is(err, api.ErrNoRun):
		s.failRun(
			ctx,
			fasthttp.StatusNotFound,
			wire.RunError{Error: noSuchRun, Code: api.CodeNoRun, RequestID: id},
		)
	case errors.Is(err, api.ErrRunErrored):
		s.failRun(ctx, fasthttp.StatusConflict, wire.RunError{Error: f.Message, Code: f.Code, RequestID: id})
	case errors.Is(err, api.ErrRunTooLarge):
		s.failRun(ctx, fasthttp.StatusConflict, wire.RunError{Error: api.ErrRunTooLarge.Error(), Code: api.CodeRunTooLarge, RequestID: id})
	default:
		s.failWith(ctx, err)
	}
}

// idSet holds the ids of the synchronous runs in progress. It is safe for concurrent use; the
// zero idSet is empty.
type idSet struct {
	mu  sync.Mutex
	ids map[string]bool
}

// add adds an id; the returned function removes it.
func (s *idSet) add(id string) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = make(map[string]bool)
	}
	s.ids[id] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.ids, id)
	}
}

func (s *idSet) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}

func (s *Server) failRun(ctx *fasthttp.RequestCtx, status int, e wire.RunError) {
	visitOf(ctx).failed(e.Code)
	ctx.SetStatusCode(status)
	s.sendJSON(ctx, e)
}

// recordRun stores the record of a run without a price, and reports whether there is one now. An
// error of the store does not fail the answer.
func (s *Server) recordRun(spec RunSpec, last any, failure error) bool {
	row := s.runRow(spec, last, failure)
	if row == nil {
		return false
	}
	err := s.cfg.Runs.Put(*row)
	if err != nil && !errors.Is(err, job.ErrNotKept) {
		s.cfg.Log.Error("record run", "request", spec.ID, "error", err)
	}
	return err == nil
}

// runRow is the record of a run with its last frame or a failure. It is nil if there is none.
func (s *Server) runRow(spec RunSpec, last any, failure error) *job.RunRow {
	if s.cfg.Runs == nil || api.FaultOf(failure).Code == api.CodeInvalid {
		return nil // refused: there was no run
	}
	var frames []jsontext.Value
	var row job.RunRow
	err := failure
	if err == nil {
		frames, err = encodeAll(api.Event{Type: api.EventComplete, RequestID: spec.ID}, last)
	}
	if err == nil {
		row, err = job.FinishedRun(spec.ID, spec.class(), frames...)
	}
	if err != nil {
		row = job.FailedRun(spec.ID, spec.class(), api.FaultOf(err))
	}
	return &row
}

func encodeAll(frames ...any) ([]jsontext.Value, error) {
	out := make([]jsontext.Value, len(frames))
	for i, f := range frames {
		var err error
		if out[i], err = json.Marshal(f, encodeOptions); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// class is the class of the record of a run.
func (r RunSpec) class() job.RunClass {
	switch {
	case r.priced != nil:
		return job.RunPaid
	case r.streams:
		return job.RunUnmeteredStream
	}
	return job.RunUnmeteredBlocking
}

// continues reports whether a stream goes on whose client has gone.
func (s *Server) continues(spec RunSpec) bool {
	return s.cfg.KeepRunning(spec.ID) && (s.cfg.Runs == nil || s.cfg.Runs.Keeps(spec.class()))
}

// room is nil if there is room to store what a new request is promised.
func (s *Server) room() error {
	if s.cfg.Room == nil {
		return nil
	}
	return s.cfg.Room()
}
