package view

import (
	"cmp"
	"math/big"
	"slices"

	"txlens/engine/api"
)

// foremostNodes sorts frames by what they tell.
func foremostNodes(all []api.Node) []int {
	return ordered(len(all), func(i, j int) int { return compareNodes(&all[i], &all[j]) })
}

// compareNodes orders nodes by what they tell: the outermost call, frames that failed by
// themselves, the deepest first, then frames by their gas, then logs.
func compareNodes(a, b *api.Node) int {
	return cmp.Or(
		cmp.Compare(nodeRank(a), nodeRank(b)),
		cmp.Compare(failedDepth(b), failedDepth(a)),
		cmp.Compare(b.GasUsed, a.GasUsed),
		cmp.Compare(a.Index, b.Index),
	)
}

func nodeRank(n *api.Node) int {
	switch {
	case n.Depth == 0 && n.Type != typeLog:
		return 0
	case n.Status == api.NodeFailed:
		return 1
	case n.Type != typeLog:
		return 2
	}
	return 3
}

func failedDepth(n *api.Node) int {
	if n.Status == api.NodeFailed {
		return n.Depth
	}
	return 0
}

// typeLog is Node.Type of a log.
const typeLog = "LOG"

// ordered returns the indices of so many items in an order.
func ordered(total int, order func(i, j int) int) []int {
	at := make([]int, total)
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, order)
	return at
}

// primaryFirst begins with the first rule that broke.
func primaryFirst(all []api.Finding) []int {
	return ordered(len(all), func(i, j int) int { return -compareBool(all[i].Primary, all[j].Primary) })
}

// largestTransfers sorts movements by their value in dollars where they have one.
func largestTransfers(r *api.Result) []int {
	worth := valuesOf(r)
	values := make([]*big.Rat, len(r.TokenTransfers))
	for i := range values {
		values[i] = worth.of(&r.TokenTransfers[i])
	}
	return ordered(len(values), func(i, j int) int { return values[j].Cmp(values[i]) })
}

// largestBalances begins with the sender; the accounts follow whose balance changed by
// most dollars.
func largestBalances(all []api.BalanceChange) []int {
	return ordered(len(all), func(i, j int) int {
		a, b := &all[i], &all[j]
		return cmp.Or(-compareBool(a.IsSender, b.IsSender), -compareAbs(a.TotalUSD, b.TotalUSD))
	})
}

// values ranks transfers: by dollars, where the price of the token is known.
type values map[api.Addr]*big.Rat

func valuesOf(r *api.Result) values {
	out := values{}
	for i := range r.BalanceChanges {
		for _, t := range r.BalanceChanges[i].Tokens {
			raw, ok := new(big.Int).SetString(t.RawSignedAmount, 10)
			if ok && raw.Sign() != 0 && t.ValueUSD != nil && t.ValueUSD.Unscaled != nil && out[t.TokenAddress] == nil {
				per := new(big.Rat).Quo(rat(*t.ValueUSD), new(big.Rat).SetInt(raw))
				out[t.TokenAddress] = per.Abs(per)
			}
		}
	}
	return out
}

func rat(d api.Decimal) *big.Rat {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.Scale, 0))), nil)
	return new(big.Rat).SetFrac(d.Unscaled, scale)
}

// of is the value of a transfer; zero where it is not known.
func (v values) of(t *api.TokenTransfer) *big.Rat {
	per := v[t.TokenAddress]
	raw, ok := new(big.Int).SetString(t.Total, 10)
	if per == nil || !ok {
		return new(big.Rat)
	}
	return new(big.Rat).Mul(per, new(big.Rat).SetInt(raw))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// compareAbs compares amounts without their sign; an unknown one is the smallest.
func compareAbs(a, b *api.Decimal) int {
	known := func(d *api.Decimal) bool { return d != nil && d.Unscaled != nil }
	if !known(a) || !known(b) {
		return compareBool(known(a), known(b))
	}
	x, y := rat(*a), rat(*b)
	return x.Abs(x).Cmp(y.Abs(y))
}
