package triage

import (
	"math/big"
	"slices"

	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// flags are the risk flags that need the trace, the state diff or the state around the
// transaction; those of the receipt alone are set by the classification.
func (l *look) flags() (out []verdict.Risk) {
	for _, f := range []func(*look) []verdict.Risk{(*look).flashLoans, (*look).movedPrices, (*look).drains, (*look).overSupply} {
		out = verdict.Add(out, maxFlags, f(l)...)
	}
	return out
}

// maxFlags bounds the risk flags of a triage.
const maxFlags = 12

func flag(f verdict.Flag, why verdict.Form, args ...verdict.Arg) verdict.Risk {
	return verdict.Risk{Flag: f, Why: verdict.Say(why, args...)}
}

// callbacks are what lenders call on who borrows for the length of a call.
var callbacks = map[[4]byte]string{
	evmsig.SelOnFlashLoan:         "ERC-3156",
	evmsig.SelExecuteOperations:   "Aave",
	evmsig.SelExecuteOperation:    "Aave",
	evmsig.SelReceiveFlashLoan:    "Balancer",
	evmsig.SelOnMorphoFlashLoan:   "Morpho",
	evmsig.SelUniswapV2Call:       "Uniswap v2",
	evmsig.SelPancakeCall:         "Pancake v2",
	evmsig.SelUniswapV3Flash:      "Uniswap v3",
	evmsig.SelPancakeV3Flash:      "Pancake v3",
	evmsig.SelUnlockCallback:      "Uniswap v4",
	evmsig.SelDVMFlashLoanCall:    "DODO",
	evmsig.SelDPPFlashLoanCall:    "DODO",
	evmsig.SelCallFunctionOfLoans: "dYdX",
	evmsig.SelOnERC3156FlashLoan:  "ERC-3156",
}

// flashLoans: a lender gave an asset, called a known callback, and had at least as much
// of it back when its own call was over.
func (l *look) flashLoans() (out []verdict.Risk) {
	if l.flagged(verdict.FlashLoan) {
		return nil
	}
	for _, c := range l.Tree.Frames {
		if c.Kind != trace.Call || c.Status != trace.OK || callbacks[evmsig.Called(c.Input)] == "" {
			continue
		}
		lending := c.Parent
		for lending != nil && (lending.To != c.From || lending.Kind != trace.Call) {
			lending = lending.Parent
		}
		if lending == nil {
			continue
		}
		if p, back := l.lentAndRepaid(lending, c); p != nil {
			return []verdict.Risk{flag(verdict.FlashLoan, verdict.LentForFrame, verdict.Who(c.From), amount(p.key, p.amount), verdict.Who(p.to), l.at(lending), amount(p.key, back))}
		}
	}
	return out
}

func (l *look) lentAndRepaid(lending, call *trace.Frame) (*payment, *big.Int) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.from != call.From || p.frame == nil || p.frame.Index > call.Index+1 || !below(p.frame, lending) || p.amount.Sign() == 0 || p.key.NFT || below(p.frame, call) && p.frame != call {
			continue
		}
		back := l.total(p.key, func(q *payment) bool {
			return q.to == call.From && q.frame != nil && below(q.frame, lending) && q.frame.Index >= call.Index
		})
		if back.Cmp(p.amount) >= 0 {
			return p, back
		}
	}
	return nil, nil
}

var priceReaders = map[[4]byte]bool{evmsig.SelGetReserves: true, evmsig.SelSlot0: true, evmsig.SelObserve: true}

// quote is the price of a pool as a fraction, before anything or after a trade.
type quote struct{ num, den *big.Int }

func (q quote) known() bool { return q.num != nil && q.num.Sign() > 0 && q.den.Sign() > 0 }

// movedPrices: the spot price of a pool went off by more than 5 % and a contract that
// does not trade with the pool read it.
func (l *look) movedPrices() (out []verdict.Risk) {
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
			out = append(out, flag(verdict.PriceMoved, verdict.SpotPriceMoved, verdict.Who(g.Address), verdict.Int(apart), verdict.Int(g.Index), verdict.Who(r.From), l.at(r)))
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
func (l *look) quoteBefore(pool common.Address, topic common.Hash) quote {
	slot := reservesSlot
	if topic == evmsig.TopicSwapV3 {
		slot = common.Hash{}
	}
	pre, _, ok := l.slotOf(pool, slot)
	if !ok {
		return quote{}
	}
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
func (l *look) readBy(pool common.Address) *trace.Frame {
	for _, f := range l.Tree.Frames {
		if f.Kind == trace.StaticCall && f.Status == trace.OK && f.To == pool && priceReaders[evmsig.Called(f.Input)] && !l.own[f.From] && !l.trades(f.From, pool) {
			return f
		}
	}
	return nil
}

func (l *look) trades(a, pool common.Address) bool {
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool { return f.Kind == trace.Call && f.From == a && f.To == pool })
}

// Bounds of a drain: the part that is lost, and how much that must be to matter.
const (
	drainedPart   = 99 // percent
	drainedUSD    = 10_000
	drainedSupply = 5 // percent of all there is
)

// drains: a contract lost 99 % of an asset that it had held to the sender's side, and that
// was much: more than 10,000 USD, or without a price, more than 5 % of all units. Of a
// native coin without a price nothing tells how much it was. Who exchanges all it has with
// others than the sender is not drained, nor is a wallet by its own user.
func (l *look) drains() (out []verdict.Risk) {
	if l.Diff == nil {
		return nil
	}
	seen := map[common.Address]bool{}
	for i := range l.pays {
		a, k := l.pays[i].from, l.pays[i].key
		if seen[a] || a == (common.Address{}) || l.own[a] || !l.own[l.pays[i].to] || k.NFT || k.ID != "" || !l.code(a) {
			continue
		}
		lost := new(big.Int).Neg(l.net(a, k))
		had := l.holdings(a, k)
		if lost.Sign() <= 0 || had == nil || had.Sign() <= 0 || new(big.Int).Mul(lost, big.NewInt(100)).Cmp(new(big.Int).Mul(had, big.NewInt(drainedPart))) < 0 {
			continue
		}
		how, part, much := l.matters(k, lost)
		if !much {
			continue
		}
		seen[a] = true
		out = append(out, flag(verdict.Drain, how, append([]verdict.Arg{verdict.Who(a), amount(k, lost), amount(k, had)}, part...)...))
	}
	return out
}

// matters reports whether a loss is much, how that is said, and the part of the supply
// where that is what tells.
func (l *look) matters(k flow.TokenKey, lost *big.Int) (how verdict.Form, part []verdict.Arg, much bool) {
	if usd := l.worth(k, lost); usd != nil {
		return verdict.LostHoldings, nil, usd.Cmp(big.NewInt(drainedUSD)) > 0
	}
	if k == (flow.TokenKey{}) {
		return verdict.LostHoldingsUnpriced, nil, true
	}
	v, ok := l.ask(Question{To: k.Token, Data: evmsig.SelTotalSupply[:], When: Before, Asker: "how many units of a token there are"})
	all := evmsig.Uint(v.Output, 0)
	if !ok || all == nil || all.Sign() == 0 {
		return how, nil, false
	}
	percent := new(big.Int).Quo(new(big.Int).Mul(lost, big.NewInt(100)), all)
	return verdict.LostHoldingsOfSupply, []verdict.Arg{verdict.Num(percent)}, percent.Cmp(big.NewInt(drainedSupply)) > 0
}

// code reports whether a contract stands at an address: it ran here, so that it made a
// call or emitted a log, or it changed its storage.
func (l *look) code(a common.Address) bool {
	if len(l.changed(a)) > 0 {
		return true
	}
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool {
		return f.From == a && f.Parent != nil || f.To == a && len(f.Logs) > 0
	})
}

// overSupply: an allowance of more than all units of a token is unlimited, whatever its
// number. It is asked for where nobody knows the spender, and in a triage always.
func (l *look) overSupply() (out []verdict.Risk) {
	if l.flagged(verdict.UnlimitedApproval) {
		return nil
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if len(g.Topics) != 3 || g.Topics[0] != evmsig.TopicApproval || len(g.Data) != 32 || evmsig.Uint(g.Data, 0).Sign() == 0 {
			continue
		}
		owner, spender := common.BytesToAddress(g.Topics[1][12:]), common.BytesToAddress(g.Topics[2][12:])
		if owner != l.Tx.From && (l.Verdict == nil || owner != l.Verdict.Actor) {
			continue
		}
		if !l.Asked && l.vouched(spender) {
			continue
		}
		v, ok := l.ask(Question{To: g.Address, Data: evmsig.SelTotalSupply[:], When: Before, Asker: "how many units of a token there are"})
		if all := evmsig.Uint(v.Output, 0); ok && all != nil && all.Sign() > 0 && evmsig.Uint(g.Data, 0).Cmp(all) > 0 {
			out = append(out, flag(verdict.UnlimitedApproval, verdict.MaySpendMoreThanSupply, verdict.Who(spender), amount(flow.TokenKey{Token: g.Address}, evmsig.Uint(g.Data, 0)), verdict.Who(owner)))
		}
	}
	return out
}
