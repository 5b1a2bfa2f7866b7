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

// Changes make a re-execution differ from the original transaction. To change caller, value
// or calldata of the transaction itself, pass a changed transaction to RunWith.
type Changes struct {
	// State overrides the state just before the transaction. A nil member of an account
	// keeps its value; slots are set.
	State map[common.Address]*ethrpc.Account
	// Frames are calls to change when they are made.
	Frames []FrameChange
	// SkipSenderChecks allows any sender: the nonce is not checked, the sender may have
	// code, and receives the coin that it lacks for value and gas.
	SkipSenderChecks bool
}

// FrameChange changes one inner call: CALL, STATICCALL, DELEGATECALL or CALLCODE. The
// caller is charged the gas of the original call.
type FrameChange struct {
	Path  []int               // index of the call among the calls of its caller, for each level below the root; not empty
	Stub  *Stub               // replaces the callee; no value is sent
	Value *uint256.Int        // wei to send instead; only for CALL and CALLCODE
	Words map[int]common.Hash // replaces words of the calldata after the selector, in the caller's memory
}

// Stub is a callee that returns or reverts with fixed data.
type Stub struct {
	Data   []byte
	Revert bool
}

// changer applies frame changes while a transaction runs. Like the recorder of frames, it
// follows the calls.
type changer struct {
	frames  []FrameChange
	applied []bool
	stubs   []common.Address
	made    []int // calls made so far by each open frame
	at      []int // index of each open frame, except the root, among its caller's calls
	behind  *common.Address
}

// stubAddress returns an address that no chain uses.
func stubAddress(i int) common.Address {
	return common.BytesToAddress(crypto.Keccak256(binary.BigEndian.AppendUint64([]byte("txlens stub "), uint64(i)))[12:])
}

func newChanger(frames []FrameChange) *changer {
	c := &changer{frames: frames, applied: make([]bool, len(frames))}
	for i := range frames {
		c.stubs = append(c.stubs, stubAddress(i))
	}
	return c
}

// code returns the code of a stub: CODECOPY the data behind the code, then RETURN or
// REVERT. A stub that returns nothing has no code and needs no gas, because plain payments
// provide none.
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

// hook changes a call just before it is made. go-ethereum asks tracers not to write to the
// stack, but it uses what is written; tests check that this stays so.
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
		if f := &c.frames[i]; c.matches(f.Path, depth) {
			c.applied[i] = c.apply(i, f, stack, scope.MemoryData(), args)
		}
	}
}

// matches reports whether the call that the frame at depth (1 is the root) is about to make
// has the path.
func (c *changer) matches(path []int, depth int) bool {
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

// setWords writes into the calldata in memory. Memory that is not allocated yet is zero; an
// offset beyond any possible argument is ignored.
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

// enter and exit follow the calls. A stub is recorded under the address that it replaces.
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

// attach runs the changer before the recorders of hooks.
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

// applyState writes the stubs and the state overrides to db. It finalises db, so that the
// next transaction sees them as its initial state.
func (c *Changes) applyState(env *environment, db *state.StateDB) {
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

// fund gives a sender of SkipSenderChecks the coin that it lacks, and reports it.
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

// check rejects changes that cannot be applied.
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
