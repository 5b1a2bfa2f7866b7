package trace

import (
	"txlens/engine/ethrpc"
)

// errUnknown is the error text of a failed transaction for which only the receipt is known.
const errUnknown = "failed"

// FromReceipt builds the tree of a transaction without a trace: the outermost call with all
// logs of the receipt. The address of a creation comes from the receipt. rc may be nil.
func FromReceipt(tx *ethrpc.Transaction, rc *ethrpc.Receipt, succeeded bool) *Tree {
	f := &Frame{Kind: Call, From: tx.From, Gas: tx.Gas, Input: tx.Input}
	if tx.Value != nil {
		f.Value.SetFromBig(tx.Value)
	}
	switch {
	case tx.To != nil:
		f.To, f.HasTo = *tx.To, true
	case rc != nil && rc.ContractAddress != nil:
		f.Kind, f.To, f.HasTo = Create, *rc.ContractAddress, true
	default:
		f.Kind = Create
	}
	if !succeeded {
		f.Err = errUnknown
	}
	t := &Tree{Source: SourceReceipt, Root: f}
	if rc != nil {
		f.GasUsed = rc.GasUsed
		for i := range rc.Logs {
			f.adopt(rc, i)
		}
		t.HasLogs = true
	}
	t.Finish()
	return t
}

// adopt appends log i of the receipt to the frame, after all its calls.
func (f *Frame) adopt(rc *ethrpc.Receipt, i int) {
	l := &rc.Logs[i]
	f.Logs = append(f.Logs, Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Calls: len(f.Children), Receipt: i})
}

// LogsAsReceipt returns a receipt that contains only the logs of the successful frames, in
// order, for use when the node returned no receipt. It returns nil if the trace has no logs
// either, or frames were omitted. The index of a log is its position, because the one in
// the block is unknown.
func (t *Tree) LogsAsReceipt() *ethrpc.Receipt {
	if t.Root == nil || !t.HasLogs || t.Source == SourceReceipt || t.Compressed() {
		return nil
	}
	rc := &ethrpc.Receipt{}
	for i, l := range t.liveLogs() {
		rc.Logs = append(rc.Logs, ethrpc.Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Index: uint64(i)})
	}
	return rc
}
