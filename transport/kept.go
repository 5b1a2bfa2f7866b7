package transport

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/transport/wire"
)

// Kept finds the results of earlier runs. It is safe for concurrent use.
type Kept interface {
	// Key is the same for requests whose results are equal.
	Key(req api.Request) job.KeptKey
	// Find returns the result of an earlier equal request, or its report. The error is
	// api.ErrNoRun.
	Find(ctx context.Context, req api.Request, form api.EventType) (job.Answer, error)
	// Keep makes a recorded run the answer to later equal requests. It sets the key.
	Keep(req api.Request, form api.EventType, row job.Kept)
}

// keeps reports whether equal requests may have one answer. Where analyses are sold each is
// priced by what it cost.
func (s *Server) keeps() bool { return s.cfg.Kept != nil && !s.sold() }

// formOf is the type of the last frame of a run.
func formOf(req api.Request) api.EventType {
	if req.Report {
		return api.EventReport
	}
	return api.EventResult
}

// findKept returns the answer of an earlier equal request in the form of this one, whose id is
// for a run of which there is only the other form.
func (s *Server) findKept(ctx context.Context, spec RunSpec) (a job.Answer, ok bool) {
	req := spec.Request
	if !s.keeps() || req.Fresh {
		return a, false
	}
	form := formOf(req)
	a, err := s.cfg.Kept.Find(ctx, req, form)
	if err != nil && req.Report {
		form = api.EventResult
		a, err = s.cfg.Kept.Find(ctx, req, form)
	}
	switch {
	case err != nil:
	case form != formOf(req):
		a, err = s.reportOf(a, spec)
	default:
		a.Frame, err = reducedFrame(a.Frame, req.View, a.Run)
	}
	s.cfg.Observer.Kept(err == nil, len(a.Frame))
	return a, err == nil
}

// reportOf makes the report of a kept result. It is recorded as a run like any other.
func (s *Server) reportOf(a job.Answer, spec RunSpec) (job.Answer, error) {
	res, err := api.DecodeResult(a.Frame)
	if err != nil {
		return a, err
	}
	last, err := lastFrame(spec, res)
	if err != nil {
		return a, err
	}
	a.Run = spec.ID
	if s.recordRun(spec, last, nil) {
		s.cfg.Kept.Keep(spec.Request, api.EventReport, a.Kept)
	}
	a.Frame, err = json.Marshal(last, encodeOptions)
	return a, err
}

// asksAnew reports whether a client wants no answer of an earlier request (RFC 9111, 5.2.1.4).
func asksAnew(h *fasthttp.RequestHeader) bool {
	for _, line := range h.PeekAll(fasthttp.HeaderCacheControl) {
		for item := range strings.SplitSeq(string(line), ",") {
			if strings.EqualFold(strings.TrimSpace(item), "no-cache") {
				return true
			}
		}
	}
	return false
}

// answerKept answers a request with the result of an earlier equal one. Otherwise it returns
// false, and the request says whether it is to be analysed anew.
func (s *Server) answerKept(ctx *fasthttp.RequestCtx, req *api.Request, streams bool) bool {
	req.Fresh = req.Fresh || asksAnew(&ctx.Request.Header)
	done := func() {}
	if s.keeps() {
		done = s.bodies.work()
	}
	defer done()
	a, ok := s.findKept(s.base, RunSpec{ID: idOf(ctx), Request: *req, streams: streams})
	if !ok {
		return false
	}
	visitOf(ctx).kept = a.Run
	h := &ctx.Response.Header
	h.SetCanonical(xRequestID, []byte(a.Run))
	h.Set(fasthttp.HeaderAge, strconv.Itoa(int(a.Age/time.Second)))
	if streams {
		s.streamKept(ctx, a, req.View)
		return true
	}
	s.sendKept(ctx, a, req.View)
	return true
}

// sendKept answers with a frame as the blocking form has it.
func (s *Server) sendKept(ctx *fasthttp.RequestCtx, a job.Answer, v api.View) {
	if body, ok := bytes.CutPrefix(a.Frame, []byte(`{"type":"result","requestId":"`+a.Run+`",`)); ok {
		ctx.SetContentType("application/json")
		s.sendBody(ctx, frameKey(a.Run, v), append([]byte{'{'}, body...))
		return
	}
	page, err := pageOf(a)
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	ctx.SetContentType("text/html; charset=utf-8")
	s.sendBody(ctx, frameKey(a.Run, ""), page)
}

// pageOf is the page in the frame of a report.
func pageOf(a job.Answer) ([]byte, error) {
	text, ok := bytes.CutPrefix(a.Frame, []byte(`{"type":"report","requestId":"`+a.Run+`","html":`))
	if text, end := bytes.CutSuffix(text, []byte{'}'}); ok && end {
		if page, err := jsontext.AppendUnquote(make([]byte, 0, len(text)), text); err == nil {
			return page, nil
		}
	}
	var frame wire.ReportFrame
	err := json.Unmarshal(a.Frame, &frame, jsontext.AllowInvalidUTF8(true))
	return []byte(frame.HTML), err
}

// sendBody answers with a body inside bodies.work. A large one is shared under the key, which names
// what it is made of, so that it need not be hashed as other bodies are.
func (s *Server) sendBody(ctx *fasthttp.RequestCtx, key string, body []byte) {
	if len(body) < minShared {
		ctx.Response.SetBodyRaw(body)
		return
	}
	at, party := codingOf(ctx), s.party(ctx)
	key = codedKey("body of "+key, at)
	h, err := s.bodies.find(key, party)
	if h == nil && err == nil {
		if at >= 0 {
			body = codings[at].encode(nil, body)
		}
		h, err = s.bodies.add(key, party, body)
	}
	if err != nil {
		s.noRoomFor(ctx)
		return
	}
	sendHold(ctx, h, at)
}

// streamKept answers with the end of the stream of an earlier run.
func (s *Server) streamKept(ctx *fasthttp.RequestCtx, a job.Answer, v api.View) {
	st, visit := s.newStream(ctx, a.Run), visitOf(ctx)
	last, err := s.shareEncoded(frameKey(a.Run, v), st.party, a.Frame)
	if err != nil {
		s.noRoomFor(ctx)
		return
	}
	visit.heard, visit.streams = true, true
	st.onEnd = func(cut error) { s.logStreamVisit(visit, cut) }
	st.onStop, st.onGone = func() {}, func(error) {}
	st.watch = watch(ctx.Conn(), true, func() { st.cutOff(errClientGone) })
	st.send(api.Event{Type: api.EventComplete})
	st.end(last)
	if h, ok := last.(*hold); ok {
		h.Close() // the stream has its own
	}
	s.cfg.Observer.StreamOpened()
	s.open(ctx, st)
}

// keep makes a recorded run the answer to later equal requests. A report has no result in its
// record, so that is recorded beside it. began is a time before the transaction was read.
func (s *Server) keep(spec RunSpec, res *api.Result, m job.Mined, began time.Time) {
	row := job.Kept{Run: spec.ID, Mined: m, CheckedAt: began.Unix(), MadeAt: time.Now().Unix()}
	s.cfg.Kept.Keep(spec.Request, formOf(spec.Request), row)
	if !spec.Request.Report {
		return
	}
	spec.ID, spec.Request.Report = recordid.New(), false
	if last, err := lastFrame(spec, res); err == nil && s.recordRun(spec, last, nil) {
		row.Run = spec.ID
		s.cfg.Kept.Keep(spec.Request, api.EventResult, row)
	}
}
