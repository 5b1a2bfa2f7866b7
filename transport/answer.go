package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"txlens/engine/explain"
)

// Version is the version of the interface, told by each answer and by /health.
const Version = "1"

// Codes of error bodies.
const (
	codeInternal = "internal_error"
	codePayment  = "upstream_payment_unavailable"
	codeNotFound = "transaction_not_found"
	codePending  = "transaction_pending"
	codeStopping = "stopping"
)

const requestID = "requestID"

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

type errorBody struct {
	Error string `json:"error"`
	Code  string `json:"code,omitempty"`
}

// fail answers with an error body. What the handler had written is dropped,
// headers stay.
func fail(ctx *fasthttp.RequestCtx, status int, code, message string) {
	body, err := json.Marshal(errorBody{Error: message, Code: code})
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

// failWith says an error in the terms of the interface. What only the operator
// may see goes to the log.
func (s *Server) failWith(ctx *fasthttp.RequestCtx, err error) {
	var bad *explain.BadRequest
	var pay unpaid
	switch {
	case errors.As(err, &bad):
		fail(ctx, fasthttp.StatusBadRequest, "", bad.Error())
	case errors.Is(err, explain.ErrUnknownChain):
		fail(ctx, fasthttp.StatusBadRequest, "", "chainId: "+explain.ErrUnknownChain.Error())
	case errors.Is(err, explain.ErrNotFound):
		var nowhere *explain.NotFoundError
		if errors.As(err, &nowhere) && len(nowhere.Silent) > 0 {
			// Some chains did not say: to ask again later is worth it.
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "30")
		}
		fail(ctx, fasthttp.StatusNotFound, codeNotFound, message[*explain.NotFoundError](err, explain.ErrNotFound))
	case errors.Is(err, explain.ErrPending):
		fail(ctx, fasthttp.StatusConflict, codePending, message[*explain.PendingError](err, explain.ErrPending))
	case errors.As(err, &pay) && pay.UpstreamPayment():
		fail(ctx, fasthttp.StatusBadGateway, codePayment, "the service could not pay one of its upstream providers")
	case errors.Is(err, errStopping):
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "5")
		fail(ctx, fasthttp.StatusServiceUnavailable, codeStopping, "the server is stopping; try again soon")
	case errors.Is(err, errClientGone):
		ctx.SetConnectionClose() // nobody reads the answer
		fail(ctx, fasthttp.StatusInternalServerError, codeInternal, err.Error())
	default:
		id, _ := ctx.UserValue(requestID).(string)
		s.cfg.Log.Error("explain", "request", id, "error", err)
		fail(ctx, fasthttp.StatusInternalServerError, codeInternal, "internal error; the log has it under request "+id)
	}
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
	brand(ctx, uuid.NewString())
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
