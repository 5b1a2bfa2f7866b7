package service

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Pipes are servers whose connections are in memory, so that a bubble of testing/synctest
// holds both ends of them: there, time passes when everybody waits, and no timeout races
// with the machine.
type Pipes struct {
	mu      sync.Mutex
	servers map[string]*pipeListener
}

// Serve serves h at an address of its own until the test ends, and says where. The address
// is one of this machine.
func (p *Pipes) Serve(t testing.TB, h http.Handler) (url string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	ln := &pipeListener{
		addr:   net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: len(p.servers) + 1},
		conns:  make(chan net.Conn),
		closed: make(chan struct{}),
	}
	if p.servers == nil {
		p.servers = map[string]*pipeListener{}
	}
	p.servers[ln.addr.String()] = ln
	srv := &http.Server{Handler: h}
	ended := make(chan struct{})
	go func() { defer close(ended); srv.Serve(ln) }()
	t.Cleanup(func() { srv.Close(); <-ended })
	return "http://" + ln.addr.String()
}

// Dial connects to a server of p.
func (p *Pipes) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	p.mu.Lock()
	ln := p.servers[address]
	p.mu.Unlock()
	if ln == nil {
		return nil, net.UnknownNetworkError("nothing is served at " + address)
	}
	here, there := net.Pipe()
	select {
	case ln.conns <- there:
		return here, nil
	case <-ln.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeListener struct {
	addr   net.TCPAddr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &l.addr }
