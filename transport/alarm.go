package transport

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

// alarm is one deadline of a connection. Each request moves its deadlines three times, nearly
// always to a later time, and each change of a runtime timer is expensive. So a later deadline
// is only stored, and checked when the earlier timer fires. It is safe for concurrent use.
type alarm struct {
	mu    sync.Mutex
	want  time.Time // zero: none
	armed time.Time // deadline that the runtime has: never later than want
}

// set changes the deadline to t.
func (a *alarm) set(t time.Time, arm func(time.Time) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.want = t
	if !a.armed.IsZero() && (t.IsZero() || !t.Before(a.armed)) {
		return nil
	}
	a.armed = t
	return arm(t)
}

// early reports whether err is a timeout although the wanted deadline is in the future. It
// then sets the wanted deadline, and the caller must repeat the call.
func (a *alarm) early(err error, arm func(time.Time) error) bool {
	if !timedOut(err) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.want.IsZero() && !a.want.After(time.Now()) {
		return false
	}
	a.armed = a.want
	return arm(a.want) == nil
}

// timedOut does not require net.Error, because not every connection returns errors that
// implement it.
func timedOut(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}

func (g *connection) SetReadDeadline(t time.Time) error {
	return g.reading.set(t, g.Conn.SetReadDeadline)
}

func (g *connection) SetWriteDeadline(t time.Time) error {
	return g.writing.set(t, g.Conn.SetWriteDeadline)
}

func (g *connection) SetDeadline(t time.Time) error {
	return errors.Join(g.SetReadDeadline(t), g.SetWriteDeadline(t))
}

// Read yields to other goroutines after an answer. The next request of this client has hardly
// arrived yet, so reading at once would cost a system call and a wait in the poller.
func (g *connection) Read(b []byte) (int, error) {
	begins := g.ended.Swap(false) || !g.begun
	g.begun = true
	if begins {
		g.waiting()
	}
	if g.answered.Swap(false) {
		runtime.Gosched()
	}
	for {
		n, err := g.Conn.Read(b)
		if n == 0 && g.reading.early(err, g.Conn.SetReadDeadline) {
			continue
		}
		if g.line.in(b[:n]) || begins && blankByLF(b[:n]) {
			g.misframed.Store(true)
		}
		return n, err
	}
}

// Write gives each piece of a large answer a time limit of its own: a client that reads slowly
// but steadily gets all of it. The first piece has the deadline of the caller.
func (g *connection) Write(b []byte) (written int, err error) {
	g.answered.Store(true)
	for {
		n, err := g.writePiece(b[written:min(len(b), written+chunkSize)])
		written += n
		if err == nil && written < len(b) {
			err = g.SetWriteDeadline(time.Now().Add(g.patience))
		}
		if err != nil || written == len(b) {
			return written, err
		}
	}
}

func (g *connection) writePiece(b []byte) (written int, err error) {
	for {
		n, err := g.Conn.Write(b[written:])
		written += n
		if written < len(b) && g.writing.early(err, g.Conn.SetWriteDeadline) {
			continue
		}
		return written, err
	}
}
