package transport

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
)

// counted counts what its deadlines cost.
type counted struct {
	net.Conn
	arms int
}

func (c *counted) SetReadDeadline(t time.Time) error {
	c.arms++
	return c.Conn.SetReadDeadline(t)
}

// TestDeadlinesHold: a deadline that moves to later holds to the moment, and one
// that moves to sooner wakes who waits, though most never reach the runtime.
func TestDeadlinesHold(t *testing.T) { synctest.Test(t, deadlinesHold) }

func deadlinesHold(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := &counted{Conn: here}
	defer c.Close()
	g := &connection{list: new(connections), Conn: c}
	wait := func(what string, want time.Duration) {
		t.Helper()
		began := time.Now()
		_, err := g.Read(make([]byte, 1))
		if d := time.Since(began); !errors.Is(err, os.ErrDeadlineExceeded) || d != want {
			t.Errorf("%s: %v after %v, want %v", what, err, d, want)
		}
	}
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }

	g.SetReadDeadline(in(20 * time.Millisecond))
	for range 100 {
		g.SetReadDeadline(in(60 * time.Millisecond))
		g.SetReadDeadline(in(80 * time.Millisecond))
	}
	if c.arms != 1 {
		t.Errorf("armed %d times", c.arms)
	}
	wait("moved to later", 80*time.Millisecond)
	wait("it has passed", 0)

	g.SetReadDeadline(time.Time{})
	time.AfterFunc(60*time.Millisecond, func() { g.SetReadDeadline(time.Unix(1, 0)) })
	wait("moved to sooner while it is waited for", 60*time.Millisecond)

	g.SetReadDeadline(in(20 * time.Millisecond))
	g.SetReadDeadline(time.Time{})
	time.AfterFunc(60*time.Millisecond, func() { there.Write([]byte{7}) })
	if n, err := g.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("without a deadline: %d, %v", n, err)
	}

	g.SetWriteDeadline(in(20 * time.Millisecond))
	g.SetDeadline(in(80 * time.Millisecond))
	began := time.Now()
	time.AfterFunc(40*time.Millisecond, func() { there.Read(make([]byte, 2)) }) // part of what is sent
	if n, err := g.Write(make([]byte, 5)); n != 2 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 80*time.Millisecond {
		t.Errorf("write: %d, %v after %v", n, err, time.Since(began))
	}
}

// TestDeadlinesOverMemory: this connection says that it is late in a way of its own.
func TestDeadlinesOverMemory(t *testing.T) {
	pipe := fasthttputil.NewPipeConns()
	defer pipe.Close()
	g := &connection{list: new(connections), Conn: pipe.Conn1()}
	g.SetReadDeadline(time.Unix(1, 0))
	if _, err := g.Read(make([]byte, 1)); !timedOut(err) {
		t.Errorf("in the past: %v", err)
	}
	g.SetReadDeadline(time.Now().Add(time.Minute))
	time.AfterFunc(20*time.Millisecond, func() { pipe.Conn2().Write([]byte{7}) })
	if n, err := g.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("moved to later: %d, %v", n, err)
	}
}
