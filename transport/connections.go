package transport

import (
	"bufio"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/actors/slots"
	"txlens/engine/api"
)

// limitListener accepts connections. At a limit it closes the one that has been without a request
// for the longest time, so that clients that only hold connections keep nobody out, such as the
// probe of the operator. If all are in a request, the new one is rejected. fasthttp has limits of
// its own, but it does not count a connection that a stream took over, closes no idle one, and
// its refusal lacks the headers that every answer has.
type limitListener struct {
	net.Listener
	s *Server
}

// Close closes the listener. Both the server and fasthttp do.
func (d *limitListener) Close() error {
	if err := d.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Accept returns the next connection within the limits.
func (d *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		g := &connection{Conn: c, list: &d.s.conns, from: origin(c.RemoteAddr()), patience: d.s.cfg.WriteTimeout}
		g.waiting()
		entry, closes := g.list.enter(g, d.s.cfg.MaxConns, d.s.cfg.MaxConnsPerIP)
		if closes != nil {
			closes.Close()
		}
		switch entry {
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
	s.brand(&r.Header, &id)
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
	mu    sync.Mutex
	all   map[*connection]struct{}
	from  map[netip.Prefix]int
	waits atomic.Int64 // times that a connection began to wait for a request
}

type entry int

const (
	admitted entry = iota
	tooMany
	tooManyOfOrigin
)

// enter adds a connection. If there are max already, or perOrigin of its origin, it takes the
// place of the oldest one without a request, which the caller must close; if there is none, the
// connection is not added. perOrigin is the limit of slots.OriginLimit.
func (h *connections) enter(g *connection, max, perOrigin int) (result entry, closes *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.from[g.from] >= slots.OriginLimit(perOrigin, max, g.from):
		if closes = h.evict(g.from); closes == nil {
			return tooManyOfOrigin, nil
		}
	case len(h.all) >= max:
		if closes = h.evict(netip.Prefix{}); closes == nil {
			return tooMany, nil
		}
	}
	if h.all == nil {
		h.all, h.from = map[*connection]struct{}{}, map[netip.Prefix]int{}
	}
	h.all[g] = struct{}{}
	h.from[g.from]++
	return admitted, closes
}

// evict removes the connection that has been without a request for the longest time, of one
// origin or, if that is invalid, of all. It returns nil if all are in a request. h.mu must be held.
func (h *connections) evict(of netip.Prefix) *connection {
	for {
		var oldest *connection
		var first int64
		for g := range h.all {
			wait := g.idle.Load()
			if wait > 0 && (oldest == nil || wait < first) && (!of.IsValid() || g.from == of) {
				oldest, first = g, wait
			}
		}
		if oldest == nil {
			return nil
		}
		if oldest.idle.CompareAndSwap(first, evicted) { // else a request has just arrived
			h.remove(oldest)
			return oldest
		}
	}
}

func (h *connections) leave(g *connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(g)
}

// remove takes a connection off the list, unless it was removed. h.mu must be held.
func (h *connections) remove(g *connection) {
	if _, ok := h.all[g]; !ok {
		return
	}
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

	// idle is the number of the wait for a request that the connection is in, in the order in which
	// the waits began; 0: it is in a request; evicted: it was closed for another one.
	idle atomic.Int64
	// ended means that a request was answered and the next read waits for another one.
	ended atomic.Bool

	begun     bool        // it has been read from; owned by the reader, as line is
	line      lfWatch     // the ends of request lines
	misframed atomic.Bool // a line that ends in a bare LF was read
}

// evicted is the value of connection.idle that no request changes.
const evicted = -1

// waiting is called when the connection has no request: it may be closed for another one.
func (g *connection) waiting() { g.idle.CompareAndSwap(0, g.list.waits.Add(1)) }

// begin is called when a request has arrived. It reports whether the connection is still open.
func (g *connection) begin() bool {
	g.ended.Store(false)
	for {
		wait := g.idle.Load()
		if wait == 0 || wait > 0 && g.idle.CompareAndSwap(wait, 0) {
			return true
		}
		if wait == evicted {
			return false
		}
	}
}

// requestEnded is called by fasthttp when an answer is complete. fasthttp may hold it back while
// it has another request of the client, so the connection is without a request only when it reads.
func requestEnded(c net.Conn, state fasthttp.ConnState) {
	if g, ok := c.(*connection); ok && state == fasthttp.StateIdle {
		g.ended.Store(true)
	}
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
