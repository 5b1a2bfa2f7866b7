package replay

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc"
)

// Changes make a run differ from what happened: a question of the form "and if
// not?". What is wanted of the transaction itself (caller, value, calldata), is
// changed in the transaction that is given to RunWith.
type Changes struct {
	// State is laid over the state just before the transaction; nil members of an
	// account stay as they are, slots are set.
	State map[common.Address]*ethrpc.Account
	// Frames are changed when they are called.
	Frames []FrameChange
	// Free lets anybody send: the nonce is not checked, the sender may have code,
	// and is given the coin that it lacks for value and gas.
	Free bool
}

// FrameChange changes one call on its way: CALL, STATICCALL, DELEGATECALL or
// CALLCODE. The gas that the caller was charged for it stays that of the original.
type FrameChange struct {
	Path  []int               // positions among the calls of each caller, from the root's down; not empty
	Stub  *Stub               // in place of the callee; no value is sent
	Value *uint256.Int        // wei, sent instead; of CALL and CALLCODE alone
	Words map[int]common.Hash // of the calldata behind the selector; in the caller's memory, where they stay
}

// Stub is a callee that only answers.
type Stub struct {
	Data   []byte
	Revert bool
}

// changer makes frame changes while a transaction runs. It follows the calls as
// the recorder of frames does.
type changer struct {
	frames []FrameChange
	met    []bool
	stubs  []common.Address
	made   []int // calls made so far by each open frame
	at     []int // position of each open frame but the root among its caller's calls
	behind *common.Address
}

// stubAddress is an account that no chain has.
func stubAddress(i int) common.Address {
	return common.BytesToAddress(crypto.Keccak256(binary.BigEndian.AppendUint64([]byte("txlens stub "), uint64(i)))[12:])
}

func newChanger(frames []FrameChange) *changer {
	c := &changer{frames: frames, met: make([]bool, len(frames))}
	for i := range frames {
		c.stubs = append(c.stubs, stubAddress(i))
	}
	return c
}

// code of a stub: CODECOPY what follows the code, then RETURN or REVERT it. One
// that returns nothing has no code, so that it needs no gas: the calls of plain
// payments come with none.
func (s *Stub) code() []byte {
	if len(s.Data) == 0 && !s.Revert {
		return nil
	}
	end, n := vm.RETURN, len(s.Data)
	if s.Revert {
		end = vm.REVERT
	}
	code := []byte{
		byte(vm.PUSH3), byte(n >> 16), byte(n >> 8), byte(n), byte(vm.DUP1), byte(vm.PUSH1), 13, byte(vm.PUSH1), 0,
		byte(vm.CODECOPY), byte(vm.PUSH1), 0, byte(end),
	}
	return append(code, s.Data...)
}

// hook changes calls just before they are made. go-ethereum asks tracers not to
// write to the stack; that it sees what is written is what this rests on, and the
// tests hold it to that.
func (c *changer) hook(_ uint64, op byte, _, _ uint64, scope tracing.OpContext, _ []byte, depth int, err error) {
	var args int // position of the calldata's offset from the top
	switch vm.OpCode(op) {
	case vm.CALL, vm.CALLCODE:
		args = 3
	case vm.DELEGATECALL, vm.STATICCALL:
		args = 2
	default:
		return
	}
	stack := scope.StackData()
	if err != nil || depth > len(c.made) || len(stack) < args+2 {
		return
	}
	for i := range c.frames {
		if f := &c.frames[i]; c.stands(f.Path, depth) {
			c.met[i] = c.apply(i, f, stack, scope.MemoryData(), args)
		}
	}
}

// stands reports whether the call that the frame at depth (1 is the root) is about
// to make has the path.
func (c *changer) stands(path []int, depth int) bool {
	return len(path) == depth && path[depth-1] == c.made[depth-1] && slices.Equal(path[:depth-1], c.at[:depth-1])
}

func (c *changer) apply(i int, f *FrameChange, stack []uint256.Int, memory []byte, args int) bool {
	top := len(stack) - 1
	if f.Value != nil {
		if args != 3 {
			return false
		}
		stack[top-2].Set(f.Value)
	}
	if !setWords(f.Words, memory, &stack[top-args], &stack[top-args-1]) {
		return false
	}
	if f.Stub != nil {
		callee := common.Address(stack[top-1].Bytes20())
		c.behind = &callee
		stack[top-1].SetBytes(c.stubs[i][:])
		if args == 3 {
			stack[top-2].Clear()
		}
	}
	return true
}

// setWords writes into the calldata as it lies in memory. Memory that is not yet
// there is zero, and too far off to be the argument of anything.
func setWords(words map[int]common.Hash, memory []byte, offset, size *uint256.Int) bool {
	if len(words) == 0 {
		return true
	}
	if !offset.IsUint64() || !size.IsUint64() || offset.Uint64() > uint64(len(memory)) || size.Uint64() > uint64(len(memory))-offset.Uint64() {
		return false
	}
	data := memory[offset.Uint64():][:size.Uint64()]
	for n := range words {
		if n < 0 || n > len(data)/32 || 4+32*n+32 > len(data) {
			return false
		}
	}
	for n, w := range words {
		copy(data[4+32*n:], w[:])
	}
	return true
}

// enter and exit follow the calls. A stub is recorded as what it stands for.
func (c *changer) enter(depth int) (behind *common.Address) {
	if depth > len(c.made) {
		return nil
	}
	c.made, c.at = c.made[:depth], c.at[:max(depth-1, 0)]
	if depth > 0 {
		c.at = append(c.at, c.made[depth-1])
		c.made[depth-1]++
	}
	c.made = append(c.made, 0)
	behind, c.behind = c.behind, nil
	return behind
}

// attach puts the changer before the recorders of hooks.
func (c *changer) attach(h *tracing.Hooks) {
	enter := h.OnEnter
	h.OnEnter = func(depth int, typ byte, from, to common.Address, input []byte, gas uint64, value *big.Int) {
		if behind := c.enter(depth); behind != nil {
			to = *behind
		}
		enter(depth, typ, from, to, input, gas, value)
	}
	h.OnOpcode = c.hook
}

// lay puts state over db: stubs, and what was asked for. It ends like a
// transaction, so that the next one finds it as what stood there before.
func (c *Changes) lay(env *environment, db *state.StateDB) {
	for i, f := range c.Frames {
		if f.Stub != nil && len(f.Stub.code()) > 0 {
			db.SetCode(stubAddress(i), f.Stub.code(), tracing.CodeChangeUnspecified)
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(c.State), common.Address.Cmp) {
		acc := c.State[a]
		if acc.Balance != nil {
			amount, _ := uint256.FromBig(acc.Balance)
			db.SetBalance(a, amount, tracing.BalanceChangeUnspecified)
		}
		if acc.Nonce != nil {
			db.SetNonce(a, *acc.Nonce, tracing.NonceChangeUnspecified)
		}
		if acc.Code != nil {
			db.SetCode(a, acc.Code, tracing.CodeChangeUnspecified)
		}
		for slot, value := range acc.Storage {
			db.SetState(a, slot, value)
		}
	}
	db.Finalise(env.rules())
}

// fund gives a free sender what it lacks and says so.
func (c *Changes) fund(env *environment, db *state.StateDB, tx *ethrpc.Transaction) (note string) {
	price := tx.GasPrice
	if tx.Type >= types.DynamicFeeTxType && tx.MaxFee != nil {
		price = tx.MaxFee
	}
	need := new(big.Int).Mul(new(big.Int).SetUint64(tx.Gas), price)
	need.Add(need, tx.Value)
	if tx.MaxBlobFee != nil {
		blobs := new(big.Int).SetUint64(uint64(len(tx.BlobHashes)) << 17) // GAS_PER_BLOB of EIP-4844
		need.Add(need, blobs.Mul(blobs, tx.MaxBlobFee))
	}
	amount, overflow := uint256.FromBig(need)
	if overflow || db.GetBalance(tx.From).Cmp(amount) >= 0 {
		return ""
	}
	db.SetBalance(tx.From, amount, tracing.BalanceChangeUnspecified)
	db.Finalise(env.rules())
	return "the sender was given the coin that it lacks for value and gas"
}

// check refuses what could not be laid over a state.
func (c *Changes) check() error {
	for a, acc := range c.State {
		if acc.Balance != nil && (acc.Balance.Sign() < 0 || acc.Balance.BitLen() > 256) {
			return fmt.Errorf("change balance of %s: not a 256-bit number", a)
		}
	}
	for _, f := range c.Frames {
		if len(f.Path) == 0 {
			return fmt.Errorf("change frame: the transaction's own call is changed in the transaction")
		}
	}
	return nil
}
