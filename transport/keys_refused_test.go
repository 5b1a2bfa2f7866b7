package transport

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/transport/callers"
)

// asking is a caller with a key, and the ways in which it asks for an analysis.
type asking struct {
	t      *testing.T
	url    string
	secret string
	who    *callers.Caller
}

func askingOf(t *testing.T, k *callers.Keys, url, secret string) *asking {
	return &asking{t, url, secret, k.Find([]byte(secret))}
}

func (a *asking) headers(accept string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + a.secret, "Accept": accept}
}

// http asks with a request and returns the status of the answer.
func (a *asking) http(method, path, accept, body string) int {
	a.t.Helper()
	c := sending(client(a.t), a.headers(accept))
	return do(a.t, c, method, a.url+path, "application/json", strings.NewReader(body)).status
}

// tool asks with the Model Context Protocol and reports whether it was refused.
func (a *asking) tool(background bool) (refused bool) {
	a.t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	end := &sdk.StreamableClientTransport{
		Endpoint: a.url + "/mcp", HTTPClient: &http.Client{Transport: headerSender{tr, a.headers("")}}, MaxRetries: -1,
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(a.t.Context(), end, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	defer s.Close()
	_, _, refused = use(a.t, s, "explain_transaction", map[string]any{"txHash": hash, "chain": "1", "background": background})
	return refused
}

// ways are all ways to ask for an analysis; each returns whether it was refused.
var ways = map[string]func(a *asking) (refused bool){
	"one answer": func(a *asking) bool { return a.http("POST", "/explain", "*/*", goodBody) >= 429 },
	"stream":     func(a *asking) bool { return a.http("POST", "/explain", "text/event-stream", goodBody) >= 429 },
	"page":       func(a *asking) bool { return a.http("GET", "/tx/"+hash, "text/html", "") >= 429 },
	"job":        func(a *asking) bool { return a.http("POST", "/explain/async", "*/*", goodBody) >= 429 },
	"tool":       func(a *asking) bool { return a.tool(false) },
	"tool, job":  func(a *asking) bool { return a.tool(true) },
}

// TestRefusedKeepsNothing: an analysis that any limit refuses gives back the place of its
// key and does not count, so that a key with one place and one analysis has both afterwards.
func TestRefusedKeepsNothing(t *testing.T) {
	jobs := &fakeJobs{refuse: func(api.Request) error { return api.ErrBusy }, jobs: map[string]*api.Job{}}
	cfg := Config{Jobs: jobs, Runs: &fakeRuns{frames: map[string][]jsontext.Value{}}}
	f := func(cfg Config, limit string, of []string, use func(*Server, *asking) (free func())) {
		for _, way := range of {
			t.Run(limit+"/"+way, func(t *testing.T) {
				k, secrets := keyed(t, "per-minute=1 at-once=1")
				cfg.Keys = k
				s, url := start(t, cfg, func(_ context.Context, req api.Request) (*api.Result, error) { return result(req), nil })
				a := askingOf(t, k, url, secrets[0])
				free := use(s, a)
				if !ways[way](a) {
					t.Fatal("the analysis was not refused")
				}
				free()
				a.hasAll(limit != "rate")
			})
		}
	}
	all := []string{"one answer", "stream", "page", "job", "tool", "tool, job"}
	placed := []string{"one answer", "stream", "page", "tool", "tool, job"} // a job takes no place
	running := placed[:4]                                                   // and no slot
	f(cfg, "rate", all, func(_ *Server, a *asking) func() {
		a.who.Take(time.Now(), 1)
		return func() {}
	})
	f(cfg, "place", placed, func(_ *Server, a *asking) func() {
		leave, _ := a.who.Enter(1)
		return leave
	})
	f(cfg, "queue of jobs", []string{"job", "tool, job"}, func(*Server, *asking) func() { return func() {} })
	slot := func(s *Server, _ *asking) func() {
		slot, err := s.slots.Acquire(t.Context(), slots.Holder{Origin: origin(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return slot.Release
	}
	busy, perIP := cfg, cfg
	busy.MaxAnalyses = 1
	perIP.Shares = slots.Limits{PerOrigin: 1}
	f(busy, "server", running, slot)
	f(perIP, "address", running, slot)
}

// hasAll checks that the only place of the key is free, and that its only analysis of the
// minute is left if it was not used.
func (a *asking) hasAll(counted bool) {
	a.t.Helper()
	leave, ok := a.who.Enter(1)
	if !ok {
		a.t.Fatal("the place is not free")
	}
	leave()
	if _, _, ok := a.who.Take(time.Now(), 1); ok != counted {
		a.t.Errorf("another analysis is allowed: %t, want %t", ok, counted)
	}
}
