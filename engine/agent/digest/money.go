package digest

import (
	"fmt"
	"math/big"
	"strings"

	"txlens/engine/api"
)

// quantity converts 0x hex to decimal.
func quantity(hex string) string {
	n, ok := new(big.Int).SetString(strings.TrimPrefix(hex, "0x"), 16)
	if !ok {
		return "0"
	}
	return n.String()
}

func dollars(d *api.Decimal) string {
	if d == nil {
		return ""
	}
	return "$" + d.Round(2).String()
}

func (w *writer) fee() {
	f := w.r.Fee
	if f == nil {
		return
	}
	rows := []row{trimmed(row{"total", f.TotalWei + " wei", w.names.short(f.Payer), dollars(f.TotalUSD)})}
	add := func(name, wei string, to string) {
		if wei != "" && wei != "0" {
			rows = append(rows, trimmed(row{name, wei + " wei", to}))
		}
	}
	add("for L1 data", f.L1Wei, "")
	add("for blobs", f.BlobWei, "")
	add("burnt", f.BurntWei, "")
	for i, s := range f.Recipients {
		if i == 4 {
			break
		}
		add("to "+s.Role, s.Wei, w.names.short(s.Address))
	}
	section(w, "Fee, the total as {amount:fee}: part, amount, payer or receiver, USD", rows)
}

// balances writes the net movements, fees included: those of the sender and those with a
// value first, as the result orders them.
func (w *writer) balances() {
	var rows []row
	for _, c := range w.r.BalanceChanges {
		var tokens []string
		for i, t := range c.Tokens {
			if i == w.b.tokens {
				tokens = append(tokens, fmt.Sprintf("%d more", len(c.Tokens)-i))
				break
			}
			tokens = append(tokens, delta(t))
		}
		rows = append(rows, row{w.names.short(c.Address), tokens, dollars(c.TotalUSD)})
	}
	title, rows := cut("Net balance changes, fee included, as {amount:net:ADDRESS:TOKEN}: address, amounts, USD", rows, w.b.balances)
	for i := range rows {
		rows[i] = trimmed(rows[i])
	}
	section(w, title, rows)
}

func delta(t api.TokenChange) string {
	s := t.Balance + " " + symbol(t.TokenSymbol, t.TokenAddress)
	if t.TokenID != nil {
		s += " id " + api.OneLine(*t.TokenID, 24)
	}
	if t.Balance == t.RawSignedAmount && !t.IsNFT && t.TokenSymbol == "" {
		s += " base units"
	}
	if v := dollars(t.ValueUSD); v != "" {
		s += " (" + v + ")"
	}
	return s
}

// route identifies transfers of one token between two addresses.
type route struct {
	token, from, to api.Addr
	id              string
}

// sum is all transfers of a route.
type sum struct {
	route
	first api.TokenTransfer
	n     int
	total *big.Int
	logs  [2]uint64
	ids   int
}

// transfers writes the transfers, summed by route.
func (w *writer) transfers() {
	at := map[route]*sum{}
	var order []*sum
	for _, t := range w.r.TokenTransfers {
		key := route{t.TokenAddress, t.From, t.To, ""}
		s := at[key]
		if s == nil {
			s = &sum{route: key, first: t, total: new(big.Int), logs: [2]uint64{t.LogIndex, t.LogIndex}}
			at[key], order = s, append(order, s)
		}
		s.n++
		s.logs[1] = t.LogIndex
		if n, ok := new(big.Int).SetString(t.Total, 10); ok {
			s.total.Add(s.total, n)
		}
		if t.TokenID != "" {
			s.ids++
		}
	}
	title, kept := cut(
		"Token transfers, added up where they go the same way, one as {amount:log:INDEX}: token, from, to, amount, log indices",
		order,
		w.b.transfers,
	)
	var rows []row
	for _, s := range kept {
		rows = append(rows, row{w.names.short(s.token), w.names.short(s.from), w.names.short(s.to), s.amount(), s.places()})
	}
	section(w, title, rows)
}

func (s *sum) amount() string {
	sym := symbol(s.first.TokenSymbol, s.token)
	switch {
	case s.ids == 1:
		return s.total.String() + " of " + sym + " id " + api.OneLine(s.first.TokenID, 24)
	case s.ids > 1:
		return fmt.Sprintf("%s of %s, %d ids", s.total, sym, s.ids)
	}
	if scale, ok := decimals(s.first.Decimals); ok {
		return api.Decimal{Unscaled: s.total, Scale: scale}.String() + " " + sym
	}
	return s.total.String() + " base units of " + sym
}

func decimals(s string) (int, bool) {
	n := 0
	if _, err := fmt.Sscanf(s, "%d", &n); err != nil || n < 0 || n > 77 {
		return 0, false
	}
	return n, true
}

func (s *sum) places() string {
	if s.n == 1 {
		return fmt.Sprint(s.logs[0])
	}
	return fmt.Sprintf("%d in %d to %d", s.n, s.logs[0], s.logs[1])
}

// dealings are what the sender and its contracts gave and took and who lost, where a rule about
// outcomes fired.
func (w *writer) dealings() {
	d := w.r.Dealings
	if d == nil {
		return
	}
	var side []string
	for _, a := range d.Side {
		side = append(side, w.names.short(a))
	}
	section(w, "The party: the sender, contracts that act for it, accounts that they paid", []row{{side}})
	var rows []row
	for _, x := range d.Deals {
		rows = append(rows, row{x.Frame, w.names.short(x.Target), api.OneLine(x.Function, 60), assets(x.Given), assets(x.Taken)})
	}
	title, rows := cut("Deals of the side with others: frame, target, function, given, taken", rows, w.b.balances)
	section(w, title, rows)
	holdings := func(title string, list []api.Holding) {
		var rows []row
		for _, h := range list {
			rows = append(rows, row{w.names.short(h.Account), assets(h.Assets)})
		}
		section(w, title, rows)
	}
	holdings("What the side has more or less of", d.Gained)
	holdings("Who has less and got nothing for it that the transaction shows: an earlier claim of the side would explain it", d.Lost)
}

// assets are amounts with their symbols.
func assets(list []api.AssetAmount) []string {
	out := make([]string, len(list))
	for i, a := range list {
		out[i] = api.OneLine(a.Text, 80)
	}
	return out
}
