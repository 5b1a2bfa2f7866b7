package trace_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

// log writes a log of address n whose data is the number d.
func log(n, d int, more string) string {
	return fmt.Sprintf(`{"address":"%s","topics":["0x%064x"],"data":"0x%064x"%s}`, addr(n), n, d, more)
}

// receiptWith lists logs given as address and data.
func receiptWith(logs ...[2]int) *ethrpc.Receipt {
	rc := new(ethrpc.Receipt)
	for _, l := range logs {
		a := common.BigToAddress(big.NewInt(int64(l[0])))
		rc.Logs = append(rc.Logs, ethrpc.Log{
			Address: a, Topics: []common.Hash{common.BytesToHash(a[:])}, Data: common.BigToHash(big.NewInt(int64(l[1]))).Bytes(),
		})
	}
	return rc
}

func TestJoinLogs(t *testing.T) {
	f := func(root string, rc *ethrpc.Receipt, want string, notes ...string) {
		t.Helper()
		tree := parse(t, []byte(`{"type":"CALL","from":"`+addr(1)+`","to":"`+addr(2)+`"`+root+`}`), trace.Limits{})
		tree.JoinLogs(rc)
		tree.JoinLogs(rc)
		var have []string
		for _, f := range tree.Frames {
			for _, l := range f.Logs {
				have = append(have, fmt.Sprintf("%s:%d", f.Path(), l.Receipt))
			}
		}
		if got := strings.Join(have, " "); got != want {
			t.Errorf("have %s\nwant %s", got, want)
		}
		if fmt.Sprint(tree.Notes) != fmt.Sprint(notes) {
			t.Errorf("notes %v, want %v", tree.Notes, notes)
		}
	}
	f(``, receiptWith(), "")
	// The caller's log between two calls with logs.
	three := `,"calls":[` + call(3, 0, `,"logs":[`+log(3, 7, "")+`]`) + `,` + call(3, 0, `,"logs":[`+log(3, 7, "")+`]`) +
		`],"logs":[` + log(2, 7, `,"position":"0x1"`) + `]`
	f(three, receiptWith([2]int{3, 7}, [2]int{2, 7}, [2]int{3, 7}), "0:1 0.0:0 0.1:2")
	// The node places the log wrongly: its content finds it.
	f(three, receiptWith([2]int{2, 7}, [2]int{3, 7}, [2]int{3, 7}), "0:0 0.0:1 0.1:2")
	// What the receipt does not hold is said.
	f(three, receiptWith([2]int{2, 7}, [2]int{3, 7}), "0:0 0.0:1 0.1:-1", "1 logs of the trace are not in the receipt.")
	// Logs that a node lists under a failed frame are nobody's.
	undone := `,"calls":[` + call(3, 0, `,"error":"x","logs":[`+log(3, 7, "")+`]`) + `,` + call(3, 0, `,"logs":[`+log(3, 7, "")+`]`) + `]`
	f(undone, receiptWith([2]int{3, 7}), "0.0:-1 0.1:0")
	// What no frame has goes to the call of its emitter, else to the root.
	f(three, receiptWith([2]int{3, 7}, [2]int{2, 7}, [2]int{3, 7}, [2]int{2, 9}, [2]int{3, 9}), "0:1 0:3 0:4 0.0:0 0.1:2",
		"The frame of 1 logs is not known; they stand at the outermost call.")
}

// A node that ignores withLog: each log goes where its emitter ran.
func TestJoinLogsWithoutAny(t *testing.T) {
	frame := func(kind string, from, to int, calls ...string) string {
		return fmt.Sprintf(`{"type":"%s","from":"%s","to":"%s","calls":[%s]}`, kind, addr(from), addr(to), strings.Join(calls, ","))
	}
	f := func(root string, rc *ethrpc.Receipt, want string) {
		t.Helper()
		tree := parse(t, []byte(root), trace.Limits{})
		tree.JoinLogs(rc)
		var have []string
		for _, f := range tree.Frames {
			for _, l := range f.Logs {
				have = append(have, fmt.Sprintf("%s:%d@%d", f.Path(), l.Receipt, l.Calls))
			}
		}
		if got := strings.Join(have, " "); got != want {
			t.Errorf("have %s, want %s", got, want)
		}
	}
	rc := receiptWith([2]int{3, 1})
	f(frame("CALL", 1, 2, frame("CALL", 2, 3)), rc, "0.0:0@0")
	f(frame("CALL", 1, 2, frame("CALL", 2, 3), frame("CALL", 2, 3)), rc, "0:0@2")
	f(frame("CALL", 1, 2, frame("CALL", 2, 3), frame("STATICCALL", 2, 3)), rc, "0.0:0@0")
	// A proxy and its implementation are one call; the implementation emits nothing.
	f(frame("CALL", 1, 2, frame("CALL", 2, 3, frame("DELEGATECALL", 3, 4))), rc, "0.0:0@1")
	f(frame("CALL", 1, 2, frame("CALL", 2, 3, frame("DELEGATECALL", 3, 4))), receiptWith([2]int{4, 1}), "0:0@1")
	// Below a static call nothing can log.
	f(frame("CALL", 1, 2, frame("STATICCALL", 2, 5, frame("CALL", 5, 3)), frame("CALL", 2, 3)), rc, "0.1:0@0")
}

func TestFromReceipt(t *testing.T) {
	to, created := common.Address{2}, common.Address{3}
	rc := receiptWith([2]int{3, 1}, [2]int{4, 2})
	rc.GasUsed, rc.ContractAddress = 77, &created
	tx := &ethrpc.Transaction{From: common.Address{1}, To: &to, Value: big.NewInt(5), Gas: 100, Input: []byte{1, 2, 3, 4}}

	tree := trace.FromReceipt(tx, rc, true)
	tree.JoinLogs(rc)
	f := tree.Root
	if tree.Total != 1 || tree.Source != trace.SourceReceipt || f.Kind != trace.Call || f.To != to || f.GasUsed != 77 || f.Value.Uint64() != 5 {
		t.Errorf("call: %+v", f)
	}
	if len(f.Logs) != 2 || f.Logs[0].Receipt != 0 || f.Logs[1].Receipt != 1 || len(tree.Notes) != 0 {
		t.Errorf("logs: %+v, notes %v", f.Logs, tree.Notes)
	}
	tx.To = nil
	if f := trace.FromReceipt(tx, rc, true).Root; f.Kind != trace.Create || f.To != created || !f.HasTo {
		t.Errorf("creation: %+v", f)
	}
	if tree := trace.FromReceipt(tx, nil, false); tree.Failed != 1 || tree.Root.Status != trace.Failed || tree.Root.HasTo {
		t.Errorf("failed creation: %+v", tree.Root)
	}
}
