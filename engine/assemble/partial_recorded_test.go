package assemble_test

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/label"
	"txlens/testkit/recorded"
	"txlens/testkit/size"

	"github.com/ethereum/go-ethereum/common"
)

// TestRecordedWithoutReceipt takes the receipt from recorded transactions: nothing is
// told as having moved, nothing is an exploit or a searcher's gain, and tokens of the
// lists keep their symbols.
func TestRecordedWithoutReceipt(t *testing.T) {
	n, transfers := 0, 0
	for ev := range recorded.Sample(t) {
		status := ev.Receipt.Status
		ev.Receipt, ev.Tokens = nil, nil
		ev.Failed = []assemble.Failure{{Phase: "transaction", Reason: "x"}}
		r := assemble.Result(ev)
		n++
		if !r.Partial() || len(r.BalanceChanges) > 0 || r.Fee != nil || r.USDValue != nil || len(r.Findings) > 0 {
			t.Errorf("%s: %d changes, fee %v, usd %v, %d findings", ev.TxHash, len(r.BalanceChanges), r.Fee, r.USDValue, len(r.Findings))
		}
		if status != nil && (*status == 1) != (r.Status == api.StatusSuccess) {
			t.Errorf("%s: %s, the receipt said %d", ev.TxHash, r.Status, *status)
		}
		_, said, _ := strings.Cut(r.Summary, "** ")
		if !strings.HasPrefix(said, "Attempt to ") && !strings.HasPrefix(said, "Failed attempt to ") {
			t.Errorf("%s: %s", ev.TxHash, r.Summary)
		}
		for _, s := range r.Steps {
			for _, word := range []string{" sent ", " wrapped ", " was minted ", " burnt ", " gaining "} {
				if strings.Contains(s, word) && !strings.HasPrefix(s, "By the call trace alone: ") && r.Status == api.StatusSuccess {
					t.Errorf("%s: %s", ev.TxHash, s)
				}
			}
		}
		if r.TxType != nil && (*r.TxType == api.TypeMEV || *r.TxType == api.TypeExploit) {
			t.Errorf("%s: %s: %s", ev.TxHash, *r.TxType, r.Summary)
		}
		for _, x := range r.TokenTransfers {
			transfers++
			if known, ok := label.LookupToken(ev.Chain.ID, common.Address(x.TokenAddress)); ok && known.Symbol != x.TokenSymbol {
				t.Errorf("%s: %s has symbol %q, the list has %q", ev.TxHash, x.TokenAddress, x.TokenSymbol, known.Symbol)
			}
		}
	}
	if n < size.Of(40, 100) || transfers < size.Of(20, 100) {
		t.Errorf("only %d transactions with %d transfers", n, transfers)
	}
}

// TestArbitrageIsWorthItsGain: a recorded one, whose bot keeps a unit of each token and
// sends the gain to its owner.
func TestArbitrageIsWorthItsGain(t *testing.T) {
	r := assemble.Result(recorded.Find(t, "0x7e6735c143"))
	const gain = "0.048295547076680852"
	for _, c := range r.BalanceChanges {
		for _, k := range c.Tokens {
			if k.Balance == gain && k.TokenSymbol == "WETH" && k.ValueUSD != nil && r.USDValue != nil && k.ValueUSD.String() == r.USDValue.String() && strings.Contains(r.Summary, "gaining 0.048296 WETH for ") {
				return
			}
		}
	}
	t.Errorf("worth %v: %s", r.USDValue, r.Summary)
}
