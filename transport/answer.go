package transport

import (
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
)

// Version is the version of the interface, told by each answer and by /health.
const Version = "1"

const describedBy = `</SKILL.md>; rel="describedby", </openapi.json>; rel="describedby", </tool-spec.json>; rel="describedby"`

// xRequestID is in the spelling that fasthttp need not look at.
var xRequestID = []byte("X-Request-Id")

// every is what every answer carries. A handler may set another Cache-Control.
var every = func() *fasthttp.ResponseHeader {
	h := new(fasthttp.ResponseHeader)
	h.SetNoDefaultContentType(true)
	h.Set("X-Service-Version", Version)
	h.Set("X-Service-Cost-Model", "mpp-x402")
	h.Set(fasthttp.HeaderLink, describedBy)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
	h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	return h
}()

// brand begins an answer with what every one carries: whatever h had is dropped.
func brand(h *fasthttp.ResponseHeader, id *requestID) {
	every.CopyTo(h) // half the cost of setting each
	h.SetCanonical(xRequestID, id[:])
}

// fail answers with an error body. What the handler had written is dropped,
// headers stay.
func fail(ctx *fasthttp.RequestCtx, status int, code, message string) {
	visitOf(ctx).failed(code)
	failResponse(&ctx.Response, status, code, message)
}

func failResponse(r *fasthttp.Response, status int, code, message string) {
	r.ResetBody()
	r.SetStatusCode(status)
	r.Header.SetContentType("application/json")
	var room [256]byte
	r.SetBody(appendErrorBody(room[:0], code, message)) // copied to a buffer that is used again
}

// appendErrorBody writes a wire.ErrorBody. It does without the encoder, because to
// refuse must be cheap.
func appendErrorBody(b []byte, code, message string) []byte {
	b = append(b, `{"error":`...)
	b, _ = jsontext.AppendQuote(b, message) // what is no UTF-8 is replaced
	if code != "" {
		b = append(b, `,"code":`...)
		b, _ = jsontext.AppendQuote(b, code)
	}
	return append(b, '}')
}

// statuses are those of bodies with a code. The request that is wrong has none in
// its body.
var statuses = func() map[string]int {
	m := map[string]int{api.CodeInvalid: fasthttp.StatusBadRequest}
	for _, c := range api.ErrorCodes() {
		if c.Status != 0 {
			m[c.Code] = c.Status
		}
	}
	return m
}()

// inEvents are the codes that an error event may have.
var inEvents = api.CodesOf(func(c api.ErrorCode) bool { return c.Event })

// retryAfter says after how many seconds to ask again.
var retryAfter = map[string]string{api.CodeBusy: "15", api.CodeStopping: "5", api.CodeUnavailable: "30", api.CodeRunAtWork: "5"}

// judge says what the caller may know of an error, and logs what only the operator
// may see. One whose code is not told there is an internal error.
func (s *Server) judge(id string, err error, told func(code string) bool) api.Fault {
	f := api.FaultOf(err)
	if f.Code != api.CodeInternal && told(f.Code) {
		return f
	}
	if errors.Is(err, errClientGone) || errors.Is(err, errSlow) {
		return api.Fault{Code: api.CodeInternal, Message: err.Error()} // nobody reads it
	}
	s.cfg.Log.Error("explain", "request", id, "error", err)
	return api.Fault{Code: api.CodeInternal, Message: f.Message + "; the log has it under request " + id}
}

// failWith answers with an error.
func (s *Server) failWith(ctx *fasthttp.RequestCtx, err error) {
	if f := api.FaultOf(err); f.Code == api.CodeInvalid {
		fail(ctx, fasthttp.StatusBadRequest, "", f.Message) // the status says the code
		return
	}
	f := s.judge(idOf(ctx), err, func(code string) bool { return statuses[code] != 0 })
	if wait := retryAfter[f.Code]; wait != "" {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, wait)
	}
	if errors.Is(err, errClientGone) {
		ctx.SetConnectionClose()
	}
	fail(ctx, statuses[f.Code], f.Code, f.Message)
}

// errorEvent is an error as the end of a stream.
func (s *Server) errorEvent(id string, err error) api.Event {
	f := s.judge(id, err, func(code string) bool { return slices.Contains(inEvents, code) })
	e := api.Event{Type: api.EventError, RequestID: id, Code: f.Code, Message: f.Message}
	if !s.cfg.Recoverable(id) {
		return e
	}
	e.Recover = "GET /explain/run/" + id
	switch e.Code {
	case api.CodeStopping:
		e.Message = "the server is stopping; what was known by then is kept, and can be had from its next start on"
	case api.CodeUnpaid:
		e.Message = "the run is done and kept, but not paid in full; request " + e.Recover +
			", which asks for the outstanding balance and nothing else"
	}
	return e
}

// unreadable answers a request that could not be read to its end.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	visit := newVisit(ctx)
	brand(&ctx.Response.Header, &visit.id)
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		linger(ctx.Conn())
		fail(ctx, fasthttp.StatusRequestEntityTooLarge, "", "the body is too large; at most 65536 bytes are allowed")
	case errors.As(err, &small):
		linger(ctx.Conn())
		fail(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge, "", "the header is too large; at most 16384 bytes are allowed")
	case timedOut(err):
		fail(ctx, fasthttp.StatusRequestTimeout, "", "the request did not arrive in time")
	default:
		fail(ctx, fasthttp.StatusBadRequest, "", "the request is not valid HTTP")
	}
	s.tell(visit, ctx.Response.StatusCode())
}

// linger reads on for a moment what the client still sends: a connection closed
// with unread bytes is reset, and the reset may overtake the answer. It ends at
// the first pause, after 1 MiB or one second.
func linger(c net.Conn) {
	buf := make([]byte, 16<<10)
	end := time.Now().Add(time.Second)
	for left := 1 << 20; left > 0 && time.Now().Before(end); {
		if c.SetReadDeadline(time.Now().Add(50*time.Millisecond)) != nil {
			return
		}
		n, err := io.ReadAtLeast(c, buf, 1)
		if err != nil {
			return
		}
		left -= n
	}
}
