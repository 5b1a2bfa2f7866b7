package main

import (
	"context"
	stdjson "encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/analysis"
	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/llm/llmhttp"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/internal/testkit/gethdata"
	script "txlens/internal/testkit/scripted"
	"txlens/transport"
)

// vendors are the providers, with what needs to be said of a model of theirs.
var vendors = []string{"anthropic", "openai"}

// asksScript are the flags by which a model is asked over HTTP that answers from a
// script. One of OpenAI costs what Anthropic's does.
func asksScript(t testing.TB, vendor string, s *script.Server) settings.Model {
	t.Helper()
	t.Cleanup(s.Close)
	key := t.(*testing.T)
	f := settings.Model{
		Provider: vendor, ProviderURL: s.Anthropic(), ProviderKey: keyFile(key, script.Key, 0o600), Default: api.DefaultModel,
		Turns: 16, Tokens: 600_000, Thinking: 4096, Budget: "3", Patience: time.Minute,
		Wire: llmhttp.Limits{Backoff: time.Millisecond, Retries: 2, Silence: 20 * time.Second},
	}
	if vendor == "openai" {
		f.ProviderURL = s.OpenAI()
		f.IDs, f.TokenPrices = map[string]string{"*": "own-model"}, map[string]string{"*": "input:5000,output:25000,cache-read:500,cache-write:6250"}
	}
	return f
}

// calls is one call of a turn, sent in small pieces.
func calls(name string, input any) script.Call {
	text, err := stdjson.Marshal(input)
	if err != nil {
		panic(err)
	}
	return script.Call{Name: name, Input: script.Split(string(text), 40)}
}

// explanation is an answer that claims nothing but what change adds to it.
func explanation(change ...func(o object)) object {
	o := object{"findings": []any{}, "nonFindings": []any{}, "txType": "transfer", "protocol": nil, "confidence": "medium", "figures": []any{},
		"steps": []any{}, "summary": "{address:sender} called {call:0}.", "risks": []any{}, "contracts": []any{}, "traceAnnotations": []any{}}
	for _, c := range change {
		c(o)
	}
	return o
}

// submits is the turn that ends a run.
func submits(change ...func(o object)) script.Turn {
	return script.Turn{Calls: []script.Call{calls(claim.ToolName, explanation(change...))}, Usage: llm.Usage{Input: 200, Output: 90, CacheRead: 5000, CacheWrite: 300}}
}

func with(key string, value any) func(object) { return func(o object) { o[key] = value } }

// rerun is one of the transactions of go-ethereum's tracer tests behind a node that
// has its whole state, so that it can be simulated.
func rerun(t testing.TB, name string) (settings.Evidence, string) {
	t.Helper()
	c, err := gethdata.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	node, err := gethdata.NewNode(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(node)
	t.Cleanup(srv.Close)
	return settings.Evidence{RPC: []string{"1=" + srv.URL}, RPCOnly: true, Sources: "off", Deadline: 30 * time.Second}, c.Hash().Hex()
}

// heard keeps the events of an analysis.
type heardEvents struct {
	mu   sync.Mutex
	list []api.Event
}

func (h *heardEvents) hear(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, e)
}

// of are the events of one type, each in a word.
func (h *heardEvents) of(kind api.EventType) (words []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.list {
		if e.Type == kind {
			words = append(words, e.Tool+e.Skill+e.Text)
		}
	}
	return words
}

// tracerBundles are the bundles that tracerBundle has recorded, by name.
var tracerBundles sync.Map

// tracerBundle is the evidence of one of the transactions of go-ethereum's tracer tests,
// recorded from an analysis without a model.
func tracerBundle(t testing.TB, name string) *upstream.Bundle {
	t.Helper()
	if b, ok := tracerBundles.Load(name); ok {
		return b.(*upstream.Bundle)
	}
	f, hash := rerun(t, name)
	f.Record = t.TempDir()
	mustExplain(t, testAnalyst(t, f), api.Request{TxHash: hash, ChainID: 1})
	b, err := upstream.ReadBundle(filepath.Join(f.Record, "ethereum-mainnet-"+hash+app.BundleSuffix))
	if err != nil {
		t.Fatal(err)
	}
	tracerBundles.Store(name, b)
	return b
}

// replayTracer has the model of the flags look at such a transaction.
func replayTracer(t testing.TB, name string, f settings.Model, job transport.RunSpec, m *meter.Meter) (*api.Result, *analysis.AgentRun, error) {
	t.Helper()
	return replayWith(t, context.Background(), tracerBundle(t, name), f, job, m)
}

// replayWith tells how the run of the model went, too; nil: there was none.
func replayWith(t testing.TB, ctx context.Context, b *upstream.Bundle, f settings.Model, job transport.RunSpec, m *meter.Meter) (*api.Result, *analysis.AgentRun, error) {
	t.Helper()
	model, err := f.Agent()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	ran := make(chan analysis.AgentRun, 1)
	model.OnRun = func(r analysis.AgentRun) { ran <- r }
	res, err := app.ReplayWith(ctx, b, job, m, model)
	select {
	case r := <-ran:
		return res, &r, err
	default:
		return res, nil, err
	}
}

// sums checks that the total is the sum of the buckets, to the nano-dollar, and what
// the model cost.
func sums(t testing.TB, res *api.Result, m *meter.Meter, llms int64) {
	t.Helper()
	c := res.Costs
	var sum int64
	for _, b := range meter.Buckets() {
		sum += m.Nano(b)
	}
	if m.Nano(meter.LLMs) != llms || c.LLMs.String() != api.NanoDollars(llms).String() || c.TotalUSD.String() != api.NanoDollars(sum).String() || sum != m.TotalNano() {
		t.Errorf("costs %s + %s + %s + %s = %s, booked %d of %d; the model cost %d", c.LLMs, c.DataCollection, c.CodeExecution, c.Other, c.TotalUSD, m.Nano(meter.LLMs), sum, llms)
	}
}

// holdsNone reports strings that must not be in any output.
func holdsNone(t testing.TB, what, text string, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if i := strings.Index(strings.ToLower(text), strings.ToLower(b)); i >= 0 {
			t.Errorf("%s holds %q: %s", what, b, fmt.Sprintf("%.160s", text[max(0, i-60):]))
		}
	}
}
