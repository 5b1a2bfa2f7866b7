package narrate

import (
	"math/big"
	"slices"

	"txlens/engine/facts"
	"txlens/engine/flow"
)

// dustShare is the share of the largest leg of a side below which a leg is not told: one
// in so many.
const dustShare = 1000

// tidy is what a headline tells of the two sides of a trade: native coin and its wrapped
// form are one asset, and what is worth less than a thousandth of the largest leg is left
// out. The worth is known by the pools of the same transaction, or not at all.
func (a *headlineWriter) tidy(out, in []facts.Leg) (o, i []facts.Leg) {
	if len(out) == 1 && len(in) == 1 {
		return out, in
	}
	out, in = a.oneCoin(out), a.oneCoin(in)
	return a.withoutDust(out), a.withoutDust(in)
}

// oneCoin adds wrapped coin to native coin on the same side.
func (a *headlineWriter) oneCoin(legs []facts.Leg) []facts.Leg {
	native := slices.IndexFunc(legs, func(l facts.Leg) bool { return l.Native() })
	wrapped := slices.IndexFunc(legs, func(l facts.Leg) bool { return l.Key.ID == "" && a.WrappedNative(l.Key.Token) })
	if native < 0 || wrapped < 0 {
		return legs
	}
	list := slices.Clone(legs)
	list[native].Amount = new(big.Int).Add(legs[native].Amount, legs[wrapped].Amount)
	return slices.Delete(list, wrapped, wrapped+1)
}

// withoutDust leaves out what is worth nearly nothing beside the largest leg.
func (a *headlineWriter) withoutDust(legs []facts.Leg) []facts.Leg {
	if len(legs) < 2 {
		return legs
	}
	worth := make([]*big.Int, len(legs))
	largest := new(big.Int)
	for i := range legs {
		if worth[i] = a.worthInCoin(&legs[i]); worth[i] != nil && worth[i].Cmp(largest) > 0 {
			largest = worth[i]
		}
	}
	var list []facts.Leg
	for i := range legs {
		if worth[i] == nil || new(big.Int).Mul(worth[i], big.NewInt(dustShare)).Cmp(largest) >= 0 {
			list = append(list, legs[i])
		}
	}
	return list
}

// worthInCoin is the worth of a leg in native coin, nil where no pool of the transaction
// tells it.
func (a *headlineWriter) worthInCoin(l *facts.Leg) *big.Int {
	switch {
	case l.Native(), l.Key.ID == "" && a.WrappedNative(l.Key.Token):
		return l.Amount
	case l.Key.NFT || l.Key.ID != "":
		return nil
	}
	coin, token := a.RateInCoin(l.Key)
	if coin == nil {
		return nil
	}
	n := new(big.Int).Mul(l.Amount, coin)
	return n.Quo(n, token)
}

// tip takes what the block's producer was paid by hand out of what the actor gave. It is
// nil where nothing was paid, or where the actor did not pay it.
func (a *headlineWriter) tip(out []facts.Leg) (rest []facts.Leg, tip *big.Int) {
	paid := a.ProducerPayment()
	for i := range out {
		if l := &out[i]; paid.Sign() > 0 && l.Key == (flow.TokenKey{}) && l.Amount.Cmp(paid) >= 0 {
			rest = slices.Clone(out)
			if rest[i].Amount = new(big.Int).Sub(l.Amount, paid); rest[i].Amount.Sign() == 0 {
				rest = slices.Delete(rest, i, i+1)
			}
			return rest, paid
		}
	}
	return out, nil
}
