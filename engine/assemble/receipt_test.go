package assemble

import (
	"strings"
	"testing"

	"txlens/engine/api"

	"github.com/go-json-experiment/json"
)

const usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"

// movesUSDC is a call to USDC that moves 2 USDC, with the log of it.
const movesUSDC = `{"type":"CALL","from":"0x1111111111111111111111111111111111111111","to":"` + usdc + `","gas":"0x1","gasUsed":"0x1","value":"0x0",
	"input":"0xa9059cbb000000000000000000000000222222222222222222222222222222222222222200000000000000000000000000000000000000000000000000000000001e8480",
	"output":"0x0000000000000000000000000000000000000000000000000000000000000001",
	"logs":[{"address":"` + usdc + `","topics":["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
		"0x0000000000000000000000001111111111111111111111111111111111111111","0x0000000000000000000000002222222222222222222222222222222222222222"],
		"data":"0x00000000000000000000000000000000000000000000000000000000001e8480","position":"0x0"}]}`

// claims are the words of one who knows that something moved.
func claims(r *api.Result) (found []string) {
	for _, s := range append([]string{r.Summary}, r.Steps...) {
		for _, word := range []string{"Sent ", " sent ", "Swapped", "Closed an arbitrage", "gaining", "Paid "} {
			if strings.Contains(s, word) && !strings.HasPrefix(s, "By the call trace alone: ") {
				found = append(found, s)
			}
		}
	}
	return found
}

// TestNoReceipt: without a receipt no movement is told as a fact, whatever a trace shows;
// what the trace shows is there, with the symbols and decimals that are known.
func TestNoReceipt(t *testing.T) {
	make := func(frames string) *api.Result {
		ev := evidenceOf(t, 1, frames)
		ev.Receipt = nil
		ev.Failed = []Failure{{"transaction", "the receipt could not be fetched: x"}}
		if ev.Tree != nil {
			ev.Tx.Input, ev.Tx.Value = ev.Tree.Root.Input, ev.Tree.Root.Value.ToBig()
			to := ev.Tree.Root.To
			ev.Tx.To = &to
		}
		r := Result(ev)
		if !r.Partial() || r.Confidence != api.Low || r.USDValue != nil || r.Fee != nil || len(r.BalanceChanges) > 0 || len(claims(r)) > 0 {
			t.Errorf("%s, %s, usd %v, fee %v, %d changes, claims %q", r.AnalysisModel, r.Confidence, r.USDValue, r.Fee, len(r.BalanceChanges), claims(r))
		}
		if n := strings.Join(r.Provenance.Notes, "|"); strings.Contains(n, "state diff") || strings.Count(n, "the receipt is missing") != 1 {
			t.Errorf("notes %q", r.Provenance.Notes)
		}
		return r
	}
	r := make(movesUSDC)
	if r.Status != api.StatusSuccess || !strings.Contains(r.Summary, "** Attempt to send 2 USDC to ") || !strings.HasSuffix(r.Summary, "; the call trace ends in success, which no receipt confirms") {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
	if len(r.TokenTransfers) != 1 || r.TokenTransfers[0].TokenSymbol != "USDC" || r.TokenTransfers[0].Decimals != "6" || r.TokenTransfers[0].Total != "2000000" {
		t.Errorf("transfers %+v", r.TokenTransfers)
	}
	if len(r.Steps) != 2 || !strings.HasPrefix(r.Steps[1], "By the call trace alone: ") || !strings.Contains(r.Steps[1], "2 USDC") {
		t.Errorf("steps %q", r.Steps)
	}
	if len(r.PrettyTrace) != 2 || r.PrettyTrace[1].FunctionName != "Transfer" || r.PrettyTrace[1].LogIndex != nil || r.RawTrace == nil {
		t.Errorf("trace %+v", r.PrettyTrace)
	}
	// A trace without logs shows what calls asked for.
	if r = make(strings.Replace(movesUSDC, `"logs":[`, `"nologs":[`, 1)); len(r.TokenTransfers) != 1 || r.TokenTransfers[0].TokenSymbol != "USDC" {
		t.Errorf("transfers by calls %+v", r.TokenTransfers)
	}
	r = make(`{"type":"CALL",` + head + `,"value":"0x6f05b59d3b20000"}`)
	if r.Status != api.StatusSuccess || !strings.Contains(r.Summary, "** Attempt to send 0.5 ETH to ") || !strings.Contains(r.Steps[0], "tried to send 0.5 ETH") {
		t.Errorf("%s %s %q", r.Status, r.Summary, r.Steps)
	}
	r = make(`{"type":"CALL",` + head + `,"value":"0x6f05b59d3b20000","error":"out of gas"}`)
	if r.Status != api.StatusReverted || !strings.Contains(r.Summary, "** Failed attempt to send 0.5 ETH to ") || !strings.Contains(r.Summary, "out of gas") {
		t.Errorf("%s %s", r.Status, r.Summary)
	}
}

// TestNothingTellsTheOutcome: without receipt and trace neither the result nor a node of
// its trace says how the transaction ended.
func TestNothingTellsTheOutcome(t *testing.T) {
	ev := evidenceOf(t, 1, "")
	ev.Receipt, ev.Failed = nil, []Failure{{"transaction", "x"}, {"trace", "x"}}
	r := Result(ev)
	if r.Status != api.StatusUnknown || !strings.HasSuffix(r.Summary, "; the outcome is not known") || len(claims(r)) > 0 {
		t.Errorf("%q %s %q", r.Status, r.Summary, r.Steps)
	}
	if len(r.PrettyTrace) != 1 || r.PrettyTrace[0].Status != api.NodeUnknown || r.PrettyTrace[0].Error != "" {
		t.Errorf("%+v", r.PrettyTrace)
	}
	if raw, err := json.Marshal(r.RawTrace); err != nil || strings.Contains(string(raw), "error") || !strings.Contains(string(raw), `"value":"0x6f05b59d3b20000"`) {
		t.Errorf("%s, %v", raw, err)
	}
}
