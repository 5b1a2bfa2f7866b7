package transport

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/valyala/fasthttp"

	"txlens/transport/wire"
)

// deposit answers POST /session/deposit. Where nothing is paid for there is nothing
// to deposit, and a client that does so first may go on at once.
func (s *Server) deposit(ctx *fasthttp.RequestCtx) {
	if body := bytes.TrimSpace(ctx.PostBody()); len(body) > 0 {
		var none struct{}
		if body[0] == 'n' || // null would do for the decoder
			json.Unmarshal(body, &none, json.RejectUnknownMembers(true)) != nil {
			fail(ctx, fasthttp.StatusBadRequest, "", "the body must be nothing or an empty JSON object")
			return
		}
	}
	s.sendJSON(ctx, wire.DepositOK{OK: true})
}
