package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"txlens/engine/mpp/sandbox"
	"txlens/internal/dice"
	"txlens/testkit/pgtest"
	"txlens/testkit/service"
	"txlens/testkit/size"
	"txlens/testkit/stubnode"
)

// TestVersionsTakeTurns: a server of this program and one of another version, which
// TXLENS_OTHER_PROGRAM names, use one database in turns while payers buy. The other one begins, so it
// makes the tables, and comes back after this one has changed them. Nothing that was acknowledged is
// lost, and the books of the chain come out.
func TestVersionsTakeTurns(t *testing.T) {
	other := os.Getenv("TXLENS_OTHER_PROGRAM")
	if other == "" {
		t.Skip("TXLENS_OTHER_PROGRAM names no program of another version")
	}
	w := service.NewWorld(t)
	chain, rpc := service.NewSettlementChain(t, sandbox.Options{})
	seed := dice.Seed(t)
	f := &fleet{t: t, rnd: dice.Stream(seed, 0), primary: pgtest.New(t)}
	f.primary.SQL(t, "postgres", "CREATE DATABASE books")
	flags := slices.Concat([]string{"--call-price", "rpc=3000000"}, service.SaleFlags(t, rpc), service.RPCFlags(w.Flags))
	f.payers = newSpenders(t, 4, chain, rpc, w.Tx.Hash, seed)

	earlier := memberOf(t, func(args ...string) *exec.Cmd { return exec.Command(other, args...) }, f.primary.URL("books"), nil, flags...)
	f.members = []*member{earlier}
	if !eventually(func() bool { return f.primary.SQL(t, "books", "SELECT to_regclass('leases')") != "" }) {
		t.Fatalf("the other program makes no tables: %s", earlier.log.String())
	}
	f.await(earlier)
	before := f.migrations()
	f.members = append(f.members, startMember(t, f.primary.URL("books"), flags...))
	// An earlier version tells nobody where it is, so the load balancer must know which server is ready.
	at := newFrontOf(t, f.members)
	f.startPayersAt(at.base)
	f.settle()
	for turn := range 2 * size.Of(1, 3) {
		o := f.holder()
		next := f.members[1-slices.Index(f.members, o)]
		o.awaitStart(o.signal(syscall.SIGTERM))
		f.await(next)
		f.settle()
		t.Logf("turn %d: %d migrations, which were %d", turn, f.migrations(), before)
	}
	if f.holder() != earlier {
		t.Error("the other version has not come back")
	}
	f.stop()
	for _, p := range f.payers {
		p.closeAll(at.base)
	}
	f.judgeLedger()
	rows := channelRows(t, f.holder().data)
	told := 0
	for _, p := range f.payers {
		p.verify(rows)
		for _, path := range p.answers {
			told++
			if status, body := fetch(t, at.base+path); status != http.StatusOK || !strings.Contains(body, w.Tx.Hash) {
				t.Errorf("%s was acknowledged: %d %.300s", path, status, body)
			}
		}
	}
	balance(t, chain, rows, f.payers)
	f.judgeLogs()
	t.Logf("%d runs and jobs were acknowledged, and are there", told)
}

// holder waits until a process of a server holds the lease, which is named after its process, and
// returns that server.
func (f *fleet) holder() (holder *member) {
	f.t.Helper()
	if !eventually(func() bool {
		name := f.primary.SQL(f.t, "books", "SELECT owner FROM leases WHERE expires_at > now()")
		for _, m := range f.members {
			m.mu.Lock()
			if m.process != nil && strings.Contains(name, fmt.Sprintf("process %d,", m.process.Pid)) {
				holder = m
			}
			m.mu.Unlock()
		}
		return holder != nil
	}) {
		f.t.Fatalf("no server holds the lease: %s", f.primary.SQL(f.t, "books", "SELECT * FROM leases"))
	}
	return holder
}

// await waits until a server holds the lease.
func (f *fleet) await(m *member) {
	f.t.Helper()
	if !eventually(func() bool { return f.holder() == m }) {
		f.t.Fatalf("%s does not take over", m.listen)
	}
}

// migrations is how many migrations the database has seen.
func (f *fleet) migrations() int {
	f.t.Helper()
	return len(strings.Fields(f.primary.SQL(f.t, "books", "SELECT version FROM schema_versions")))
}

// TestVersionsShare: servers of this program and of another version, which sell nothing, use one database while
// jobs are submitted. The other version may know no members and take the lease beside them. Each job that was
// acknowledged completes.
func TestVersionsShare(t *testing.T) {
	other := os.Getenv("TXLENS_OTHER_PROGRAM")
	if other == "" {
		t.Skip("TXLENS_OTHER_PROGRAM names no program of another version")
	}
	w := service.NewWorld(t)
	w.Node.SetFault("debug_traceTransaction", stubnode.Fault{Delay: 100 * time.Millisecond})
	f := &fleet{t: t, rnd: dice.New(t), primary: pgtest.New(t), struck: map[string]int{}}
	f.primary.SQL(t, "postgres", "CREATE DATABASE books")
	flags := append(service.RPCFlags(w.Flags), "--keep-results", "off", "--max-jobs", "4")
	earlier := memberOf(t, func(args ...string) *exec.Cmd { return exec.Command(other, args...) }, f.primary.URL("books"), nil, flags...)
	f.members = []*member{earlier}
	if !eventually(func() bool { return f.primary.SQL(t, "books", "SELECT to_regclass('leases')") != "" }) {
		t.Fatalf("the other program makes no tables: %s", earlier.log.String())
	}
	f.await(earlier)
	f.members = append(f.members, startMember(t, f.primary.URL("books"), flags...))
	at := newFrontOf(t, f.members)
	clients := &jobClients{base: at.base, tx: w.Tx.Hash, web: &http.Transport{DisableKeepAlives: true}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				clients.submit(ctx)
				time.Sleep(50 * time.Millisecond) // so many jobs suffice
			}
		})
	}
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	t.Cleanup(stop)
	acknowledged := func() int { clients.mu.Lock(); defer clients.mu.Unlock(); return len(clients.ids) }
	for turn := range 2 * size.Of(1, 3) {
		if turn%2 == 0 { // until this one is faster than the other one, which starts again at once
			if !eventually(func() bool { earlier.awaitStart(earlier.signal(syscall.SIGTERM)); return len(f.sharing()) == 1 }) {
				t.Fatal("no member joins")
			}
		} else {
			f.members[1].awaitStart(f.members[1].signal(syscall.SIGTERM))
		}
		before := acknowledged()
		if !eventually(func() bool { return len(at.usable()) == 2 && acknowledged() >= before+10 }) {
			t.Fatalf("turn %d: ready are %q, %d jobs were acknowledged", turn, at.usable(), acknowledged()-before)
		}
		t.Logf("turn %d: the members are %q, the lease is %s", turn, f.sharing(),
			f.primary.SQL(t, "books", "SELECT owner, expires_at > now() FROM leases"))
	}
	stop()
	f.judgeJobs(clients, watchJobs(f))
	f.judgeLogs()
	t.Logf("%d jobs were acknowledged", len(clients.ids))
}
