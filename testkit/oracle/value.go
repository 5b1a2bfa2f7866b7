package oracle

import (
	"math/big"
	"strings"

	"txlens/engine/api"
)

// values: an amount times its price is its value in dollars, native coin has eighteen decimals,
// and the coin that calls paid is what accounts have more or less of, but for fees.
func (j *judge) values() {
	for _, c := range j.r.BalanceChanges {
		for _, t := range c.Tokens {
			j.value(&c, &t)
		}
	}
	if f := j.r.Fee; f != nil && f.TotalUSD != nil {
		for _, c := range j.r.BalanceChanges {
			for _, t := range c.Tokens {
				if t.TokenAddress == (api.Addr{}) && t.PriceUSD != nil {
					j.priced(f.TotalWei, "18", t.PriceUSD, f.TotalUSD)
					return
				}
			}
		}
	}
}

func (j *judge) value(c *api.BalanceChange, t *api.TokenChange) {
	if t.TokenAddress == (api.Addr{}) && j.CoinUSD != "" {
		price, _ := new(big.Rat).SetString(j.CoinUSD)
		j.hold(Value, t.PriceUSD != nil && rat(t.PriceUSD).Cmp(price) == 0, "%v: the coin is priced at %v", c.Address, t.PriceUSD)
	}
	if t.TokenAddress == (api.Addr{}) && j.traced {
		j.coin(c, t)
	}
	if t.IsNFT || t.TokenID != nil {
		return
	}
	d := decimalsOf(j.r, t.TokenAddress)
	whole, ok := new(big.Rat).SetString(strings.ReplaceAll(t.Balance, ",", ""))
	raw, isInt := new(big.Int).SetString(t.RawSignedAmount, 10)
	if d != "" && ok && isInt {
		n, _ := new(big.Int).SetString(d, 10)
		want := new(big.Rat).SetFrac(raw, power(n.Int64()))
		j.hold(Value, near(whole, want) && whole.Sign() == want.Sign(),
			"%v: balance %s of %s units", c.Address, t.Balance, t.RawSignedAmount)
	}
	if d != "" && t.PriceUSD != nil && t.ValueUSD != nil {
		j.priced(t.RawSignedAmount, d, t.PriceUSD, t.ValueUSD)
	}
}

// priced: the value is that of the amount at the price, to a cent or one part in a thousand.
func (j *judge) priced(raw, decimals string, price, value *api.Decimal) {
	n, ok := new(big.Rat).SetString(raw)
	d, known := new(big.Int).SetString(decimals, 10)
	if !ok || !known {
		return
	}
	want := n.Mul(n, rat(price))
	want.Quo(want, new(big.Rat).SetInt(power(d.Int64())))
	diff := new(big.Rat).Sub(rat(value), want)
	j.hold(Value, near(rat(value), want) || diff.Abs(diff).Cmp(big.NewRat(1, 100)) <= 0,
		"%s units at %v are %v, not %v", raw, rat(price).FloatString(4), want.FloatString(4), rat(value).FloatString(4))
}

func rat(d *api.Decimal) *big.Rat {
	return new(big.Rat).SetFrac(d.Unscaled, power(int64(d.Scale)))
}

// coin: an account has as much more or less as calls paid it or it paid; the sender and those
// who get fees may have the fee besides.
func (j *judge) coin(c *api.BalanceChange, t *api.TokenChange) {
	sum := new(big.Int)
	for _, p := range j.payments {
		if p.from == c.Address {
			sum.Sub(sum, p.wei)
		}
		if p.to == c.Address {
			sum.Add(sum, p.wei)
		}
	}
	if j.r.Fee != nil {
		for _, x := range j.r.Fee.Recipients {
			if x.Address == c.Address {
				return
			}
		}
	}
	less := new(big.Int).Set(sum)
	if j.r.Fee != nil && c.Address == j.From {
		if fee, ok := new(big.Int).SetString(j.r.Fee.TotalWei, 10); ok {
			less.Sub(less, fee)
		}
	}
	j.hold(Coin, t.RawSignedAmount == sum.String() || t.RawSignedAmount == less.String(),
		"%v has %s, not %v", c.Address, t.RawSignedAmount, sum)
}
