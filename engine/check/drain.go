package check

import (
	"math/big"
	"slices"

	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   170,
	Name:    "drained",
	Title:   "contract drained by 99 % or more",
	Flags:   []verdict.Flag{verdict.Drain},
	Open:    true,
	flag:    (*inspection).drains,
	ruleOut: (*inspection).checkDrained,
})

// Bounds of a drain: the part that is lost, and how much that must be to matter.
const (
	drainedPart   = 99 // percent
	drainedUSD    = 10_000
	drainedSupply = 5 // percent of all there is
)

// drains: a contract lost 99 % of an asset that it had held to the party, and that
// was much: more than 10,000 USD, or without a price, more than 5 % of all units. Of a
// native coin without a price nothing tells how much it was. Who exchanges all it has with
// others than the sender is not drained, nor is a wallet by its own user.
func (l *inspection) drains() (out []verdict.Risk) {
	seen := map[common.Address]bool{}
	for i := range l.moves {
		a, k := l.moves[i].From, l.moves[i].Key
		if seen[a] || l.party(a) || !l.party(l.moves[i].To) || k.NFT || k.ID != "" || !l.code(a) {
			continue
		}
		lost := new(big.Int).Neg(l.net(a, k))
		had := l.holdings(a, k)
		if had == nil || had.Sign() <= 0 ||
			new(big.Int).Mul(lost, big.NewInt(100)).Cmp(new(big.Int).Mul(had, big.NewInt(drainedPart))) < 0 {
			continue
		}
		how, part, much := l.matters(k, lost)
		if !much {
			continue
		}
		seen[a] = true
		out = append(out, risk(verdict.Drain, how, append([]verdict.Arg{verdict.Who(a), amount(k, lost), amount(k, had)}, part...)...))
	}
	return out
}

// matters reports whether a loss is much, how that is said, and the part of the supply
// where that is what tells.
func (l *inspection) matters(k flow.TokenKey, lost *big.Int) (how verdict.Form, part []verdict.Arg, much bool) {
	if usd := l.worth(k, lost); usd != nil {
		return verdict.LostHoldings, nil, usd.Cmp(big.NewInt(drainedUSD)) > 0
	}
	if k == (flow.TokenKey{}) {
		return verdict.LostHoldingsUnpriced, nil, true
	}
	all := l.supply(k.Token)
	if all == nil || all.Sign() == 0 {
		return how, nil, false
	}
	percent := new(big.Int).Quo(new(big.Int).Mul(lost, big.NewInt(100)), all)
	return verdict.LostHoldingsOfSupply, []verdict.Arg{verdict.Num(percent)}, percent.Cmp(big.NewInt(drainedSupply)) > 0
}

// code reports whether a contract stands at an address: it ran here, so that it made a
// call or emitted a log, or it changed its storage.
func (l *inspection) code(a common.Address) bool {
	if len(l.changed(a)) > 0 {
		return true
	}
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool {
		return f.From == a && f.Parent != nil || f.To == a && f.Logged()
	})
}

func (l *inspection) checkDrained() verdict.Outcome {
	if l.Diff == nil {
		return ruled(verdict.NotChecked, verdict.WhyHoldingsUnknown)
	}
	return ruled(verdict.Clean, verdict.WhyNotDrained)
}
