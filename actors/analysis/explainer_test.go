package analysis

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	actors "txlens/actors/runtime"
	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/ethrpc"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

var (
	sender    = common.HexToAddress("0x1111111111111111111111111111111111111111")
	recipient = common.HexToAddress("0x2222222222222222222222222222222222222222")
)

func TestExplain(t *testing.T) {
	for _, id := range []uint64{0, 1} {
		res, err := explainWith(t, Options{}, newWorld(), id)
		if err != nil {
			t.Fatal(err)
		}
		if res.Partial() || res.Status != api.StatusSuccess || res.TxType == nil || *res.TxType != api.TypeTransfer || res.Confidence != api.High {
			t.Errorf("chain %d: %s %v %s: %s", id, res.Status, res.TxType, res.Confidence, res.Summary)
		}
		if res.USDValue == nil || res.USDValue.String() != "2000" {
			t.Errorf("one ETH at 2000 USD is worth %v", res.USDValue)
		}
	}
}

// down is how an upstream fails; its words are not for the one who asked.
var down = &upstream.Error{Op: "eth_secret", Source: "host.example", Kind: upstream.KindServer, Err: errors.New("HTTP status 500")}

// tellsInternals complains where a result tells what only the operator may read.
func tellsInternals(t *testing.T, res *api.Result) {
	t.Helper()
	all := res.Summary + strings.Join(res.Steps, "") + strings.Join(res.Risks, "") + strings.Join(res.Provenance.Notes, "")
	for _, word := range []string{"eth_", "example", "HTTP", "fell over", "\n", "fault"} {
		if strings.Contains(all, word) {
			t.Errorf("it tells %q: %s %q", word, res.Summary, res.Provenance.Notes)
		}
	}
}

// TestPhaseFails: a fault or a panic of a phase that a result needs makes a partial one
// that names it, in words that tell no internals.
func TestPhaseFails(t *testing.T) {
	f := func(phase, why string, breakIt func(w *world, fail func())) {
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
			if !res.Partial() || res.Confidence != api.Low || !strings.HasPrefix(res.Summary, "**Partial result: the "+phase+" ") || !panics && !strings.Contains(res.Summary, phase+" phase failed (") {
				t.Errorf("%s (panics: %v): %s, %s, %q", phase, panics, res.AnalysisModel, res.Confidence, res.Summary)
			}
			if panics {
				why = "internal error"
			}
			if !strings.Contains(res.Summary, why) {
				t.Errorf("%s (panics: %v): the summary hides the reason: %q", phase, panics, res.Summary)
			}
			if res.ChainName != "Ethereum" {
				t.Errorf("%s: what is known was lost: chain %q", phase, res.ChainName)
			}
			tellsInternals(t, res)
		}
	}
	f(phaseTransaction, "the transaction could not be fetched: the data provider is not available at the moment", func(w *world, fail func()) {
		w.tx = func(context.Context) (*ethrpc.Transaction, error) { fail(); return nil, down }
	})
	f(phaseTransaction, "the receipt could not be fetched: the data provider is not available at the moment", func(w *world, fail func()) {
		w.receipt = func(context.Context) (*ethrpc.Receipt, error) { fail(); return nil, down }
	})
	f(phaseTrace, "the data provider is not available at the moment", func(w *world, fail func()) {
		w.trace = func(context.Context) (*trace.Tree, error) { fail(); return nil, down }
	})
}

// TestOptionalSources: what a result can do without is noted once, in words for the one
// who asked, and costs neither the mark of a whole result nor the trace.
func TestOptionalSources(t *testing.T) {
	const off = " (the data provider is not available at the moment)"
	f := func(note string, confidence api.Confidence, breakIt func(w *world, fail func())) {
		t.Helper()
		for _, panics := range []bool{false, true} {
			w := newWorld()
			breakIt(w, func() {
				if panics {
					panic("the fetcher fell over")
				}
			})
			res, err := explainWith(t, Options{}, w, 1)
			if err != nil || res.Partial() || res.AnalysisModel != api.ModelRules || strings.Contains(res.Summary, "artial") {
				t.Fatalf("%q (panics: %v): %+v, %v", note, panics, res, err)
			}
			want := note + off
			if panics {
				want = note + " (internal error)"
			}
			if n := strings.Count(strings.Join(res.Provenance.Notes, "\n"), want); n != 1 {
				t.Errorf("%q stands %d times in %q", want, n, res.Provenance.Notes)
			}
			if res.Confidence != confidence || len(res.PrettyTrace) == 0 || len(res.Steps) == 0 || res.Status != api.StatusSuccess {
				t.Errorf("%q: confidence %s, %d nodes, steps %q", note, res.Confidence, len(res.PrettyTrace), res.Steps)
			}
			tellsInternals(t, res)
		}
	}
	f("prices could not all be fetched; USD values rest on trades inside the transaction or are missing", api.High, func(w *world, fail func()) {
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) { fail(); return nil, down }
	})
	f("the header of the block could not be fetched; its time, prices, and who received the fee are not known", api.Medium, func(w *world, fail func()) {
		w.block = func(context.Context) (*ethrpc.Block, error) { fail(); return nil, down }
	})
	// The contract that is called here is known to nobody.
	f("names and decimals of tokens could not all be fetched", api.Low, func(w *world, fail func()) {
		callsAToken(w)
		w.call = func(context.Context) ([]byte, error) { fail(); return nil, down }
	})
	f("contract sources and function names could not all be fetched", api.Low, func(w *world, fail func()) {
		callsAToken(w)
		w.sign = func(context.Context) (*upstream.SignatureSet, error) { fail(); return nil, down }
	})
}

// TestTraceStandsIn: a trace tells the transaction where nobody else does.
func TestTraceStandsIn(t *testing.T) {
	w := newWorld()
	w.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, down }
	res, err := explainWith(t, Options{}, w, 1)
	if err != nil || !res.Partial() || res.Status != api.StatusSuccess {
		t.Fatalf("%+v, %v", res, err)
	}
	if res.TxMeta.From != api.AddrOf(sender) || res.TxMeta.To == nil || res.TxMeta.ValueWei != "0xde0b6b3a7640000" || len(res.PrettyTrace) != 1 || res.RawTrace == nil {
		t.Errorf("%+v, %d nodes", res.TxMeta, len(res.PrettyTrace))
	}
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, down }
	res, err = explainWith(t, Options{}, w, 1)
	if err != nil || !res.Partial() || len(res.PrettyTrace) != 1 || len(res.BalanceChanges) != 0 {
		t.Fatalf("without a receipt: %+v, %v", res, err)
	}
}

// TestTokensOfATrace: without a receipt the logs of the trace say which tokens to ask for
// their names.
func TestTokensOfATrace(t *testing.T) {
	w := newWorld()
	callsAToken(w)
	rc, _ := w.receipt(t.Context())
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, down }
	w.call = func(context.Context) ([]byte, error) { // "ABC" to whatever is asked
		return common.FromHex("0x000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000034142430000000000000000000000000000000000000000000000000000000000"), nil
	}
	w.trace = func(context.Context) (*trace.Tree, error) {
		tx, _ := w.tx(context.Background())
		tree := trace.FromReceipt(tx, rc, true)
		tree.Source = trace.SourceDebug
		return tree, nil
	}
	res, err := explainWith(t, Options{}, w, 1)
	if err != nil || !res.Partial() || len(res.TokenTransfers) != 1 || res.TokenTransfers[0].TokenSymbol != "ABC" {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestNothingKnown: where transaction, receipt and traces all fail there is no result to
// give, and the error says whom it was to come from; never that there is no such hash.
func TestNothingKnown(t *testing.T) {
	f := func(fault error, code string, result bool) {
		t.Helper()
		w := newWorld()
		w.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, fault }
		w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, fault }
		w.trace = func(context.Context) (*trace.Tree, error) { return nil, fault }
		res, err := explainWith(t, Options{}, w, 1)
		if (res != nil) != result || err == nil || errors.Is(err, api.ErrNotFound) {
			t.Fatalf("%v: %+v, %v", fault, res, err)
		}
		got := api.FaultOf(err)
		if got.Code != code || strings.Contains(got.Message, "example") || strings.Contains(got.Message, "eth_") || strings.Contains(got.Message, "not found") {
			t.Errorf("%v: %+v", fault, got)
		}
		if code == api.CodeUnavailable && !strings.Contains(got.Message, "ethereum-mainnet") {
			t.Errorf("%+v names no chain", got)
		}
		if result && (!res.Partial() || !strings.Contains(res.Summary, "the transaction and trace phases failed") || !strings.Contains(res.Summary, "could not pay its data provider")) {
			t.Errorf("%s", res.Summary)
		}
	}
	f(down, api.CodeUnavailable, false)
	f(&upstream.Error{Kind: upstream.KindUnsupported}, api.CodeUnavailable, false)
	f(&upstream.Error{Kind: upstream.KindTimeout}, api.CodeUnavailable, false)
	f(&upstream.Error{Kind: upstream.KindPayment, Source: "host.example"}, api.CodePayment, true)
	f(&upstream.Error{Kind: upstream.KindUnpaid}, api.CodeUnpaid, false)
}

// TestUnpaidEvidence: where the service cannot pay for the receipt there is a partial
// result and the error that says so; for a trace the partial result is all.
func TestUnpaidEvidence(t *testing.T) {
	unpaid := &upstream.Error{Op: "eth_secret", Source: "host.example", Kind: upstream.KindPayment, Err: errors.New("HTTP status 402")}
	w := newWorld()
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, unpaid }
	res, err := explainWith(t, Options{}, w, 1)
	if res == nil || !res.Partial() || api.FaultOf(err).Code != api.CodePayment || !strings.Contains(res.Summary, "the transaction phase failed (the receipt could not be fetched: the service could not pay its data provider)") {
		t.Errorf("%+v, %v", res, err)
	}
	w = newWorld()
	w.trace = func(context.Context) (*trace.Tree, error) { return nil, unpaid }
	res, err = explainWith(t, Options{}, w, 1)
	if err != nil || !res.Partial() || !strings.Contains(res.Summary, "the trace phase failed (the service could not pay its data provider)") {
		t.Errorf("%+v, %v", res, err)
	}
	w = newWorld() // nothing to go on, and a trace that does not come in time
	w.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, unpaid }
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return nil, unpaid }
	w.trace = func(ctx context.Context) (*trace.Tree, error) { <-ctx.Done(); return nil, ctx.Err() }
	virtual(t, func(t *testing.T) {
		res, err := explainWith(t, Options{Deadline: time.Second}, w, 1)
		if res == nil || !res.Partial() || api.FaultOf(err).Code != api.CodePayment || !strings.Contains(res.Summary, "the service could not pay its data provider") {
			t.Errorf("%+v, %v", res, err)
		}
	})
	w = newWorld() // no chain either
	w.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &api.UnavailableError{TxHash: hash, Silent: []string{"ethereum-mainnet"}, Unpaid: true}
	}
	res, err = explainWith(t, Options{}, w, 0)
	if res == nil || !res.Partial() || res.Confidence != api.Low || api.FaultOf(err).Code != api.CodePayment || !strings.Contains(res.Summary, "the probe phase failed (the service could not pay its data provider)") {
		t.Errorf("%+v, %v", res, err)
	}
}

// callsAToken makes the transaction one that needs labels and sources: a call of
// a function that no table knows, and a transfer of a token that none lists.
func callsAToken(w *world) {
	rc := someReceipt()
	transfer := common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
	rc.Logs = []ethrpc.Log{{Address: recipient, Topics: []common.Hash{transfer, common.BytesToHash(sender[:]), common.BytesToHash(recipient[:])}, Data: make([]byte, 32)}}
	tx := someTx()
	tx.Input = []byte{0x00, 0x00, 0x12, 0x34}
	w.tx = func(context.Context) (*ethrpc.Transaction, error) { return tx, nil }
	w.receipt = func(context.Context) (*ethrpc.Receipt, error) { return rc, nil }
	w.trace = func(context.Context) (*trace.Tree, error) {
		t := trace.FromReceipt(tx, rc, true)
		t.Source = trace.SourceDebug
		return t, nil
	}
}

// TestFailuresHaveOneOrder: whichever phase fails first, the notes are the same.
func TestFailuresHaveOneOrder(t *testing.T) {
	f := func(labelFirst bool) []string {
		w := newWorld()
		callsAToken(w)
		ended := make(chan struct{}) // the work of the phase that fails first
		wait := func(first bool) error {
			if first {
				close(ended)
			} else {
				<-ended
			}
			return down
		}
		var calls sync.Once
		w.call = func(context.Context) (_ []byte, err error) {
			err = down
			calls.Do(func() { err = wait(labelFirst) })
			return nil, err
		}
		w.prices = func(context.Context) (map[common.Address]upstream.Price, error) { return nil, wait(!labelFirst) }
		res, err := explainWith(t, Options{}, w, 1)
		if err != nil {
			t.Fatal(err)
		}
		return res.Provenance.Notes
	}
	late, early := f(false), f(true)
	at := func(notes []string, word string) int {
		return slices.IndexFunc(notes, func(n string) bool { return strings.HasPrefix(n, word) })
	}
	if !slices.Equal(late, early) || at(late, "names and decimals") < 0 || at(late, "names and decimals") > at(late, "prices") {
		t.Errorf("%q\n%q", late, early)
	}
}

// TestCloseWaits: work that does not heed its context is over when Close returns.
func TestCloseWaits(t *testing.T) {
	virtual(t, func(t *testing.T) {
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
		if _, err := x.Explain(ctx, Input{Request: api.Request{TxHash: hash, ChainID: 1}, World: w, Meter: new(meter.Meter)}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if x.Close(); !over.Load() {
			t.Error("Close did not wait")
		}
	})
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
	if res.Provenance.TraceSource != string(trace.SourceReceipt) || res.RawTrace == nil || res.PrettyTraceMeta != nil {
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
	pending.tx = func(context.Context) (*ethrpc.Transaction, error) {
		tx := someTx()
		tx.BlockNumber = nil
		return tx, nil
	}
	f(pending, 1, api.ErrPending)
	absent := newWorld()
	absent.tx = func(context.Context) (*ethrpc.Transaction, error) { return nil, upstream.ErrNotFound }
	f(absent, 1, api.ErrNotFound)
	nowhere := newWorld()
	nowhere.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &api.NotFoundError{TxHash: hash, Asked: 5}
	}
	f(nowhere, 0, api.ErrNotFound)
	nowhere.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &api.UnavailableError{TxHash: hash, Asked: 5, Silent: []string{"x"}}
	}
	f(nowhere, 0, api.ErrUnavailable)
	nowhere.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &upstream.Error{Kind: upstream.KindNoEndpoint}
	}
	f(nowhere, 0, api.ErrUnavailable)
	nowhere.probe = func(context.Context) (*upstream.ProbeResult, error) {
		return nil, &upstream.Error{Kind: upstream.KindUnpaid}
	}
	f(nowhere, 0, api.ErrUnpaid)
	f(newWorld(), 987654321, api.ErrUnknownChain)
}

// TestDeadline: what a result stands without is noted as missing when the time is over;
// what it needs makes it partial; without the chain there is none.
func TestDeadline(t *testing.T) {
	virtual(t, func(t *testing.T) {
		w := newWorld()
		w.prices = func(ctx context.Context) (map[common.Address]upstream.Price, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		res, err := explainWith(t, Options{Deadline: 150 * time.Millisecond}, w, 1)
		if err != nil || res.Partial() || res.Status != api.StatusSuccess || len(res.PrettyTrace) == 0 || !strings.Contains(strings.Join(res.Provenance.Notes, ""), "prices could not all be fetched; USD values rest on trades inside the transaction or are missing (the deadline of 150ms passed)") {
			t.Fatalf("%+v, %v", res, err)
		}
		w.trace = func(ctx context.Context) (*trace.Tree, error) { <-ctx.Done(); return nil, ctx.Err() }
		res, err = explainWith(t, Options{Deadline: 150 * time.Millisecond}, w, 1)
		if err != nil || !res.Partial() || !strings.Contains(res.Summary, "the trace phase failed (the deadline of 150ms passed)") {
			t.Fatalf("%v, %v", res.Summary, err)
		}
		w.tx = func(ctx context.Context) (*ethrpc.Transaction, error) { <-ctx.Done(); return nil, ctx.Err() }
		if _, err := explainWith(t, Options{Deadline: 50 * time.Millisecond}, w, 1); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("got %v, want api.ErrUnavailable", err)
		}
		w.probe = func(ctx context.Context) (*upstream.ProbeResult, error) { <-ctx.Done(); return nil, ctx.Err() }
		if _, err := explainWith(t, Options{Deadline: 50 * time.Millisecond}, w, 0); !errors.Is(err, api.ErrDeadline) {
			t.Errorf("got %v, want api.ErrDeadline", err)
		}
	})
}

// TestAssemblyPanics: even then the caller gets the partial result.
func TestAssemblyPanics(t *testing.T) {
	o := Options{assemble: func(*assemble.Evidence) *assemble.Analysis { panic("a rule fell over") }}
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
	sink := func(e api.Event) {
		if e.Phase == phaseTrace && e.State == api.StateDone {
			panic("the sink fell over")
		}
	}
	res, err := x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash, ChainID: 1}, World: newWorld(), Meter: new(meter.Meter), Sink: sink})
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
			if _, err := x.Explain(ctx, Input{Request: api.Request{TxHash: hash, ChainID: 1}, World: w}); !errors.Is(err, context.Canceled) {
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
	if got := x.Running(); got != n {
		t.Errorf("%d analyses run, want %d", got, n)
	}
	cancel()
	wg.Wait()
	x.Close()
	if waiting.Load() != 0 {
		t.Errorf("%d phases still wait", waiting.Load())
	}
	for end := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestClosed(t *testing.T) {
	x := New(Options{})
	x.Close()
	if _, err := x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash, ChainID: 1}, World: newWorld()}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestEvents: what a listener is told, in an order that makes sense.
func TestEvents(t *testing.T) {
	x := New(Options{})
	defer x.Close()
	var seen []string
	_, err := x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash}, World: newWorld(), Sink: func(e api.Event) {
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
	states := map[string][]api.State{}
	var done api.Event
	_, err := x.Explain(context.Background(), Input{Request: api.Request{TxHash: hash}, World: w, Sink: func(e api.Event) {
		switch e.Type {
		case api.EventPreflightStatus:
			states[e.Phase] = append(states[e.Phase], e.State)
			if strings.Contains(e.Message, "\n") || len(e.Message) > maxReason+10 {
				t.Errorf("message %q", e.Message)
			}
		case api.EventPreflightDone:
			done = e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := func(phase string, want ...api.State) {
		t.Helper()
		if !slices.Equal(states[phase], want) {
			t.Errorf("%s: %q, want %q", phase, states[phase], want)
		}
	}
	f(phaseProbe, api.StateStarted, api.StateDone, api.StateFound)
	f(phaseTransaction, api.StateStarted, api.StateDone)
	f(phaseTrace, api.StateStarted, api.StateDone)
	f(phasePrice, api.StateStarted, api.StateFailed)
	if done.Chain != "ethereum-mainnet" || !slices.Equal(done.Failed, []string{phasePrice}) {
		t.Errorf("preflight_done %+v", done)
	}
}

// TestNothingForACallerWhoLeft: a result that the end of the caller's context cut short is not
// delivered, a whole one is.
func TestNothingForACallerWhoLeft(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	f := func(ctx context.Context, model string, wantResult bool) {
		t.Helper()
		o := outcome{result: &api.Result{AnalysisModel: model}}.unlessGone(ctx)
		if (o.result != nil) != wantResult || (o.err == nil) != wantResult {
			t.Errorf("%s: %v, %v", model, o.result, o.err)
		}
	}
	f(gone, api.ModelPartial, false)
	f(gone, "rules", true)
	f(t.Context(), api.ModelPartial, true)
	f(t.Context(), "rules", true)
	if o := (outcome{err: api.ErrUnpaid}).unlessGone(gone); o.err != api.ErrUnpaid {
		t.Errorf("%v", o.err)
	}
}

// endedUnseen is a context that has ended without waking who waits for it.
type endedUnseen struct{ context.Context }

func (endedUnseen) Done() <-chan struct{} { return nil }
func (endedUnseen) Err() error            { return context.Canceled }

// TestNothingAfterTheSupervisor: the same holds whichever of the result and the end of the supervisor
// is seen first.
func TestNothingAfterTheSupervisor(t *testing.T) {
	for range 100 { // select takes either
		s := &supervisor{reply: make(chan outcome, 1), closed: make(chan struct{})}
		s.reply <- outcome{result: &api.Result{AnalysisModel: api.ModelPartial}}
		close(s.closed)
		if o := new(Explainer).wait(endedUnseen{t.Context()}, s, actors.Ref{}, nil); o.result != nil || !errors.Is(o.err, context.Canceled) {
			t.Fatalf("%v, %v", o.result, o.err)
		}
	}
}
