package transport

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/transport/wire"
)

const (
	// minShared is the size of the smallest answer that is shared and counted.
	minShared = 64 << 10
	// sendBuffer is the socket buffer of a large answer. Without it the kernel holds some
	// megabytes for each client that does not read, and takes more from the server only after
	// a third of them is read.
	sendBuffer = 256 << 10
)

// party returns who is charged with the bytes that are held for a request: the payer, the key
// or the address. It is empty for an address that many clients share, such as that of a proxy.
func (s *Server) party(ctx *fasthttp.RequestCtx) string {
	v := visitOf(ctx)
	from := origin(ctx.RemoteAddr())
	switch {
	case v.payer != "":
		return "payer " + v.payer
	case v.caller != nil:
		return "key " + v.caller.Name
	case slots.NetworkOf(from).IsValid():
		return "address " + from.String()
	}
	return ""
}

// settleBody encodes the body of an answer. A large one is replaced by a body that is shared.
func (s *Server) settleBody(ctx *fasthttp.RequestCtx) {
	r := &ctx.Response
	if r.IsBodyStream() || len(r.Header.ContentEncoding()) > 0 || len(r.Body()) < minShared {
		compress(ctx)
		return
	}
	sum := sha256.Sum256(r.Body())
	at := codingOf(ctx)
	s.share(ctx, "sum "+string(sum[:]), at, func() ([]byte, error) { return bytes.Clone(r.Body()), nil })
}

// share answers with the body of a key, which is made if nobody reads it now. The content type
// is set by the caller.
func (s *Server) share(ctx *fasthttp.RequestCtx, key string, at int, encode func() ([]byte, error)) {
	party := s.party(ctx)
	key = codedKey(key, at)
	defer s.bodies.keys.Lock(key)()
	h, err := s.bodies.find(key, party)
	if h == nil && err == nil {
		h, err = s.addBody(key, party, at, encode)
	}
	switch {
	case errors.Is(err, api.ErrTooManyAnswers):
		s.noRoomFor(ctx)
	case err != nil:
		s.failWith(ctx, err)
	default:
		sendHold(ctx, h, at)
	}
}

// addBody makes a body and adds it.
func (s *Server) addBody(key, party string, at int, encode func() ([]byte, error)) (*hold, error) {
	if s.bodies.full(party) {
		return nil, api.ErrTooManyAnswers // found before the work
	}
	defer s.bodies.work()()
	data, err := encode()
	if err != nil {
		return nil, err
	}
	if at >= 0 {
		data = codings[at].encode(nil, data)
	}
	return s.bodies.add(key, party, data)
}

func codedKey(key string, at int) string {
	if at < 0 {
		return key
	}
	return codings[at].name + " " + key
}

// sendHold makes a shared body the answer.
func sendHold(ctx *fasthttp.RequestCtx, h *hold, at int) {
	ctx.Response.SetBodyStream(h, len(h.left))
	vary(&ctx.Response.Header)
	if at >= 0 {
		setCoding(&ctx.Response.Header, at)
	}
	boundSocket(ctx.Conn())
}

// boundSocket limits what the kernel holds of a large answer.
func boundSocket(c net.Conn) {
	if c, ok := socket(c).(interface{ SetWriteBuffer(int) error }); ok {
		c.SetWriteBuffer(sendBuffer)
	}
}

// noRoomFor answers a request for a large answer that cannot be held.
func (s *Server) noRoomFor(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Del(fasthttp.HeaderETag)
	h.Set(fasthttp.HeaderRetryAfter, retryAfter[api.CodeBusy])
	message := api.FaultOf(api.ErrTooManyAnswers).Message
	if id := idOf(ctx); visitOf(ctx).method == fasthttp.MethodPost && s.cfg.Recoverable(id) {
		message += ": GET /explain/run/" + id + " has the result"
	}
	fail(ctx, fasthttp.StatusServiceUnavailable, api.CodeBusy, message)
}

// once answers with a document that is encoded once for all who read it at a time. find returns
// it; where it returns false it has answered otherwise.
func (s *Server) once(ctx *fasthttp.RequestCtx, key string, find func() (any, bool)) {
	at, party := codingOf(ctx), s.party(ctx)
	key = codedKey(key, at)
	defer s.bodies.keys.Lock(key)()
	h, err := s.bodies.find(key, party)
	switch {
	case err != nil || h == nil && s.bodies.full(party):
		s.noRoomFor(ctx)
	case h == nil:
		s.encodeOnce(ctx, key, party, at, find)
	default:
		ctx.SetContentType("application/json")
		sendHold(ctx, h, at)
	}
}

// encodeOnce is once for a document that nobody reads now.
func (s *Server) encodeOnce(ctx *fasthttp.RequestCtx, key, party string, at int, find func() (any, bool)) {
	defer s.bodies.work()()
	doc, ok := find()
	if !ok {
		return
	}
	s.sendJSON(ctx, doc)
	body := ctx.Response.Body()
	if ctx.Response.StatusCode() != fasthttp.StatusOK || len(body) < minShared {
		return
	}
	if at >= 0 {
		body = codings[at].encode(nil, body)
	}
	h, err := s.bodies.add(key, party, body)
	if err != nil {
		s.noRoomFor(ctx)
		return
	}
	sendHold(ctx, h, at)
}

// shareFrame encodes the last frame of a stream for all who read it. It returns a frame that is
// small as it is. The error is api.ErrTooManyAnswers or that of the encoder. The key names run and view.
func (s *Server) shareFrame(key, party string, last any) (any, error) {
	switch last.(type) {
	case wire.ResultFrame, wire.ReportFrame:
	default:
		return last, nil
	}
	defer s.bodies.work()()
	return s.shareEncoded(key, party, last)
}

// shareEncoded encodes the last frame of a stream.
func (s *Server) shareEncoded(key, party string, last any) (any, error) {
	frame, err := encodedFrame(last)
	if err != nil {
		return nil, err
	}
	if len(frame) < minShared {
		return last, nil
	}
	h, err := s.bodies.add(key, party, frame)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// frameKey is the key of the last frame of a run in a view.
func frameKey(id string, v api.View) string { return "frame " + id + " " + string(v) }
