package assemble

import (
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// quote derives prices from trades in the transaction if a service had none.
func (b *builder) quote() {
	if !b.succeeded || b.ev.Receipt == nil || b.allPriced() {
		return
	}
	id := b.ev.Chain.ID
	b.quoteList = flow.Quotes(flow.QuoteInput{
		Receipt: b.ev.Receipt, Flow: b.flow, Wrapped: b.ev.Chain.WrappedNative,
		Decimals: func(a common.Address) (uint8, bool) {
			_, d := b.coin(a)
			if d == nil || b.ev.Tokens[a].Lookalike != "" {
				return 0, false
			}
			return *d, true
		},
		Price: func(a common.Address) (api.Decimal, bool) {
			p, ok := b.ev.Prices[a]
			return p.USD, ok && b.ev.Tokens[a].Lookalike == ""
		},
		Stable: func(a common.Address) bool {
			_, ok := label.Stablecoin(id, a)
			return ok
		},
	})
	b.quotes = make(map[common.Address]flow.Quote, len(b.quoteList))
	for _, q := range b.quoteList {
		b.quotes[q.Token] = q
	}
}

// allPriced reports whether a service priced everything that moved.
func (b *builder) allPriced() bool {
	if _, ok := b.ev.Prices[common.Address{}]; !ok {
		return false
	}
	for i := range b.flow.Transfers {
		if _, ok := b.ev.Prices[b.flow.Transfers[i].Token]; !ok && b.flow.Transfers[i].Standard == flow.ERC20 {
			return false
		}
	}
	return true
}

// price is that of a service, or else of a trade in the transaction if it applies to that
// amount.
func (b *builder) price(token common.Address, amount *big.Int) (api.Decimal, bool) {
	if b.ev.Tokens[token].Lookalike != "" {
		return api.Decimal{}, false // what is paid for it is not what it is worth
	}
	if p, ok := b.ev.Prices[token]; ok {
		return p.USD, true
	}
	q, ok := b.quotes[token]
	if !ok || q.Most != nil && amount.CmpAbs(q.Most) > 0 {
		return api.Decimal{}, false
	}
	b.quoted = true
	return q.USD, true
}

// fromTrades is the priceSource of prices from trades.
const fromTrades = "pools in this transaction"

// priceProvenance records the source and the oldest time of the prices used.
func (b *builder) priceProvenance() {
	keys := make([]common.Address, 0, len(b.ev.Prices))
	for a := range b.ev.Prices {
		keys = append(keys, a)
	}
	slices.SortFunc(keys, common.Address.Cmp)
	p := b.r.Provenance
	for _, a := range keys {
		price := b.ev.Prices[a]
		p.PriceSource = price.Source
		if p.PriceTime == 0 || price.Time < p.PriceTime {
			p.PriceTime = price.Time
		}
	}
	if len(b.quoteList) == 0 {
		return
	}
	if p.PriceSource == "" {
		p.PriceSource = fromTrades
		if b.ev.Block != nil {
			p.PriceTime = b.ev.Block.Timestamp
		}
	} else {
		p.PriceSource += ", and " + fromTrades
	}
	b.sayQuotes()
}

// sayQuotes notes the origin of each price from a trade.
func (b *builder) sayQuotes() {
	const most = 8
	var dollars, notes []string
	for _, q := range b.quoteList {
		switch q.By {
		case flow.ByTrade:
			notes = append(
				notes,
				"price of "+b.coinName(
					q.Token,
				)+": "+q.USD.String()+" USD by a trade against "+b.coinName(
					q.Against,
				)+" in pool "+q.Pool.Hex()+" in this transaction",
			)
		case flow.ByDollar:
			dollars = append(dollars, b.coinName(q.Token))
		}
	}
	if len(dollars) > 0 {
		notes = append([]string{strings.Join(dollars, ", ") + " taken as 1 USD"}, notes...)
	}
	if len(notes) > most {
		notes = append(notes[:most], "more prices by trades in this transaction")
	}
	b.r.Provenance.Notes = append(b.r.Provenance.Notes, notes...)
}

func (b *builder) coinName(token common.Address) string {
	if symbol, _ := b.coin(token); symbol != "" {
		return symbol
	}
	return token.Hex()
}
