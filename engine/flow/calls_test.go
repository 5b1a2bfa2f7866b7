package flow

import (
	"math/big"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// TestCallsStandForLogs: without logs a transfer is a call that its token granted and
// nothing undid; what is forwarded, refused or reverted is none.
func TestCallsStandForLogs(t *testing.T) {
	ch, _ := chain.ByID(1)
	user, token, other := common.Address{19: 1}, common.Address{19: 2}, common.Address{19: 3}
	send := append(evmsig.SelTransfer[:4:4], append(common.LeftPadBytes(other[:], 32), common.LeftPadBytes([]byte{7}, 32)...)...)
	yes, no := common.LeftPadBytes([]byte{1}, 32), make([]byte, 32)
	call := func(from, to common.Address, input, output []byte, children ...*trace.Frame) *trace.Frame {
		return &trace.Frame{Kind: trace.Call, From: from, To: to, HasTo: true, Input: input, Output: output, Children: children}
	}
	f := func(name string, want int, frames ...*trace.Frame) {
		t.Helper()
		tree := &trace.Tree{Source: trace.SourceParity, Root: call(user, other, nil, nil, frames...)}
		tree.Finish()
		out := Compute(Input{Chain: ch, Tx: &ethrpc.Transaction{From: user, To: &other, Value: new(big.Int)}, Tree: tree, Succeeded: true, NoLogs: true})
		if len(out.Transfers) != want {
			t.Errorf("%s: %d transfers, want %d", name, len(out.Transfers), want)
		}
	}
	f("transfer", 1, call(user, token, send, yes))
	f("old token that returns nothing", 1, call(user, token, send, nil))
	f("refused", 0, call(user, token, send, no))
	f("cut short", 0, call(user, token, send[:40], yes))
	f("behind a proxy that calls on", 1, call(user, token, send, yes, call(token, other, send, yes)))
	failed := call(user, token, send, nil)
	failed.Err = "execution reverted"
	f("failed", 0, failed)
	undone := call(user, other, nil, nil, call(other, token, send, yes))
	undone.Err = "execution reverted"
	f("undone", 0, undone)
	read := call(user, token, send, yes)
	read.Kind = trace.StaticCall
	f("read only", 0, read)
	wrap := call(user, *ch.WrappedNative, evmsig.SelDeposit[:], nil)
	wrap.Value = *uint256.NewInt(5)
	f("wrapped coin", 1, wrap)
}
