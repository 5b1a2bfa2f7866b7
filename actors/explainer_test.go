package actors

import (
	"context"
	"errors"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const hash = "0x00000000000000000000000000000000000000000000000000000000000000aa"

// world is a World of one plain transfer whose methods can be replaced one by one.
type world struct {
	gather.World
	probe   func(ctx context.Context) (*upstream.ProbeResult, error)
	tx      func(ctx context.Context) (*evidence.Transaction, error)
	receipt func(ctx context.Context) (*evidence.Receipt, error)
	trace   func(ctx context.Context) (*trace.Tree, error)
	prices  func(ctx context.Context) (map[common.Address]upstream.Price, error)
	sign    func(ctx context.Context) (*upstream.SignatureSet, error)
	call    func(ctx context.Context) ([]byte, error)
}

var (
	sender    = common.HexToAddress("0x1111111111111111111111111111111111111111")
	recipient = common.HexToAddress("0x2222222222222222222222222222222222222222")
)

func someTx() *evidence.Transaction {
	number, index := uint64(20_000_000), uint64(3)
	return &evidence.Transaction{Hash: common.HexToHash(hash), Type: 2, From: sender, To: &recipient, Gas: 21000, GasPrice: big.NewInt(2e9), Value: big.NewInt(1e18), BlockNumber: &number, Index: &index}
}

func someReceipt() *evidence.Receipt {
	one := uint64(1)
	return &evidence.Receipt{Status: &one, GasUsed: 21000, EffectiveGasPrice: big.NewInt(2e9)}
}

func newWorld() *world {
	return &world{
		probe: func(context.Context) (*upstream.ProbeResult, error) {
			ch, _ := chain.ByID(1)
			return &upstream.ProbeResult{Chain: ch}, nil
		},
		tx:      func(context.Context) (*evidence.Transaction, error) { return someTx(), nil },
		receipt: func(context.Context) (*evidence.Receipt, error) { return someReceipt(), nil },
		trace: func(context.Context) (*trace.Tree, error) {
			t := trace.FromReceipt(someTx(), someReceipt(), true)
			t.Source = trace.RungDebug
			return t, nil
		},
		prices: func(context.Context) (map[common.Address]upstream.Price, error) {
			return map[common.Address]upstream.Price{{}: {USD: explain.Decimal{Unscaled: big.NewInt(2000), Scale: 0}, Time: 1, Source: "test"}}, nil
		},
		sign: func(context.Context) (*upstream.SignatureSet, error) { return nil, nil },
		call: func(context.Context) ([]byte, error) { return nil, upstream.ErrNoState },
	}
}

func (w *world) Probe(ctx context.Context, _ []*chain.Chain, _ common.Hash) (*upstream.ProbeResult, error) {
	return w.probe(ctx)
}
func (w *world) Transaction(ctx context.Context, _ *chain.Chain, _ common.Hash) (*evidence.Transaction, error) {
	return w.tx(ctx)
}
func (w *world) Receipt(ctx context.Context, _ *chain.Chain, _ common.Hash) (*evidence.Receipt, error) {
	return w.receipt(ctx)
}
func (w *world) Block(context.Context, *chain.Chain, uint64, bool) (*evidence.Block, error) {
	return &evidence.Block{Number: 20_000_000, Timestamp: 1_717_000_000, GasLimit: 30_000_000, BaseFee: big.NewInt(1e9), Withdrawals: -1}, nil
}
func (w *world) DebugTrace(ctx context.Context, _ *chain.Chain, _ common.Hash, _ trace.Limits) (*trace.Tree, error) {
	return w.trace(ctx)
}
func (w *world) ParityTrace(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error) {
	return nil, upstream.ErrUnsupported
}
func (w *world) StateDiff(context.Context, *chain.Chain, common.Hash) (*evidence.StateDiff, error) {
	return nil, upstream.ErrUnsupported
}
func (w *world) Balance(context.Context, *chain.Chain, common.Address, uint64) (*big.Int, error) {
	return nil, upstream.ErrNoState
}
func (w *world) Nonce(context.Context, *chain.Chain, common.Address, uint64) (uint64, error) {
	return 0, upstream.ErrNoState
}
func (w *world) Code(context.Context, *chain.Chain, common.Address, uint64) ([]byte, error) {
	return nil, upstream.ErrNoState
}
func (w *world) Storage(context.Context, *chain.Chain, common.Address, common.Hash, uint64) (common.Hash, error) {
	return common.Hash{}, upstream.ErrNoState
}
func (w *world) Call(ctx context.Context, _ *chain.Chain, _ common.Address, _ []byte, _ uint64) ([]byte, error) {
	return w.call(ctx)
}
func (w *world) Source(context.Context, *chain.Chain, common.Address) (*upstream.Source, error) {
	return nil, upstream.ErrNotFound
}
func (w *world) Signatures(ctx context.Context, _ [][4]byte, _ []common.Hash) (*upstream.SignatureSet, error) {
	return w.sign(ctx)
}
func (w *world) Prices(ctx context.Context, _ *chain.Chain, _ uint64, _ []common.Address) (map[common.Address]upstream.Price, error) {
	return w.prices(ctx)
}

func (w *world) Local(ctx context.Context, _, _ string, work func(context.Context) error) error {
	return work(ctx)
}

func explainWith(t *testing.T, o Options, w *world, chainID uint64) (*explain.Result, error) {
	t.Helper()
	x := New(o)
	defer x.Close()
	return x.Explain(context.Background(), Job{Request: explain.Request{TxHash: hash, ChainID: chainID}, World: w, Meter: new(meter.Meter)})
}

func TestExplain(t *testing.T) {
	for _, id := range []uint64{0, 1} {
		res, err := explainWith(t, Options{}, newWorld(), id)
		if err != nil {
			t.Fatal(err)
		}
		if res.Partial() || res.Status != explain.StatusSuccess || res.TxType == nil || *res.TxType != explain.TypeTransfer || res.Confidence != explain.High {
			t.Errorf("chain %d: %s %v %s: %s", id, res.Status, res.TxType, res.Confidence, res.Summary)
		}
		if res.USDValue == nil || res.USDValue.String() != "2000" {
			t.Errorf("one ETH at 2000 USD is worth %v", res.USDValue)
		}
	}
}

// TestPhaseFails: each phase that ends in a fault or a panic costs its own piece,
// and the partial result names it.
func TestPhaseFails(t *testing.T) {
	broken := errors.New("the wire was cut")
	f := func(phase string, breakIt func(w *world, fail func())) {
		t.Helper()
		for _, panics := range []bool{false, true} {
			w := newWorld()
			breakIt(w, func() {
				if panics {
					panic("the fetcher fell over")
				}
			})
			res, err := explainWith(t, Options{}, w, 1)
			if err != nil {
				t.Errorf("%s: %v", phase, err)
				continue
			}
			if !res.Partial() || res.Confidence != explain.Low || !strings.HasPrefix(res.Summary, explain.PartialPrefix) || !strings.Contains(res.Summary, phase) {
				t.Errorf("%s (panics: %v): %s, %s, %q", phase, panics, res.AnalysisModel, res.Confidence, res.Summary)
			}
			if want := map[bool]string{true: "internal fault", false: broken.Error()}[panics]; !strings.Contains(res.Summary, want) {
				t.Errorf("%s (panics: %v): the summary hides the reason: %q", phase, panics, res.Summary)
			}
			if res.ChainName != "Ethereum" {
				t.Errorf("%s: what is known was lost: chain %q", phase, res.ChainName)
			}
			if phase == phasePrice && len(res.PrettyTrace) == 0 {
				t.Errorf("%s: the trace was lost", phase)
			}
		}
	}
	f(phaseTransaction, func(w *world, fail func()) {
		w.tx = func(context.Context) (*evidence.Transaction, error) { fail(); return nil, broken }
	})
	f(phaseTransaction, func(w *world, fail func()) {
		w.receipt = func(context.Context) (*evidence.Receipt, error) { fail(); return nil, broken }
	})
	f(phaseTrace, func(w *world, fail func()) {
		w.trace = func(context.Context) (*trace.Tree, error) { fail(); return nil, broken }
	})
	f(phasePrice, func(w *world, fail func()) {
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) { fail(); return nil, broken }
	})
	f(phaseLabel, func(w *world, fail func()) {
		callsAToken(w)
		w.call = func(context.Context) ([]byte, error) { fail(); return nil, broken }
	})
	f(phaseSource, func(w *world, fail func()) {
		callsAToken(w)
		w.sign = func(context.Context) (*upstream.SignatureSet, error) { fail(); return nil, broken }
	})
}

// callsAToken makes the transaction one that needs labels and sources: a call of
// a function that no table knows, and a transfer of a token that none lists.
func callsAToken(w *world) {
	rc := someReceipt()
	transfer := common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	rc.Logs = []evidence.Log{{Address: recipient, Topics: []common.Hash{transfer, common.BytesToHash(sender[:]), common.BytesToHash(recipient[:])}, Data: make([]byte, 32)}}
	tx := someTx()
	tx.Input = []byte{0x00, 0x00, 0x12, 0x34}
	w.tx = func(context.Context) (*evidence.Transaction, error) { return tx, nil }
	w.receipt = func(context.Context) (*evidence.Receipt, error) { return rc, nil }
	w.trace = func(context.Context) (*trace.Tree, error) {
		t := trace.FromReceipt(tx, rc, true)
		t.Source = trace.RungDebug
		return t, nil
	}
}

// TestFailuresHaveOneOrder: whichever phase fails first, the summary is the same.
func TestFailuresHaveOneOrder(t *testing.T) {
	broken := errors.New("the wire was cut")
	f := func(labelAfter, priceAfter time.Duration) string {
		w := newWorld()
		callsAToken(w)
		w.call = func(context.Context) ([]byte, error) { time.Sleep(labelAfter); return nil, broken }
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) {
			time.Sleep(priceAfter)
			return nil, broken
		}
		res, err := explainWith(t, Options{}, w, 1)
		if err != nil {
			t.Fatal(err)
		}
		return res.Summary
	}
	late, early := f(60*time.Millisecond, 0), f(0, 60*time.Millisecond)
	if late != early || strings.Index(late, phaseLabel) > strings.Index(late, phasePrice) {
		t.Errorf("%s\n%s", late, early)
	}
}

// TestCloseWaits: work that does not heed its context is over when Close returns.
func TestCloseWaits(t *testing.T) {
	var over atomic.Bool
	begun := make(chan struct{})
	w := newWorld()
	w.trace = func(context.Context) (*trace.Tree, error) {
		close(begun)
		time.Sleep(100 * time.Millisecond)
		over.Store(true)
		return nil, upstream.ErrUnsupported
	}
	x := New(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-begun; cancel() }()
	if _, err := x.Explain(ctx, Job{Request: explain.Request{TxHash: hash, ChainID: 1}, World: w, Meter: new(meter.Meter)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if x.Close(); !over.Load() {
		t.Error("Close did not wait")
	}
}

// TestNoTraceIsNoFailure: a node without trace methods lowers confidence only.
func TestNoTraceIsNoFailure(t *testing.T) {
	w := newWorld()
	w.trace = func(context.Context) (*trace.Tree, error) { return nil, upstream.ErrUnsupported }
	// State is not available either, so that the receipt alone is left.
	res, err := explainWith(t, Options{}, w, 1)
	if err != nil || res.Partial() {
		t.Fatalf("%v %v", res, err)
	}
	if res.Provenance.TraceSource != string(trace.RungReceipt) || res.RawTrace != nil {
		t.Errorf("trace source %q, raw trace %v", res.Provenance.TraceSource, res.RawTrace)
	}
}

func TestEndsWithoutResult(t *testing.T) {
	f := func(w *world, chainID uint64, want error) {
		t.Helper()
		if res, err := explainWith(t, Options{}, w, chainID); !errors.Is(err, want) {
			t.Errorf("got %v, %v, want %v", res, err, want)
		}
	}
	pending := newWorld()
	pending.tx = func(context.Context) (*evidence.Transaction, error) {
		tx := someTx()
		tx.BlockNumber = nil
		return tx, nil
	}
	f(pending, 1, explain.ErrPending)
	absent := newWorld()
	absent.tx = func(context.Context) (*evidence.Transaction, error) { return nil, upstream.ErrNotFound }
	f(absent, 1, explain.ErrNotFound)
	nowhere := newWorld()
	nowhere.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &explain.NotFoundError{TxHash: hash, Asked: 5}
	}
	f(nowhere, 0, explain.ErrNotFound)
	f(newWorld(), 987654321, explain.ErrUnknownChain)
}

func TestDeadline(t *testing.T) {
	w := newWorld()
	w.prices = func(ctx context.Context) (map[common.Address]upstream.Price, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	start := time.Now()
	res, err := explainWith(t, Options{Deadline: 150 * time.Millisecond}, w, 1)
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, "price (the deadline of 150ms passed)") {
		t.Fatalf("%v, %v", res.Summary, err)
	}
	if res.Status != explain.StatusSuccess || len(res.PrettyTrace) == 0 {
		t.Error("what was known at the deadline is lost")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
	w.probe = func(ctx context.Context) (*upstream.ProbeResult, error) { <-ctx.Done(); return nil, ctx.Err() }
	if _, err := explainWith(t, Options{Deadline: 50 * time.Millisecond}, w, 0); !errors.Is(err, explain.ErrDeadline) {
		t.Errorf("got %v, want explain.ErrDeadline", err)
	}
}

// TestAssemblyPanics: even then the caller gets the partial result.
func TestAssemblyPanics(t *testing.T) {
	o := Options{assemble: func(*assemble.Evidence) *assemble.Case { panic("a rule fell over") }}
	res, err := explainWith(t, o, newWorld(), 1)
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, phaseAssemble) {
		t.Fatalf("%+v, %v", res, err)
	}
}

// TestSupervisorPanics: a sink that falls over takes the Supervisor with it, and
// what was gathered is still answered.
func TestSupervisorPanics(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	sink := func(e explain.Event) {
		if e.Phase == phaseTrace && e.State == explain.StateDone {
			panic("the sink fell over")
		}
	}
	res, err := x.Explain(context.Background(), Job{Request: explain.Request{TxHash: hash, ChainID: 1}, World: newWorld(), Meter: new(meter.Meter), Sink: sink})
	if err != nil || !res.Partial() {
		t.Fatalf("%+v, %v", res, err)
	}
}

// TestStopMidFlight stops 1,000 requests while all their phases wait. What is left
// of them is checked twice: by the counter here and by the leak check of the package.
func TestStopMidFlight(t *testing.T) {
	x := New(Options{})
	before := runtime.NumGoroutine()
	const n = 1000
	var waiting atomic.Int64
	w := newWorld()
	block := func(ctx context.Context) { waiting.Add(1); <-ctx.Done(); waiting.Add(-1) }
	w.trace = func(ctx context.Context) (*trace.Tree, error) { block(ctx); return nil, ctx.Err() }
	w.prices = func(ctx context.Context) (map[common.Address]upstream.Price, error) {
		block(ctx)
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			if _, err := x.Explain(ctx, Job{Request: explain.Request{TxHash: hash, ChainID: 1}, World: w}); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}()
	}
	for end := time.Now().Add(30 * time.Second); waiting.Load() < 2*n && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if got := waiting.Load(); got != 2*n {
		t.Errorf("%d phases wait, want %d", got, 2*n)
	}
	cancel()
	wg.Wait()
	x.Close()
	if waiting.Load() != 0 {
		t.Errorf("%d phases still wait", waiting.Load())
	}
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestClosed(t *testing.T) {
	x := New(Options{})
	x.Close()
	if _, err := x.Explain(context.Background(), Job{Request: explain.Request{TxHash: hash, ChainID: 1}, World: newWorld()}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestEvents: what a listener is told, in an order that makes sense.
func TestEvents(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	var seen []string
	_, err := x.Explain(context.Background(), Job{Request: explain.Request{TxHash: hash}, World: newWorld(), Sink: func(e explain.Event) {
		seen = append(seen, string(e.Type)+" "+e.Phase)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if seen[0] != "preflight_start " || seen[len(seen)-1] != "complete " || seen[len(seen)-2] != "preflight_done " {
		t.Errorf("events: %q", seen)
	}
}

// TestStatusEvents: how each phase stands, and which failed.
func TestStatusEvents(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	w := newWorld()
	w.prices = func(context.Context) (map[common.Address]upstream.Price, error) {
		return nil, errors.New("no prices\ndata: {}" + strings.Repeat("!", 1000))
	}
	states := map[string][]explain.State{}
	var done explain.Event
	_, err := x.Explain(context.Background(), Job{Request: explain.Request{TxHash: hash}, World: w, Sink: func(e explain.Event) {
		switch e.Type {
		case explain.EventPreflightStatus:
			states[e.Phase] = append(states[e.Phase], e.State)
			if strings.Contains(e.Message, "\n") || len(e.Message) > maxReason+10 {
				t.Errorf("message %q", e.Message)
			}
		case explain.EventPreflightDone:
			done = e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(phase string, want ...explain.State) {
		t.Helper()
		if !slices.Equal(states[phase], want) {
			t.Errorf("%s: %q, want %q", phase, states[phase], want)
		}
	}
	f(phaseProbe, explain.StateStarted, explain.StateDone, explain.StateFound)
	f(phaseTransaction, explain.StateStarted, explain.StateDone)
	f(phaseTrace, explain.StateStarted, explain.StateDone)
	f(phasePrice, explain.StateStarted, explain.StateFailed)
	if done.Chain != "ethereum-mainnet" || !slices.Equal(done.Failed, []string{phasePrice}) {
		t.Errorf("preflight_done %+v", done)
	}
}
