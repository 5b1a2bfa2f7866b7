package assemble

import (
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestUnsaidFailure: a trace that tells no error of a transaction whose receipt says that it
// failed is kept if its output is revert data, with the frame where the failure began.
func TestUnsaidFailure(t *testing.T) {
	f := func(root string, status uint64, source, summary string, failed int) {
		t.Helper()
		r := Result(evidenceOf(t, status, root))
		n := 0
		for i := range r.PrettyTrace {
			if r.PrettyTrace[i].Error != "" {
				n++
			}
		}
		if r.Provenance.TraceSource != source || !strings.Contains(r.Summary, summary) || n != failed {
			t.Errorf("%s: on %s, %d failed: %s", root, r.Provenance.TraceSource, n, r.Summary)
		}
	}
	const (
		custom = "0xcf479181" + "0000000000000000000000000000000000000000000000000000000000000005" + "0000000000000000000000000000000000000000000000000000000000000009"
		panics = "0x4e487b71" + "0000000000000000000000000000000000000000000000000000000000000011"
		word   = "0x0000000000000000000000000000000000000000000000000000000000000001"
	)
	frame := func(output, more string) string {
		return `{"type":"CALL",` + head + `,"value":"0x6f05b59d3b20000","output":"` + output + `"` + more + `}`
	}
	child := func(output string) string {
		return `,"calls":[{"type":"CALL",` + head + `,"value":"0x0","output":"` + output + `"}]`
	}
	f(frame(panics, ""), 0, "debug_traceTransaction", "panicked: arithmetic overflow", 1)
	f(frame(custom, ""), 0, "debug_traceTransaction", "InsufficientBalance", 1)
	f(frame(panics, child(panics)), 0, "debug_traceTransaction", "panicked: arithmetic overflow", 2)
	f(frame(panics, child(word)), 0, "debug_traceTransaction", "panicked: arithmetic overflow", 1)
	f(frame(word, ""), 0, "receipt", "no revert reason", 1)
	f(frame(panics, ""), 1, "debug_traceTransaction", "Sent", 0)
	f(frame(panics, `,"calls":[{"type":"CALL",`+head+`,"value":"0x0","error":"out of gas"}]`), 0, "receipt", "no revert reason", 1)
}

// TestFrontierCreation: until Homestead a creation that could not pay for its code made a
// contract without any.
func TestFrontierCreation(t *testing.T) {
	f := func(number, chainID uint64, failure string, want api.Status) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CREATE",`+head+`,"value":"0x6f05b59d3b20000","output":"0x6001","error":"`+failure+`"}`)
		ev.Tx.To, ev.Tx.BlockNumber, ev.Tx.Type, ev.Receipt.Status, ev.Receipt.ContractAddress = nil, &number, 0, nil, &to
		if chainID != 1 {
			c := *ev.Chain
			c.ID = chainID
			ev.Chain = &c
		}
		if r := Result(ev); r.Status != want {
			t.Errorf("block %d of %d, %s: %s, %s", number, chainID, failure, r.Status, r.Summary)
		}
	}
	const unpaid = "contract creation code storage out of gas"
	f(100_000, 1, unpaid, api.StatusSuccess)
	f(homestead-1, 1, unpaid, api.StatusSuccess)
	f(homestead, 1, unpaid, api.StatusReverted)
	f(100_000, 1, "out of gas", api.StatusReverted)
	f(100_000, 10, unpaid, api.StatusReverted)
}
