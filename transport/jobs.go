package transport

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/go-json-experiment/json"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/transport/wire"
)

// Jobs runs analyses asynchronously.
type Jobs interface {
	// Submit accepts a job, which then survives a crash. The error is *api.BadRequest,
	// api.ErrUnknownChain, api.ErrBusy, api.ErrStopping, or the store's.
	Submit(req api.Request) (id string, err error)
	// SubmitAs is Submit with an id from the caller: a UUID of version 7.
	SubmitAs(id string, req api.Request) error
	// Job returns the state of a job, or api.ErrNoJob.
	Job(id string) (*api.Job, error)
}

const (
	// pollAfter is the Retry-After of an unfinished job, in seconds.
	pollAfter = "5"
	noSuchJob = "Job not found - expired or invalid ID"
)

// explainAsync answers POST /explain/async: 202 when the job is on disk.
func (s *Server) explainAsync(ctx *fasthttp.RequestCtx) {
	defer func() {
		if v := recover(); v != nil {
			s.failAsync(ctx, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		}
	}()
	if s.sold() {
		s.asyncPaid(ctx)
		return
	}
	req, ok := s.readRequest(ctx)
	if !ok {
		return
	}
	if s.cfg.Jobs == nil {
		fail(ctx, fasthttp.StatusServiceUnavailable, api.CodeJobsOff, "this server takes no jobs; use POST /explain")
		return
	}
	uncount, err := s.count(visitOf(ctx).caller)
	if err != nil {
		s.notAdmitted(ctx, err)
		return
	}
	err = s.room()
	id := ""
	if err == nil {
		id, err = s.cfg.Jobs.Submit(req)
	}
	if err != nil {
		uncount()
		s.notSubmitted(ctx, err)
		return
	}
	s.accepted(ctx, id)
}

// failAsync answers an internal error before the job exists. This path has a body of its own
// for it.
func (s *Server) failAsync(ctx *fasthttp.RequestCtx, err error) {
	id := idOf(ctx)
	s.cfg.Log.Error("submit job", "request", id, "error", err)
	body, _ := json.Marshal(wire.AsyncFault{Error: "Internal server error", RequestID: "err-" + id}) // ASCII only
	ctx.Response.ResetBody()
	ctx.SetStatusCode(fasthttp.StatusInternalServerError)
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

// result answers GET /result/{jobId}. The status is that of the poll: 200 even for a failed
// job.
func (s *Server) result(ctx *fasthttp.RequestCtx) {
	if s.manageReadPath(ctx) {
		return
	}
	id, ok := pathID(ctx)
	if !ok || s.cfg.Jobs == nil {
		fail(ctx, fasthttp.StatusNotFound, "", noSuchJob)
		return
	}
	v, err := viewOf(ctx, "")
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	if s.sold() {
		status, paid := s.jobIsPaid(ctx, id)
		if !paid {
			return
		}
		if status.Unfinished() { // if it has ended since, its result is not paid for
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, pollAfter)
			s.sendJSON(ctx, &api.Job{JobID: id, Status: status})
			return
		}
	}
	// Only the answer of a job that is complete is large enough to be held for others.
	s.once(ctx, "job "+id+" "+string(v), func() (any, bool) {
		job := s.findJob(ctx, id)
		if job == nil {
			return nil, false
		}
		if job.Status.Unfinished() {
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, pollAfter)
		}
		told, err := reducedJob(job, v)
		if err != nil {
			s.failWith(ctx, err)
			return nil, false
		}
		return told, true
	})
}

// findJob returns a job. Where it is nil the answer is given.
func (s *Server) findJob(ctx *fasthttp.RequestCtx, id string) *api.Job {
	job, err := s.cfg.Jobs.Job(id)
	switch {
	case errors.Is(err, api.ErrNoJob):
		fail(ctx, fasthttp.StatusNotFound, "", noSuchJob)
		return nil
	case err != nil:
		s.failWith(ctx, err)
		return nil
	}
	return job
}

// jobIsPaid collects the debt that a job has in the status that it returns. Where paid is false
// the answer is given. The result is not kept, because it must not be in memory while the client
// pays.
func (s *Server) jobIsPaid(ctx *fasthttp.RequestCtx, id string) (status api.JobStatus, paid bool) {
	func() {
		defer s.bodies.work()()
		if job := s.findJob(ctx, id); job != nil {
			status = job.Status
		}
	}()
	return status, status != "" && s.collectDebt(ctx, id, string(status), !status.Unfinished())
}

// reducedJob returns a job with its result in the view of the poll or else of the submission.
func reducedJob(job *api.Job, v api.View) (*api.Job, error) {
	told := *job
	if job.Result != nil {
		doc, err := reducedFrame(job.Result, cmp.Or(v, job.View), job.JobID)
		if err != nil {
			return nil, err
		}
		told.Result = doc
	}
	return &told, nil
}
