package replay

import (
	"bytes"
	"fmt"
	"slices"

	"txlens/engine/ethrpc"
)

// Verify compares a run with the receipt and describes the differences. No differences
// means that gas, status and every log agree. A run with differences must not be used as a
// trace.
func Verify(res *Result, rc *ethrpc.Receipt) []string {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if res.GasUsed != rc.GasUsed {
		note("replay used %d gas, the receipt says %d", res.GasUsed, rc.GasUsed)
	}
	if rc.Status != nil && *rc.Status != res.Status {
		note("replay ended with status %d, the receipt says %d", res.Status, *rc.Status)
	}
	if len(res.Logs) != len(rc.Logs) {
		note("replay gave %d logs, the receipt has %d", len(res.Logs), len(rc.Logs))
		return notes
	}
	for i := range res.Logs {
		if !sameLog(&res.Logs[i], &rc.Logs[i]) {
			note("log %d of the replay differs from the receipt's", i)
			break
		}
	}
	return notes
}

// sameLog compares address, topics and data; the index in the block is assigned by the
// node.
func sameLog(a, b *ethrpc.Log) bool {
	return a.Address == b.Address && slices.Equal(a.Topics, b.Topics) && bytes.Equal(a.Data, b.Data)
}
