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

// errSlow means that the client does not read.
var errSlow = errors.New("the client reads too slowly")

// errBroken means that the last frame could not be written completely.
var errBroken = errors.New("the stream broke off")

// chunkSize is the number of bytes that are written with one deadline.
const chunkSize = 32 << 10

// stream is the body of one answer in server-sent events. The analysis sends events without
// waiting; serve, on the goroutine of the connection, writes them. It is safe for concurrent
// use.
type stream struct {
	id             string
	party          string   // who is charged with the bytes that are held, see Server.party
	conn           net.Conn // connection for reading and closing
	sock           net.Conn // the same for writing
	log            *slog.Logger
	heartbeatEvery time.Duration // time without events before a heartbeat
	writeTimeout   time.Duration // time limit of one write
	maxQueue       int           // bytes that may be queued
	stopping       <-chan struct{}
	onStop         func() // called once by the writer when the server stops; ends the stream
	onGone         func(cause error)
	onEnd          func(cut error) // called once after the last write
	watch          *watcher
	head           []byte        // header of the answer, until it is written
	wake           chan struct{} // capacity 1: there is something to write

	mu       sync.Mutex
	queue    []byte // queued frames
	inFlight int    // bytes that were taken from the queue and are not written yet
	complete bool   // the frame complete is queued: only the last frame may follow
	last     any    // frame that ends the stream, once set; a *hold is closed with the stream
	closed   bool   // nothing more is written
	trailer  []byte // event after the last frame
	cut      error  // why writing stopped
	written  bool   // the last frame and the trailer are written: a client that disconnects then has all of it
}

// send queues an event. It never blocks.
func (st *stream) send(e api.Event) {
	e.RequestID = st.id
	var frame bytes.Buffer
	if err := writeFrame(&frame, e); err != nil {
		st.log.Error("event", "request", st.id, "type", e.Type, "error", err)
		return
	}
	st.push(frame.Bytes(), e.Type == api.EventComplete)
}

// heartbeat is written without the encoder, whose deep stack every waiting stream would
// otherwise keep.
func (st *stream) heartbeat() {
	st.push([]byte(`data: {"type":"heartbeat","requestId":"`+st.id+"\"}\n\n"), false)
}

func (st *stream) push(frame []byte, complete bool) {
	st.mu.Lock()
	// Events that arrive after complete are dropped.
	if st.cut != nil || st.last != nil || st.complete {
		st.mu.Unlock()
		return
	}
	st.complete = complete
	st.queue = append(st.queue, frame...)
	full := len(st.queue)+st.inFlight > st.maxQueue
	st.mu.Unlock()
	if full {
		st.cutOff(errSlow)
		return
	}
	st.signal()
}

// end sets the frame that ends the stream; only the first call counts. v is not copied and
// must not change.
func (st *stream) end(v any) {
	st.mu.Lock()
	var crowded bool
	if st.last == nil {
		st.last = v
		if h, ok := v.(*hold); ok {
			crowded = !st.keep(h)
		}
	}
	st.mu.Unlock()
	if crowded {
		st.cutOff(api.ErrTooManyAnswers)
	}
	st.signal()
}

// keep makes the stream a reader of its last frame, and reports whether it may be one. st.mu
// must be held.
func (st *stream) keep(h *hold) bool {
	st.last = ended{}
	if st.closed || st.cut != nil {
		return true // nobody reads it
	}
	mine, err := h.again(st.party)
	if err != nil {
		return false
	}
	st.last = mine
	return true
}

// ended is the last frame of a stream that nobody reads.
type ended struct{}

// trail sets an event that follows the last frame; call it before end.
func (st *stream) trail(event []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.last == nil {
		st.trailer = event
	}
}

// cutOff ends the stream because its client does not read.
func (st *stream) cutOff(cause error) {
	st.mu.Lock()
	first, running := st.cut == nil, st.last == nil
	if first {
		st.cut, st.queue = cause, nil
		if c, ok := st.sock.(interface{ SetLinger(int) error }); ok {
			c.SetLinger(0) // the kernel must not keep unread data either
		}
		st.sock.SetWriteDeadline(time.Unix(1, 0)) // interrupts a blocked write
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

// take returns the queued frames or, if there are none, how the stream ends.
func (st *stream) take() (frames []byte, last any, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	frames, st.queue, st.inFlight = st.queue, nil, len(st.queue)
	if len(frames) == 0 {
		last = st.last
	}
	return frames, last, st.cut
}

// serve writes the stream to its end on the goroutine of the connection. An interrupted stream
// has no final frame.
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
	silence := time.NewTimer(st.heartbeatEvery)
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
			silence.Reset(st.heartbeatEvery)
			continue
		case last != nil:
			return st.writeLast(out, last)
		}
		select {
		case <-st.wake:
		case <-silence.C:
			st.heartbeat()
			silence.Reset(st.heartbeatEvery) // none is sent after complete
		case <-stopping:
			stopping = nil
			st.onStop()
		}
	}
}

// writeLast writes the last frame: a large one from the buffer that all of its readers share.
func (st *stream) writeLast(out *patientWriter, last any) error {
	if h, ok := last.(*hold); ok {
		boundSocket(st.sock)
		if _, err := h.WriteTo(out); err != nil {
			return err
		}
		_, err := out.Write(st.trailer) // does not change after end
		return err
	}
	buf := bufio.NewWriterSize(out, chunkSize)
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
		// The encoder failed. What is written cannot be taken back, but the client sees an
		// incomplete event.
		st.log.Error("write the last frame", "request", st.id, "error", err)
		return errors.Join(errBroken, err)
	}
	return err
}

// Close stops watching the connection and closes it.
func (st *stream) Close() {
	st.watch.end()
	st.mu.Lock()
	cut := st.cut
	if st.written {
		cut = nil
	}
	st.closed = true
	if h, ok := st.last.(*hold); ok {
		h.Close()
		st.last = ended{}
	}
	st.mu.Unlock()
	if st.onEnd != nil {
		st.onEnd(cut)
	}
	st.conn.Close() // last: a server that stops waits for it
}

// patientWriter gives each piece the same time limit.
type patientWriter struct {
	st  *stream
	w   io.Writer
	err error
}

func (p *patientWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		part := b[n:min(len(b), n+chunkSize)]
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
	return st.sock.SetWriteDeadline(time.Now().Add(st.writeTimeout))
}

func (s *Server) newStream(ctx *fasthttp.RequestCtx, id string) *stream {
	return &stream{
		id: id, party: s.party(ctx), conn: ctx.Conn(), sock: socket(ctx.Conn()), log: s.cfg.Log, heartbeatEvery: s.cfg.Heartbeat, writeTimeout: s.cfg.WriteTimeout, maxQueue: s.cfg.MaxBacklog,
		stopping: s.base.Done(), wake: make(chan struct{}, 1),
	}
}

// chunkWriter writes each call as one chunk of HTTP/1.1 in one system call.
type chunkWriter struct{ w net.Conn }

func (c *chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty chunk would be the end
	}
	parts := net.Buffers{append(strconv.AppendInt(nil, int64(len(p)), 16), "\r\n"...), p, []byte("\r\n")}
	if _, err := parts.WriteTo(c.w); err != nil {
		return 0, err
	}
	return len(p), nil
}

// open makes st the answer. The stream takes the connection over from fasthttp, where a
// waiting stream would keep a write buffer and a deep stack, and where clients of HTTP/1.0,
// which proxies still use, would get chunks that they do not know. Without chunks the end of
// the connection ends the answer.
func (s *Server) open(ctx *fasthttp.RequestCtx, st *stream) {
	chunked := ctx.Request.Header.IsHTTP11()
	h := &ctx.Response.Header
	h.SetContentType(eventStream + "; charset=utf-8")
	keep := "no-cache, no-transform"
	if len(h.Peek(mpp.HeaderReceipt)) > 0 {
		keep += ", private"
	}
	h.Set(fasthttp.HeaderCacheControl, keep)
	h.Set("X-Accel-Buffering", "no") // for nginx and other proxies that read its header
	h.SetConnectionClose()           // bytes that the watcher read are lost for a next request
	if chunked {
		h.SetContentLength(-1)
	} else {
		h.SetContentLength(-2)
	}
	st.head = bytes.Clone(h.Header())
	ctx.HijackSetNoResponse(true)
	// A new goroutine, because that of fasthttp would keep the request.
	ctx.Hijack(func(net.Conn) { go st.serve(chunked) })
}
