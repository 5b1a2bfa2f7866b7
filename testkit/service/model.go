package service

import (
	"context"
	stdjson "encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	"txlens/testkit/gethdata"
	script "txlens/testkit/scripted"
	"txlens/transport"
)

// Vendors are the providers, with what needs to be said of a model of theirs.
var Vendors = []string{"anthropic", "openai"}

// ScriptedModel are the flags by which a model is asked over HTTP that answers from a
// script. One of OpenAI costs what Anthropic's does.
func ScriptedModel(t testing.TB, vendor string, s *script.Server) settings.Model {
	t.Helper()
	t.Cleanup(s.Close)
	key := t.(*testing.T)
	f := settings.Model{
		Provider: vendor, ProviderURL: s.Anthropic(), ProviderKey: KeyFile(key, script.Key, 0o600), Default: api.DefaultModel,
		Turns: 16, Tokens: 600_000, Thinking: 4096, Budget: "3", Patience: time.Minute,
		Wire: llmhttp.Limits{Backoff: time.Millisecond, Retries: 2, Silence: 20 * time.Second},
	}
	if vendor == "openai" {
		f.ProviderURL = s.OpenAI()
		f.IDs, f.TokenPrices = map[string]string{
			"*": "own-model",
		}, map[string]string{
			"*": "input:5000,output:25000,cache-read:500,cache-write:6250",
		}
	}
	return f
}

// ToolCall is one call of a turn, sent in small pieces.
func ToolCall(name string, input any) script.Call {
	text, err := stdjson.Marshal(input)
	if err != nil {
		panic(err)
	}
	return script.Call{Name: name, Input: script.Split(string(text), 40)}
}

// explanation is an answer that claims nothing but what change adds to it.
func explanation(change ...func(o Object)) Object {
	o := Object{
		"findings":         []any{},
		"nonFindings":      []any{},
		"txType":           "transfer",
		"protocol":         nil,
		"confidence":       "medium",
		"figures":          []any{},
		"steps":            []any{},
		"summary":          "{address:sender} called {call:0}.",
		"risks":            []any{},
		"contracts":        []any{},
		"traceAnnotations": []any{},
	}
	for _, c := range change {
		c(o)
	}
	return o
}

// Submission is the turn that ends a run.
func Submission(change ...func(o Object)) script.Turn {
	return script.Turn{
		Calls: []script.Call{ToolCall(claim.ToolName, explanation(change...))},
		Usage: llm.Usage{Input: 200, Output: 90, CacheRead: 5000, CacheWrite: 300},
	}
}

// With changes one member of an answer.
func With(key string, value any) func(Object) { return func(o Object) { o[key] = value } }

// TracerCase is one of the transactions of go-ethereum's tracer tests behind a node that
// has its whole state, so that it can be simulated.
func TracerCase(t testing.TB, name string) (settings.Evidence, string) {
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

// HeardEvents keeps the events of an analysis.
type HeardEvents struct {
	mu   sync.Mutex
	list []api.Event
}

// Hear takes an event.
func (h *HeardEvents) Hear(e api.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, e)
}

// Of are the events of one type, each in a word.
func (h *HeardEvents) Of(kind api.EventType) (words []string) {
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

// TracerBundle is the evidence of one of the transactions of go-ethereum's tracer tests,
// recorded from an analysis without a model.
func TracerBundle(t testing.TB, name string) *upstream.Bundle {
	t.Helper()
	if b, ok := tracerBundles.Load(name); ok {
		return b.(*upstream.Bundle)
	}
	f, hash := TracerCase(t, name)
	f.Record = t.TempDir()
	MustExplain(t, NewAnalyst(t, f), api.Request{TxHash: hash, ChainID: 1})
	b, err := upstream.ReadBundle(filepath.Join(f.Record, "ethereum-mainnet-"+hash+app.BundleSuffix))
	if err != nil {
		t.Fatal(err)
	}
	tracerBundles.Store(name, b)
	return b
}

// ReplayTracer has the model of the flags look at such a transaction.
func ReplayTracer(
	t testing.TB,
	name string,
	f settings.Model,
	job transport.RunSpec,
	m *meter.Meter,
) (*api.Result, *analysis.AgentRun, error) {
	t.Helper()
	return ReplayWith(t, context.Background(), TracerBundle(t, name), f, job, m)
}

// ReplayWith tells how the run of the model went, too; nil: there was none.
func ReplayWith(
	t testing.TB,
	ctx context.Context,
	b *upstream.Bundle,
	f settings.Model,
	job transport.RunSpec,
	m *meter.Meter,
) (*api.Result, *analysis.AgentRun, error) {
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

// CheckCosts checks that the total is the sum of the buckets, to the nano-dollar, and what
// the model cost.
func CheckCosts(t testing.TB, res *api.Result, m *meter.Meter, llms int64) {
	t.Helper()
	c := res.Costs
	var sum int64
	for _, b := range meter.Buckets() {
		sum += m.Nano(b)
	}
	if m.Nano(meter.LLMs) != llms || c.LLMs.String() != api.NanoDollars(llms).String() ||
		c.TotalUSD.String() != api.NanoDollars(sum).String() ||
		sum != m.TotalNano() {
		t.Errorf(
			"costs %s + %s + %s + %s = %s, booked %d of %d; the model cost %d",
			c.LLMs,
			c.DataCollection,
			c.CodeExecution,
			c.Other,
			c.TotalUSD,
			m.Nano(meter.LLMs),
			sum,
			llms,
		)
	}
}

// KeyFile writes the key of a provider.
func KeyFile(t *testing.T, text string, mode os.FileMode) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "provider.key")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// LooksAtFrame asks for a tool, and for nothing else, for ever.
var LooksAtFrame = script.Turn{
	Calls: []script.Call{ToolCall("get_frame", Object{"frame": "0"})},
	Usage: llm.Usage{Input: 1000, Output: 20},
}
