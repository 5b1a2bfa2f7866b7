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

// door takes connections in, and turns away those beyond the bounds. fasthttp has
// bounds of its own, but loses count of a connection that a stream took over, and
// refuses without the headers that every answer has.
type door struct {
	net.Listener
	s *Server
}

// Accept returns the next connection that may stay.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &guest{Conn: c, house: &d.s.guests, from: origin(c.RemoteAddr())}
		switch g.house.enter(g, d.s.cfg.MaxConns, d.s.cfg.MaxConnsPerIP) {
		case welcome:
			return g, nil
		case tooMany:
			d.s.turnAway(c, fasthttp.StatusServiceUnavailable, "too many connections; try again soon")
		case tooManyOfOne:
			d.s.turnAway(c, fasthttp.StatusTooManyRequests, "too many connections from this address")
		}
	}
}

// turnAway answers a connection that may not stay, whatever it came to ask, and
// closes it. It waits for nobody: the answer fits into the buffer of a new socket.
func (s *Server) turnAway(c net.Conn, status int, message string) {
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
	case s.turning <- struct{}{}:
		go func() {
			defer func() { <-s.turning }()
			defer c.Close()
			linger(c)
		}()
	default: // under a flood nobody is worth a goroutine
		c.Close()
	}
}

// guests are the open connections. Safe for concurrent use.
type guests struct {
	mu   sync.Mutex
	all  map[*guest]struct{}
	from map[netip.Prefix]int
}

type entry int

const (
	welcome entry = iota
	tooMany
	tooManyOfOne
)

// enter takes g in unless there are max already, or perOrigin of its origin; 0
// there is no bound.
func (h *guests) enter(g *guest, max, perOrigin int) entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.all) >= max:
		return tooMany
	case perOrigin > 0 && g.from.IsValid() && h.from[g.from] >= perOrigin:
		return tooManyOfOne
	}
	if h.all == nil {
		h.all, h.from = map[*guest]struct{}{}, map[netip.Prefix]int{}
	}
	h.all[g] = struct{}{}
	h.from[g.from]++
	return welcome
}

func (h *guests) leave(g *guest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, g)
	if h.from[g.from]--; h.from[g.from] <= 0 {
		delete(h.from, g.from)
	}
}

func (h *guests) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// closeAll closes the connections that are left.
func (h *guests) closeAll() {
	h.mu.Lock()
	left := make([]*guest, 0, len(h.all))
	for g := range h.all {
		left = append(left, g)
	}
	h.mu.Unlock()
	for _, g := range left {
		g.Close()
	}
}

// guest is an open connection. It leaves when it is closed.
type guest struct {
	net.Conn
	house            *guests
	from             netip.Prefix
	closed           atomic.Bool
	reading, writing alarm
	answered         atomic.Bool // since the last read
}

func (g *guest) Close() error {
	if !g.closed.Swap(true) {
		g.house.leave(g)
	}
	return g.Conn.Close()
}

// socket is the connection itself, which can more than a guest. Who writes to it
// must set the deadlines of writes there, too.
func socket(c net.Conn) net.Conn {
	if g, ok := c.(*guest); ok {
		return g.Conn
	}
	return c
}

// origin is who may have only so many connections: an address, or for IPv6 the
// network of one host, which has 2^64 of them. It is not valid where there is none.
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
	p, _ := ip.Prefix(bits) // the bits are right for the address
	return p
}
