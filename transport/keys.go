package transport

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/actors/slots"
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

// keyError refuses an analysis because its key has used up what it may.
type keyError struct {
	wait    time.Duration // until there is room for another
	message string
}

func (e *keyError) Error() string { return e.message }

// share is what one analysis takes of what its caller may. An analysis without a key takes
// nothing.
type share struct{ leave, uncount func() }

// refused returns all of a share, because the analysis does not begin.
func (s share) refused() {
	s.uncount()
	s.leave()
}

func nothing() {}

// takeShare takes a place and counts an analysis. The error is a *keyError; then the caller
// has lost nothing.
func (s *Server) takeShare(who *callers.Caller) (share, error) {
	if who == nil {
		return share{nothing, nothing}, nil
	}
	leave, ok := who.Enter(s.servers())
	if !ok {
		message := "too many analyses of this key are running" + s.atThisServer() + "; wait for one of them to end"
		return share{}, &keyError{5 * time.Second, message}
	}
	uncount, err := s.count(who)
	if err != nil {
		leave()
		return share{}, err
	}
	return share{leave, uncount}, nil
}

// count counts an analysis of a caller, who may be nil; uncount takes that back.
func (s *Server) count(who *callers.Caller) (uncount func(), err error) {
	if who == nil {
		return nothing, nil
	}
	uncount, wait, ok := who.Take(time.Now(), s.servers())
	if !ok {
		return nil, &keyError{wait, "this key has used up its analyses of the minute" + s.atThisServer() + "; ask again later"}
	}
	return uncount, nil
}

// admit takes all that an analysis needs, and free gives it back. The error is a *keyError or
// api.ErrBusy; then nothing was taken, and the analysis does not count.
func (s *Server) admit(who *callers.Caller, from net.Addr) (free func(), err error) {
	mine, err := s.takeShare(who)
	if err != nil {
		return nil, err
	}
	slot, err := s.slots.Acquire(s.base, slots.Holder{Origin: origin(from)}, 0)
	if err != nil {
		mine.refused()
		return nil, api.ErrBusy
	}
	return func() { slot.Release(); mine.leave() }, nil
}

// enter is admit for a request. Where it is not ok the answer is given.
func (s *Server) enter(ctx *fasthttp.RequestCtx) (free func(), ok bool) {
	free, err := s.admit(visitOf(ctx).caller, ctx.RemoteAddr())
	if err != nil {
		s.notAdmitted(ctx, err)
	}
	return free, err == nil
}

// servers is the number of servers that share the service, which have a part of its limits each.
func (s *Server) servers() int {
	if s.cfg.Fleet == nil {
		return 1
	}
	return s.cfg.Fleet.Members()
}

// atThisServer says in the error of a limit that it is that of one server of several.
func (s *Server) atThisServer() string {
	n := s.servers()
	if n <= 1 {
		return ""
	}
	return " at this server, which has its part of the limit as one of " + strconv.Itoa(n)
}

// notAdmitted answers the error of admit or count.
func (s *Server) notAdmitted(ctx *fasthttp.RequestCtx, err error) {
	if refused, ok := errors.AsType[*keyError](err); ok {
		refuseKey(ctx, refused.wait, refused.message)
		return
	}
	s.tooBusy(ctx)
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

// callerOf is the caller of a call of the Model Context Protocol, nil without a key.
func callerOf(call mcp.Call) *callers.Caller {
	from, _ := call.Origin.(callerAddr)
	return from.who
}
