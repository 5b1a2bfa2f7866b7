package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"txlens/engine/explain"
	"txlens/engine/fixture"
	"txlens/engine/upstream/stubnode"
)

// swap is a recorded swap through an aggregator: it has tokens, sources to look
// up, signatures and prices, so that every upstream is asked.
const swapHash = "0x8787d972e2"

// stubWorld is one recorded chain with all the services beside it.
type stubWorld struct {
	node    *stubnode.Node
	sources *stubnode.Sources
	flags   worldFlags
	block   fixture.Block
	tx      fixture.Tx
}

func newStubWorld(t testing.TB) *stubWorld {
	t.Helper()
	w := &stubWorld{}
	for _, b := range fixture.Blocks(t) {
		for _, tx := range b.Txs {
			if strings.HasPrefix(tx.Hash, swapHash) {
				w.block, w.tx = b, tx
			}
		}
	}
	if w.tx.Hash == "" {
		t.Fatal("the recorded swap is missing")
	}
	w.node = stubnode.New([]fixture.Block{w.block}, stubnode.Options{})
	w.sources = stubnode.NewSources()
	srv := httptest.NewServer(w.sources)
	t.Cleanup(srv.Close)
	w.flags = worldFlags{
		RPC: []string{fmt.Sprintf("%d=%s", w.block.ChainID, w.node.Start(t))}, RPCOnly: true, Sources: "on", Deadline: 10 * time.Second,
		SourcifyURL: srv.URL, FourByteURL: srv.URL, EtherscanURL: srv.URL, EtherscanKey: "k3y", BlockscoutURL: srv.URL, LlamaURL: srv.URL,
	}
	return w
}

// hasty has short patience, so that a test of silence ends soon.
func (w *stubWorld) hasty(t testing.TB) *analyst {
	t.Helper()
	cfg, err := w.flags.config()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Timeout, cfg.TraceTimeout, cfg.SourceTimeout = 800*time.Millisecond, 800*time.Millisecond, 800*time.Millisecond
	cfg.Retries, cfg.Backoff, cfg.MaxRetryAfter = 1, 5*time.Millisecond, 20*time.Millisecond
	a, err := analystOf(w.flags, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	return a
}

// TestAllWell is the ground on which the faults stand: nothing fails, nothing is partial.
func TestAllWell(t *testing.T) {
	w := newStubWorld(t)
	res := mustExplain(t, w.hasty(t), explain.Request{TxHash: w.tx.Hash})
	if res.Partial() {
		t.Fatalf("partial: %s", res.Summary)
	}
	for _, name := range []string{stubnode.Sourcify, stubnode.Signatures, stubnode.Etherscan, stubnode.Blockscout, stubnode.Llama} {
		if w.sources.Calls(name) == 0 {
			t.Errorf("%s was not asked", name)
		}
	}
}

// faults are the ways in which an upstream falls over.
var faults = map[string]stubnode.Fault{
	"refuses":    {Refuse: true},
	"is silent":  {Delay: 20 * time.Second},
	"garbage":    {Garbage: true},
	"HTML":       {HTML: true},
	"nothing":    {Empty: true},
	"300 MB":     {Huge: 300 << 20},
	"wrong id":   {WrongID: true},
	"500":        {Status: 500},
	"429":        {Status: 429, RetryAfter: "3600"},
	"truncated":  {Truncate: true},
	"null":       {Body: "null"},
	"empty list": {Body: "[]"},
	"drips":      {Drip: 400 * time.Millisecond},
}

// TestFaults lets each upstream fall over in each way: a partial result that names
// the phase, a complete one where another source could stand in, or a clear error;
// always in bounded time and memory.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	node := func(method, phase string) {
		t.Run(method, func(t *testing.T) { faultsOf(t, method, phase, true) })
	}
	source := func(name, phase string) {
		t.Run(name, func(t *testing.T) { faultsOf(t, name, phase, false) })
	}
	node(stubnode.All, "")
	node("eth_getTransactionByHash", "")
	node("eth_getTransactionReceipt", "transaction")
	node("eth_getBlockByNumber", "transaction")
	node("debug_traceTransaction", "trace")
	node("eth_call", "*")
	source(stubnode.All, "source")
	source(stubnode.Sourcify, "*") // Etherscan and Blockscout stand in
	source(stubnode.Etherscan, "*")
	source(stubnode.Blockscout, "*")
	source(stubnode.Signatures, "source")
	source(stubnode.Llama, "price")
}

// faultsOf breaks one upstream. phase is the phase a partial result must name; an
// empty one wants an error, "*" accepts a complete result too.
func faultsOf(t *testing.T, name, phase string, onNode bool) {
	for how, fault := range faults {
		if fault.WrongID && !onNode {
			continue // these services have no ids
		}
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newStubWorld(t)
			if onNode {
				w.node.SetFault(name, fault)
			} else {
				w.sources.SetFault(name, fault)
			}
			a := w.hasty(t)
			stop := watchHeap()
			start := time.Now()
			res, err := a.Explain(context.Background(), explain.Request{TxHash: w.tx.Hash}, nil)
			took, peak := time.Since(start), stop()
			if took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			if peak > 600<<20 {
				t.Errorf("the heap grew by %d MiB", peak>>20)
			}
			checkOutcome(t, phase, res, err)
		})
	}
}

func checkOutcome(t *testing.T, phase string, res *explain.Result, err error) {
	t.Helper()
	switch {
	case err != nil && phase != "":
		t.Errorf("no result: %v", err)
	case err != nil:
		if text := line(err); text == "" || strings.Contains(text, "\n") || errors.Is(err, context.Canceled) {
			t.Errorf("the error is no clear line: %q", text)
		}
	case phase == "" && !res.Partial():
		t.Errorf("a complete result although nothing could be known: %s", res.Summary)
	case phase == "" || phase == "*":
	case !res.Partial() || !strings.Contains(res.Summary, phase) || res.Confidence != explain.Low:
		t.Errorf("not a partial result that names the %s phase: %s, %s", phase, res.AnalysisModel, res.Summary)
	}
}

// watchHeap samples the heap until it is stopped, and gives the growth. What is held
// is bounded by tests, not what a collector with little time leaves about: until then
// it works harder, so that about 32 MiB lie about beside what earlier tests hold.
func watchHeap() func() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	usual := debug.SetGCPercent(min(50, max(10, int(32<<20*100/(m.HeapAlloc+1)))))
	base, quit, done := m.HeapAlloc, make(chan struct{}), make(chan struct{})
	var peak atomic.Uint64
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(20 * time.Millisecond):
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.HeapAlloc > base && m.HeapAlloc-base > peak.Load() {
				peak.Store(m.HeapAlloc - base)
			}
		}
	}()
	return func() uint64 {
		debug.SetGCPercent(usual)
		close(quit)
		<-done
		return peak.Load()
	}
}
