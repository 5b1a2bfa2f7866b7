package check

import (
	"math/big"

	"txlens/engine/evmsig"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   200,
	Name:    "constant_product",
	Title:   "product of a pair's reserves does not fall by trades",
	ruleOut: (*inspection).checkProduct,
})

func (l *inspection) checkProduct() verdict.Outcome {
	type state struct{ k *big.Int }
	last, n := map[common.Address]state{}, 0
	if l.Receipt == nil {
		return ruled(verdict.NotChecked, verdict.WhyNoReceipt)
	}
	burnt := map[common.Address]bool{}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if len(g.Topics) == 0 {
			continue
		}
		if g.Topics[0] == evmsig.TopicBurnV2 {
			delete(last, g.Address)
			burnt[g.Address] = true
		}
		if g.Topics[0] != evmsig.TopicSync || len(g.Topics) != 1 || len(g.Data) != 64 {
			continue
		}
		k := new(big.Int).Mul(evmsig.Uint(g.Data, 0), evmsig.Uint(g.Data, 1))
		before, ok := last[g.Address]
		if !ok && !burnt[g.Address] {
			if pre, _, has := l.slotOf(g.Address, reservesSlot); has {
				before, ok = state{productOf(pre)}, before.k == nil
			}
		}
		if ok {
			n++
			if k.Cmp(before.k) < 0 && !l.burnsAfter(i) {
				return ruled(verdict.NotChecked, verdict.WhyProductFell, verdict.Who(g.Address), verdict.Int(g.Index))
			}
		}
		last[g.Address] = state{k}
	}
	if n == 0 {
		return ruled(verdict.NotApplicable, verdict.WhyNoReserves)
	}
	return ruled(verdict.Clean, verdict.WhyReservesCompared, verdict.Count{N: n, Of: verdict.OfChanges})
}

func productOf(packed common.Hash) *big.Int {
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 112), big.NewInt(1))
	n := packed.Big()
	return new(big.Int).Mul(new(big.Int).And(n, mask), new(big.Int).And(new(big.Int).Rsh(n, 112), mask))
}

// burnsAfter reports whether the change of reserves at a log belongs to a withdrawal of
// liquidity: a pair tells its reserves and then of the burn.
func (l *inspection) burnsAfter(i int) bool {
	for j := i + 1; j < len(l.Receipt.Logs); j++ {
		if g := &l.Receipt.Logs[j]; g.Address == l.Receipt.Logs[i].Address {
			return len(g.Topics) > 0 && g.Topics[0] == evmsig.TopicBurnV2
		}
	}
	return false
}
