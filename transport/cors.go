package transport

import (
	"strings"

	"github.com/valyala/fasthttp"
)

// What a page of another origin may send and read. The first names of each list are those that
// a paying client needs; see "Discovery" of the payment protocol.
var (
	mayRead = strings.Join([]string{
		"WWW-Authenticate", "Payment-Receipt", "Payment-Session", "Payment-Session-Snapshot",
		"X-Request-Id", "X-Service-Version", "X-Service-Cost-Model", "Link", "Location", "Retry-After", "ETag", "Age", "Mcp-Session-Id",
	}, ", ")
	maySend = strings.Join([]string{
		"Authorization", "Payment-Authorization", "Accept-Payment", "Payment-Session", "Idempotency-Key",
		"Content-Type", "Accept", "Cache-Control", "If-None-Match", "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name",
	}, ", ")
)

// preflight answers OPTIONS. Requests are not authenticated by cookies, so any origin is
// allowed.
func preflight(ctx *fasthttp.RequestCtx, allow string) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderAllow, allow)
	h.Set(fasthttp.HeaderAccessControlAllowMethods, allow)
	h.Set(fasthttp.HeaderAccessControlAllowHeaders, maySend)
	h.Set(fasthttp.HeaderAccessControlMaxAge, "86400")
	ctx.SetStatusCode(fasthttp.StatusNoContent)
}
