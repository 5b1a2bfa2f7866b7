package flow

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
)

// Quote is the price of a token derived from a trade in the transaction itself.
type Quote struct {
	Token common.Address // the zero address is the native coin
	USD   api.Decimal
	By    QuoteBy
	// Pool is the pool of the trade; Against is what it was traded for, or the other form
	// of the native coin.
	Pool, Against common.Address
	// Most is the largest amount to which the price applies: ten times the traded amount.
	// nil: any.
	Most *big.Int
}

// QuoteBy is the basis of a quote.
type QuoteBy string

const (
	ByTrade  QuoteBy = "trade"
	ByDollar QuoteBy = "dollar" // a stablecoin is taken as one US dollar
	ByCoin   QuoteBy = "coin"   // the native coin and its wrapped form are worth the same
)

// QuoteInput is the input of Quotes.
type QuoteInput struct {
	Receipt  *ethrpc.Receipt
	Flow     *Flow
	Wrapped  *common.Address                          // the chain's wrapped native coin; may be nil
	Decimals func(common.Address) (uint8, bool)       // of a token, and of the native coin
	Price    func(common.Address) (api.Decimal, bool) // the price of a price service
	Stable   func(common.Address) bool
}

const (
	// A trade is used only if its price is within this many percent of the pool's price
	// after it: then it was small relative to the pool. The pool's own fee, of up to one
	// percent, is included.
	maxMoved = 3
	// Trades of one token whose prices differ by more percent contradict each other.
	maxApart = 3
	// Stablecoins whose prices differ by more percent are not worth a dollar.
	maxDepeg     = 1
	quoteReach   = 10 // see Quote.Most
	quoteHops    = 2  // trades between a token and a known price
	quoteDigits  = 12
	leastAmount  = 1000 // base units: a smaller trade gives no price with three digits
	quoteMaxSize = 36   // decimals of a price
)

// quoter is the state of one call of Quotes.
type quoter struct {
	QuoteInput
	known map[common.Address]api.Decimal
	most  map[common.Address]*big.Int
	out   []Quote
}

// Quotes derives prices from trades in pools of the transaction, for tokens that a price
// service did not price. They are based on the service's prices if it has any, else on a
// stablecoin being worth a dollar. A trade that moved its pool far, or that other trades
// contradict, gives no price. The result is in order of derivation.
func Quotes(in QuoteInput) []Quote {
	if in.Receipt == nil || in.Flow == nil {
		return nil
	}
	q := &quoter{QuoteInput: in, known: map[common.Address]api.Decimal{}, most: map[common.Address]*big.Int{}}
	trades := q.settled(q.trades())
	q.anchor(trades)
	for range quoteHops {
		q.round(trades)
	}
	if q.contradicted(trades) {
		return nil
	}
	return q.out
}

// contradicted reports whether a trade exchanged two tokens at values that differ a lot by
// the known prices: then one of the prices is wrong, and it is unknown which.
func (q *quoter) contradicted(list []trade) bool {
	for i := range list {
		t := &list[i]
		p, ok := q.price(t.token[0])
		if _, both := q.price(t.token[1]); !ok || !both {
			continue
		}
		_, ours0 := q.known[t.token[0]]
		_, ours1 := q.known[t.token[1]]
		if n, ok := q.worth(t, 1, p); ok && (ours0 || ours1) {
			if other, _ := q.price(t.token[1]); !agree(n, other) {
				return true
			}
		}
	}
	return false
}

// settled leaves out the pools in which any trade moved the price far, or whose trades
// differ: their price was manipulated within the transaction.
func (q *quoter) settled(list []trade) (kept []trade) {
	type place struct {
		pool common.Address
		id   common.Hash
	}
	bad := map[place]bool{}
	first := map[place]*trade{}
	for i := range list {
		t := &list[i]
		at := place{t.pool, t.id}
		if first[at] == nil {
			first[at] = t
		}
		if t.amount[0].Cmp(big.NewInt(leastAmount)) < 0 || t.amount[1].Cmp(big.NewInt(leastAmount)) < 0 ||
			!near(t.amount, t.spot, maxMoved) || !near(t.amount, first[at].amount, maxApart) {
			bad[at] = true
		}
	}
	for i := range list {
		if t := &list[i]; !bad[place{t.pool, t.id}] {
			kept = append(kept, *t)
		}
	}
	return kept
}

// near reports whether two ratios, second to first, differ by at most a percentage.
func near(a, b [2]*big.Int, percent int64) bool {
	x, y := new(big.Int).Mul(a[1], b[0]), new(big.Int).Mul(b[1], a[0])
	if x.Sign() <= 0 || y.Sign() <= 0 {
		return false
	}
	d := new(big.Int).Sub(x, y)
	return d.Abs(d).Mul(d, big.NewInt(100)).Cmp(y.Mul(y, big.NewInt(percent))) <= 0
}

// anchor sets the prices known before any trade is read: those of the service, and one
// dollar for stablecoins unless the trades contradict it.
func (q *quoter) anchor(list []trade) {
	off := map[common.Address]bool{}
	for i := range list {
		t := &list[i]
		if q.stable(t.token[0]) && q.stable(t.token[1]) && !q.atPar(t) {
			off[t.token[0]], off[t.token[1]] = true, true
		}
	}
	for i := range list {
		for _, token := range list[i].token {
			if _, ok := q.price(token); !ok && q.stable(token) && !off[token] {
				q.add(Quote{Token: token, By: ByDollar, USD: api.Decimal{Unscaled: big.NewInt(1)}})
			}
		}
	}
	// A service that knows the coin knows its wrapped form, and the reverse.
	if q.Wrapped != nil {
		q.addWrapped(common.Address{})
		q.addWrapped(*q.Wrapped)
	}
}

func (q *quoter) stable(token common.Address) bool { return q.Stable != nil && q.Stable(token) }

// atPar reports whether two stablecoins traded one for one.
func (q *quoter) atPar(t *trade) bool {
	d0, ok0 := q.Decimals(t.token[0])
	d1, ok1 := q.Decimals(t.token[1])
	return ok0 && ok1 && near(t.amount, [2]*big.Int{api.PowerOfTen(int(d0)), api.PowerOfTen(int(d1))}, maxDepeg)
}

// price is the known price of a token so far.
func (q *quoter) price(token common.Address) (api.Decimal, bool) {
	if p, ok := q.known[token]; ok {
		return p, true
	}
	if q.Price == nil {
		return api.Decimal{}, false
	}
	p, ok := q.Price(token)
	return p, ok && p.Unscaled != nil && p.Unscaled.Sign() > 0
}

// add stores a quote, for the coin and its wrapped form alike.
func (q *quoter) add(n Quote) {
	if _, ok := q.price(n.Token); ok {
		return
	}
	q.known[n.Token], q.most[n.Token] = n.USD, n.Most
	q.out = append(q.out, n)
	q.addWrapped(n.Token)
}

// addWrapped gives the coin the price of its wrapped form, or the reverse.
func (q *quoter) addWrapped(token common.Address) {
	if q.Wrapped == nil || token != *q.Wrapped && token != (common.Address{}) {
		return
	}
	other := *q.Wrapped
	if token == other {
		other = common.Address{}
	}
	p, ok := q.price(token)
	if _, has := q.price(other); !ok || has {
		return
	}
	q.known[other], q.most[other] = p, q.most[token]
	q.out = append(q.out, Quote{Token: other, By: ByCoin, USD: p, Against: token, Most: q.most[token]})
}

// round prices each token that traded against a known one. If trades differ there is no
// price, in this round or a later one.
func (q *quoter) round(list []trade) {
	var found []Quote
	at := map[common.Address]int{}
	for i := range list {
		for side := range 2 {
			n, ok := q.quote(&list[i], side)
			if !ok {
				continue
			}
			k, seen := at[n.Token]
			switch {
			case !seen:
				at[n.Token] = len(found)
				found = append(found, n)
			case !agree(found[k].USD, n.USD):
				found[k].Pool = common.Address{}
			default:
				if n.Most.Cmp(found[k].Most) > 0 {
					found[k].Most = n.Most
				}
			}
		}
	}
	for _, n := range found {
		if n.Pool != (common.Address{}) {
			q.add(n)
		}
	}
}

// quote prices one side of a trade by the other.
func (q *quoter) quote(t *trade, side int) (n Quote, ok bool) {
	token, against := t.token[side], t.token[1-side]
	if _, done := q.price(token); done {
		return n, false
	}
	p, ok := q.price(against)
	if most := q.most[against]; !ok || most != nil && t.amount[1-side].Cmp(most) > 0 {
		return n, false
	}
	usd, ok := q.worth(t, side, p)
	return Quote{
		Token:   token,
		By:      ByTrade,
		USD:     usd,
		Pool:    t.pool,
		Against: against,
		Most:    new(big.Int).Mul(t.amount[side], big.NewInt(quoteReach)),
	}, ok
}

// worth is the price of one side of a trade by that of the other: the other's amount /
// 10^its decimals x its price / (amount / 10^decimals).
func (q *quoter) worth(t *trade, side int, other api.Decimal) (api.Decimal, bool) {
	d, ok := q.Decimals(t.token[side])
	da, ok2 := q.Decimals(t.token[1-side])
	if !ok || !ok2 {
		return api.Decimal{}, false
	}
	num := new(big.Int).Mul(t.amount[1-side], other.Unscaled)
	num.Mul(num, api.PowerOfTen(int(d)))
	usd := ratio(num, new(big.Int).Mul(t.amount[side], api.PowerOfTen(int(da))), other.Scale)
	return usd, usd.Unscaled.Sign() > 0
}

// ratio is num / den x 10^-scale, to twelve digits, rounded down.
func ratio(num, den *big.Int, scale int) api.Decimal {
	places := quoteDigits - (len(num.String()) - len(den.String())) + scale
	places = min(max(places, 2), quoteMaxSize)
	up := num
	if shift := places - scale; shift >= 0 {
		up = new(big.Int).Mul(num, api.PowerOfTen(shift))
	} else {
		den = new(big.Int).Mul(den, api.PowerOfTen(-shift))
	}
	return api.Decimal{Unscaled: new(big.Int).Quo(up, den), Scale: places}
}

// agree compares two prices.
func agree(a, b api.Decimal) bool {
	return near([2]*big.Int{api.PowerOfTen(a.Scale), a.Unscaled}, [2]*big.Int{api.PowerOfTen(b.Scale), b.Unscaled}, maxApart)
}
