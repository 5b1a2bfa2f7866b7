package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"txlens/engine/trace"
	"txlens/testkit/stubnode"
)

// TestChainState: what the attempts at the endpoints of a chain say about it.
func TestChainState(t *testing.T) {
	f := func(name string, faults []stubnode.Fault, wantDown bool, want map[string]uint64) {
		t.Helper()
		var urls []string
		for _, fault := range faults {
			n, url := newNode(t, stubnode.Options{})
			if fault != (stubnode.Fault{}) {
				n.SetFault(stubnode.All, fault)
			}
			urls = append(urls, url)
		}
		cfg := quick(urls...)
		cfg.Retries = -1
		c := newClient(t, cfg)
		if len(c.Chains()) != 0 || c.Ready() == nil {
			t.Errorf("%s: before a request %+v, %v", name, c.Chains(), c.Ready())
		}
		c.Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA)
		got := c.Chains()
		if len(got) != 1 || got[0].Slug != "ethereum-mainnet" || got[0].Down != wantDown || fmt.Sprint(got[0].Requests) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want down %v, %v", name, got, wantDown, want)
		}
		if ready := c.Ready() == nil; ready != (want[OutcomeOK] > 0) {
			t.Errorf("%s: ready is %v", name, ready)
		}
	}
	down, html := stubnode.Fault{Status: http.StatusBadGateway}, stubnode.Fault{HTML: true}
	f("answers", []stubnode.Fault{{}}, false, map[string]uint64{"ok": 1})
	f("refuses the method", []stubnode.Fault{{Error: &stubnode.RPCError{Code: -32601, Message: "method not found"}}}, false, map[string]uint64{"ok": 1})
	f("down", []stubnode.Fault{down}, true, map[string]uint64{"server": 1})
	f("a page", []stubnode.Fault{html}, true, map[string]uint64{"server": 1})
	f("a used-up account", []stubnode.Fault{{Status: http.StatusPaymentRequired}}, true, map[string]uint64{"payment": 1})
	f("no connection", []stubnode.Fault{{Refuse: true}}, true, map[string]uint64{"unreachable": 1})
	f("first down", []stubnode.Fault{down, {}}, false, map[string]uint64{"server": 1, "ok": 1})
	f("both down", []stubnode.Fault{down, html}, true, map[string]uint64{"server": 2})
	f("second not asked", []stubnode.Fault{{}, down}, false, map[string]uint64{"ok": 1})
}

// TestTraceFaultsLeaveTheChainUp: a node that cannot trace answers all else.
func TestTraceFaultsLeaveTheChainUp(t *testing.T) {
	f := func(method string, call func(*Session)) {
		t.Helper()
		n, url := newNode(t, stubnode.Options{})
		n.SetFault(method, stubnode.Fault{Status: http.StatusBadGateway})
		c := newClient(t, quick(url))
		s := c.Session(nil, nil)
		s.Receipt(background(t), mustChain(t, 1), hashA)
		call(s)
		if got := c.Chains(); len(got) != 1 || got[0].Down || got[0].Requests["server"] == 0 {
			t.Errorf("%s: %+v", method, got)
		}
	}
	ch := mustChain(t, 1)
	f(methodDebugTrace, func(s *Session) { s.DebugTrace(background(t), ch, hashA, trace.Limits{}) })
	f(methodReplayTrace, func(s *Session) { s.ReplayTrace(background(t), ch, hashA, trace.Limits{}) })
}

// TestCallerSaysNothing: a caller that leaves does not make a chain look bad.
func TestCallerSaysNothing(t *testing.T) {
	asked := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(asked)
		<-r.Context().Done()
	})
	cfg := quick(url)
	cfg.Timeout = time.Minute
	c := newClient(t, cfg)
	ctx, cancel := context.WithCancel(background(t))
	go func() { <-asked; cancel() }()
	c.Session(nil, nil).Balance(ctx, mustChain(t, 1), alice, 1)
	if got := c.Chains(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// network is what Dial reaches: nothing, or nodes that answer eth_chainId.
type network struct {
	up    atomic.Bool
	mu    sync.Mutex
	dials []string
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, address)
	n.mu.Unlock()
	if !n.up.Load() {
		return nil, errors.New("network is unreachable")
	}
	here, there := net.Pipe()
	go func() {
		defer there.Close()
		var request [4096]byte
		got, _ := there.Read(request[:])
		_, id, _ := strings.Cut(string(request[:got]), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		body := `{"jsonrpc":"2.0","id":` + strings.Trim(id, "} ") + `,"result":"0x1"}`
		fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}()
	return here, nil
}

func (n *network) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.dials)
}

// TestWatch: without a network little is asked, and rarely; the first answer makes ready,
// and chains that are down are looked at again.
func TestWatch(t *testing.T) {
	f := func(name string, endpoints map[uint64][]string, chains int) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			n := &network{}
			c, err := New(Config{Endpoints: endpoints, RPCOnly: true, Dial: n.dial})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var told []error
			ended := make(chan struct{})
			go func() { defer close(ended); c.Watch(ctx, func(err error) { told = append(told, err) }) }()
			synctest.Wait()
			if c.Ready() == nil || n.asked() == 0 || n.asked() > watchChains {
				t.Errorf("%s: ready %v after %d requests", name, c.Ready(), n.asked())
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			if rounds := len(told); c.Ready() == nil || rounds < 100 || rounds > 130 || n.asked() > watchChains*rounds {
				t.Errorf("%s: %d rounds, %d requests in an hour", name, rounds, n.asked())
			}
			n.up.Store(true)
			time.Sleep(watchMost)
			synctest.Wait()
			if c.Ready() != nil || told[len(told)-1] != nil {
				t.Errorf("%s: not ready with a network: %v", name, told[len(told)-1])
			}
			time.Sleep(time.Duration(chains) * watchMost)
			synctest.Wait()
			for _, state := range c.Chains() {
				if state.Down {
					t.Errorf("%s: %s is still down", name, state.Slug)
				}
			}
			before := n.asked()
			time.Sleep(time.Hour)
			if synctest.Wait(); n.asked() != before {
				t.Errorf("%s: %d requests although all is up", name, n.asked()-before)
			}
			cancel()
			<-ended
		})
	}
	f("one chain", map[uint64][]string{1: {"http://a.test"}}, 1)
	f("nine chains", map[uint64][]string{
		1: {"http://a.test"}, 10: {"http://b.test"}, 56: {"http://c.test"}, 100: {"http://d.test"}, 137: {"http://e.test"},
		8453: {"http://f.test"}, 42161: {"http://g.test"}, 43114: {"http://h.test"}, 59144: {"http://i.test"},
	}, 9)
}

// TestReadyWithoutEndpoints: there is nothing to wait for.
func TestReadyWithoutEndpoints(t *testing.T) {
	c := newClient(t, Config{RPCOnly: true})
	c.Watch(background(t), func(err error) { t.Errorf("told %v", err) })
	if err := c.Ready(); err != nil {
		t.Error(err)
	}
}
