package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/jackc/pgx/v5"

	"txlens/actors/channel"
	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/api"
	"txlens/testkit/pgtest"
	"txlens/testkit/size"
)

// proxy is a way to a server that a test cuts or freezes.
type proxy struct {
	to     string // path of the socket of the server
	mu     sync.Mutex
	conns  map[net.Conn]bool
	frozen chan struct{} // closed when bytes pass again; nil: they pass
}

// through starts a proxy to the server of a URL, and returns the URL of the proxy.
func through(t *testing.T, url string) (p *proxy, by string) {
	t.Helper()
	c, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	p = &proxy{to: fmt.Sprintf("%s/.s.PGSQL.%d", c.Host, c.Port), conns: map[net.Conn]bool{}}
	if !strings.HasPrefix(c.Host, "/") {
		p.to = net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	}
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			network := "tcp"
			if strings.HasPrefix(p.to, "/") {
				network = "unix"
			}
			out, err := net.Dial(network, p.to)
			if err != nil {
				in.Close()
				continue
			}
			go p.pass(in, out)
			go p.pass(out, in)
		}
	}()
	return p, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", c.User, ln.Addr(), c.Database)
}

// pass copies from one connection to the other.
func (p *proxy) pass(from, to net.Conn) {
	p.mu.Lock()
	p.conns[from] = true
	p.mu.Unlock()
	defer to.Close()
	buf := make([]byte, 4096)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		wait := p.frozen
		p.mu.Unlock()
		if wait != nil {
			<-wait
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			io.Copy(io.Discard, from)
			return
		}
	}
}

// cut closes all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
		delete(p.conns, c)
	}
}

// freeze lets nothing pass until the returned function is called.
func (p *proxy) freeze() (thaw func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := make(chan struct{})
	p.frozen = wait
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.frozen = nil
		p.mu.Unlock()
		close(wait)
	})
}

// TestCutConnections: whatever is read or written while connections are cut is read or written.
func TestCutConnections(t *testing.T) {
	p, url := through(t, create(t))
	s := open(t, url, Options{ExpireEvery: -1})
	id := recordid.New()
	bill := channel.Bill{ID: id, Payer: common.Address{1}}
	if err := errors.Join(s.Commit(channel.Entry{Bill: &bill}), s.PutJobs(job.Row{ID: id, Status: api.JobPending})); err != nil {
		t.Fatal(err)
	}
	f := func(what string, read func() error, want error) {
		t.Helper()
		for range size.Of(3, 30) {
			p.cut()
			if err := read(); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
	}
	f("a bill", func() error { _, err := s.Bill(id); return err }, nil)
	f("no bill", func() error { _, err := s.Bill(recordid.New()); return err }, channel.ErrNoBill)
	f("a job", func() error { _, err := s.Job(id); return err }, nil)
	f("no job", func() error { _, err := s.Job(recordid.New()); return err }, api.ErrNoJob)
	f("no channel", func() error { _, err := s.Channel(common.Hash{1}); return err }, channel.ErrNoChannel)
	f("unfinished jobs", func() error {
		rows, err := s.UnfinishedJobs()
		if err == nil && len(rows) != 1 {
			err = fmt.Errorf("%d jobs", len(rows))
		}
		return err
	}, nil)
	f("a write", func() error { return put(s) }, nil)
}

// TestCutList: a list whose connection is cut in the middle is read anew, and has each row once.
func TestCutList(t *testing.T) {
	p, url := through(t, create(t))
	s := open(t, url, Options{ExpireEvery: -1})
	cut := sync.OnceFunc(p.cut)
	const n = 3000
	rows, err := list(s, `SELECT i, repeat('x', 10000) FROM generate_series(1, $1) i`, []any{n}, func(r pgx.Row) (i int, err error) {
		var text string
		err = r.Scan(&i, &text)
		if i == 10 {
			cut()
		}
		return i, err
	})
	if err != nil || len(rows) != n || rows[0] != 1 || rows[n-1] != n {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	reads := 0
	_, err = list(s, `SELECT 1`, nil, func(pgx.Row) (int, error) { reads++; return 0, ErrDamaged })
	if !errors.Is(err, ErrDamaged) || errors.Is(err, api.ErrStoreAway) || reads != 1 {
		t.Errorf("a row that cannot be read: %v, read %d times", err, reads)
	}
}

// TestPartition: a process that the database does not answer says so to all, by its own clock,
// and goes on when it is answered again.
func TestPartition(t *testing.T) {
	name := create(t)
	p, url := through(t, name)
	s := open(t, url, Options{Lease: 500 * time.Millisecond, ExpireEvery: -1})
	for range 2 {
		thaw := p.freeze()
		err := put(s) // is under way when the lease ends
		if !errors.Is(err, api.ErrStoreAway) {
			t.Errorf("a write: %v", err)
		}
		if !s.hold.ended() {
			t.Error("the lease has not ended by the clock of the process")
		}
		_, err = s.Run(recordid.New())
		_, listed := s.UnfinishedJobs()
		for what, err := range map[string]error{"a read": err, "a list": listed, "the next write": put(s), "ping": s.Ping()} {
			if !errors.Is(err, api.ErrStoreAway) {
				t.Errorf("%s: %v", what, err)
			}
		}
		thaw()
		for s.hold.ended() {
			time.Sleep(time.Millisecond)
		}
		if err := errors.Join(put(s), s.Ping()); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	// Who cannot renew is replaced, and learns it when it is answered again.
	thaw := p.freeze()
	next := open(t, name, Options{})
	thaw()
	<-s.Lost()
	if err := put(s); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("after another took over: %v", err)
	}
	if err := put(next); err != nil {
		t.Error(err)
	}
}

// TestPing: readiness does not wait for a lease to end.
func TestPing(t *testing.T) {
	p, url := through(t, create(t))
	s := open(t, url, Options{Lease: time.Hour, ExpireEvery: -1})
	thaw := p.freeze()
	defer thaw()
	if err := s.Ping(); !errors.Is(err, api.ErrStoreAway) || s.hold.ended() {
		t.Errorf("%v, lease ended %t", err, s.hold.ended())
	}
}

// TestOwnerKeepsItsLease: after an outage that was longer than the lease its owner goes on, and
// who waits for the lease goes on waiting.
func TestOwnerKeepsItsLease(t *testing.T) {
	server := pgtest.New(t)
	server.SQL(t, "postgres", "CREATE DATABASE books")
	o := Options{Lease: 1500 * time.Millisecond, LeaseWait: -1, ExpireEvery: -1}
	owner := open(t, server.URL("books"), o)
	type opened struct {
		s   *Store
		err error
	}
	next := make(chan opened, 1)
	go func() {
		s, err := Open(context.Background(), server.URL("books"), o)
		next <- opened{s, err}
	}()
	for range size.Of(3, 10) {
		server.Stop()
		for !owner.hold.ended() {
			time.Sleep(time.Millisecond)
		}
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		for owner.hold.ended() {
			if owner.isLost() {
				t.Fatal("the owner has lost its lease")
			}
			time.Sleep(time.Millisecond)
		}
		if err := put(owner); err != nil {
			t.Errorf("after an outage: %v", err)
		}
	}
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	got := <-next
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := errors.Join(put(got.s), got.s.Close()); err != nil {
		t.Error(err)
	}
}
