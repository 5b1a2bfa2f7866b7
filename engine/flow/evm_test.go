package flow

import (
	"bytes"
	"encoding/json"
	"math/big"
	"math/rand"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	_ "github.com/ethereum/go-ethereum/eth/tracers/native"
	"github.com/ethereum/go-ethereum/params"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"
)

// The recorded blocks hold no SELFDESTRUCT. This test lets go-ethereum's EVM run
// random contracts that destroy themselves, create, pay, delegate and fail in all
// orders, under the rules of every fork, and compares the ledger with the state.

type era struct {
	name         string
	number, time uint64
}

var eras = []era{
	{"frontier", 1_000_000, 0},
	{"homestead", 1_500_000, 0},
	{"tangerine", 2_463_100, 0},
	{"spurious", 2_675_100, 0},
	{"byzantium", 4_370_100, 0},
	{"istanbul", 9_069_100, 0},
	{"london", 12_965_100, 0},
	{"shanghai", 17_100_000, 1_681_400_000},
	{"cancun", 19_500_000, 1_711_000_000},
	{"prague", 22_500_000, 1_747_000_000},
}

func (e era) merged() bool { return e.number > 15_537_394 }
func (e era) london() bool { return e.number >= 12_965_000 }
func (e era) cancun() bool { return e.time >= 1_710_338_135 }

func TestNativeChangesEqualStateOfRandomPrograms(t *testing.T) {
	seen := map[MoveKind]int{}
	for _, e := range eras {
		for seed := int64(0); seed < 80; seed++ {
			runProgram(t, e, seed, seen)
		}
	}
	for _, k := range []MoveKind{MoveCall, MoveCreate, MoveSelfDestruct, MoveFee, MoveBurn} {
		if seen[k] < 50 {
			t.Errorf("the programs made only %d moves of kind %s: they prove little", seen[k], k)
		}
	}
	t.Log(seen)
}

// world is the state before the transaction, and its actors.
type world struct {
	r         *rand.Rand
	sender    common.Address
	coinbase  common.Address
	contracts []common.Address
	strangers []common.Address
}

func runProgram(t *testing.T, e era, seed int64, seen map[MoveKind]int) {
	t.Helper()
	w := newWorld(seed)
	db, err := state.New(types.EmptyRootHash, state.NewDatabaseForTesting())
	must(t, err)
	db.AddBalance(w.sender, uint256.NewInt(1e15), tracing.BalanceChangeUnspecified)
	for _, c := range w.contracts {
		if w.r.Intn(4) > 0 {
			db.AddBalance(c, uint256.NewInt(uint64(w.r.Intn(1000))), tracing.BalanceChangeUnspecified)
		}
		db.SetCode(c, w.code(), tracing.CodeChangeUnspecified)
	}
	random := common.Hash{1}
	ctx := vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer, GetHash: func(uint64) common.Hash { return common.Hash{} },
		Coinbase: w.coinbase, GasLimit: 30e6, BlockNumber: new(big.Int).SetUint64(e.number), Time: e.time,
		Difficulty: new(big.Int), BlobBaseFee: big.NewInt(1),
	}
	header := &ethrpc.Block{Number: e.number, Timestamp: e.time, Miner: w.coinbase}
	if e.merged() {
		ctx.Random = &random
	}
	if e.london() {
		ctx.BaseFee = big.NewInt(7)
		header.BaseFee = ctx.BaseFee
	}
	if e.cancun() {
		header.ParentBeaconRoot = &random
	}
	rules := params.MainnetChainConfig.Rules(ctx.BlockNumber, e.merged(), e.time)
	db.Finalise(rules)
	before := db.Copy()

	in := w.apply(t, db, ctx)
	in.Block = header
	db.Finalise(rules)
	f := Compute(in)
	for _, m := range f.Moves {
		seen[m.Kind]++
	}
	ours := nativeChanges(f)
	check := func(a common.Address) {
		want := new(big.Int).Sub(db.GetBalance(a).ToBig(), before.GetBalance(a).ToBig())
		if got := orZero(ours[a]); got.Cmp(want) != 0 {
			t.Errorf("%s seed %d: %s: ledger %s, state %s", e.name, seed, a, got, want)
		}
	}
	for a := range ours {
		check(a)
	}
	for _, fr := range in.Tree.Frames {
		check(fr.From)
		check(fr.To)
	}
	check(w.sender)
	check(w.coinbase)
}

// apply runs one transaction and returns the evidence a node would give.
func (w *world) apply(t *testing.T, db *state.StateDB, ctx vm.BlockContext) Input {
	t.Helper()
	tracer, err := tracers.DefaultDirectory.New("callTracer", &tracers.Context{}, json.RawMessage(`{"withLog":true}`), params.MainnetChainConfig)
	must(t, err)
	price := uint256.NewInt(10)
	msg := &core.Message{
		From: w.sender, Value: uint256.NewInt(uint64(w.r.Intn(5000))), GasLimit: 2e6,
		GasPrice: price, GasFeeCap: price, GasTipCap: uint256.NewInt(3),
	}
	if w.r.Intn(8) > 0 {
		msg.To = &w.contracts[0]
	} else {
		msg.Data = w.initCode()
	}
	evm := vm.NewEVM(ctx, state.NewHookedState(db, tracer.Hooks), params.MainnetChainConfig, vm.Config{Tracer: tracer.Hooks})
	tracer.OnTxStart(evm.GetVMContext(), types.NewTx(&types.LegacyTx{Gas: msg.GasLimit}), w.sender)
	res, err := core.ApplyMessage(evm, msg, core.NewGasPool(30e6))
	must(t, err)
	tracer.OnTxEnd(&types.Receipt{GasUsed: res.UsedGas}, nil)
	raw, err := tracer.GetResult()
	must(t, err)
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(raw)), trace.Limits{})
	must(t, err)
	ch, _ := chain.ByID(1)
	return Input{
		Chain: ch, Tree: tree, Succeeded: !res.Failed(),
		Tx:      &ethrpc.Transaction{From: w.sender, To: msg.To, Value: msg.Value.ToBig()},
		Receipt: &ethrpc.Receipt{GasUsed: res.UsedGas, EffectiveGasPrice: price.ToBig()},
	}
}

func newWorld(seed int64) *world {
	w := &world{r: rand.New(rand.NewSource(seed)), sender: addr(0x5e)}
	for i := range 5 {
		w.contracts = append(w.contracts, addr(0xc0+i))
	}
	w.strangers = []common.Address{addr(0xe0), addr(0xe1)}
	w.coinbase = []common.Address{addr(0xfe), w.sender, w.contracts[1], w.contracts[2]}[w.r.Intn(4)]
	return w
}

func addr(n int) common.Address { return common.BytesToAddress([]byte{0xaa, byte(n >> 8), byte(n)}) }

// target pushes an address.
func (w *world) target() []byte {
	switch w.r.Intn(10) {
	case 0:
		return []byte{byte(vm.ADDRESS)}
	case 1:
		return []byte{byte(vm.CALLER)}
	case 2:
		return []byte{byte(vm.COINBASE)}
	case 3:
		return push(w.strangers[w.r.Intn(2)].Bytes())
	}
	return push(w.contracts[w.r.Intn(len(w.contracts))].Bytes())
}

func push(b []byte) []byte { return append([]byte{byte(vm.PUSH1) + byte(len(b)-1)}, b...) }

// amount pushes a small value, or the whole balance where the fork can.
func (w *world) amount() []byte {
	if w.r.Intn(4) == 0 {
		return []byte{byte(vm.ADDRESS), byte(vm.BALANCE)}
	}
	return push([]byte{byte(w.r.Intn(40))})
}

// code is a random contract.
func (w *world) code() []byte {
	var b []byte
	for range 1 + w.r.Intn(5) {
		switch w.r.Intn(8) {
		case 0:
			b = append(b, w.create()...)
		case 1:
			b = append(b, w.call(vm.CALLCODE, w.target(), w.amount())...)
		case 2:
			b = append(b, w.call(vm.DELEGATECALL, w.target(), nil)...)
		case 3:
			b = append(b, w.call(vm.STATICCALL, w.target(), nil)...)
		default:
			b = append(b, w.call(vm.CALL, w.target(), w.amount())...)
		}
	}
	return append(b, w.end()...)
}

func (w *world) end() []byte {
	switch w.r.Intn(6) {
	case 0:
		return append(push([]byte{0}), append(push([]byte{0}), byte(vm.REVERT))...)
	case 1:
		return []byte{byte(vm.INVALID)}
	case 2, 3:
		return append(w.target(), byte(vm.SELFDESTRUCT))
	}
	return []byte{byte(vm.STOP)}
}

// call spends a third of what gas is left and drops the result.
func (w *world) call(op vm.OpCode, target, value []byte) []byte {
	var b []byte
	for range 4 {
		b = append(b, push([]byte{0})...)
	}
	b = append(append(b, value...), target...)
	b = append(b, byte(vm.PUSH1), 3, byte(vm.GAS), byte(vm.DIV), byte(op), byte(vm.POP))
	return b
}

// create makes a contract with some value and pays it again, up to twice.
func (w *world) create() []byte {
	init := w.initCode()
	var b []byte
	for i := 0; i < len(init); i += 32 {
		word := make([]byte, 32)
		copy(word, init[i:])
		b = append(append(b, push(word)...), byte(vm.PUSH1), byte(i), byte(vm.MSTORE))
	}
	op := vm.CREATE
	if w.r.Intn(3) == 0 {
		op = vm.CREATE2
		b = append(b, push([]byte{byte(w.r.Intn(3))})...)
	}
	b = append(b, byte(vm.PUSH1), byte(len(init)), byte(vm.PUSH1), 0, byte(vm.PUSH1), byte(w.r.Intn(30)), byte(op))
	for range w.r.Intn(3) {
		// Above the address lie four zeros and the value.
		b = append(b, w.call(vm.CALL, []byte{byte(vm.DUP6)}, push([]byte{byte(w.r.Intn(30))}))...)
	}
	return append(b, byte(vm.POP))
}

// initCode ends its contract at once, or deploys one that ends itself when called.
func (w *world) initCode() []byte {
	if w.r.Intn(3) == 0 {
		return append(w.call(vm.CALL, w.target(), push([]byte{byte(w.r.Intn(9))})), w.end()...)
	}
	runtime := w.end()
	b := append(push(runtime), byte(vm.PUSH1), 0, byte(vm.MSTORE))
	return append(b, byte(vm.PUSH1), byte(len(runtime)), byte(vm.PUSH1), byte(32-len(runtime)), byte(vm.RETURN))
}
