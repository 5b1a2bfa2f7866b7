package transport

import (
	"bufio"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/engine/api"
)

// limitListener accepts connections and rejects those above the limits. fasthttp has limits of
// its own, but it does not count a connection that a stream took over, and its refusal lacks
// the headers that every answer has.
type limitListener struct {
	net.Listener
	s *Server
}

// Accept returns the next connection within the limits.
func (d *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &connection{Conn: c, list: &d.s.conns, from: origin(c.RemoteAddr()), patience: d.s.cfg.WriteTimeout}
		switch g.list.enter(g, d.s.cfg.MaxConns, d.s.cfg.MaxConnsPerIP) {
		case admitted:
			return g, nil
		case tooMany:
			d.s.reject(c, fasthttp.StatusServiceUnavailable, "too many connections; try again soon")
		case tooManyOfOrigin:
			d.s.reject(c, fasthttp.StatusTooManyRequests, "too many connections from this address")
		}
	}
}

// reject answers a connection above the limits and closes it. It does not block: the answer
// fits into the buffer of a new socket.
func (s *Server) reject(c net.Conn, status int, message string) {
	var r fasthttp.Response
	id := newRequestID(time.Now())
	brand(&r.Header, &id)
	r.Header.Set(fasthttp.HeaderRetryAfter, "5")
	r.SetConnectionClose()
	failResponse(&r, status, api.CodeBusy, message)
	out := bufio.NewWriter(c)
	c.SetWriteDeadline(time.Now().Add(time.Second))
	r.Write(out)
	out.Flush()
	select {
	case s.rejectSlots <- struct{}{}:
		go func() {
			defer func() { <-s.rejectSlots }()
			defer c.Close()
			linger(c)
		}()
	default: // with too many rejected connections, close at once instead of starting a goroutine
		c.Close()
	}
}

// connections are the open connections. It is safe for concurrent use.
type connections struct {
	mu   sync.Mutex
	all  map[*connection]struct{}
	from map[netip.Prefix]int
}

type entry int

const (
	admitted entry = iota
	tooMany
	tooManyOfOrigin
)

// enter adds a connection unless there are max already, or perOrigin of its origin; 0 means no
// limit.
func (h *connections) enter(g *connection, max, perOrigin int) entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.all) >= max:
		return tooMany
	case perOrigin > 0 && g.from.IsValid() && h.from[g.from] >= perOrigin:
		return tooManyOfOrigin
	}
	if h.all == nil {
		h.all, h.from = map[*connection]struct{}{}, map[netip.Prefix]int{}
	}
	h.all[g] = struct{}{}
	h.from[g.from]++
	return admitted
}

func (h *connections) leave(g *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, g)
	if h.from[g.from]--; h.from[g.from] <= 0 {
		delete(h.from, g.from)
	}
}

func (h *connections) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// closeAll closes the remaining connections.
func (h *connections) closeAll() {
	h.mu.Lock()
	left := make([]*connection, 0, len(h.all))
	for g := range h.all {
		left = append(left, g)
	}
	h.mu.Unlock()
	for _, g := range left {
		g.Close()
	}
}

// connection is an open connection. Close removes it from the list.
type connection struct {
	net.Conn
	list             *connections
	from             netip.Prefix
	closed           atomic.Bool
	reading, writing alarm
	answered         atomic.Bool   // written since the last read
	patience         time.Duration // time limit of each further piece of a large write
}

func (g *connection) Close() error {
	if !g.closed.Swap(true) {
		g.list.leave(g)
	}
	return g.Conn.Close()
}

// socket returns the underlying connection. Code that writes to it must also set its write
// deadlines.
func socket(c net.Conn) net.Conn {
	if g, ok := c.(*connection); ok {
		return g.Conn
	}
	return c
}

// origin returns the unit of the limit per client: an IPv4 address, or for IPv6 the /64
// network, because one host has 2^64 addresses of it. It is invalid if there is no address.
func origin(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // the prefix length is valid for the address
	return p
}
