package tool

import (
	"context"
	"errors"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/replay"
	"txlens/engine/trace"
	"txlens/engine/upstream"
	"txlens/testkit/gethdata"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/go-json-experiment/json/jsontext"
)

// TestReproduces: with nothing changed a simulation says that the transaction
// comes out as it was, and books its work as code execution.
func TestReproduces(t *testing.T) {
	f := func(name string) {
		t.Helper()
		d, m := ran(t, name)
		v := as[SimulationView](t, called(t, d, "simulate", `{}`))
		if !v.Reproduced || v.Simulated != nil || v.Real.GasUsed != d.Case.Receipt.GasUsed || v.Real.Frames != d.Case.Tree.Total {
			t.Errorf("%s: %+v", name, v)
		}
		if c := m.Costs(); c.CodeExecution.String() != "0.000014" || c.LLMs.String() != "0" {
			t.Errorf("%s: booked %+v", name, c)
		}
	}
	f(gethdata.TokenTransfer)
	f(gethdata.MultiContracts)
	f(gethdata.FailedTx)
	f(gethdata.Delegated7702)
}

// TestSimulatedTransfer: half the amount moves half the tokens, and only that.
func TestSimulatedTransfer(t *testing.T) {
	d, m := ran(t, gethdata.TokenTransfer)
	amount := d.Case.Flow.Transfers[0].Amount.String()
	v := as[SimulationView](t, called(t, d, "simulate", `{"words":[{"word":1,"value":"5"}]}`))
	if v.Same || v.Simulated.Status != "success" || len(v.Values) != 2 || len(v.LogsGone) != 1 || len(v.LogsNew) != 1 || len(v.Storage) != 2 {
		t.Fatalf("%+v", v)
	}
	for _, r := range v.Values {
		if strings.TrimPrefix(r.Real, "-") != amount || strings.TrimPrefix(r.Simulated, "-") != "5" {
			t.Errorf("%+v", r)
		}
	}
	if m.Costs().CodeExecution.String() == "0" {
		t.Error("nothing was booked")
	}
	// The same word again is no difference.
	w := as[CalldataView](t, called(t, d, "decode_calldata", `{"frame":"0"}`)).Words
	v = as[SimulationView](t, called(t, d, "simulate", `{"words":[{"word":1,"value":"`+w[1].Value.String()+`"}]}`))
	if !v.Same || v.Simulated.GasUsed != v.Real.GasUsed {
		t.Errorf("the same calldata: %+v", v)
	}
}

// TestSimulatedWithout: without a call what it did is gone, and the reason for the
// change shows; with its own answer in its place the caller goes on.
func TestSimulatedWithout(t *testing.T) {
	d, _ := ran(t, gethdata.MultiContracts)
	var inner string // a call with logs below it, which the caller checks
	for _, f := range d.Case.Tree.Frames {
		if f.Depth == 1 && len(f.Children)+len(f.Logs) > 0 {
			inner = f.Path()
			break
		}
	}
	recorded := as[SimulationView](t, called(t, d, "simulate", `{"without":[{"frame":"`+inner+`"}]}`))
	if recorded.Same || recorded.Simulated.Status != "success" || len(recorded.LogsGone) == 0 || len(recorded.Values) == 0 || len(recorded.Storage) == 0 {
		t.Errorf("without %s: %+v", inner, recorded)
	}
	reverted := as[SimulationView](t, called(t, d, "simulate", `{"without":[{"frame":"`+inner+`","returns":"revert"}]}`))
	if reverted.Same {
		t.Errorf("%+v", reverted)
	}
	for _, bad := range []string{`{"without":[{"frame":"0"}]}`, `{"without":[{"frame":"0.99"}]}`, `{"without":[{"frame":"` + inner + `","returns":"what"}]}`, `{"without":[{}]}`} {
		if got := called(t, d, "simulate", bad); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// TestSimulatedState: storage and balances that are set are what the run finds.
func TestSimulatedState(t *testing.T) {
	d, _ := ran(t, gethdata.TokenTransfer)
	diff := d.Case.Evidence.Diff
	token := d.Case.Flow.Transfers[0].Token
	var slots []string
	for slot := range diff.Pre[token].Storage {
		slots = append(slots, `{"address":"`+token.Hex()+`","slot":"`+slot.Hex()+`","value":"0"}`)
	}
	v := as[SimulationView](t, called(t, d, "simulate", `{"storage":[`+strings.Join(slots, ",")+`]}`))
	if v.Same || len(v.LogsGone) != 1 {
		t.Errorf("a sender without tokens sent some: %+v", v)
	}
}

// owned is a transaction to a contract that lets its owner (slot 0) alone in: it
// then counts in slot 1 and logs, when it holds coin. The world before it is of
// block 99, in block 90 somebody else was owner.
func owned(t testing.TB) *Env {
	t.Helper()
	vault, owner := common.HexToAddress("0x2000000000000000000000000000000000000002"), common.HexToAddress("0x1000000000000000000000000000000000000001")
	op := func(ops ...vm.OpCode) (b []byte) {
		for _, o := range ops {
			b = append(b, byte(o))
		}
		return b
	}
	// caller == slot 0 && selfbalance != 0, else revert
	code := op(vm.PUSH1, 0, vm.SLOAD, vm.CALLER, vm.EQ, vm.SELFBALANCE, vm.ISZERO, vm.ISZERO, vm.AND, vm.PUSH1, 15, vm.JUMPI, vm.PUSH1, 0, vm.DUP1)
	code[10] = 16
	code = append(code, op(vm.REVERT, vm.JUMPDEST, vm.PUSH1, 1, vm.SLOAD, vm.PUSH1, 1, vm.ADD, vm.PUSH1, 1, vm.SSTORE, vm.PUSH1, 0, vm.DUP1, vm.LOG0)...)
	w := &fake{
		balance: func(a common.Address, _ uint64) (*big.Int, error) {
			return map[common.Address]*big.Int{owner: big.NewInt(1e18), vault: big.NewInt(7)}[a], nil
		},
		nonce: func(common.Address, uint64) (uint64, error) { return 0, nil },
		code: func(a common.Address, _ uint64) ([]byte, error) {
			return map[common.Address][]byte{vault: code}[a], nil
		},
		storage: func(_ common.Address, slot common.Hash, block uint64) (common.Hash, error) {
			if slot == (common.Hash{}) && block == 99 {
				return common.BytesToHash(owner[:]), nil
			}
			return common.Hash{}, nil
		},
	}
	was := w.balance
	w.balance = func(a common.Address, n uint64) (*big.Int, error) {
		if b, _ := was(a, n); b != nil {
			return b, nil
		}
		return new(big.Int), nil
	}
	number, index := uint64(16_000_000), uint64(0)
	w.storage = at(w.storage, number-1)
	blk := &ethrpc.Block{Number: number, Timestamp: 1_670_000_000, BaseFee: new(big.Int), GasLimit: 30_000_000, Difficulty: new(big.Int), Withdrawals: -1, Hash: common.Hash{9}}
	tx := &ethrpc.Transaction{Hash: common.Hash{1}, From: owner, To: &vault, Gas: 200_000, GasPrice: big.NewInt(1), Value: new(big.Int), BlockNumber: &number, Index: &index}
	return caseFrom(t, w, blk, tx, nil)
}

// caseFrom makes the case of a transaction from its own run.
func caseFrom(t testing.TB, w *fake, blk *ethrpc.Block, tx *ethrpc.Transaction, earlier []*ethrpc.Transaction) *Env {
	t.Helper()
	ch, _ := chain.ByID(1)
	res, err := replay.Run(t.Context(), ch, blk, tx, earlier, gather.StateAt(w, ch, *tx.BlockNumber-1), trace.Limits{})
	if err != nil || res.Status != 1 || len(res.Logs) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	ev := &assemble.Evidence{Chain: ch, Tx: tx, Block: blk, Tree: res.Tree, Diff: res.StateDiff, TxHash: tx.Hash.Hex(),
		Receipt: &ethrpc.Receipt{Status: &res.Status, GasUsed: res.GasUsed, EffectiveGasPrice: big.NewInt(1), Logs: res.Logs}}
	return &Env{Case: assemble.Build(ev), World: w}
}

// at lets a block number stand for 99.
func at(read func(common.Address, common.Hash, uint64) (common.Hash, error), block uint64) func(common.Address, common.Hash, uint64) (common.Hash, error) {
	return func(a common.Address, slot common.Hash, n uint64) (common.Hash, error) {
		if n == block {
			n = 99
		}
		return read(a, slot, n)
	}
}

// TestSimulatedGuard asks what a check of the caller is asked in an analysis.
func TestSimulatedGuard(t *testing.T) {
	d := owned(t)
	vault := d.tx().To.Hex()
	f := func(input, wantStatus string, wantLogsGone int) *SimulationView {
		t.Helper()
		v := as[SimulationView](t, called(t, d, "simulate", input))
		if v.Simulated == nil || v.Simulated.Status != wantStatus || len(v.LogsGone) != wantLogsGone {
			t.Errorf("%s: %s", input, called(t, d, "simulate", input))
		}
		return &v
	}
	v := f(`{"from":"0x00000000000000000000000000000000000a11ce"}`, "reverted", 1)
	if len(v.Storage) != 1 || v.Storage[0].Slot.String() != common.BigToHash(big.NewInt(1)).Hex() || v.Simulated.Where != "0" || !strings.Contains(strings.Join(v.Notes, " "), "given the coin") {
		t.Errorf("%+v", v)
	}
	f(`{"from":"0x00000000000000000000000000000000000a11ce","storage":[{"address":"`+vault+`","slot":"0","value":"0xa11ce"}]}`, "success", 0)
	f(`{"balances":[{"address":"`+vault+`","wei":"0"}]}`, "reverted", 1)
	f(`{"valueWei":"1000000"}`, "success", 0)
	f(`{"balances":[{"address":"`+vault+`","wei":"0"}],"valueWei":"1"}`, "success", 0)
	f(`{"atBlock":15000000}`, "reverted", 1)
	f(`{"to":"0x00000000000000000000000000000000000a11ce"}`, "success", 1)
	f(`{"input":"0x01"}`, "success", 0)
	for _, bad := range []string{`{"atBlock":16000000}`, `{"words":[{"word":0,"value":"1"}]}`, `{"frames":[{"frame":"0","valueWei":"1"}]}`, `{"gas":1}`} {
		if got := called(t, d, "simulate", bad); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", bad, got)
		}
	}
}

// TestSimulationStops: a run that does not end by itself ends with the analysis.
func TestSimulationStops(t *testing.T) {
	d := owned(t)
	w := *d.World.(*fake)
	ctx, cancel := context.WithCancel(t.Context())
	// As clients of nodes do, the fake ends with its context: a run waits for what it has asked.
	w.code = func(common.Address, uint64) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	d.World = &w
	done := make(chan error)
	go func() {
		_, err := tool(t, "simulate").Run(ctx, d, jsontext.Value(`{}`))
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestSimulationGround: a transaction that stands on an earlier one of its block is
// reproduced from the state diff alone, and without one by running the earlier.
func TestSimulationGround(t *testing.T) {
	d := owned(t)
	w, first := d.World.(*fake), d.tx()
	second, index := *first, uint64(1)
	second.Hash, second.Nonce, second.Index = common.Hash{2}, 1, &index
	d = caseFrom(t, w, d.Case.Evidence.Block, &second, []*ethrpc.Transaction{first})
	f := func(wantGround string, wantBlocks int) {
		t.Helper()
		asked := 0
		w.block = func(uint64, bool) (*ethrpc.Block, error) {
			asked++
			full := *d.Case.Evidence.Block
			full.Transactions = []*ethrpc.Transaction{first, &second}
			return &full, nil
		}
		v := as[SimulationView](t, called(t, d, "simulate", `{"valueWei":"3"}`))
		if !v.Reproduced || !strings.Contains(v.BaseState, wantGround) || asked != wantBlocks || v.Simulated.Status != "success" || len(v.Storage) != 0 || len(v.Values) != 2 {
			t.Errorf("asked %d times: %+v", asked, v)
		}
	}
	f("with what the state diff says", 0)
	d.Case.Evidence.Diff = nil
	f("after the earlier transactions of the block", 1)
	second.GasPrice = big.NewInt(-1)
	if got := called(t, d, "simulate", `{}`); !strings.HasPrefix(got, "error: run the transaction") {
		t.Error(got)
	}
}

// TestSimulationIsReplayed: a recorded simulation gives the same bytes again, with
// the recorded price.
func TestSimulationIsReplayed(t *testing.T) {
	c := gethdata.Get(t, gethdata.MultiContracts)
	n, err := gethdata.NewNode(c)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(n)
	t.Cleanup(srv.Close)
	cl, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{1: {srv.URL}}, RPCOnly: true, SourcesOff: true, Prices: map[string]int64{upstream.ToolSimulate: 77_000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	rec, live, again := upstream.NewRecorder(), &meter.Meter{}, &meter.Meter{}
	d := &Env{Case: caseOf(t, c), World: cl.Session(live, rec)}
	const input = `{"without":[{"frame":"0.3"}]}`
	want := called(t, d, "simulate", input)
	d.World = upstream.ReplaySession(rec.Bundle(), again)
	if got := called(t, d, "simulate", input); got != want || !strings.Contains(got, `"simulated"`) {
		t.Errorf("got %s, want %s", got, want)
	}
	if live.TotalNano() != again.TotalNano() || again.Costs().CodeExecution.String() != "0.000077" {
		t.Errorf("%d and %d nano-dollars, %+v", live.TotalNano(), again.TotalNano(), again.Costs())
	}
	isUnavailable(t, called(t, d, "simulate", `{"from":"0x00000000000000000000000000000000000a11ce"}`), "this analysis is replayed from a recording")
}

// TestNotReproduced: a receipt that the local run does not give ends in words, not
// in a difference.
func TestNotReproduced(t *testing.T) {
	d, _ := ran(t, gethdata.TokenTransfer)
	rc := *d.Case.Evidence.Receipt
	rc.GasUsed++
	d.Case.Evidence.Receipt = &rc
	if got := called(t, d, "simulate", `{"words":[{"word":1,"value":"5"}]}`); !strings.Contains(got, `"unavailable":"the local EVM does not reproduce`) {
		t.Error(got)
	}
}

// TestPrestate: what only the later side of a diff names was zero before, whatever
// stood there at the end of the block before.
func TestPrestate(t *testing.T) {
	a, seven, eight := common.Address{1}, common.Hash{7}, common.Hash{8}
	diff := &ethrpc.StateDiff{
		Pre:  map[common.Address]*ethrpc.Account{a: {Balance: big.NewInt(5), Code: []byte{1}, Storage: map[common.Hash]common.Hash{seven: {1}}}},
		Post: map[common.Address]*ethrpc.Account{a: {Storage: map[common.Hash]common.Hash{eight: {2}}}, {2}: {Balance: big.NewInt(1)}},
	}
	got := prestate(diff)
	if zero, set := got[a].Storage[eight]; len(got) != 1 || got[a].Storage[seven] != (common.Hash{1}) || !set || zero != (common.Hash{}) || got[a].Code != nil || got[a].Balance.Int64() != 5 {
		t.Errorf("%+v", got[a])
	}
	if _, changed := diff.Pre[a].Storage[eight]; changed || prestate(nil) != nil {
		t.Error("the evidence was changed")
	}
}
