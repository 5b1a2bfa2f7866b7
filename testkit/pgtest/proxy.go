package pgtest

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy is the way of one client to servers. A test cuts, delays or freezes it. It is safe for
// concurrent use.
type Proxy struct {
	url string

	mu      sync.Mutex
	to      []string // the folder of the socket of each server
	conns   map[net.Conn]bool
	delay   time.Duration
	frozen  chan struct{} // closed when bytes pass again; nil: they pass
	awaited chan struct{} // closed when a commit has come that is not let pass; nil: none is awaited
}

// Through starts a proxy to the servers of a URL of this package, until the test ends.
func Through(t testing.TB, database string) *Proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	p := &Proxy{to: strings.Split(q.Get("host"), ","), conns: map[net.Conn]bool{}}
	var hosts, ports []string
	for i := range p.to {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ln.Close(); p.Cut() })
		go p.serve(ln, i)
		hosts, ports = append(hosts, "127.0.0.1"), append(ports, strconv.Itoa(ln.Addr().(*net.TCPAddr).Port))
	}
	q.Set("host", strings.Join(hosts, ","))
	q.Set("port", strings.Join(ports, ","))
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	p.url = u.String()
	return p
}

// URL is that of the database by way of the proxy.
func (p *Proxy) URL() string { return p.url }

// Replace has new connections to a server go to another one.
func (p *Proxy) Replace(old, by *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to[slices.Index(p.to, old.dir)] = by.dir
}

func (p *Proxy) serve(ln net.Listener, i int) {
	for {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		dir := p.to[i]
		p.mu.Unlock()
		server, err := net.Dial("unix", dir+"/.s.PGSQL.5432")
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns[client], p.conns[server] = true, true
		p.mu.Unlock()
		go p.pass(client, server, true)
		go p.pass(server, client, false)
	}
}

// pass copies from one connection to the other. What was read while the proxy is frozen arrives
// afterwards, even if its sender has gone meanwhile.
func (p *Proxy) pass(from, to net.Conn, asks bool) {
	defer func() {
		to.Close()
		p.mu.Lock()
		delete(p.conns, to)
		p.mu.Unlock()
	}()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.wait(asks && bytes.Contains(buf[:n], []byte("commit\x00")))
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			io.Copy(io.Discard, from)
			return
		}
	}
}

// wait returns when bytes may pass.
func (p *Proxy) wait(commits bool) {
	p.mu.Lock()
	if commits && p.awaited != nil {
		close(p.awaited)
		p.awaited = nil
		p.frozen = make(chan struct{})
	}
	delay, frozen := p.delay, p.frozen
	p.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	time.Sleep(delay)
}

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// Delay makes whatever passes late from now on.
func (p *Proxy) Delay(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = by
}

// Freeze lets nothing pass until Thaw.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// FreezeAtCommit is Freeze as soon as a client asks for a commit. The channel is closed then.
func (p *Proxy) FreezeAtCommit() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	frozen := make(chan struct{})
	p.awaited = frozen
	return frozen
}

// Thaw lets everything pass.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaited = nil
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}
