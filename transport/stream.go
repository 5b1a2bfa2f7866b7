package transport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/explain"
)

// errSlow: the client does not read what it asked for.
var errSlow = errors.New("the client reads too slowly")

// errBroken: the last frame could not be written to its end.
var errBroken = errors.New("the stream broke off")

// piece is what goes out under one write deadline.
const piece = 32 << 10

// stream is the body of one answer in server-sent events. The analysis tells it
// events and never waits; the goroutine of the connection, in WriteTo, writes them
// out. It is safe for concurrent use.
type stream struct {
	id       string
	conn     net.Conn
	log      *slog.Logger
	beat     time.Duration // silence before a heartbeat
	patience time.Duration // with one write
	bound    int           // bytes that may wait for the client
	stopping <-chan struct{}
	onStop   func() // the server stops: called once, by the writer, and ends the stream
	onGone   func(cause error)
	watch    *watcher
	close    sync.Once
	wake     chan struct{} // capacity 1: there is something new to write

	mu       sync.Mutex
	queue    []byte // whole frames
	inFlight int    // bytes taken from the queue and not written yet
	complete bool   // the frame complete is in the queue: nothing but the end may follow
	last     any    // the frame that ends the stream, once there is one
	cut      error  // why nothing more is written
}

// send tells the client of an event. It never blocks.
func (st *stream) send(e explain.Event) {
	e.RequestID = st.id
	var frame bytes.Buffer
	if err := writeFrame(&frame, e); err != nil {
		st.log.Error("event", "request", st.id, "type", e.Type, "error", err)
		return
	}
	st.mu.Lock()
	// What ended late, after the analysis was told complete, is no news any more.
	if st.cut != nil || st.last != nil || st.complete {
		st.mu.Unlock()
		return
	}
	st.complete = e.Type == explain.EventComplete
	st.queue = append(st.queue, frame.Bytes()...)
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

// cutOff ends the stream where it is, because nobody reads it.
func (st *stream) cutOff(cause error) {
	st.mu.Lock()
	first, running := st.cut == nil, st.last == nil
	if first {
		st.cut, st.queue = cause, nil
		if c, ok := st.conn.(interface{ SetLinger(int) error }); ok {
			c.SetLinger(0) // the kernel need not keep either what is not read
		}
		st.conn.SetWriteDeadline(time.Unix(1, 0)) // wakes a writer that is stuck
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

// SupportsBodyWriteTo makes fasthttp write through WriteTo: each write becomes one
// chunk, flushed at once, and no copy buffer is held while nothing happens.
func (st *stream) SupportsBodyWriteTo() bool { return true }

// Read is not used by fasthttp.
func (st *stream) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo writes the stream to its end. It is called once. An error makes
// fasthttp close the connection without the mark of an end.
func (st *stream) WriteTo(w io.Writer) (int64, error) {
	defer st.Close()
	out := &patientWriter{st: st, w: w}
	err := st.writeAll(out)
	if err != nil {
		st.cutOff(errors.Join(errClientGone, err))
	}
	return out.n, err
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
			st.send(explain.Event{Type: explain.EventHeartbeat})
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

// Close ends the watching of the connection. fasthttp calls it where it does not
// come to call WriteTo, too.
func (st *stream) Close() error {
	st.close.Do(func() {
		st.mu.Lock()
		over := st.last != nil
		st.mu.Unlock()
		st.watch.end()
		if !over {
			st.cutOff(errClientGone)
		}
	})
	return nil
}

// patientWriter gives the client the same time for each piece, however many there
// are.
type patientWriter struct {
	st  *stream
	w   io.Writer
	n   int64
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
	p.n += int64(n)
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
	return st.conn.SetWriteDeadline(time.Now().Add(st.patience))
}

func (s *Server) newStream(ctx *fasthttp.RequestCtx, id string) *stream {
	return &stream{
		id: id, conn: ctx.Conn(), log: s.cfg.Log, beat: s.cfg.Heartbeat, patience: s.cfg.WriteTimeout, bound: s.cfg.MaxBacklog,
		stopping: s.base.Done(), wake: make(chan struct{}, 1),
	}
}

// open makes st the body of the answer.
func (s *Server) open(ctx *fasthttp.RequestCtx, st *stream) {
	ctx.SetContentType(eventStream + "; charset=utf-8")
	ctx.Response.Header.Set("X-Accel-Buffering", "no") // nginx, and what reads its header
	ctx.SetConnectionClose()                           // what the watcher read is lost to a next request
	if !ctx.Request.Header.IsHTTP11() {
		s.openPlain(ctx, st)
		return
	}
	ctx.Response.ImmediateHeaderFlush = true
	ctx.SetBodyStream(st, -1)
}

// openPlain streams to HTTP/1.0, which proxies still speak: it knows no chunks, so
// the end of the connection is the end. fasthttp would send chunks all the same.
func (s *Server) openPlain(ctx *fasthttp.RequestCtx, st *stream) {
	brand(ctx, st.id)
	ctx.Response.Header.SetContentLength(-2)
	head := bytes.Clone(ctx.Response.Header.Header())
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(net.Conn) {
		defer s.forget(st.conn)
		defer st.Close()
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Log.Error("panic", "request", st.id, "value", v, "stack", string(debug.Stack()))
			}
		}()
		if _, err := (&patientWriter{st: st, w: st.conn}).Write(head); err == nil {
			st.WriteTo(st.conn)
		}
	})
}
