package assemble

import (
	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// maxVictims bounds the trades between the two of the searcher.
const maxVictims = 20

// sandwich writes the trades of the sandwich that the transaction is part of.
func (b *builder) sandwich() {
	w := b.facts.Sandwich
	if w == nil {
		return
	}
	victims := w.Victims
	if !w.Leg {
		victims = []common.Hash{b.ev.Tx.Hash}
	}
	out := &api.Sandwich{Pool: api.AddrOf(w.Pool), Searcher: api.AddrOf(w.Searcher)}
	add := func(part api.SandwichPart, hash common.Hash) {
		t := api.SandwichTrade{Part: part, TxHash: hash.Hex(), Self: hash == b.ev.Tx.Hash}
		paid, got := b.facts.TradeOf(w, hash)
		t.Given, t.Taken = b.tradeAmount(paid), b.tradeAmount(got)
		out.Trades = append(out.Trades, t)
	}
	add(api.SandwichFront, w.Opened)
	for _, hash := range victims[:min(len(victims), maxVictims)] {
		add(api.SandwichVictim, hash)
	}
	add(api.SandwichBack, w.Closed)
	b.r.Sandwich = out
}

func (b *builder) tradeAmount(l *facts.Leg) *api.StepAmount {
	if l == nil {
		return nil
	}
	symbol, decimals := b.coin(l.Key.Token)
	out := &api.StepAmount{TokenAddress: api.AddrOf(l.Key.Token), TokenSymbol: symbol, RawAmount: l.Amount.String()}
	if decimals != nil {
		out.Amount = new(flow.Amount(l.Amount, *decimals))
	}
	return out
}
