package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
	"txlens/engine/mpp"
)

// errSlow: the client does not read what it asked for.
var errSlow = errors.New("the client reads too slowly")

// errBroken: the last frame could not be written to its end.
var errBroken = errors.New("the stream broke off")

// piece is what goes out under one write deadline.
const piece = 32 << 10

// stream is the body of one answer in server-sent events. The analysis tells it
// events and never waits; the goroutine of the connection, in serve, writes them
// out. It is safe for concurrent use.
type stream struct {
	id       string
	conn     net.Conn // to be read and closed
	sock     net.Conn // the same, to be written
	log      *slog.Logger
	beat     time.Duration // silence before a heartbeat
	patience time.Duration // with one write
	bound    int           // bytes that may wait for the client
	stopping <-chan struct{}
	onStop   func() // the server stops: called once, by the writer, and ends the stream
	onGone   func(cause error)
	onEnd    func(cut error) // called once, when nothing more is written
	onWhole  func()          // called before that, when a result was written to its end; may be nil
	watch    *watcher
	head     []byte        // of the answer, until it is written
	wake     chan struct{} // capacity 1: there is something new to write

	mu       sync.Mutex
	queue    []byte // whole frames
	inFlight int    // bytes taken from the queue and not written yet
	complete bool   // the frame complete is in the queue: nothing but the end may follow
	last     any    // the frame that ends the stream, once there is one
	trailer  []byte // a whole event that follows the last frame
	cut      error  // why nothing more is written
	written  bool   // the last frame and the trailer: a client that leaves then has cut nothing off
}

// send tells the client of an event. It never blocks.
func (st *stream) send(e api.Event) {
	e.RequestID = st.id
	var frame bytes.Buffer
	if err := writeFrame(&frame, e); err != nil {
		st.log.Error("event", "request", st.id, "type", e.Type, "error", err)
		return
	}
	st.push(frame.Bytes(), e.Type == api.EventComplete)
}

// heartbeat is written without the encoder, whose deep stack each waiting stream
// would then keep.
func (st *stream) heartbeat() {
	st.push([]byte(`data: {"type":"heartbeat","requestId":"`+st.id+"\"}\n\n"), false)
}

func (st *stream) push(frame []byte, complete bool) {
	st.mu.Lock()
	// What ended late, after the analysis was told complete, is no news any more.
	if st.cut != nil || st.last != nil || st.complete {
		st.mu.Unlock()
		return
	}
	st.complete = complete
	st.queue = append(st.queue, frame...)
	full := len(st.queue)+st.inFlight > st.bound
	st.mu.Unlock()
	if full {
		st.cutOff(errSlow)
		return
	}
	st.signal()
}

// end gives the frame that ends the stream: the first one given counts. It is
// not copied, so v must not change any more.
func (st *stream) end(v any) {
	st.mu.Lock()
	if st.last == nil {
		st.last = v
	}
	st.mu.Unlock()
	st.signal()
}

// trail gives an event that follows the last frame; before end.
func (st *stream) trail(event []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.last == nil {
		st.trailer = event
	}
}

// cutOff ends the stream where it is, because nobody reads it.
func (st *stream) cutOff(cause error) {
	st.mu.Lock()
	first, running := st.cut == nil, st.last == nil
	if first {
		st.cut, st.queue = cause, nil
		if c, ok := st.sock.(interface{ SetLinger(int) error }); ok {
			c.SetLinger(0) // the kernel need not keep either what is not read
		}
		st.sock.SetWriteDeadline(time.Unix(1, 0)) // wakes a writer that is stuck
	}
	st.mu.Unlock()
	if first && running {
		st.onGone(cause)
	}
	st.signal()
}

func (st *stream) signal() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// take hands over the frames that wait and, when there are none, how it ends.
func (st *stream) take() (frames []byte, last any, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	frames, st.queue, st.inFlight = st.queue, nil, len(st.queue)
	if len(frames) == 0 {
		last = st.last
	}
	return frames, last, st.cut
}

// serve writes the stream to its end, on a goroutine that has nothing else to do.
// What breaks off has no mark of an end.
func (st *stream) serve(chunked bool) {
	defer st.Close()
	defer func() {
		if v := recover(); v != nil {
			st.log.Error("panic", "request", st.id, "value", v, "stack", string(debug.Stack()))
			st.cutOff(errBroken)
		}
	}()
	out := &patientWriter{st: st, w: st.sock}
	_, err := out.Write(st.head)
	st.head = nil
	if chunked {
		out.w = &chunkWriter{w: st.sock}
	}
	if err == nil {
		err = st.writeAll(out)
	}
	if err == nil {
		st.mu.Lock()
		st.written = true
		st.mu.Unlock()
		if chunked {
			_, err = st.sock.Write([]byte("0\r\n\r\n"))
		}
	}
	if err != nil {
		st.cutOff(errors.Join(errClientGone, err))
	}
}

func (st *stream) writeAll(out *patientWriter) error {
	silence := time.NewTimer(st.beat)
	defer silence.Stop()
	stopping := st.stopping
	for {
		frames, last, err := st.take()
		switch {
		case err != nil:
			return err
		case len(frames) > 0:
			if _, err := out.Write(frames); err != nil {
				return err
			}
			silence.Reset(st.beat)
			continue
		case last != nil:
			return st.writeLast(out, last)
		}
		select {
		case <-st.wake:
		case <-silence.C:
			st.heartbeat()
			silence.Reset(st.beat) // after complete none is sent
		case <-stopping:
			stopping = nil
			st.onStop()
		}
	}
}

// writeLast encodes the last frame straight to the connection: a result may be
// many megabytes, and is held once only.
func (st *stream) writeLast(out *patientWriter, last any) error {
	buf := bufio.NewWriterSize(out, piece)
	err := writeFrame(buf, last)
	if err == nil {
		st.mu.Lock()
		trailer := st.trailer
		st.mu.Unlock()
		_, err = buf.Write(trailer)
	}
	if err == nil {
		err = buf.Flush()
	}
	if err != nil && out.err == nil {
		// It is the encoder that failed. What is out cannot be taken back, but the
		// client sees that it is no whole event.
		st.log.Error("write the last frame", "request", st.id, "error", err)
		return errors.Join(errBroken, err)
	}
	return err
}

// Close ends the watching of the connection, then the connection.
func (st *stream) Close() {
	st.watch.end()
	st.mu.Lock()
	cut := st.cut
	if st.written {
		cut = nil
	}
	_, failed := st.last.(api.Event) // an error; anything else is a result
	whole := st.written && !failed
	st.mu.Unlock()
	if whole && st.onWhole != nil {
		st.onWhole()
	}
	if st.onEnd != nil {
		st.onEnd(cut)
	}
	st.conn.Close() // last: a server that stops waits for it
}

// patientWriter gives the client the same time for each piece, however many there
// are.
type patientWriter struct {
	st  *stream
	w   io.Writer
	err error
}

func (p *patientWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		part := b[n:min(len(b), n+piece)]
		if err = p.st.renew(); err == nil {
			var m int
			m, err = p.w.Write(part)
			n += m
		}
	}
	p.err = err
	return n, err
}

// renew sets the deadline of the next write, unless the stream was cut off.
func (st *stream) renew() error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.cut != nil {
		return st.cut
	}
	return st.sock.SetWriteDeadline(time.Now().Add(st.patience))
}

func (s *Server) newStream(ctx *fasthttp.RequestCtx, id string) *stream {
	return &stream{
		id: id, conn: ctx.Conn(), sock: socket(ctx.Conn()), log: s.cfg.Log, beat: s.cfg.Heartbeat, patience: s.cfg.WriteTimeout, bound: s.cfg.MaxBacklog,
		stopping: s.base.Done(), wake: make(chan struct{}, 1),
	}
}

// chunkWriter makes each write one chunk of HTTP/1.1, and one call of the system.
type chunkWriter struct{ w net.Conn }

func (c *chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // it would be the end
	}
	parts := net.Buffers{append(strconv.AppendInt(nil, int64(len(p)), 16), "\r\n"...), p, []byte("\r\n")}
	if _, err := parts.WriteTo(c.w); err != nil {
		return 0, err
	}
	return len(p), nil
}

// open makes st the answer. The stream takes the connection over from fasthttp:
// there a waiting stream would hold a write buffer and a deep stack, and HTTP/1.0,
// which proxies still speak, would get chunks that it does not know. Without them
// the end of the connection is the end.
func (s *Server) open(ctx *fasthttp.RequestCtx, st *stream) {
	chunked := ctx.Request.Header.IsHTTP11()
	h := &ctx.Response.Header
	h.SetContentType(eventStream + "; charset=utf-8")
	keep := "no-cache, no-transform"
	if len(h.Peek(mpp.HeaderReceipt)) > 0 {
		keep += ", private"
	}
	h.Set(fasthttp.HeaderCacheControl, keep)
	h.Set("X-Accel-Buffering", "no") // nginx, and what reads its header
	h.SetConnectionClose()           // what the watcher read is lost to a next request
	if chunked {
		h.SetContentLength(-1)
	} else {
		h.SetContentLength(-2)
	}
	st.head = bytes.Clone(h.Header())
	ctx.HijackSetNoResponse(true)
	// A goroutine of its own, since that of fasthttp would keep the request.
	ctx.Hijack(func(net.Conn) { go st.serve(chunked) })
}
