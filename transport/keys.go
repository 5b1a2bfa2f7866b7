package transport

import (
	"bytes"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/transport/callers"
	"txlens/transport/discovery"
	"txlens/transport/mcp"
)

// caller returns who sent a request. Where the server has keys and the path is not open to
// everybody, a request without a good one is answered with 401, and ok is false.
func (s *Server) caller(ctx *fasthttp.RequestCtx, pattern string) (who *callers.Caller, ok bool) {
	if s.cfg.Keys == nil || discovery.OpenToAll(pattern) {
		return nil, true
	}
	key, bearer := bytes.CutPrefix(ctx.Request.Header.Peek(fasthttp.HeaderAuthorization), []byte("Bearer "))
	if bearer {
		who = s.cfg.Keys.Find(bytes.TrimSpace(key))
	}
	if who == nil {
		ctx.Response.Header.Set(fasthttp.HeaderWWWAuthenticate, `Bearer realm="txlens"`)
		fail(ctx, fasthttp.StatusUnauthorized, "", "this server asks for a key: send the header Authorization: Bearer KEY with one that its operator gave you")
		return nil, false
	}
	return who, true
}

// enter counts an analysis of a caller and takes a place for it; leave gives the place back.
// A caller who has no key counts for nothing. Where it is not ok the answer is given.
func (s *Server) enter(ctx *fasthttp.RequestCtx) (leave func(), ok bool) {
	who := visitOf(ctx).caller
	if who == nil {
		return func() {}, true
	}
	leave, ok = who.Enter()
	if !ok {
		refuseKey(ctx, 5*time.Second, "too many analyses of this key are running; wait for one of them to end")
		return nil, false
	}
	if !takeOf(ctx, who) {
		leave()
		return nil, false
	}
	return leave, true
}

// takeOf counts an analysis of a caller, who may be nil.
func takeOf(ctx *fasthttp.RequestCtx, who *callers.Caller) bool {
	if who == nil {
		return true
	}
	wait, ok := who.Take(time.Now())
	if !ok {
		refuseKey(ctx, wait, "this key has used up its analyses of the minute; ask again later")
	}
	return ok
}

func refuseKey(ctx *fasthttp.RequestCtx, wait time.Duration, message string) {
	seconds := (wait + time.Second - 1) / time.Second
	ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, strconv.Itoa(max(1, int(seconds))))
	fail(ctx, fasthttp.StatusTooManyRequests, api.CodeBusy, message)
}

// callerAddr is the address of a caller with a key, for what runs outside of its handler.
type callerAddr struct {
	net.Addr
	who *callers.Caller
}

// enterOf is enter for a call of the Model Context Protocol.
func enterOf(call mcp.Call) (leave func(), err error) {
	from, keyed := call.Origin.(callerAddr)
	if !keyed || from.who == nil {
		return func() {}, nil
	}
	leave, ok := from.who.Enter()
	if !ok {
		return nil, api.ErrBusy
	}
	if _, ok := from.who.Take(time.Now()); !ok {
		leave()
		return nil, api.ErrBusy
	}
	return leave, nil
}
