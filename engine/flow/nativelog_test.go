package flow

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// The logs of EIP-7708 are read where there is no trace, and only as far as they fit the
// transaction; a trace goes first.
func TestMovesByLogs(t *testing.T) {
	moved := func(from, to common.Address, n int) ethrpc.Log {
		return logOf(evmsig.NativeLogger, topics(evmsig.TopicTransfer, from, to), n)
	}
	// f computes a transaction of alice to a contract with a value.
	f := func(want string, complete bool, value int64, change func(*Input), logs ...ethrpc.Log) {
		t.Helper()
		in := withLogs(logs...)
		in.Tx.To, in.Tx.Value = &token, big.NewInt(value)
		in.Tree = trace.FromReceipt(in.Tx, in.Receipt, true)
		if change != nil {
			change(&in)
		}
		out := Compute(in)
		var got []string
		for i := range out.Moves {
			if m := &out.Moves[i]; m.Kind != MoveFee {
				got = append(got, fmt.Sprintf("%s %s>%s %s@%d", m.Kind, names[m.From], names[m.To], m.Amount, m.Frame))
			}
		}
		if s := strings.Join(got, ", "); s != want || out.Complete != complete || len(out.Transfers) > 0 {
			t.Errorf("got  %s, complete %v, transfers %v\nwant %s, complete %v", s, out.Complete, out.Transfers, want, complete)
		}
	}
	both := []ethrpc.Log{moved(alice, token, 5), moved(token, bob, 3)}
	const all = "call alice>token 5@0, call token>bob 3@-1"
	f(all, true, 5, nil, both...)
	f("call alice>token 5@-1, call token>bob 3@-1", true, 5, func(in *Input) { in.Tree = nil }, both...)
	f("call token>bob 3@-1", true, 0, nil, moved(token, bob, 3))
	f("call alice>token 5@0", false, 5, nil)                                                                                         // logs of no kind
	f("call alice>token 5@0", false, 5, nil, moved(token, bob, 3))                                                                   // none of the value
	f("call alice>token 5@0", false, 5, nil, moved(alice, token, 4), moved(token, bob, 3))                                           // another value
	f("call alice>token 5@0", false, 5, nil, moved(alice, bob, 5))                                                                   // to another account
	f("call alice>token 5@0", false, 5, nil, moved(bob, token, 5))                                                                   // from another one
	f("call alice>token 5@0", false, 5, nil, both[0], logOf(evmsig.NativeLogger, nil, 3))                                            // of another layout
	f("", false, 5, func(in *Input) { in.Succeeded = false }, both...)                                                               // undone
	f("call alice>alice 5@0", false, 5, func(in *Input) { in.Tx.To = &alice; in.Tree = trace.FromReceipt(in.Tx, in.Receipt, true) }) // to oneself: no log
	f("call bob>carol 1@-1", true, 5, func(in *Input) { in.Tx.To = &alice }, moved(bob, carol, 1))
	f("create alice>token 5@0, call token>bob 3@-1", true, 5, func(in *Input) {
		in.Tx.To, in.Receipt.ContractAddress = nil, &token
		in.Tree = trace.FromReceipt(in.Tx, in.Receipt, true)
	}, both...)
	f("", true, 0, func(in *Input) { // a trace tells all
		in.Tree = withLogs().Tree
	}, moved(token, bob, 3))
}
