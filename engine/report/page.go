package report

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"txlens/engine/api"
)

// bounds say how much of a Result is shown.
type bounds struct {
	steps, balances, tokens, transfers, labels, notes int
	nodes, logs, args                                 int
	state                                             int // changes of the state
	rows, detail                                      int // lines of the call list of the script, bytes of its details
	text                                              int // characters of one piece of prose
}

// page is a Result ready to print: strings clean, numbers written, lists cut and
// the rest counted. Text and HTML lay out the same page.
type page struct {
	Status      string // success, reverted, or empty when nothing tells
	Kind        string // "swap", "attempted swap (wrap)", "unclassified"
	Protocol    string
	Others      string // other protocols that took part
	Confidence  string
	Partial     bool
	Summary     string
	Steps       []string
	MoreSteps   int
	Risks       []string
	Chain, Hash string
	Link        string // of the transaction at the explorer
	Explorer    string
	Block       string
	Time        string
	Read        bool // the transaction was read: From, To and Value say something
	From        party
	To          *party // nil: creation
	Value       string
	Fee         []string // the total, then its parts
	Gas         string
	Balances    []balance
	MoreBal     int
	Transfers   []transfer
	MoreTr      int
	Known       []fact // how the result is known
	Notes       []string
	Labels      []party
	MoreLabels  int
	PartOf      string // which part of a longer sequence it is
	Incident    string // what somebody published of it

	names *names
}

type fact struct{ Name, Value string }

type balance struct {
	Party  party
	Sender bool
	Tokens []tokenRow
	More   int // tokens left out
	Total  string
	Gain   int // sign of the total
}

// Summed reports whether a balance has a row for its total: one of several.
func (b balance) Summed() bool { return b.Total != "" && len(b.Tokens) > 1 }

// Rows is how many rows a balance takes.
func (b balance) Rows() int {
	n := len(b.Tokens)
	if b.More > 0 {
		n++
	}
	if b.Summed() {
		n++
	}
	return n
}

type tokenRow struct {
	Symbol, Amount, USD string
	Gain                int // sign of the amount
	value               *api.Decimal
	token               string   // that bars compare with itself
	amount              *big.Rat // nil for an NFT: its bar would say nothing
}

type transfer struct {
	From, To party
	What     string // amount and symbol
}

func newPage(r *api.Result, b bounds) *page {
	n := newNames(r)
	p := &page{names: n, Status: string(r.Status), Confidence: api.OneLine(string(r.Confidence), 20), Partial: r.Partial(),
		Summary: prose(r.Summary, b.text), Hash: api.OneLine(r.TxHash, 66), Chain: api.OneLine(r.ChainName, 60), From: n.party(r.TxMeta.From)}
	if p.Chain == "" {
		p.Chain = api.OneLine(r.Chain, 60)
	}
	if r.Status != api.StatusSuccess && r.Status != api.StatusReverted {
		p.Status = "" // a partial result may not know
	}
	p.Kind = kind(r)
	if r.Protocol != nil {
		p.Protocol = api.OneLine(*r.Protocol, 60)
		p.Others = api.OneLine(strings.Join(r.Protocols, ", "), 120)
	}
	p.Steps, p.MoreSteps = proses(r.Steps, b.steps, b.text)
	p.Risks, _ = proses(r.Risks, b.steps, b.text)
	p.where(r)
	p.money(r)
	for _, c := range head(r.BalanceChanges, b.balances) {
		p.Balances = append(p.Balances, n.balance(c, b.tokens))
	}
	p.MoreBal = len(r.BalanceChanges) - len(p.Balances)
	for _, t := range head(r.TokenTransfers, b.transfers) {
		p.Transfers = append(p.Transfers, transfer{n.party(t.From), n.party(t.To), n.moved(t)})
	}
	p.MoreTr = len(r.TokenTransfers) - len(p.Transfers)
	for _, a := range head(r.Addresses, b.labels) {
		p.Labels = append(p.Labels, n.party(a.Address))
	}
	p.MoreLabels = len(r.Addresses) - len(p.Labels)
	if q := r.Sequence; q != nil {
		p.PartOf = prose(q.Text, 400)
	}
	if k := r.KnownIncident; k != nil {
		var words []string
		for _, word := range []string{k.Name, k.Date, k.Cause, k.Loss} {
			if word = prose(word, 200); word != "" {
				words = append(words, word)
			}
		}
		p.Incident = strings.Join(words, ", ") + " (published by " + prose(k.Source, 60) + ")"
	}
	p.known(r, b)
	return p
}

func head[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// prose cleans a sentence; the emphasis of Markdown is not for these pages.
func prose(s string, limit int) string {
	return api.OneLine(strings.ReplaceAll(s, "**", ""), limit)
}

// proses cleans a list. A sentence that repeats the one before is only counted.
func proses(list []string, n, limit int) (out []string, more int) {
	times, last := 1, ""
	for i, s := range list {
		s = prose(s, limit)
		switch {
		case s == "":
			continue
		case s == last:
			times++
			out[len(out)-1] = fmt.Sprintf("%s (%d times)", last, times)
			continue
		case len(out) == n:
			return out, len(list) - i
		}
		out, last, times = append(out, s), s, 1
	}
	return out, 0
}

func kind(r *api.Result) string {
	s := "unclassified"
	if r.TxType != nil {
		s = api.OneLine(string(*r.TxType), 40)
	}
	if sub := api.OneLine(r.SubType, 40); sub != "" && sub != s {
		s += " (" + sub + ")"
	}
	if r.Attempted {
		s = "attempted " + s
	}
	return s
}

func (p *page) where(r *api.Result) {
	p.Explorer = api.OneLine(r.ExplorerBase, 200)
	if !strings.HasPrefix(p.Explorer, "https://") && !strings.HasPrefix(p.Explorer, "http://") {
		p.Explorer = ""
	}
	if p.Explorer != "" {
		p.Link = p.Explorer + "/tx/" + p.Hash
	}
	if m := r.TxMeta; m.BlockNumber > 0 || m.BlockTimestamp > 0 {
		p.Block = fmt.Sprintf("block %s, index %d", api.Thousands(fmt.Sprint(m.BlockNumber)), m.TransactionIndex)
	}
	p.Time = moment(r.TxMeta.BlockTimestamp)
	p.Read = r.TxMeta.ValueWei != ""
	if r.TxMeta.To != nil {
		to := p.names.party(*r.TxMeta.To)
		p.To = &to
	}
}

// moment writes Unix seconds in UTC, "" for none and for what no calendar holds.
func moment(unix uint64) string {
	if unix == 0 || unix > 253402300799 {
		return ""
	}
	return time.Unix(int64(unix), 0).UTC().Format("2006-01-02 15:04:05") + " UTC"
}

func (p *page) money(r *api.Result) {
	n := p.names
	p.Value = "0 " + n.native
	if v := ether(r.TxMeta.ValueWei, n.native); v != "" {
		p.Value = v + brackets(usd(times(api.Decimal{Unscaled: integer(r.TxMeta.ValueWei), Scale: 18}, n.price)))
	}
	if r.TxMeta.GasUsed > 0 {
		p.Gas = api.Thousands(fmt.Sprint(r.TxMeta.GasUsed))
		if price := integer(r.TxMeta.GasPrice); price != nil {
			p.Gas += " at " + amount(api.Decimal{Unscaled: price, Scale: 9}) + " gwei"
		}
	}
	if r.Fee == nil {
		return
	}
	f := r.Fee
	part := func(wei, what string) {
		if v := ether(wei, n.native); v != "" {
			p.Fee = append(p.Fee, v+" "+what)
		}
	}
	total := ether(f.TotalWei, n.native)
	if total == "" {
		total = "0 " + n.native
	}
	if total += brackets(usd(f.TotalUSD)); f.Payer != r.TxMeta.From {
		total += ", paid by " + n.party(f.Payer).Both()
	}
	p.Fee = append(p.Fee, total)
	part(f.L1Wei, "of it for L1 data")
	part(f.OperatorWei, "of it for the operator")
	part(f.BlobWei, "of it for blobs")
	for _, to := range head(f.Recipients, 8) {
		part(to.Wei, "to "+n.party(to.Address).Short+brackets(api.OneLine(to.Role, 40)))
	}
	part(f.BurntWei, "burnt")
}

func brackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func (n *names) balance(c api.BalanceChange, tokens int) balance {
	out := balance{Party: n.party(c.Address), Sender: c.IsSender, Total: signed(usd(c.TotalUSD))}
	if c.TotalUSD != nil && c.TotalUSD.Unscaled != nil {
		out.Gain = c.TotalUSD.Unscaled.Sign()
	}
	if role := api.OneLine(c.Role, 40); role != "" {
		out.Party.Role = role
	}
	for _, t := range head(c.Tokens, tokens) {
		row := tokenRow{
			Symbol: n.symbol(t.TokenSymbol, t.TokenAddress),
			USD:    signed(usd(t.ValueUSD)),
			Amount: api.OneLine(t.Balance, 24),
			value:  t.ValueUSD,
		}
		if t.TokenID != nil {
			row.Symbol += " #" + api.OneLine(*t.TokenID, 12)
		}
		if t.TokenSymbol == "" && !t.IsNFT && t.Balance == t.RawSignedAmount {
			row.Symbol += " raw" // nobody knows the decimals
		}
		if d, ok := decimal(t.Balance); ok {
			row.Amount = signed(amount(d))
		}
		if raw := integer(t.RawSignedAmount); raw != nil {
			row.Gain = raw.Sign()
			if row.token = t.TokenAddress.String(); !t.IsNFT {
				row.amount = new(big.Rat).SetInt(raw)
			}
		}
		out.Tokens = append(out.Tokens, row)
	}
	out.More = len(c.Tokens) - len(out.Tokens)
	return out
}

// maxSymbol bounds a symbol, so that "imitation of" leaves room for whom.
const maxSymbol = 24

// maxShared bounds a symbol that more than one token has, so that drawings do not cut the address
// behind it.
const maxShared = 12

// symbol is what a token calls itself, or where it lies. Where another token reads the same, the
// address stands behind.
func (n *names) symbol(s string, token api.Addr) string {
	switch s = api.OneLine(s, maxSymbol); {
	case s == "":
		return n.short.Of(token)
	case n.bearers[strings.ToLower(s)] == several && token != (api.Addr{}):
		return api.OneLine(s, maxShared) + brackets(n.short.Of(token))
	}
	return s
}

// moved is the amount of a transfer in words: "1,250.5 USDC", "Punk #12".
func (n *names) moved(t api.TokenTransfer) string {
	sym := n.symbol(t.TokenSymbol, t.TokenAddress)
	if t.TokenID != "" {
		sym += " #" + api.OneLine(t.TokenID, 12)
		if t.Total == "1" || t.Total == "" {
			return sym
		}
	}
	d, known := units(t.Total, t.Decimals)
	switch {
	case d.Unscaled == nil:
		return sym
	case !known && t.TokenID == "":
		return amount(d) + " base units of " + sym
	}
	return amount(d) + " " + sym
}
