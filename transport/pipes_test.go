package transport

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"txlens/engine/api"
)

// pipes is a listener whose connections are in memory: what is written to one has been
// read by the other side when the write returns.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// dial opens a connection, which is closed with the test.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	select {
	case p.conns <- there:
	case <-p.closed:
		t.Fatal("the listener is closed")
	}
	t.Cleanup(func() { here.Close() })
	return here
}

// inVirtualTime runs f with a server in a bubble of testing/synctest, where time passes
// when everybody waits.
func inVirtualTime(t *testing.T, cfg Config, run script, f func(t *testing.T, s *Server, in *pipes)) {
	t.Helper()
	// The first server of a process starts a clock of fasthttp's that never ends, which
	// must not be in the bubble.
	_, url := start(t, Config{}, func(_ context.Context, req api.Request) (*api.Result, error) { return result(req), nil })
	get(t, "GET", url+"/health", "")
	synctest.Test(t, func(t *testing.T) {
		in := newPipes()
		cfg.Explainer = run
		t.Cleanup(func() { time.Sleep(time.Minute) }) // fasthttp looks each ten seconds whether it has ended
		f(t, serve(t, cfg, nil, in), in)
	})
}
