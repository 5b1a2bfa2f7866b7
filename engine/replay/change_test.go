package replay

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc"
)

var (
	bank  = common.HexToAddress("0xa00000000000000000000000000000000000000a")
	purse = common.HexToAddress("0xb00000000000000000000000000000000000000b")
)

// calling is the code of a CALL with all gas and in bytes of memory; 32 bytes of the
// answer go to 0x40.
func calling(to common.Address, value, in byte) []byte {
	code := []byte{byte(vm.PUSH1), 32, byte(vm.PUSH1), 0x40, byte(vm.PUSH1), in, byte(vm.PUSH1), 0, byte(vm.PUSH1), value, byte(vm.PUSH20)}
	return append(append(code, to[:]...), byte(vm.GAS), byte(vm.CALL))
}

// payment is a transaction of 5 wei to a contract that passes them to the bank
// with one word of calldata and keeps in slots 0 and 1 whether it went well and
// what came back; the bank keeps the word in slot 7, gives 3 wei to the purse,
// which logs, and answers 42.
func payment() (*ethrpc.Block, *ethrpc.Transaction, *memory) {
	store := func(slot byte) []byte { return []byte{byte(vm.PUSH1), slot, byte(vm.SSTORE)} }
	code := append(calling(bank, 5, 36), store(0)...)
	code = append(append(code, byte(vm.PUSH1), 0x40, byte(vm.MLOAD)), store(1)...)
	blk, tx, st := made(append([]byte{byte(vm.PUSH1), 9, byte(vm.PUSH1), 4, byte(vm.MSTORE)}, code...)...)
	in := append([]byte{byte(vm.PUSH1), 4, byte(vm.CALLDATALOAD)}, store(7)...)
	in = append(append(in, calling(purse, 3, 0)...), byte(vm.PUSH1), 42, byte(vm.PUSH1), 0, byte(vm.MSTORE), byte(vm.PUSH1), 32, byte(vm.PUSH1), 0, byte(vm.RETURN))
	st.code[bank] = in
	st.code[purse] = []byte{byte(vm.PUSH1), 0, byte(vm.PUSH1), 0, byte(vm.LOG0)}
	tx.Value = big.NewInt(5)
	return blk, tx, st
}

// outcome is what the run left, in short.
func (r *Result) outcome() string {
	var out []string
	slot := func(name string, a common.Address, n int64) {
		if p := r.StateDiff.Post[a]; p != nil {
			if v := p.Storage[common.BigToHash(big.NewInt(n))]; v != (common.Hash{}) {
				out = append(out, name+"="+v.Big().String())
			}
		}
	}
	slot("ok", contract, 0)
	slot("back", contract, 1)
	slot("word", bank, 7)
	for _, a := range []common.Address{bank, purse} {
		if p := r.StateDiff.Post[a]; p != nil && p.Balance != nil {
			out = append(out, a.Hex()[2:4]+":"+p.Balance.String())
		}
	}
	for _, f := range r.Tree.Frames {
		out = append(out, f.Path()+">"+f.To.Hex()[2:4])
	}
	return fmt.Sprintf("%s logs=%d met=%v", strings.Join(out, " "), len(r.Logs), r.AppliedFrames)
}

// TestChanges: each change does what it says, and nothing else differs.
func TestChanges(t *testing.T) {
	f := func(want string, frames ...FrameChange) *Result {
		t.Helper()
		blk, tx, st := payment()
		res, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Changes: &Changes{Frames: frames}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.ToLower(res.outcome()); got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		return res
	}
	word := func(n int64) []byte { return common.BigToHash(big.NewInt(n)).Bytes() }
	f("ok=1 back=42 word=9 a0:2 b0:3 0>20 0.0>a0 0.0.0>b0 logs=1 met=[]")
	f("ok=1 back=7 0>20 0.0>a0 logs=0 met=[true]", FrameChange{Path: []int{0}, Stub: &Stub{Data: word(7)}})
	f("ok=1 0>20 0.0>a0 logs=0 met=[true]", FrameChange{Path: []int{0}, Stub: &Stub{}})
	f("back=7 0>20 0.0>a0 logs=0 met=[true]", FrameChange{Path: []int{0}, Stub: &Stub{Data: word(7), Revert: true}})
	f("ok=1 back=42 word=9 a0:5 0>20 0.0>a0 0.0.0>b0 logs=0 met=[true]", FrameChange{Path: []int{0, 0}, Stub: &Stub{}})
	f("ok=1 back=42 word=9 a0:1 b0:3 0>20 0.0>a0 0.0.0>b0 logs=1 met=[true]", FrameChange{Path: []int{0}, Value: uint256.NewInt(4)})
	f("ok=1 back=42 word=77 a0:2 b0:3 0>20 0.0>a0 0.0.0>b0 logs=1 met=[true]", FrameChange{Path: []int{0}, Words: map[int]common.Hash{0: common.BytesToHash(word(77))}})
	f("ok=1 back=42 word=9 a0:2 b0:3 0>20 0.0>a0 0.0.0>b0 logs=1 met=[false false]",
		FrameChange{Path: []int{0}, Words: map[int]common.Hash{1: {}}}, FrameChange{Path: []int{1}, Stub: &Stub{}})

	plain, changed := f("ok=1 back=42 word=9 a0:2 b0:3 0>20 0.0>a0 0.0.0>b0 logs=1 met=[]"), f("ok=1 0>20 0.0>a0 logs=0 met=[true]", FrameChange{Path: []int{0}, Stub: &Stub{}})
	if plain.Reads <= changed.Reads {
		t.Errorf("a stub needs no state: %d reads, %d as it was", changed.Reads, plain.Reads)
	}
}

// TestFreeSender: anybody can be the sender, whatever stands at his address.
func TestFreeSender(t *testing.T) {
	blk, tx, st := payment()
	tx.From, tx.Nonce = bank, 0
	if _, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{}); err == nil {
		t.Error("a contract without coin sent a transaction")
	}
	res, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Changes: &Changes{SkipSenderChecks: true}})
	if err != nil || res.Status != 1 || len(res.Notes) != 1 || res.Tree.Root.From != bank {
		t.Fatalf("%+v, %v", res, err)
	}
	nonce := uint64(99) // behind the transaction's
	res, err = RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Changes: &Changes{SkipSenderChecks: true, State: map[common.Address]*ethrpc.Account{bank: {Nonce: &nonce}}}})
	if err != nil || res.Status != 1 {
		t.Errorf("%+v, %v", res, err)
	}
}

// TestChangedState: what is laid over the state is what the transaction finds, and
// belongs to what was before, not to what it changed.
func TestChangedState(t *testing.T) {
	blk, tx, st := payment()
	seven := common.BigToHash(big.NewInt(7))
	over := map[common.Address]*ethrpc.Account{
		bank:  {Storage: map[common.Hash]common.Hash{seven: common.BigToHash(big.NewInt(9))}},
		purse: {Code: []byte{byte(vm.INVALID)}, Balance: big.NewInt(100)},
	}
	res, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Changes: &Changes{State: over}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.ToLower(res.outcome()); got != "ok=1 back=42 a0:5 0>20 0.0>a0 0.0.0>b0 logs=0 met=[]" || res.Tree.Frames[2].Err == "" {
		t.Errorf("got %s, frame %+v", got, res.Tree.Frames[2])
	}
	for _, c := range []*Changes{{State: map[common.Address]*ethrpc.Account{bank: {Balance: big.NewInt(-1)}}}, {Frames: []FrameChange{{}}}} {
		if _, err := RunWith(t.Context(), mainnet(t), blk, tx, nil, st, Options{Changes: c}); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}
