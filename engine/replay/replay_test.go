package replay

import (
	"context"
	"errors"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/go-json-experiment/json"

	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/replay/gethdata"
	"txlens/engine/trace"
)

// noLeak checks that a test leaves no goroutine behind.
func noLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for range 100 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
}

// rerun replays a case on its recorded state.
func rerun(t *testing.T, c *gethdata.Case, ch *chain.Chain, opt Options) *Result {
	t.Helper()
	st, err := c.State()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	res, err := RunWith(t.Context(), ch, c.Block, c.Tx, nil, st, opt)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return res
}

// sameTrace compares a tree with callTracer's JSON: as JSON, and frame by frame
// with the logs, which the tree's own JSON does not have.
func sameTrace(t *testing.T, name string, got *trace.Tree, want []byte, logs bool) {
	t.Helper()
	raw, err := json.Marshal(got.Raw())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := gethdata.SameTrace(raw, want, false); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	tree, err := trace.ParseCallTracerBytes(want, trace.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got.Frames) != len(tree.Frames) || got.Failed != tree.Failed {
		t.Fatalf("%s: %d frames, %d failed, want %d and %d", name, len(got.Frames), got.Failed, len(tree.Frames), tree.Failed)
	}
	for i, f := range got.Frames {
		g, w := flat(f, logs), flat(tree.Frames[i], logs)
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: frame %s\n got %.500v\nwant %.500v", name, f.Path(), g, w)
		}
	}
}

// flat is a frame without its neighbours.
func flat(f *trace.Frame, logs bool) trace.Frame {
	c := *f
	c.Parent, c.Children, c.RevertedBy = nil, nil, nil
	if !logs {
		c.Logs = nil
	}
	for _, b := range []*[]byte{&c.Input, &c.Output} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	for i := range c.Logs {
		if len(c.Logs[i].Data) == 0 {
			c.Logs[i].Data = nil
		}
	}
	return c
}

func mainnet(t testing.TB) *chain.Chain {
	t.Helper()
	ch, ok := chain.ByID(1)
	if !ok {
		t.Fatal("the table of chains has no mainnet")
	}
	return ch
}

var folders = []string{
	gethdata.CallTracer, gethdata.CallTracerWithLog, "call_tracer_flat", "prestate_tracer", "prestate_tracer_with_diff_mode",
}

// The recorded trace comes out again, from state alone, under the rules that the
// recording names.
func TestRecordedTraces(t *testing.T) {
	compared := 0
	for _, c := range gethdata.Cases(t, gethdata.CallTracer, gethdata.CallTracerWithLog) {
		if strings.Contains(string(c.TracerConfig), "onlyTopCall") {
			continue // of those only the top was recorded
		}
		res := rerun(t, c, nil, Options{Config: c.Config})
		sameTrace(t, c.Name, res.Tree, c.Result, strings.Contains(string(c.TracerConfig), "withLog"))
		compared++
	}
	if compared != 23 {
		t.Errorf("%d recorded traces compared, want 23", compared)
	}
}

// Every case gives what go-ethereum's own database and tracers give: trace,
// receipt and state diff.
func TestEqualsNode(t *testing.T) {
	for _, c := range gethdata.Cases(t, folders...) {
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		res := rerun(t, c, nil, Options{Config: c.Config})
		sameTrace(t, c.Name, res.Tree, e.Trace, true)
		rc, err := evidence.ParseReceipt(e.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		if notes := Verify(res, rc); len(notes) > 0 {
			t.Errorf("%s: %v", c.Name, notes)
		}
		want, err := evidence.ParseStateDiff(e.StateDiff)
		if err != nil {
			t.Fatal(err)
		}
		sameDiff(t, c.Name, res.StateDiff, want)
	}
}

// sameDiff compares by what the two say: before and after of each account.
func sameDiff(t *testing.T, name string, got, want *evidence.StateDiff) {
	t.Helper()
	addrs := make(map[common.Address]bool)
	for _, m := range []map[common.Address]*evidence.Account{got.Pre, got.Post, want.Pre, want.Post} {
		for a := range m {
			addrs[a] = true
		}
	}
	for a := range addrs {
		g, w := sides(got, a), sides(want, a)
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: %s\n got %.300v\nwant %.300v", name, a, g, w)
		}
	}
}

// sides writes an account's change in one form: a tracer may name an unchanged
// field or leave it out, and may write an emptied account as gone or as zero.
func sides(d *evidence.StateDiff, a common.Address) map[string]string {
	out := make(map[string]string)
	pre, post := d.Pre[a], d.Post[a]
	if pre == nil {
		pre = &evidence.Account{}
	}
	gone := post == nil
	if gone {
		post = &evidence.Account{}
	}
	put := func(field, before, after string, said bool) {
		if !said && !gone {
			return
		}
		if before != after {
			out[field] = before + " to " + after
		}
	}
	num := func(b *big.Int) string {
		if b == nil {
			return "0"
		}
		return b.String()
	}
	nonce := func(n *uint64) string {
		if n == nil {
			return "0"
		}
		return new(big.Int).SetUint64(*n).String()
	}
	put("balance", num(pre.Balance), num(post.Balance), post.Balance != nil)
	put("nonce", nonce(pre.Nonce), nonce(post.Nonce), post.Nonce != nil)
	put("code", string(pre.Code), string(post.Code), post.Code != nil)
	if gone {
		return out // what a destroyed account stored is not all known
	}
	for s, v := range pre.Storage {
		out[s.Hex()] = v.Hex() + " to " + post.Storage[s].Hex()
	}
	for s, v := range post.Storage {
		out[s.Hex()] = pre.Storage[s].Hex() + " to " + v.Hex()
	}
	return out
}

// The built-in rules of mainnet reproduce the mainnet recordings.
func TestMainnetRules(t *testing.T) {
	seen := make(map[common.Hash]bool)
	for _, c := range gethdata.Cases(t, folders...) {
		if !c.Mainnet() {
			continue
		}
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		res := rerun(t, c, mainnet(t), Options{})
		sameTrace(t, c.Name, res.Tree, e.Trace, true)
		if res.Approximate || res.Tree.Source != trace.RungReplay {
			t.Errorf("%s: approximate %v, source %s", c.Name, res.Approximate, res.Tree.Source)
		}
		seen[c.Hash()] = true
	}
	// A sixteenth, big_slow.json, was recorded under rules that mainnet did not have yet.
	if len(seen) != 15 {
		t.Errorf("%d mainnet transactions, want 15", len(seen))
	}
}

func TestTree(t *testing.T) {
	f := func(name string, frames, logs int, status uint64) {
		t.Helper()
		res := rerun(t, gethdata.Get(t, name), mainnet(t), Options{})
		if res.Tree.Total != frames || len(res.Logs) != logs || res.Status != status {
			t.Errorf("%s: %d frames, %d logs, status %d", name, res.Tree.Total, len(res.Logs), res.Status)
		}
	}
	f(gethdata.TokenTransfer, 1, 1, 1)
	f(gethdata.MultiContracts, 162, 32, 1)
	f(gethdata.FailedTx, 10, 0, 0)
	f(gethdata.Delegated7702, 9, 3, 1)
}

// memory is a State for made-up cases; a hook stands before each answer.
type memory struct {
	code    map[common.Address][]byte
	rich    common.Address
	before  func(ctx context.Context, what string) error
	asked   atomic.Int64
	storage func(slot common.Hash) (common.Hash, error)
}

func (m *memory) hook(ctx context.Context, what string) error {
	m.asked.Add(1)
	if m.before == nil {
		return nil
	}
	return m.before(ctx, what)
}

func (m *memory) Balance(ctx context.Context, a common.Address) (*big.Int, error) {
	if a == m.rich {
		return big.NewInt(1e18), m.hook(ctx, "balance")
	}
	return new(big.Int), m.hook(ctx, "balance")
}

func (m *memory) Nonce(ctx context.Context, _ common.Address) (uint64, error) {
	return 0, m.hook(ctx, "nonce")
}

func (m *memory) Code(ctx context.Context, a common.Address) ([]byte, error) {
	return m.code[a], m.hook(ctx, "code")
}

func (m *memory) Storage(ctx context.Context, _ common.Address, slot common.Hash) (common.Hash, error) {
	if err := m.hook(ctx, "storage"); err != nil || m.storage == nil {
		return common.Hash{}, err
	}
	return m.storage(slot)
}

var (
	sender   = common.HexToAddress("0x1000000000000000000000000000000000000001")
	contract = common.HexToAddress("0x2000000000000000000000000000000000000002")
	miner    = common.HexToAddress("0x3000000000000000000000000000000000000003")
)

// made is a call from sender to contract, which has this code.
func made(code ...byte) (*evidence.Block, *evidence.Transaction, *memory) {
	index := uint64(0)
	blk := &evidence.Block{
		Number: 15_000_000, Timestamp: 1_656_000_000, Miner: miner, BaseFee: new(big.Int), ParentHash: common.Hash{0xaa},
		GasLimit: 1 << 62, Difficulty: big.NewInt(7), Withdrawals: -1,
	}
	tx := &evidence.Transaction{
		Hash: common.Hash{1}, From: sender, To: &contract, Gas: 10_000_000, GasPrice: big.NewInt(1),
		Value: new(big.Int), Index: &index,
	}
	return blk, tx, &memory{code: map[common.Address][]byte{contract: code}, rich: sender}
}

// jump is an endless loop.
var jump = []byte{byte(vm.JUMPDEST), byte(vm.PUSH1), 0, byte(vm.JUMP)}

// What the state does not say ends the run with that very error, wherever it is missed.
func TestStateErrors(t *testing.T) {
	noLeak(t)
	f := func(what string) {
		t.Helper()
		blk, tx, st := made(byte(vm.PUSH1), 3, byte(vm.SLOAD), byte(vm.STOP))
		lost := errors.New("the line went dead")
		st.before = func(_ context.Context, asked string) error {
			if asked == what {
				return lost
			}
			return nil
		}
		res, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{})
		if !errors.Is(err, lost) || res != nil {
			t.Errorf("%s: result %v, error %v", what, res, err)
		}
	}
	f("balance")
	f("nonce")
	f("code")
	f("storage")
}

// A slot that is not recorded is not zero.
func TestUnrecordedState(t *testing.T) {
	c := gethdata.Get(t, gethdata.TokenTransfer)
	st, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	tx := *c.Tx
	tx.Input = append([]byte(nil), tx.Input...)
	tx.Input[35] ^= 1 // another recipient: another slot of the token
	_, err = Run(t.Context(), mainnet(t), c.Block, &tx, nil, st, trace.Limits{})
	if !errors.Is(err, gethdata.ErrNotRecorded) {
		t.Errorf("error %v", err)
	}
}

func TestCancel(t *testing.T) {
	noLeak(t)
	blk, tx, st := made(jump...)
	tx.Gas = 1 << 50
	tx.GasPrice = new(big.Int)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err := Run(ctx, mainnet(t), blk, tx, nil, st, trace.Limits{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 50*time.Millisecond+100*time.Millisecond {
		t.Errorf("stopped after %v", took)
	}
}

// The context ends a run that waits for state, too, and one of earlier transactions.
func TestCancelWaiting(t *testing.T) {
	noLeak(t)
	blk, tx, st := made(byte(vm.STOP))
	st.before = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	later := *tx
	later.Index, later.Nonce = ptr(uint64(1)), 1
	if _, err := Run(ctx, mainnet(t), blk, &later, []*evidence.Transaction{tx}, st, trace.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func ptr[T any](v T) *T { return &v }

// Reading slot after slot stops at the bound, alone and among earlier transactions.
func TestReadLimit(t *testing.T) {
	noLeak(t)
	// SLOAD(n) for n = 0, 1, 2 ... for ever
	code := []byte{byte(vm.PUSH1), 0, byte(vm.JUMPDEST), byte(vm.DUP1), byte(vm.SLOAD), byte(vm.POP),
		byte(vm.PUSH1), 1, byte(vm.ADD), byte(vm.PUSH1), 2, byte(vm.JUMP)}
	f := func(earlier int) {
		t.Helper()
		blk, tx, st := made(code...)
		var before []*evidence.Transaction
		for i := range earlier {
			e := *tx
			e.Nonce, e.Hash = uint64(i), common.Hash{2, byte(i)}
			before = append(before, &e)
		}
		tx.Index, tx.Nonce = ptr(uint64(earlier)), uint64(earlier)
		_, err := RunWith(t.Context(), mainnet(t), blk, tx, before, st, Options{MaxReads: 100})
		if !errors.Is(err, ErrReadLimit) {
			t.Errorf("%d earlier: error %v", earlier, err)
		}
		if n := st.asked.Load(); n > 100 {
			t.Errorf("%d earlier: state was asked %d times", earlier, n)
		}
	}
	f(0)
	f(3)
}

// A run that hands a large input to call after call stops before it fills memory.
func TestTraceLimit(t *testing.T) {
	// CALL(gas, 0x2000...02, 0, 0, 0x10000, 0, 0) to itself would recurse; call the identity precompile.
	code := []byte{byte(vm.JUMPDEST), byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH3), 1, 0, 0, byte(vm.PUSH1), 0,
		byte(vm.PUSH1), 0, byte(vm.PUSH1), 4, byte(vm.GAS), byte(vm.CALL), byte(vm.POP), byte(vm.PUSH1), 0, byte(vm.JUMP)}
	blk, tx, st := made(code...)
	_, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{MaxTraceBytes: 1 << 20})
	if !errors.Is(err, ErrTraceTooLarge) {
		t.Errorf("error %v", err)
	}
}

// Calls nested as deep as the EVM lets them are no reason to wait.
func TestDeepCalls(t *testing.T) {
	// CALL itself with 64 KiB of input and all gas but a little, under the rules of 2016.
	code := []byte{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH3), 1, 0, 0, byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.ADDRESS),
		byte(vm.PUSH3), 0, 0x80, 0, byte(vm.GAS), byte(vm.SUB), byte(vm.CALL)}
	blk, tx, st := made(code...)
	blk.Number, blk.BaseFee = 2_000_000, nil
	tx.Gas, tx.GasPrice = 1<<30, new(big.Int)
	start := time.Now()
	res, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if last := res.Tree.Frames[len(res.Tree.Frames)-1]; res.Tree.Total != 1026 || last.Depth != 1025 || last.Err != "max call depth exceeded" {
		t.Errorf("%d frames, the last at depth %d: %q", res.Tree.Total, last.Depth, last.Err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

// A loop of calls beyond the limit is cut down while it runs, and the logs that a
// failed call took back are gone.
func TestLoopAndTakenBackLogs(t *testing.T) {
	// JUMPDEST CALL(identity) x until gas is short, then INVALID; one LOG0 before.
	code := []byte{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.LOG0), byte(vm.JUMPDEST),
		byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.PUSH1), 4, byte(vm.GAS), byte(vm.CALL),
		byte(vm.POP), byte(vm.PUSH1), 5, byte(vm.JUMP)}
	blk, tx, st := made(code...)
	res, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Limits: trace.Limits{CompressAbove: 100}})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Tree.Compressed() || len(res.Tree.Frames) > 401 || res.Tree.Total < 10_000 {
		t.Errorf("%d frames kept of %d", len(res.Tree.Frames), res.Tree.Total)
	}
	if res.Status != 0 || len(res.Tree.Root.Logs) != 0 || len(res.Logs) != 0 {
		t.Errorf("status %d, %d logs in the tree, %d in all", res.Status, len(res.Tree.Root.Logs), len(res.Logs))
	}
}

func TestPanic(t *testing.T) {
	noLeak(t)
	blk, tx, st := made(byte(vm.STOP))
	st.before = func(context.Context, string) error { panic("boom") }
	if _, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{}); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %v", err)
	}
	// BLOBBASEFEE in a block that has none panics inside the EVM.
	blk, tx, st = made(byte(vm.BLOBBASEFEE), byte(vm.STOP))
	blk.Difficulty, blk.Number, blk.Timestamp = new(big.Int), 20_000_000, 1_718_000_000
	if _, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{}); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("error %v", err)
	}
}

// Earlier transactions change what the last one sees; skipping them shows.
func TestEarlierTransactions(t *testing.T) {
	// counter: slot 0 += 1, logs nothing, returns the new value
	code := []byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 1, byte(vm.ADD), byte(vm.DUP1), byte(vm.PUSH1), 0, byte(vm.SSTORE),
		byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN)}
	f := func(earlier int, quick bool, parallel int, want byte, rung trace.Rung) {
		t.Helper()
		blk, tx, st := made(code...)
		var before []*evidence.Transaction
		for i := range earlier {
			e := *tx
			e.Nonce, e.Hash = uint64(i), common.Hash{2, byte(i)}
			before = append(before, &e)
		}
		tx.Index, tx.Nonce = ptr(uint64(earlier)), uint64(earlier)
		if quick {
			before = nil
		}
		res, err := RunWith(t.Context(), mainnet(t), blk, tx, before, st, Options{Parallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Tree.Root.Output; len(got) != 32 || got[31] != want || res.Tree.Source != rung {
			t.Errorf("output %x from %s, want %d from %s", got, res.Tree.Source, want, rung)
		}
		if res.Reads != int(st.asked.Load()) {
			t.Errorf("%d reads counted, %d made", res.Reads, st.asked.Load())
		}
		slot := res.StateDiff.Post[contract].Storage[common.Hash{}]
		if slot != common.BytesToHash([]byte{want}) {
			t.Errorf("slot after: %s", slot)
		}
	}
	f(0, false, 0, 1, trace.RungReplay)
	f(5, false, 0, 6, trace.RungReplay)
	f(5, false, -1, 6, trace.RungReplay)
	f(5, true, 0, 1, trace.RungReplayQuick)
}

// Earlier transactions wait for their state side by side.
func TestWarmUp(t *testing.T) {
	noLeak(t)
	f := func(parallel int, want func(peak int64) bool) {
		t.Helper()
		code := []byte{byte(vm.PUSH1), 1, byte(vm.SLOAD), byte(vm.PUSH1), 2, byte(vm.SLOAD), byte(vm.PUSH1), 3, byte(vm.SLOAD), byte(vm.STOP)}
		blk, tx, st := made()
		var before []*evidence.Transaction
		for i := range 16 {
			e, to := *tx, common.Address{0xcc, byte(i)}
			st.code[to] = code
			e.To, e.Nonce, e.Hash = &to, uint64(i), common.Hash{2, byte(i)}
			before = append(before, &e)
		}
		tx.Index, tx.Nonce = ptr(uint64(16)), 16
		var flying, peak atomic.Int64
		st.before = func(_ context.Context, what string) error {
			if what != "storage" {
				return nil
			}
			if n := flying.Add(1); n > peak.Load() {
				peak.Store(n)
			}
			time.Sleep(2 * time.Millisecond)
			flying.Add(-1)
			return nil
		}
		start := time.Now()
		if _, err := RunWith(t.Context(), mainnet(t), blk, tx, before, st, Options{Parallel: parallel}); err != nil {
			t.Fatal(err)
		}
		t.Logf("parallel %d: peak of %d slots in flight, %v", parallel, peak.Load(), time.Since(start))
		if !want(peak.Load()) {
			t.Errorf("parallel %d: peak of %d slots in flight", parallel, peak.Load())
		}
	}
	f(-1, func(peak int64) bool { return peak == 1 })
	f(8, func(peak int64) bool { return peak >= 4 && peak <= 8 })
}

func TestWrongCount(t *testing.T) {
	blk, tx, st := made(byte(vm.STOP))
	tx.Index = ptr(uint64(3))
	if _, err := Run(t.Context(), mainnet(t), blk, tx, []*evidence.Transaction{tx}, st, trace.Limits{}); err == nil {
		t.Error("one of three earlier transactions was taken for all")
	}
}

func TestBlockHash(t *testing.T) {
	ask := func(number uint64) []byte {
		return []byte{byte(vm.PUSH4), byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number), byte(vm.BLOCKHASH),
			byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN)}
	}
	blk, tx, st := made(ask(14_999_999)...)
	res, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{})
	if err != nil || common.Hash(res.Tree.Root.Output) != blk.ParentHash {
		t.Errorf("parent hash: %v, %v", res, err)
	}
	blk, tx, st = made(ask(14_999_990)...)
	if _, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{}); err == nil || !strings.Contains(err.Error(), "14999990") {
		t.Errorf("unknown ancestor: %v", err)
	}
	res, err = Run(t.Context(), mainnet(t), blk, tx, nil, withHashes{st}, trace.Limits{})
	if err != nil || common.Hash(res.Tree.Root.Output) != (common.Hash{0xbb}) {
		t.Errorf("known ancestor: %v, %v", res, err)
	}
}

type withHashes struct{ State }

func (withHashes) BlockHash(context.Context, uint64) (common.Hash, error) {
	return common.Hash{0xbb}, nil
}

func TestVerify(t *testing.T) {
	c := gethdata.Get(t, gethdata.MultiContracts)
	e, err := c.BuildEvidence()
	if err != nil {
		t.Fatal(err)
	}
	res := rerun(t, c, mainnet(t), Options{})
	f := func(change func(*evidence.Receipt), want string) {
		t.Helper()
		rc, err := evidence.ParseReceipt(e.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		change(rc)
		if got := strings.Join(Verify(res, rc), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(func(*evidence.Receipt) {}, "")
	f(func(rc *evidence.Receipt) { rc.Status = nil }, "")
	f(func(rc *evidence.Receipt) { rc.GasUsed++ }, "gas")
	f(func(rc *evidence.Receipt) { *rc.Status = 0 }, "status")
	f(func(rc *evidence.Receipt) { rc.Logs = rc.Logs[1:] }, "31")
	f(func(rc *evidence.Receipt) { rc.Logs[7].Data = []byte{1} }, "log 7")
	f(func(rc *evidence.Receipt) { rc.Logs[8].Topics = nil }, "log 8")
}

// The overlay stands for the system calls: the real contracts, called, write the same.
func TestSystemSlots(t *testing.T) {
	blk, _, _ := made()
	blk.Difficulty, blk.Number, blk.Timestamp = new(big.Int), 22_763_678, 1_750_640_000
	blk.ParentBeaconRoot = &common.Hash{0xcc}
	got := systemSlots(blk)
	want := writtenBySystemCalls(t, blk)
	if !reflect.DeepEqual(got, want) || len(got) != 3 {
		t.Errorf("overlay %v\nsystem calls %v", got, want)
	}
	env, err := newEnvironment(mainnet(t), blk, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	src := newSource(&memory{}, env, Options{})
	for k, v := range want {
		if h, err := src.storage(t.Context(), k.addr, k.slot); h != v || err != nil {
			t.Errorf("%v: %s, %v", k, h, err)
		}
	}
	if h, err := src.storage(t.Context(), params.HistoryStorageAddress, common.Hash{31: 9}); h != (common.Hash{}) || err != nil {
		t.Errorf("other slot: %s, %v", h, err)
	}
}
