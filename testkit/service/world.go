package service

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	pipes   *Pipes // nil: the connections are those of the machine
}

// NewWorld starts the node and the services.
func NewWorld(t testing.TB) *World {
	t.Helper()
	return newWorld(t, nil)
}

// InVirtualTime runs f with a World in a bubble of testing/synctest, where a timeout passes
// when everybody waits and never because the machine is slow. Its analyses are those of
// Analyst.
func InVirtualTime(t *testing.T, f func(t *testing.T, w *World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Second) }) // the actors' account of undelivered messages ends later than they do
		f(t, newWorld(t, &Pipes{}))
	})
}

func newWorld(t testing.TB, pipes *Pipes) *World {
	t.Helper()
	w := &World{pipes: pipes}
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
	var node, sources string
	if pipes != nil {
		node, sources = pipes.Serve(t, w.Node), pipes.Serve(t, w.Sources)
	} else {
		node, sources = w.Node.Start(t), w.Sources.Start(t)
	}
	w.Flags = settings.Evidence{
		RPC: []string{fmt.Sprintf("%d=%s", w.Block.ChainID, node)}, RPCOnly: true, Sources: "on", Deadline: analysis.DefaultDeadline,
		SourcifyURL: sources, FourByteURL: sources, EtherscanURL: sources, EtherscanKey: "k3y", BlockscoutURL: sources, LlamaURL: sources,
	}
	return w
}

// Analyst makes the analyses of the flags. It tries again at once. Its timeouts are short in
// virtual time, and too long to pass in that of the machine.
func (w *World) Analyst(t testing.TB) *app.Analyst {
	t.Helper()
	o, err := w.Flags.Options()
	if err != nil {
		t.Fatal(err)
	}
	cfg, timeout := &o.Upstream, time.Minute
	if w.pipes != nil {
		cfg.Dial, timeout = w.pipes.Dial, 2*time.Second
	}
	cfg.Timeout, cfg.TraceTimeout, cfg.SourceTimeout, cfg.ProbeTimeout = timeout, timeout, timeout, 3*timeout
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

// EachRecorded runs f over the recorded transactions: in the small size over one of ten and the
// first of each kind.
func EachRecorded(t *testing.T, f func(t *testing.T, blk fixture.Block, tx fixture.Tx)) {
	chosen := sample{seen: map[string]bool{}}
	for _, blk := range fixture.Blocks(t) {
		for _, tx := range blk.Txs {
			if chosen.has(t, &tx) {
				f(t, blk, tx)
			}
		}
	}
	if chosen.n != 482 {
		t.Fatalf("%d recorded transactions, want 482", chosen.n)
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
