package report

import (
	"math/big"

	"txlens/engine/api"
)

// Bar is the bar of a change: its length in percent of the longest one.
type Bar struct {
	Percent int
	Gain    bool
}

// Bars are the bars of the changes, by address and token. Where any change has a
// value in dollars they compare values, and what has none has no bar; otherwise
// they compare amounts, each token with itself.
func (s *sheet) Bars() [][]*Bar {
	longest := map[string]*big.Rat{}
	each := func(f func(i, j int, token string, v *big.Rat)) {
		for i, b := range s.Balances {
			for j, row := range b.Tokens {
				token, v := row.token, row.amount
				if s.Priced() {
					token, v = "", rational(row.value)
				}
				if v != nil {
					f(i, j, token, v)
				}
			}
		}
	}
	each(func(_, _ int, token string, v *big.Rat) {
		if top := longest[token]; top == nil || new(big.Rat).Abs(v).Cmp(top) > 0 {
			longest[token] = new(big.Rat).Abs(v)
		}
	})
	out := make([][]*Bar, len(s.Balances))
	for i, b := range s.Balances {
		out[i] = make([]*Bar, len(b.Tokens))
	}
	each(func(i, j int, token string, v *big.Rat) {
		if v.Sign() == 0 {
			return
		}
		share := new(big.Rat).Quo(new(big.Rat).Abs(v), longest[token])
		share.Mul(share, big.NewRat(100, 1))
		percent := int(new(big.Int).Quo(share.Num(), share.Denom()).Int64())
		out[i][j] = &Bar{Percent: max(percent, 1), Gain: v.Sign() > 0}
	})
	return out
}

// Priced reports whether any balance has a value; without one the column of
// dollars would stand empty.
func (s *sheet) Priced() bool {
	for _, b := range s.Balances {
		for _, row := range b.Tokens {
			if row.value != nil {
				return true
			}
		}
	}
	return false
}

// Scale says what the bars compare.
func (s *sheet) Scale() string {
	if s.Priced() {
		return "bars compare values in USD"
	}
	return "no prices; bars compare amounts, each token with itself"
}

func rational(d *api.Decimal) *big.Rat {
	if d == nil || d.Unscaled == nil || d.Scale < 0 || d.Scale > 2*maxDigits {
		return nil
	}
	return new(big.Rat).SetFrac(d.Unscaled, api.PowerOfTen(d.Scale))
}
