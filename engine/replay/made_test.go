package replay

import (
	"context"
	"errors"
	"math/big"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/gethdata"
)

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
func made(code ...byte) (*ethrpc.Block, *ethrpc.Transaction, *memory) {
	index := uint64(0)
	blk := &ethrpc.Block{
		Number: 15_000_000, Timestamp: 1_656_000_000, Miner: miner, BaseFee: new(big.Int), ParentHash: common.Hash{0xaa},
		GasLimit: 1 << 62, Difficulty: big.NewInt(7), Withdrawals: -1,
	}
	tx := &ethrpc.Transaction{
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
	_, err := Run(ctx, mainnet(t), blk, tx, nil, st, trace.Limits{}) // has gas for years
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
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
	if _, err := Run(ctx, mainnet(t), blk, &later, []*ethrpc.Transaction{tx}, st, trace.Limits{}); !errors.Is(err, context.DeadlineExceeded) {
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
		var before []*ethrpc.Transaction
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
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if last := res.Tree.Frames[len(res.Tree.Frames)-1]; res.Tree.Total != 1026 || last.Depth != 1025 || last.Err != "max call depth exceeded" {
		t.Errorf("%d frames, the last at depth %d: %q", res.Tree.Total, last.Depth, last.Err)
	}
	runtime.ReadMemStats(&after)
	// Each call has its input and one copy of it; what grew with the depth would be 33 GiB.
	if used := after.TotalAlloc - before.TotalAlloc; used > 512<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
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
	f := func(earlier int, quick bool, parallel int, want byte, rung trace.Source) {
		t.Helper()
		blk, tx, st := made(code...)
		var before []*ethrpc.Transaction
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
	f(0, false, 0, 1, trace.SourceReplay)
	f(5, false, 0, 6, trace.SourceReplay)
	f(5, false, -1, 6, trace.SourceReplay)
	f(5, true, 0, 1, trace.SourceReplayQuick)
}

// Earlier transactions wait for their state side by side.
func TestWarmUp(t *testing.T) {
	noLeak(t)
	f := func(parallel int, want func(peak int64) bool) {
		t.Helper()
		code := []byte{byte(vm.PUSH1), 1, byte(vm.SLOAD), byte(vm.PUSH1), 2, byte(vm.SLOAD), byte(vm.PUSH1), 3, byte(vm.SLOAD), byte(vm.STOP)}
		blk, tx, st := made()
		var before []*ethrpc.Transaction
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
		synctest.Test(t, func(t *testing.T) { // the reads overlap whatever else the machine does
			if _, err := RunWith(t.Context(), mainnet(t), blk, tx, before, st, Options{Parallel: parallel}); err != nil {
				t.Fatal(err)
			}
		})
		t.Logf("parallel %d: peak of %d slots in flight", parallel, peak.Load())
		if !want(peak.Load()) {
			t.Errorf("parallel %d: peak of %d slots in flight", parallel, peak.Load())
		}
	}
	f(-1, func(peak int64) bool { return peak == 1 })
	f(8, func(peak int64) bool { return peak >= 4 && peak <= 8 })
}

// A read that failed in a speculative run is made again by the real one.
func TestWarmUpFailure(t *testing.T) {
	blk, tx, st := made(byte(vm.PUSH1), 3, byte(vm.SLOAD), byte(vm.STOP))
	later := *tx
	later.Index, later.Nonce, later.Hash = ptr(uint64(1)), 1, common.Hash{9}
	var failed atomic.Int64
	st.before = func(_ context.Context, what string) error {
		if what == "storage" && failed.Add(1) == 1 {
			return errors.New("lost once")
		}
		return nil
	}
	res, err := RunWith(t.Context(), mainnet(t), blk, &later, []*ethrpc.Transaction{tx}, st, Options{Parallel: 1})
	if err != nil || res.Status != 1 {
		t.Errorf("result %+v, error %v", res, err)
	}
}

// Speculative reads count: whether the bound is exceeded must not hang on which of
// them came first. Here the real run alone would stay within it.
func TestWarmUpLimit(t *testing.T) {
	// If slot 0 is empty: fill it and read calldata's slot and the next 19.
	code := []byte{byte(vm.PUSH1), 0, byte(vm.SLOAD), byte(vm.PUSH1), 28, byte(vm.JUMPI), byte(vm.PUSH1), 1, byte(vm.PUSH1), 0, byte(vm.SSTORE),
		byte(vm.PUSH1), 0, byte(vm.CALLDATALOAD)}
	for range 3 {
		code = append(code, byte(vm.DUP1), byte(vm.SLOAD), byte(vm.ADD), byte(vm.DUP1))
	}
	code = append(code[:26], byte(vm.STOP), byte(vm.STOP), byte(vm.JUMPDEST), byte(vm.STOP))
	f := func(limit int, want error) {
		t.Helper()
		blk, tx, st := made(code...)
		st.storage = func(slot common.Hash) (common.Hash, error) {
			if slot == (common.Hash{}) {
				return slot, nil
			}
			return common.Hash{31: 1}, nil
		}
		var all []*ethrpc.Transaction
		for i := range 4 {
			e := *tx
			e.Nonce, e.Hash, e.Index = uint64(i), common.Hash{2, byte(i)}, ptr(uint64(i))
			e.Input = append(make([]byte, 30), byte(i+1), 0)
			all = append(all, &e)
		}
		for _, parallel := range []int{1, 4} {
			_, err := RunWith(t.Context(), mainnet(t), blk, all[3], all[:3], st, Options{MaxReads: limit, Parallel: parallel})
			if !errors.Is(err, want) {
				t.Errorf("limit %d, %d at once: error %v after %d reads", limit, parallel, err, st.asked.Load())
			}
		}
	}
	f(100, nil)
	f(16, ErrReadLimit)
}

func TestWrongCount(t *testing.T) {
	blk, tx, st := made(byte(vm.STOP))
	tx.Index = ptr(uint64(3))
	if _, err := Run(t.Context(), mainnet(t), blk, tx, []*ethrpc.Transaction{tx}, st, trace.Limits{}); err == nil {
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
