package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/valyala/fasthttp"

	"txlens/engine/explain"
	"txlens/transport/wire"
)

// Version is the version of the interface, told by each answer and by /health.
const Version = "1"

const describedBy = `</SKILL.md>; rel="describedby", </openapi.json>; rel="describedby", </tool-spec.json>; rel="describedby"`

// brand sets what every answer carries.
func brand(ctx *fasthttp.RequestCtx, id string) {
	h := &ctx.Response.Header
	h.Set("X-Service-Version", Version)
	h.Set("X-Service-Cost-Model", "mpp-x402")
	h.Set("X-Request-Id", id)
	h.Set("Link", describedBy)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(fasthttp.HeaderCacheControl, "no-store")
}

// fail answers with an error body. What the handler had written is dropped,
// headers stay.
func fail(ctx *fasthttp.RequestCtx, status int, code, message string) {
	visitOf(ctx).failed(code)
	body, err := json.Marshal(wire.ErrorBody{Error: message, Code: code})
	if err != nil { // a message that is no UTF-8
		body = []byte(`{"error":"` + fasthttp.StatusMessage(status) + `"}`)
	}
	ctx.Response.ResetBody()
	ctx.SetStatusCode(status)
	ctx.SetContentType("application/json")
	ctx.Response.SetBodyRaw(body)
}

// unpaid is implemented by errors that mean: the service could not pay one of
// its own upstreams. The caller's payment has no part in it.
type unpaid interface{ UpstreamPayment() bool }

// verdict is an error in the terms of the interface.
type verdict struct {
	status     int
	code       string
	message    string
	retryAfter string
}

// judge says what the caller may know of an error. What only the operator may see
// goes to the log.
func (s *Server) judge(id string, err error) verdict {
	var bad *explain.BadRequest
	var pay unpaid
	switch {
	case errors.As(err, &bad):
		return verdict{status: fasthttp.StatusBadRequest, message: bad.Error()}
	case errors.Is(err, explain.ErrUnknownChain):
		return verdict{status: fasthttp.StatusBadRequest, message: "chainId: " + explain.ErrUnknownChain.Error()}
	case errors.Is(err, explain.ErrNotFound):
		v := verdict{status: fasthttp.StatusNotFound, code: explain.CodeNotFound, message: message[*explain.NotFoundError](err, explain.ErrNotFound)}
		var nowhere *explain.NotFoundError
		if errors.As(err, &nowhere) && len(nowhere.Silent) > 0 {
			v.retryAfter = "30" // some chains did not say: to ask again later is worth it
		}
		return v
	case errors.Is(err, explain.ErrPending):
		return verdict{status: fasthttp.StatusConflict, code: explain.CodePending, message: message[*explain.PendingError](err, explain.ErrPending)}
	case errors.As(err, &pay) && pay.UpstreamPayment():
		return verdict{status: fasthttp.StatusBadGateway, code: explain.CodePayment, message: "the service could not pay one of its upstream providers"}
	case errors.Is(err, errStopping), errors.Is(err, explain.ErrStopping):
		return verdict{status: fasthttp.StatusServiceUnavailable, code: explain.CodeStopping, message: "the server is stopping; try again soon", retryAfter: "5"}
	case errors.Is(err, errClientGone), errors.Is(err, errSlow):
		// Nobody reads it.
		return verdict{status: fasthttp.StatusInternalServerError, code: explain.CodeInternal, message: err.Error()}
	}
	s.cfg.Log.Error("explain", "request", id, "error", err)
	return verdict{status: fasthttp.StatusInternalServerError, code: explain.CodeInternal, message: "internal error; the log has it under request " + id}
}

// failWith answers with an error.
func (s *Server) failWith(ctx *fasthttp.RequestCtx, err error) {
	v := s.judge(idOf(ctx), err)
	if errors.Is(err, errClientGone) {
		ctx.SetConnectionClose()
	}
	if v.retryAfter != "" {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, v.retryAfter)
	}
	fail(ctx, v.status, v.code, v.message)
}

// errorEvent is an error as the end of a stream.
func (s *Server) errorEvent(id string, err error) explain.Event {
	v := s.judge(id, err)
	e := explain.Event{Type: explain.EventError, RequestID: id, Code: v.code, Message: v.message}
	switch {
	case v.status == fasthttp.StatusBadRequest:
		e.Code = explain.CodeInvalid
	case v.code == explain.CodePayment:
		e.Code = explain.CodeInternal
	}
	if s.cfg.Recoverable(id) {
		e.Recover = "GET /explain/run/" + id
		if e.Code == explain.CodeStopping {
			e.Message = "the server is stopping; what was known by then is kept, and can be had from its next start on"
		}
	}
	return e
}

// message is that of the typed error inside err, without what wraps it.
func message[E error](err, plain error) string {
	var typed E
	if errors.As(err, &typed) {
		return typed.Error()
	}
	return plain.Error()
}

// unreadable answers a request that could not be read to its end.
func (s *Server) unreadable(ctx *fasthttp.RequestCtx, err error) {
	visit := newVisit(ctx)
	var small *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		linger(ctx.Conn())
		fail(ctx, fasthttp.StatusRequestEntityTooLarge, "", "the body is too large; at most 65536 bytes are allowed")
	case errors.As(err, &small):
		linger(ctx.Conn())
		fail(ctx, fasthttp.StatusRequestHeaderFieldsTooLarge, "", "the header is too large; at most 16384 bytes are allowed")
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		fail(ctx, fasthttp.StatusRequestTimeout, "", "the request did not arrive in time")
	default:
		fail(ctx, fasthttp.StatusBadRequest, "", "the request is not valid HTTP")
	}
	brand(ctx, visit.id)
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
