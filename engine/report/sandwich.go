package report

import "txlens/engine/api"

// maxTrades bounds the rows of a sandwich.
const maxTrades = 22

// sandwich is the time line of a sandwich.
type sandwich struct {
	Pool, Searcher party
	Trades         []tradeRow
	More           int
}

// tradeRow is one trade of a sandwich.
type tradeRow struct {
	Part         string
	Hash, Short  string
	Self         bool
	Given, Taken string // empty where the events do not tell
}

var tradeParts = map[api.SandwichPart]string{
	api.SandwichFront: "Front", api.SandwichVictim: "Victim", api.SandwichBack: "Back",
}

func (n *names) sandwich(r *api.Result) *sandwich {
	if r.Sandwich == nil || len(r.Sandwich.Trades) == 0 {
		return nil
	}
	s := &sandwich{Pool: n.party(r.Sandwich.Pool), Searcher: n.party(r.Sandwich.Searcher)}
	for _, t := range head(r.Sandwich.Trades, maxTrades) {
		row := tradeRow{
			Part: tradeParts[t.Part], Hash: api.OneLine(t.TxHash, 66), Self: t.Self, Given: n.traded(t.Given), Taken: n.traded(t.Taken),
		}
		if row.Short = row.Hash; len(t.TxHash) == 66 {
			row.Short = t.TxHash[:10] + "…" + t.TxHash[60:]
		}
		s.Trades = append(s.Trades, row)
	}
	s.More = len(r.Sandwich.Trades) - len(s.Trades)
	return s
}

// traded writes an amount in whole tokens, or in base units where the decimals are not known.
func (n *names) traded(a *api.StepAmount) string {
	if a == nil {
		return ""
	}
	name := n.symbol(a.TokenSymbol, a.TokenAddress)
	if a.Amount != nil {
		if d, ok := decimal(*a.Amount); ok {
			return amount(d) + " " + name
		}
	}
	return plainNumber(a.RawAmount).Text + " base units of " + name
}
