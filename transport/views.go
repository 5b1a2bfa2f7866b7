package transport

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/view"
	"txlens/transport/wire"
)

// pathRunPart is the path of the parts of a finished run or job.
const pathRunPart = "/explain/run/{requestId}/{part}"

// Limits of a page.
const (
	defaultPage = 100
	maxPage     = 1000
	maxPageSize = 1 << 20
	maxChoice   = 128 // bytes of an argument that selects items
)

// viewOf reads the query argument view; if missing, it returns the given default. The error is
// a *api.BadRequest.
func viewOf(ctx *fasthttp.RequestCtx, absent api.View) (api.View, error) {
	args := ctx.QueryArgs()
	if !args.Has("view") {
		return absent, nil
	}
	name := string(args.Peek("view"))
	if name == "" {
		name = "-" // an empty name is not a valid view here
	}
	return api.ParseView(name)
}

// moreOf says how to get what a view of a run leaves out.
func moreOf(id string) string {
	run := "GET /explain/run/" + id
	return run + "/{part}?from=0&limit=" + strconv.Itoa(defaultPage) + " lists the items of a part; " + run + " has the full result."
}

// reduced returns the last frame of a run in the requested view.
func reduced(last any, job RunSpec) any {
	frame, ok := last.(wire.ResultFrame)
	if !ok || view.Limit(job.Request.View) == 0 {
		return last
	}
	frame.Result = view.Of(frame.Result, job.Request.View, moreOf(job.ID))
	return frame
}

// reducedFrame is reduced for a stored frame or result. A report is unchanged.
func reducedFrame(doc jsontext.Value, v api.View, id string) (jsontext.Value, error) {
	if view.Limit(v) == 0 {
		return doc, nil
	}
	var head struct {
		Type      api.EventType `json:"type"`
		RequestID string        `json:"requestId"`
	}
	if err := json.Unmarshal(doc, &head, jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, fmt.Errorf("read a stored frame: %w", err)
	}
	if head.Type == api.EventReport {
		return doc, nil
	}
	res, err := api.DecodeResult(doc)
	if err != nil {
		return nil, err
	}
	res = view.Of(res, v, moreOf(id))
	if head.Type == "" {
		return json.Marshal(res, encodeOptions)
	}
	return json.Marshal(wire.ResultFrame{Type: head.Type, RequestID: head.RequestID, Result: res}, encodeOptions)
}

// cutRunPart splits a path of pathRunPart into id and part.
func cutRunPart(path []byte) (id, part []byte, ok bool) {
	rest, ok := bytes.CutPrefix(path, []byte("/explain/run/"))
	if !ok {
		return nil, nil, false
	}
	id, part, ok = bytes.Cut(rest, []byte("/"))
	return id, part, ok && len(id) > 0 && len(part) > 0 && !bytes.Contains(part, []byte("/"))
}

// runPart answers GET /explain/run/{requestId}/{part}.
func (s *Server) runPart(ctx *fasthttp.RequestCtx) {
	if s.manageReadPath(ctx) {
		return
	}
	rawID, name, _ := cutRunPart(ctx.Path())
	part, known := view.FindPart(string(name))
	if !known {
		s.failWith(ctx, &api.BadRequest{Field: "part", Reason: "must be one of " + strings.Join(view.PartNames(), ", ")})
		return
	}
	q, err := pageQuery(ctx)
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	s.finishedResult(ctx, string(rawID), func(res *api.Result) { s.sendPage(ctx, part, res, q) })
}

// finishedResult calls answer with the result of a run or a job that has ended and is paid, or
// says why it cannot.
func (s *Server) finishedResult(ctx *fasthttp.RequestCtx, rawID string, answer func(*api.Result)) {
	id, ok := parseID(rawID)
	if !ok {
		s.failRun(ctx, fasthttp.StatusNotFound, wire.RunError{Error: "unknown request id", Code: api.CodeNoRun})
		return
	}
	if s.sold() && (!s.withFinished(ctx, id, func(jsontext.Value) {}) || !s.collectDebt(ctx, id, "complete", true)) {
		return
	}
	s.withFinished(ctx, id, func(doc jsontext.Value) {
		res, err := api.DecodeResult(doc)
		if err != nil {
			s.failWith(ctx, err)
			return
		}
		answer(res)
	})
}

// withFinished calls f with the result of a run or job that has ended, or says why it cannot.
// The result must not be in memory while the client pays or reads.
func (s *Server) withFinished(ctx *fasthttp.RequestCtx, id string, f func(jsontext.Value)) bool {
	defer s.bodies.work()()
	atWork, err := s.runAtWork(id)
	var doc jsontext.Value
	if err == nil {
		doc, err = s.finished(id)
	}
	if err != nil {
		s.noRun(ctx, id, atWork, err)
		return false
	}
	f(doc)
	return true
}

func (s *Server) sendPage(ctx *fasthttp.RequestCtx, part *view.Part, res *api.Result, q view.Query) {
	page, err := part.Read(res, q)
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	s.sendJSON(ctx, page)
}

// finished returns the result of a run or job that has ended. The errors are those of
// Runs.Recover.
func (s *Server) finished(id string) (jsontext.Value, error) {
	run, err := s.recovered(id)
	if errors.Is(err, api.ErrNoRun) && s.cfg.Jobs != nil {
		job, jerr := s.cfg.Jobs.Job(id)
		switch {
		case errors.Is(jerr, api.ErrNoJob):
			return nil, err
		case jerr != nil:
			return nil, jerr
		case job.Result == nil:
			return nil, err
		}
		return job.Result, nil
	}
	if err != nil {
		return nil, err
	}
	if n := len(run.Frames); n > 0 {
		var head struct {
			Type api.EventType `json:"type"`
		}
		if json.Unmarshal(run.Frames[n-1], &head, jsontext.AllowInvalidUTF8(true)) == nil && head.Type == api.EventResult {
			return run.Frames[n-1], nil
		}
	}
	return nil, api.ErrRunErrored // a report has no parts
}

// pageQuery parses the arguments of a page. The error is a *api.BadRequest.
func pageQuery(ctx *fasthttp.RequestCtx) (q view.Query, err error) {
	args := ctx.QueryArgs()
	q = view.Query{Limit: defaultPage, MaxBytes: maxPageSize, Data: -1}
	number := func(name string, to *int, least, most int) {
		if !args.Has(name) || err != nil {
			return
		}
		n, nerr := strconv.Atoi(string(args.Peek(name)))
		if nerr != nil || n < least || n > most {
			err = &api.BadRequest{Field: name, Reason: fmt.Sprintf("must be an integer from %d to %d", least, most)}
			return
		}
		*to = n
	}
	number("from", &q.From, 0, 1<<31-1)
	number("limit", &q.Limit, 1, maxPage)
	text := func(name string, to *string) {
		*to = string(args.Peek(name))
		if len(*to) > maxChoice && err == nil {
			err = &api.BadRequest{Field: name, Reason: fmt.Sprintf("must have at most %d bytes", maxChoice)}
		}
	}
	text("status", &q.Status)
	text("address", &q.Address)
	text("text", &q.Text)
	return q, err
}
