package tool

import (
	"context"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"
	"txlens/testkit/gethdata"
	"txlens/testkit/recorded"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// fake is a world that answers as told; what is not told was not expected.
type fake struct {
	gather.World
	balance func(a common.Address, block uint64) (*big.Int, error)
	nonce   func(a common.Address, block uint64) (uint64, error)
	code    func(a common.Address, block uint64) ([]byte, error)
	storage func(a common.Address, slot common.Hash, block uint64) (common.Hash, error)
	call    func(from *common.Address, to common.Address, data []byte, block uint64) ([]byte, error)
	block   func(number uint64, full bool) (*ethrpc.Block, error)
	receipt func(hash common.Hash) (*ethrpc.Receipt, error)
	source  func(a common.Address) (*upstream.Source, error)
	text    func(a common.Address) (*upstream.SourceText, error)
	prices  func(at uint64, tokens []common.Address) (map[common.Address]upstream.Price, error)
}

func (f *fake) Balance(_ context.Context, _ *chain.Chain, a common.Address, block uint64) (*big.Int, error) {
	return f.balance(a, block)
}
func (f *fake) Nonce(_ context.Context, _ *chain.Chain, a common.Address, block uint64) (uint64, error) {
	return f.nonce(a, block)
}
func (f *fake) Code(_ context.Context, _ *chain.Chain, a common.Address, block uint64) ([]byte, error) {
	return f.code(a, block)
}
func (f *fake) Storage(_ context.Context, _ *chain.Chain, a common.Address, slot common.Hash, block uint64) (common.Hash, error) {
	return f.storage(a, slot, block)
}
func (f *fake) Call(_ context.Context, _ *chain.Chain, to common.Address, data []byte, block uint64) ([]byte, error) {
	return f.call(nil, to, data, block)
}
func (f *fake) CallFrom(_ context.Context, _ *chain.Chain, from, to common.Address, data []byte, block uint64) ([]byte, error) {
	return f.call(&from, to, data, block)
}
func (f *fake) Block(_ context.Context, _ *chain.Chain, number uint64, full bool) (*ethrpc.Block, error) {
	return f.block(number, full)
}
func (f *fake) Receipt(_ context.Context, _ *chain.Chain, hash common.Hash) (*ethrpc.Receipt, error) {
	return f.receipt(hash)
}
func (f *fake) Source(_ context.Context, _ *chain.Chain, a common.Address) (*upstream.Source, error) {
	return f.source(a)
}
func (f *fake) SourceText(_ context.Context, _ *chain.Chain, a common.Address) (*upstream.SourceText, error) {
	return f.text(a)
}
func (f *fake) Prices(_ context.Context, _ *chain.Chain, at uint64, tokens []common.Address) (map[common.Address]upstream.Price, error) {
	return f.prices(at, tokens)
}
func (f *fake) Local(ctx context.Context, _, _ string, work func(context.Context) error) error {
	return work(ctx)
}

// found is a desk with a recorded transaction, and a world that must not be asked
// for what it is not told.
func found(t testing.TB, hash string, w *fake) *Env {
	t.Helper()
	d := &Env{Case: assemble.Build(recorded.Find(t, hash))}
	if w != nil {
		d.World = w
	}
	return d
}

// ran is a desk with a transaction that a go-ethereum node re-executed, the same
// node behind a metered session, and the meter.
func ran(t testing.TB, name string) (*Env, *meter.Meter) {
	t.Helper()
	c := gethdata.Get(t, name)
	n, err := gethdata.NewNode(c)
	if err != nil {
		t.Fatal(err)
	}
	return behind(t, c, n)
}

func behind(t testing.TB, c *gethdata.Case, h http.Handler) (*Env, *meter.Meter) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cl, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{1: {srv.URL}}, RPCOnly: true, SourcesOff: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	m := &meter.Meter{}
	return &Env{Case: caseOf(t, c), World: cl.Session(m, nil)}, m
}

// caseOf is the case of a re-executed transaction.
func caseOf(t testing.TB, c *gethdata.Case) *assemble.Analysis {
	t.Helper()
	e, err := c.BuildEvidence()
	if err != nil {
		t.Fatal(err)
	}
	ch, _ := chain.ByID(1)
	ev := &assemble.Evidence{Chain: ch, Version: "test", TxHash: c.Hash().Hex()}
	var errs [4]error
	ev.Tx, errs[0] = ethrpc.ParseTransaction(e.Tx)
	ev.Receipt, errs[1] = ethrpc.ParseReceipt(e.Receipt)
	ev.Block, errs[2] = ethrpc.ParseBlock(e.Block)
	ev.Tree, errs[3] = trace.ParseCallTracerBytes(e.Trace, trace.Limits{})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	if ev.Diff, err = ethrpc.ParseStateDiff(e.StateDiff); err != nil {
		t.Fatal(err)
	}
	return assemble.Build(ev)
}

// called is the answer of a tool as the model sees it, without the wrapper, or
// "error: " and what went wrong.
func called(t testing.TB, d *Env, name, input string) string {
	t.Helper()
	x := tool(t, name)
	answer, err := x.Do(t.Context(), d, jsontext.Value(input), 0)
	if err != nil {
		return "error: " + err.Error()
	}
	s := Mark(answer)
	s, ok := strings.CutPrefix(s, markOpen)
	s, ok2 := strings.CutSuffix(s, markClose)
	if !ok || !ok2 {
		t.Fatalf("%s: no wrapper around %.200s", name, s)
	}
	if !strings.HasSuffix(s, markCut) && !jsontext.Value(s).IsValid() {
		t.Fatalf("%s: no JSON: %.200s", name, s)
	}
	return s
}

// as decodes what called gave.
func as[T any](t testing.TB, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return v
}

func tool(t testing.TB, name string) Tool {
	t.Helper()
	for _, x := range All() {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("there is no tool %s", name)
	return Tool{}
}

func bigInt(n int) *big.Int { return big.NewInt(int64(n)) }
