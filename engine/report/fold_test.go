package report

import (
	"strconv"
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestMermaidFolds: many alike in a row are one arrow that says how many, and nothing
// of them counts as not drawn.
func TestMermaidFolds(t *testing.T) {
	a, b := api.Addr{1}, api.Addr{2}
	f := func(r *api.Result, want ...string) {
		t.Helper()
		r.TxMeta.From, r.TxMeta.To = a, &b
		got := Mermaid(r)
		for _, w := range want {
			if !strings.Contains(got, ": "+w+"\n") {
				t.Errorf("no arrow %q in\n%s", w, got)
			}
		}
		if strings.Contains(got, "Note over") {
			t.Errorf("something is not drawn:\n%s", got)
		}
	}
	mint, drop := &api.Result{}, &api.Result{}
	for i := range 200 {
		mint.TokenTransfers = append(mint.TokenTransfers, api.TokenTransfer{Type: "erc721", To: b, TokenSymbol: "PUNK", Total: "1", TokenID: strconv.Itoa(i), LogIndex: uint64(i)})
		if i < 3 {
			drop.TokenTransfers = append(drop.TokenTransfers, api.TokenTransfer{Type: "erc20", From: a, To: b, TokenSymbol: "T", Total: "7", Decimals: "0", LogIndex: uint64(i)})
		}
	}
	f(mint, "mint 200 NFTs of PUNK")
	f(drop, "7 T\n    P0->>P1: 7 T")
	calls := &api.Result{PrettyTrace: []api.Node{{Type: "CALL", From: a, To: &b, FunctionName: "run", Path: "0", Status: api.NodeOK}}}
	for i := range 90 {
		calls.PrettyTrace = append(calls.PrettyTrace, api.Node{Type: "CALL", From: b, To: &a, FunctionName: "copy", Depth: 1, Path: "0." + strconv.Itoa(i), Status: api.NodeFailed, Error: "out of gas"})
	}
	f(calls, "run", "copy#58; out of gas ×90")
}
