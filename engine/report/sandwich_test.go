package report

import (
	"strings"
	"testing"

	"txlens/engine/api"
)

// TestSandwichTimeLine: a sandwich is three rows in the order of the block.
func TestSandwichTimeLine(t *testing.T) {
	r := swap()
	if strings.Contains(page1(t, r), `id="sandwich"`) {
		t.Error("a sandwich where the result has none")
	}
	hash := func(digit string) string { return "0x" + strings.Repeat(digit, 64) }
	weth := &api.StepAmount{TokenSymbol: "WETH", TokenAddress: weth, RawAmount: "1500000000000000000", Amount: ref("1.5")}
	raw := &api.StepAmount{TokenSymbol: "ABC", TokenAddress: addr(2), RawAmount: "1234567"}
	r.Sandwich = &api.Sandwich{Pool: pool, Searcher: router, Trades: []api.SandwichTrade{
		{Part: api.SandwichFront, TxHash: hash("1"), Given: weth, Taken: raw},
		{Part: api.SandwichVictim, TxHash: hash("2"), Self: true, Given: weth},
		{Part: api.SandwichBack, TxHash: hash("3"), Given: raw, Taken: weth},
	}}
	text := textOf(section(t, page1(t, r), "summary"))
	for _, want := range []string{
		"in the order of the block Part Transaction Gave Got Front 0x11111111…111111 1.5 WETH 1,234,567 base units of ABC Victim",
		"Victim 0x22222222…222222 this one 1.5 WETH not known Back 0x33333333…333333",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%.600s", want, text)
		}
	}
}
