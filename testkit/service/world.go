package service

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"txlens/actors/analysis"
	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"

	"github.com/go-json-experiment/json"
)

// swap is a recorded swap through an aggregator: it has tokens, sources to look
// up, signatures and prices, so that every upstream is asked.
const swapHash = "0x8787d972e2"

// World is one recorded chain with all the services beside it.
type World struct {
	Node    *stubnode.Node
	Sources *stubnode.Sources
	Flags   settings.Evidence
	Block   fixture.Block
	Tx      fixture.Tx
}

// NewWorld starts the node and the services.
func NewWorld(t testing.TB) *World {
	t.Helper()
	w := &World{}
	for _, b := range fixture.Blocks(t) {
		for _, tx := range b.Txs {
			if strings.HasPrefix(tx.Hash, swapHash) {
				w.Block, w.Tx = b, tx
			}
		}
	}
	if w.Tx.Hash == "" {
		t.Fatal("the recorded swap is missing")
	}
	w.Node = stubnode.New([]fixture.Block{w.Block}, stubnode.Options{})
	w.Sources = stubnode.NewSources()
	srv := httptest.NewServer(w.Sources)
	t.Cleanup(srv.Close)
	w.Flags = settings.Evidence{
		RPC: []string{fmt.Sprintf("%d=%s", w.Block.ChainID, w.Node.Start(t))}, RPCOnly: true, Sources: "on", Deadline: 20 * time.Second,
		SourcifyURL: srv.URL, FourByteURL: srv.URL, EtherscanURL: srv.URL, EtherscanKey: "k3y", BlockscoutURL: srv.URL, LlamaURL: srv.URL,
	}
	return w
}

// ShortTimeouts has short patience, so that a test of silence ends soon.
func (w *World) ShortTimeouts(t testing.TB) *app.Analyst {
	t.Helper()
	o, err := w.Flags.Options()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &o.Upstream
	cfg.Timeout, cfg.TraceTimeout, cfg.SourceTimeout = 2*time.Second, 2*time.Second, 2*time.Second
	cfg.Retries, cfg.Backoff, cfg.MaxRetryAfter = 1, 5*time.Millisecond, 20*time.Millisecond
	a, err := app.NewAnalyst(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// WatchHeap samples the heap until it is stopped, and gives the growth. What is held
// is bounded by tests, not what a collector with little time leaves about: until then
// it works harder, so that about 32 MiB lie about beside what earlier tests hold.
func WatchHeap() func() uint64 {
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

// RecordedNodes serves every recorded block, one node for each chain, and makes
// the flags that ask them and nobody else.
func RecordedNodes(t testing.TB, opt stubnode.Options) settings.Evidence {
	t.Helper()
	byChain := make(map[uint64][]fixture.Block)
	for _, b := range fixture.Blocks(t) {
		byChain[b.ChainID] = append(byChain[b.ChainID], b)
	}
	f := settings.Evidence{RPCOnly: true, Sources: "off", Deadline: analysis.DefaultDeadline}
	for id, blocks := range byChain {
		o := opt
		o.ChainID = id
		f.RPC = append(f.RPC, fmt.Sprintf("%d=%s", id, stubnode.New(blocks, o).Start(t)))
	}
	return f
}

// NewAnalyst makes the analyses of these settings.
func NewAnalyst(t testing.TB, f settings.Evidence) *app.Analyst {
	t.Helper()
	a, err := settings.NewAnalyst(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// EachRecorded runs f over all recorded transactions.
func EachRecorded(t *testing.T, f func(t *testing.T, blk fixture.Block, tx fixture.Tx)) {
	n := 0
	for _, blk := range fixture.Blocks(t) {
		for _, tx := range blk.Txs {
			// The race detector sees no more in all of them than in some; the step of
			// whole runs in .ci/run has all.
			if !RaceEnabled || n%5 == 0 {
				f(t, blk, tx)
			}
			n++
		}
	}
	if n != 482 {
		t.Fatalf("%d recorded transactions, want 482", n)
	}
}

// MustExplain explains a transaction, without an error.
func MustExplain(t testing.TB, a *app.Analyst, req api.Request) *api.Result {
	t.Helper()
	res, err := app.Local{Analyst: a}.Explain(context.Background(), req, nil)
	if err != nil {
		t.Fatalf("%s: %v", req.TxHash, err)
	}
	return res
}

var durations = regexp.MustCompile(`"durationMs":[0-9]+`)

// DeterministicBytes is the result without what two live runs may differ in: the
// durations of calls, and the order in which those side by side started.
func DeterministicBytes(t testing.TB, res *api.Result) []byte {
	t.Helper()
	own := *res
	own.ToolCalls = slices.Clone(res.ToolCalls)
	slices.SortStableFunc(own.ToolCalls, func(a, b api.ToolCall) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(fmt.Sprint(a.OK, a.CostUSD), fmt.Sprint(b.OK, b.CostUSD)))
	})
	return durations.ReplaceAll(Marshal(t, &own), []byte(`"durationMs":0`))
}

// Marshal encodes a result.
func Marshal(t testing.TB, res *api.Result) []byte {
	t.Helper()
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FirstDifference shows where two texts part.
func FirstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	cut := func(s []byte) []byte { return s[max(0, i-80):min(len(s), i+120)] }
	return fmt.Sprintf("%s\n%s", cut(a), cut(b))
}

// NoHash is the hash of no transaction.
const NoHash = "0x00000000000000000000000000000000000000000000000000000000deadbeef"

// RPCFlags are the flags of a command that asks these endpoints and no service.
func RPCFlags(f settings.Evidence) []string {
	args := []string{"--rpc-only", "--sources", "off"}
	for _, r := range f.RPC {
		args = append(args, "--rpc", r)
	}
	return args
}
