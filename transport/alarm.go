package transport

import (
	"errors"
	"runtime"
	"sync"
	"time"
)

// alarm is one deadline of a connection. Each request moves its deadlines three
// times, nearly always to later, and the runtime takes its time for each; so one
// that is moved to later is only noted, and looked at when the earlier one rings.
// Safe for concurrent use.
type alarm struct {
	mu    sync.Mutex
	want  time.Time // zero: none
	armed time.Time // what the runtime knows: never later than want
}

// set moves the deadline to t.
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

// early reports whether err says that a deadline passed while it is in truth still
// to come. The runtime then knows the true one, and the call is to be repeated.
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

// timedOut asks for no net.Error: not every connection that says so has all of one.
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

// Read lets the others go first after an answer: the next request of this client is
// hardly there yet, and to look for it now is a system call that finds nothing and a
// wait that the poller has to end. Under load it is there when the turn comes round.
func (g *connection) Read(b []byte) (int, error) {
	if g.answered.Swap(false) {
		runtime.Gosched()
	}
	for {
		n, err := g.Conn.Read(b)
		if n == 0 && g.reading.early(err, g.Conn.SetReadDeadline) {
			continue
		}
		return n, err
	}
}

func (g *connection) Write(b []byte) (written int, err error) {
	g.answered.Store(true)
	for {
		n, err := g.Conn.Write(b[written:])
		written += n
		if written < len(b) && g.writing.early(err, g.Conn.SetWriteDeadline) {
			continue
		}
		return written, err
	}
}
