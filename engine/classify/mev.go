package classify

import (
	"math/big"

	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// actArbitrage and its kin are the acts of searchers.
const (
	actArbitrage act = "arbitrage"
	actSandwich  act = "sandwich_leg"
	actJIT       act = "jit_liquidity"
	actBackrun   act = "backrun"
	actBuilder   act = "builder_payment"
)

// maxGroup bounds the accounts that are taken for one searcher's.
const maxGroup = 8

// arbitrage: contracts that are no routers traded in a circle over several pools and
// ended with more than the fee took, giving up nothing. Aggregators and settled orders
// are somebody's own trade, whoever carried it out.
func arbitrage(a *Reading) *opinion {
	if !a.searching() {
		return nil
	}
	swaps := a.find(actSwap)
	pools := map[common.Address]bool{}
	for _, h := range swaps {
		if h.rule.flags&flagAggregator != 0 {
			return nil
		}
		pools[h.emitter] = true
	}
	if len(pools) < 2 && len(swaps) < 2 || a.has(actNFTSale, actAddLiq, actRemoveLiq, actLiquidate) {
		return nil
	}
	c := a.circle(*a.Tx.To, pools)
	if !c.closed {
		return nil
	}
	o := &opinion{act: actArbitrage, sub: "arbitrage", hits: swaps}
	if a.followed() {
		o.sub = "backrun"
	}
	worth, all := a.inCoin(c)
	switch fee := a.feeTotal(); {
	case fee == nil && (c.coin.Sign() > 0 || len(c.tokens) > 0):
		o.unsure = verdict.CostUnknown
	case fee != nil && worth.Cmp(fee) > 0:
	case fee != nil && !all && c.coin.Sign() >= 0 && a.traced():
		o.unsure = verdict.ProfitUnknown
	default:
		return nil
	}
	o.trade = trade{trader: *a.Tx.To, beneficiary: c.paid, benefit: c.payment, gained: c.tokens}
	if c.coin.Sign() > 0 {
		o.gained = append([]leg{{amount: c.coin}}, c.tokens...)
	}
	return o
}

// gain is what an arbitrage gained before the fee, as headline and usdValue have it, and
// whose it is where it is not the trader's own.
func (a *Reading) gain(o *opinion) (legs []leg, whose common.Address) {
	own := worthwhile(a.in)
	if len(o.benefit) > 0 && len(own) == 0 { // else who got the benefit may be a lender with its fee
		return o.benefit, o.beneficiary
	}
	if len(own) == 0 && a.Tx.To != nil {
		_, in := a.legsOf(*a.Tx.To)
		own = worthwhile(in)
	}
	if len(own) == 0 { // all of it was paid on, as a rule for the place in the block
		own = o.gained
	}
	return own, common.Address{}
}

// crumb is the most of a token's smallest units that a searcher leaves behind, so that
// the next trade finds the balance's slot in use.
const crumb = 10

// worthwhile are the legs that are no crumbs.
func worthwhile(legs []leg) (out []leg) {
	for _, l := range legs {
		if l.key.NFT || l.amount.CmpAbs(big.NewInt(crumb)) > 0 {
			out = append(out, l)
		}
	}
	return out
}

// searching: the transaction took effect, called a contract that nobody knows, and
// was not brought on behalf of somebody else.
func (a *Reading) searching() bool {
	return a.Succeeded && a.Tx.To != nil && a.Flow != nil && (a.how == asSender || a.how == asContract) && a.ProtocolAt(*a.Tx.To) == ""
}

// traced: the calls are known, so a contract that nobody knows shows its own.
func (a *Reading) traced() bool { return a.Tree != nil && a.Tree.Source != trace.RungReceipt }

func (a *Reading) feeTotal() *big.Int {
	if a.Flow == nil || a.Flow.Fee == nil {
		return nil
	}
	return a.Flow.Fee.Total
}

// circuit is what a searcher's accounts netted together.
type circuit struct {
	closed  bool
	coin    *big.Int       // native, wrapped or not, with what the block's producer was paid of it
	tokens  []leg          // what else was gained
	paid    common.Address // one whom the members paid for nothing
	payment []leg
}

// circle nets the sender, its contract, the nameless contracts that called the pools,
// and whoever these paid. It is no circle when one of them lost a token, when
// something came from one who got nothing for it, or when nothing went into a pool.
func (a *Reading) circle(bot common.Address, pools map[common.Address]bool) (c circuit) {
	own := append([]common.Address{a.sender, bot}, a.callersOf(pools)...)
	own = distinct(own)
	paidIn, ok := a.gather(&c, &own, pools)
	if !ok || !paidIn {
		return c
	}
	net := map[flow.TokenKey]*big.Int{}
	var order []flow.TokenKey
	book := func(l *leg, sign int64) {
		n := net[l.key]
		if n == nil {
			n = new(big.Int)
			net[l.key] = n
			order = append(order, l.key)
		}
		n.Add(n, new(big.Int).Mul(l.amount, big.NewInt(sign)))
	}
	for _, who := range own {
		out, in := a.legsOf(who)
		for i := range out {
			book(&out[i], -1)
		}
		for i := range in {
			if l := &in[i]; l.native() && who == a.sender && !contains(own, l.peer) {
				return c
			}
			book(&in[i], 1)
		}
	}
	c.coin = new(big.Int)
	for _, k := range order {
		switch n := net[k]; {
		case k == flow.TokenKey{} || a.wrapped(k.Token) && k.ID == "":
			c.coin.Add(c.coin, n)
		case n.Sign() < 0:
			return c
		case n.Sign() > 0:
			c.tokens = append(c.tokens, leg{key: k, amount: n})
		}
	}
	c.closed = true
	return c
}

// gather adds to own whoever its members paid for nothing. paidIn: a member paid a
// pool; ok is false when a member was given something by one who only lost by it.
func (a *Reading) gather(c *circuit, own *[]common.Address, pools map[common.Address]bool) (paidIn, ok bool) {
	for i := range a.Flow.Transfers {
		if len(*own) > maxGroup {
			return false, false
		}
		t := &a.Flow.Transfers[i]
		from, to := contains(*own, t.From), contains(*own, t.To)
		switch {
		case t.Wrap || from && to:
		case from && pools[t.To]:
			paidIn = true
		case from && !a.isToken(t.To) && !a.known(t.To):
			if out, in := a.netOf(t.To); len(out) == 0 && len(in) > 0 {
				*own = append(*own, t.To)
				c.paid, c.payment = t.To, in
			}
		case to && !pools[t.From] && a.lost(t.From):
			return false, false
		case from && a.has(actSwap):
			paidIn = true // through a router
		}
	}
	a.paidCoin(own, pools)
	return paidIn, len(*own) <= maxGroup
}

// paidCoin adds whoever the members paid in native coin for nothing. What the block's
// producer was paid for the place in the block comes out of the same profit.
func (a *Reading) paidCoin(own *[]common.Address, pools map[common.Address]bool) {
	for i := range a.Flow.Moves {
		m := &a.Flow.Moves[i]
		if m.Kind != flow.MoveCall || m.NoTo || !contains(*own, m.From) || contains(*own, m.To) || pools[m.To] || a.isToken(m.To) {
			continue
		}
		producer := a.Block != nil && m.To == a.Block.Miner
		if out, in := a.netOf(m.To); producer || len(out) == 0 && len(in) > 0 && !a.known(m.To) {
			*own = append(*own, m.To)
		}
		if len(*own) > maxGroup {
			return
		}
	}
}

// lost reports whether an address gave and got nothing for it. A lender that was
// repaid, and the maker of an order, did not.
func (a *Reading) lost(addr common.Address) bool {
	out, in := a.netOf(addr)
	return len(out) > 0 && len(in) == 0
}

// inCoin is the worth of a circuit in native coin, by what the pools of the same
// transaction gave for the tokens. all is false where one has no such pool.
func (a *Reading) inCoin(c circuit) (worth *big.Int, all bool) {
	worth, all = new(big.Int).Set(c.coin), true
	for i := range c.tokens {
		l := &c.tokens[i]
		coin, token := a.rate(l.key)
		if coin == nil {
			all = false
			continue
		}
		n := new(big.Int).Mul(l.amount, coin)
		worth.Add(worth, n.Quo(n, token))
	}
	return worth, all
}

// rate finds a pool that exchanged a token against the chain's coin: so much coin for
// so much of the token.
func (a *Reading) rate(k flow.TokenKey) (coin, token *big.Int) {
	for i := range a.hits {
		h := &a.hits[i]
		c := a.changes[h.emitter]
		if h.act != actSwap || h.rule.flags&flagPool == 0 || c == nil || len(c.Deltas) != 2 {
			continue
		}
		x, y := c.Deltas[0], c.Deltas[1]
		if y.Key == (flow.TokenKey{}) || a.wrapped(y.Key.Token) {
			x, y = y, x
		}
		if (x.Key == flow.TokenKey{} || a.wrapped(x.Key.Token)) && y.Key == k && x.Amount.Sign() != y.Amount.Sign() && y.Amount.Sign() != 0 {
			return new(big.Int).Abs(x.Amount), new(big.Int).Abs(y.Amount)
		}
	}
	return nil, nil
}

// builderPaid: a searcher's contract traded and paid the block's producer by hand,
// which buys a place in the block. Whose trade it followed only the neighbours tell.
func builderPaid(a *Reading) *opinion {
	swaps := a.find(actSwap)
	if a.searching() && a.onlyCoin() && len(a.Tx.Input) >= 4 && len(a.in) == 0 && a.bribe().Sign() > 0 {
		return &opinion{act: actBuilder, frames: []int{0}} // nothing but the payment
	}
	if !a.searching() || a.how != asContract || len(swaps) == 0 || a.bribe().Sign() == 0 || a.has(actNFTSale, actAddLiq, actRemoveLiq) {
		return nil
	}
	for _, h := range swaps {
		if h.rule.flags&flagAggregator != 0 {
			return nil
		}
	}
	o := &opinion{act: actBuilder, hits: swaps, unsure: verdict.TradeAnswersUnknown}
	if a.followed() {
		o.act, o.unsure = actBackrun, 0
	}
	return o
}

// onlyCoin reports whether nothing but native coin moved, unwrapped on the way or not.
func (a *Reading) onlyCoin() bool {
	for i := range a.hits {
		if h := &a.hits[i]; h.act != actWrap && h.act != actUnwrap {
			return false
		}
	}
	for i := range a.Flow.Transfers {
		if !a.Flow.Transfers[i].Wrap {
			return false
		}
	}
	return true
}

// bribe is what the block's producer was paid inside the transaction.
func (a *Reading) bribe() *big.Int {
	sum := new(big.Int)
	if a.Flow == nil || a.Block == nil || (a.Block.Miner == common.Address{}) || a.Tx.To != nil && *a.Tx.To == a.Block.Miner {
		return sum
	}
	for i := range a.Flow.Moves {
		if m := &a.Flow.Moves[i]; m.Kind == flow.MoveCall && m.To == a.Block.Miner && m.From != m.To {
			sum.Add(sum, m.Amount)
		}
	}
	return sum
}

// sumBribe says what the place in the block cost beside the fee.
func (a *headlineWriter) sumBribe(o *opinion, via string) string {
	if len(o.hits) == 0 {
		return "Paid the block producer " + a.Amount(flow.TokenKey{}, a.bribe())
	}
	s := a.sumSwap(via) + ", paying the block producer " + a.Amount(flow.TokenKey{}, a.bribe())
	if o.act == actBackrun {
		s += " to stand right after a trade in the same pool"
	}
	return s
}
