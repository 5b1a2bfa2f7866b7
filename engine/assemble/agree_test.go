package assemble

import (
	"math/big"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// TestDisagreement: a trace that cannot be the transaction's is left out where
// that is sure, and doubted where a chain may have its own way.
func TestDisagreement(t *testing.T) {
	f := func(chainID, txType uint64, root, wantSource, wantNote string) {
		t.Helper()
		ev := evidenceOf(t, 1, root)
		ev.Chain, _ = chain.ByID(chainID)
		ev.Tx.Type = txType
		r := Result(ev)
		if notes := strings.Join(r.Provenance.Notes, "\n"); r.Provenance.TraceSource != wantSource || !strings.Contains(notes, wantNote) {
			t.Errorf("%d, type %d: stands on %s, notes %q; want %s, %q", chainID, txType, r.Provenance.TraceSource, notes, wantSource, wantNote)
		} else if wantNote != "" && r.Confidence != api.Low {
			t.Errorf("%d, type %d: confidence %s", chainID, txType, r.Confidence)
		}
	}
	good := `{"type":"CALL",` + head + `,"value":"0x6f05b59d3b20000"}`
	bad := `{"type":"CALL",` + head + `,"value":"0x1"}`
	const debug, out, doubt = "debug_traceTransaction", "the call trace is left out: its outermost call carries 1 wei", "the call trace may not be of this transaction"
	f(1, 2, good, debug, "")
	f(1, 2, bad, "receipt", out)
	f(8453, 2, bad, "receipt", out)
	f(8453, 0x7e, bad, debug, doubt) // a deposit
	f(295, 2, bad, debug, doubt)     // Hedera counts in units of its own
}

// TestCreationToZero: the zero address as the recipient of a creation is no disagreement; another is.
func TestCreationToZero(t *testing.T) {
	f := func(to common.Address, kind trace.Kind, agrees bool) {
		t.Helper()
		root := &trace.Frame{Kind: kind, To: common.Address{7}, HasTo: true}
		why := Disagrees(&trace.Tree{Root: root}, &ethrpc.Transaction{To: &to, Value: new(big.Int)}, nil)
		if (why == "") != agrees {
			t.Errorf("%s, kind %v: %q", to, kind, why)
		}
	}
	f(common.Address{}, trace.Create, true)
	f(common.Address{7}, trace.Create, false)
	f(common.Address{}, trace.Call, false)
	f(common.Address{7}, trace.Call, true)
}

// TestImpossibleGas: a receipt that used more gas than its transaction allows is doubted.
func TestImpossibleGas(t *testing.T) {
	f := func(chainID, used uint64, doubted bool) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000"}`)
		ev.Chain, _ = chain.ByID(chainID)
		ev.Tx.Gas, ev.Receipt.GasUsed = 50_000, used
		r := Result(ev)
		if strings.Contains(strings.Join(r.Provenance.Notes, "\n"), "gas was used") != doubted || doubted != (r.Confidence == api.Low) {
			t.Errorf("%d: %d: confidence %s, notes %q", chainID, used, r.Confidence, r.Provenance.Notes)
		}
	}
	f(1, 50_000, false)
	f(1, 50_001, true)
	f(295, 50_001, false) // Hedera counts in units of its own
}
