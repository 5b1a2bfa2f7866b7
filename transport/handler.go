package transport

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"txlens/engine/explain"
	"txlens/engine/report"
)

type handler func(s *Server, ctx *fasthttp.RequestCtx)

// routes by path, then method. HEAD is served by GET.
var routes = map[string]map[string]handler{
	"/health":  {"GET": (*Server).health},
	"/explain": {"POST": (*Server).explain},
}

// guarded gives every answer its headers and outlives a panic: fasthttp itself
// would let one end the process.
func (s *Server) guarded(ctx *fasthttp.RequestCtx) {
	id := uuid.NewString()
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Log.Error("panic", "request", id, "path", string(ctx.Path()), "value", v, "stack", string(debug.Stack()))
			ctx.Response.Reset()
			fail(ctx, fasthttp.StatusInternalServerError, codeInternal, "internal error; the log has it under request "+id)
		}
		if s.base.Err() != nil {
			ctx.SetConnectionClose() // CloseOnShutdown no longer holds once draining was given up
		}
		brand(ctx, id)
	}()
	ctx.SetUserValue(requestID, id)
	s.route(ctx)
}

func (s *Server) route(ctx *fasthttp.RequestCtx) {
	methods, ok := routes[string(ctx.Path())]
	if !ok {
		fail(ctx, fasthttp.StatusNotFound, "", "no such path; there are GET /health and POST /explain")
		return
	}
	method := string(ctx.Method())
	if method == fasthttp.MethodHead {
		method = fasthttp.MethodGet
	}
	if h := methods[method]; h != nil {
		h(s, ctx)
		return
	}
	allow := allowed(methods)
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	fail(ctx, fasthttp.StatusMethodNotAllowed, "", "method not allowed here; allowed: "+allow)
}

func allowed(methods map[string]handler) string {
	var list []string
	for m := range methods {
		list = append(list, m)
		if m == fasthttp.MethodGet {
			list = append(list, fasthttp.MethodHead)
		}
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

// health answers GET /health.
func (s *Server) health(ctx *fasthttp.RequestCtx) {
	out := struct {
		Status  string  `json:"status"`
		Version string  `json:"version"`
		Commit  *string `json:"commit"`
	}{Status: "ok", Version: Version}
	if s.cfg.Commit != "" {
		out.Commit = &s.cfg.Commit
	}
	s.sendJSON(ctx, out)
}

// explain answers POST /explain: it blocks until the analysis has ended.
func (s *Server) explain(ctx *fasthttp.RequestCtx) {
	if kind, _, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType())); err != nil || kind != "application/json" {
		fail(ctx, fasthttp.StatusUnsupportedMediaType, "", "Content-Type: must be application/json")
		return
	}
	// ParseRequest copies what it keeps: fasthttp uses the body again.
	req, err := explain.ParseRequest(ctx.PostBody())
	if err != nil {
		s.failWith(ctx, err)
		return
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "5")
		fail(ctx, fasthttp.StatusServiceUnavailable, "busy", "too many analyses are running; try again soon")
		return
	}
	res, err := s.run(ctx, req)
	switch {
	case err != nil:
		s.failWith(ctx, err)
	case req.Report:
		s.sendHTML(ctx, res)
	default:
		s.sendJSON(ctx, res)
	}
}

// run has the analysis done for as long as the client waits for it.
func (s *Server) run(ctx *fasthttp.RequestCtx, req explain.Request) (res *explain.Result, err error) {
	work, cancel := context.WithCancelCause(s.base)
	defer cancel(nil)
	work, stop := context.WithTimeout(work, s.cfg.Deadline+grace)
	defer stop()
	w := watch(ctx.Conn(), func() { cancel(errClientGone) })
	defer func() {
		if !w.end() {
			ctx.SetConnectionClose()
		}
	}()
	res, err = s.cfg.Explainer.Explain(work, req, func(explain.Event) {})
	if err != nil && work.Err() != nil {
		err = errors.Join(context.Cause(work), err)
	}
	if err == nil && res == nil {
		err = errors.New("the analysis ended without result and without error")
	}
	return res, err
}

func (s *Server) sendJSON(ctx *fasthttp.RequestCtx, v any) {
	var buf bytes.Buffer
	if err := json.MarshalWrite(&buf, v, json.Deterministic(true)); err != nil {
		s.failWith(ctx, err)
		return
	}
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(buf.Bytes())
}

func (s *Server) sendHTML(ctx *fasthttp.RequestCtx, res *explain.Result) {
	var buf bytes.Buffer
	if err := report.HTML(&buf, res); err != nil {
		s.failWith(ctx, err)
		return
	}
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.Response.SetBodyRaw(buf.Bytes())
}
