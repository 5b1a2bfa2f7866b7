package check

import (
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   30,
	Name:    "price_moved",
	Title:   "price moved by more than 5 % and read in the same transaction",
	Causes:  []api.Category{api.PriceManipulation},
	Flags:   []verdict.Flag{verdict.PriceMoved},
	flag:    (*inspection).movedPrices,
	find:    (*inspection).rates,
	ruleOut: (*inspection).checkPrice,
})

func (l *inspection) checkPrice() verdict.Outcome {
	switch {
	case !l.full():
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	}
	return ruled(verdict.Clean, verdict.WhyPriceNotMoved)
}

var (
	priceReaders = map[[4]byte]bool{evmsig.SelGetReserves: true, evmsig.SelSlot0: true, evmsig.SelObserve: true}
)

// quote is the price of a pool as a fraction, before anything or after a trade.
type quote struct{ num, den *big.Int }

func (q quote) known() bool { return q.num != nil && q.num.Sign() > 0 && q.den.Sign() > 0 }

// movedPrices: the spot price of a pool went off by more than 5 % and a contract that
// does not trade with the pool read it.
func (l *inspection) movedPrices() (out []verdict.Risk) {
	was := map[common.Address]quote{}
	done := map[common.Address]bool{}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		q := quoteOf(g.Topics, g.Data)
		if !q.known() || done[g.Address] {
			continue
		}
		first, ok := was[g.Address]
		if !ok {
			first = l.quoteBefore(g.Address, g.Topics[0])
			if !first.known() {
				first = q
			}
			was[g.Address] = first
		}
		if !further(new(big.Int).Mul(q.num, first.den), new(big.Int).Mul(first.num, q.den)) {
			continue
		}
		if r := l.readBy(g.Address); r != nil {
			done[g.Address] = true
			out = append(
				out,
				risk(
					verdict.PriceMoved,
					verdict.SpotPriceMoved,
					verdict.Who(g.Address),
					verdict.Int(apart),
					verdict.Int(g.Index),
					verdict.Who(r.From),
					l.at(r),
				),
			)
		}
	}
	return out
}

// quoteOf reads the price that an event of a pool tells.
func quoteOf(topics []common.Hash, data []byte) quote {
	switch {
	case len(topics) == 1 && topics[0] == evmsig.TopicSync && len(data) == 64:
		return quote{evmsig.Uint(data, 1), evmsig.Uint(data, 0)}
	case len(topics) == 3 && topics[0] == evmsig.TopicSwapV3 && len(data) == 160:
		return squared(evmsig.Uint(data, 2))
	}
	return quote{}
}

// squared makes a price of a square root in 96 bits of fraction.
func squared(root *big.Int) quote {
	return quote{new(big.Int).Mul(root, root), new(big.Int).Lsh(common.Big1, 192)}
}

// quoteBefore reads the price before the transaction from the pool's storage.
func (l *inspection) quoteBefore(pool common.Address, topic common.Hash) quote {
	slot := reservesSlot
	if topic == evmsig.TopicSwapV3 {
		slot = common.Hash{}
	}
	pre, _, _ := l.slotOf(pool, slot)
	n := pre.Big()
	if topic == evmsig.TopicSwapV3 {
		return squared(new(big.Int).And(n, mask(160)))
	}
	return quote{new(big.Int).And(new(big.Int).Rsh(n, 112), mask(112)), new(big.Int).And(n, mask(112))}
}

func mask(bits uint) *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(common.Big1, bits), common.Big1)
}

// readBy is the first question for the price of a pool by a contract of others that made
// no call to the pool: who trades asks as well.
func (l *inspection) readBy(pool common.Address) *trace.Frame {
	for _, f := range l.Tree.Frames {
		if f.Kind == trace.StaticCall && f.Status == trace.OK && f.To == pool && priceReaders[evmsig.Called(f.Input)] && !l.party(f.From) &&
			!l.trades(f.From, pool) {
			return f
		}
	}
	return nil
}

func (l *inspection) trades(a, pool common.Address) bool {
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool { return f.Kind == trace.Call && f.From == a && f.To == pool })
}
