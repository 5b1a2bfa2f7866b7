package replay

import (
	"context"
	"errors"
	"math"
	"math/big"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

// writtenBySystemCalls runs the calls of EIP-4788 and EIP-2935 on the contracts' real code.
func writtenBySystemCalls(t *testing.T, blk *ethrpc.Block) map[slotKey]common.Hash {
	t.Helper()
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	if err != nil {
		t.Fatal(err)
	}
	for a, code := range map[common.Address][]byte{
		params.BeaconRootsAddress: params.BeaconRootsCode, params.HistoryStorageAddress: params.HistoryStorageCode,
	} {
		db.SetNonce(a, 1, tracing.NonceChangeGenesis)
		db.SetCode(a, code, tracing.CodeChangeUnspecified)
	}
	db.Finalise(params.Rules{})
	out := make(map[slotKey]common.Hash)
	hooks := &tracing.Hooks{OnStorageChange: func(a common.Address, slot, _, now common.Hash) { out[slotKey{a, slot}] = now }}
	env, err := newEnvironment(mainnet(t), blk, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	evm := vm.NewEVM(env.blockContext(&view{}), state.NewHookedState(db, hooks), env.config, vm.Config{})
	core.ProcessBeaconBlockRoot(*blk.ParentBeaconRoot, evm, nil)
	core.ProcessParentBlockHash(blk.ParentHash, evm, nil)
	return out
}

func TestUnsupported(t *testing.T) {
	f := func(slug string, change func(*ethrpc.Block, *ethrpc.Transaction)) {
		t.Helper()
		blk, tx, st := made(byte(vm.STOP))
		if change != nil {
			change(blk, tx)
		}
		ch, ok := chain.BySlug(slug)
		if !ok {
			t.Fatalf("no chain %s", slug)
		}
		_, err := Run(t.Context(), ch, blk, tx, nil, st, trace.Limits{})
		if !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: error %v", slug, err)
		}
	}
	f("optimism-mainnet", nil)
	f("arbitrum-mainnet", nil)
	f("bsc-mainnet", nil)
	f("polygon-mainnet", nil)
	f("monad-mainnet", nil)
	f("scroll-mainnet", nil)
	f("zksync-mainnet", nil)
	f("ethereum-mainnet", func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Type = 0x7e })
	f("gnosis-mainnet", func(b *ethrpc.Block, _ *ethrpc.Transaction) { b.BaseFee = nil })
	blk, tx, st := made(byte(vm.STOP))
	if _, err := Run(t.Context(), nil, blk, tx, nil, st, trace.Limits{}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("no chain: error %v", err)
	}
}

// On chains with a schedule of their own the header's fields decide.
func TestGuessedRules(t *testing.T) {
	f := func(change func(*ethrpc.Block), op vm.OpCode, status uint64) {
		t.Helper()
		blk, tx, st := made(byte(op), byte(vm.STOP))
		change(blk)
		ch, _ := chain.BySlug("gnosis-mainnet")
		res, err := Run(t.Context(), ch, blk, tx, nil, st, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != status || !res.Approximate || len(res.Notes) == 0 {
			t.Errorf("%s: status %d, approximate %v, notes %q", op, res.Status, res.Approximate, res.Notes)
		}
	}
	london := func(b *ethrpc.Block) {}
	merged := func(b *ethrpc.Block) { b.Difficulty = new(big.Int) }
	shanghai := func(b *ethrpc.Block) { b.Withdrawals = 0 }
	cancun := func(b *ethrpc.Block) { b.Difficulty, b.ExcessBlobGas = new(big.Int), new(uint64) }
	f(london, vm.BASEFEE, 1)
	f(london, vm.PUSH0, 0)
	f(merged, vm.PUSH0, 0)
	f(shanghai, vm.PUSH0, 1)
	f(shanghai, vm.BLOBBASEFEE, 0)
	f(cancun, vm.BLOBBASEFEE, 1)
}

// Hostile headers and transactions give errors, not work.
func TestHostileFields(t *testing.T) {
	f := func(change func(*ethrpc.Block, *ethrpc.Transaction)) {
		t.Helper()
		blk, tx, st := made(byte(vm.STOP))
		change(blk, tx)
		if res, err := Run(t.Context(), mainnet(t), blk, tx, nil, st, trace.Limits{}); err == nil {
			t.Errorf("result %+v", res)
		}
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 300)
	f(func(b *ethrpc.Block, _ *ethrpc.Transaction) { b.BaseFee = nil })
	f(func(b *ethrpc.Block, _ *ethrpc.Transaction) { b.BaseFee = huge })
	f(func(b *ethrpc.Block, _ *ethrpc.Transaction) { b.GasLimit = 21000 })
	f(func(b *ethrpc.Block, _ *ethrpc.Transaction) {
		b.Difficulty, b.Timestamp, b.ExcessBlobGas = new(big.Int), 1_718_000_000, ptr(uint64(math.MaxUint64))
	})
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Value = huge })
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Value = nil })
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Value = big.NewInt(-1) })
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.GasPrice = nil })
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) {
		tx.Type = 2
		tx.GasPrice = nil
		tx.MaxFee = huge
		tx.MaxTip = huge
	})
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) { tx.Type = 3 })
	f(func(_ *ethrpc.Block, tx *ethrpc.Transaction) {
		tx.Type = 4
		tx.Authorizations = []ethrpc.Authorization{{}}
	})
}

// At the block of the DAO fork the balances have moved before the first transaction.
func TestDAOFork(t *testing.T) {
	f := func(number uint64, want string) {
		t.Helper()
		blk, tx, st := made(byte(vm.STOP))
		blk.Number, blk.BaseFee = number, nil
		tx.To = ptr(params.DAORefundContract)
		drained := &drainedState{memory: st}
		res, err := Run(t.Context(), mainnet(t), blk, tx, nil, drained, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		// The contract reads its own balance: ADDRESS BALANCE, returned.
		if got := new(big.Int).SetBytes(res.Tree.Root.Output).String(); got != want {
			t.Errorf("block %d: refund contract holds %s, want %s", number, got, want)
		}
	}
	n := len(params.DAODrainList())
	f(1_919_999, "0")
	f(1_920_000, big.NewInt(int64(n)).String())
	f(1_920_001, "0")
}

// drainedState gives each account that the fork drains one wei.
type drainedState struct{ *memory }

func (d *drainedState) Balance(ctx context.Context, a common.Address) (*big.Int, error) {
	for _, x := range params.DAODrainList() {
		if x == a {
			return big.NewInt(1), nil
		}
	}
	return d.memory.Balance(ctx, a)
}

func (d *drainedState) Code(ctx context.Context, a common.Address) ([]byte, error) {
	if a == params.DAORefundContract {
		return []byte{byte(vm.ADDRESS), byte(vm.BALANCE), byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN)}, nil
	}
	return d.memory.Code(ctx, a)
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
