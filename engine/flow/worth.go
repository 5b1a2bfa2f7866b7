package flow

import (
	"math/big"

	"txlens/engine/api"
)

// Amount formats base units as whole tokens: signed, exact, without trailing zeros or
// exponent.
func Amount(amount *big.Int, decimals uint8) string {
	return api.Decimal{Unscaled: amount, Scale: int(decimals)}.String()
}

// Value returns the value of base units at a price of one whole token. The product is exact
// and has the sign of the amount.
func Value(amount *big.Int, decimals uint8, price api.Decimal) api.Decimal {
	if amount == nil || price.Unscaled == nil {
		return api.Decimal{}
	}
	return api.Decimal{Unscaled: new(big.Int).Mul(amount, price.Unscaled), Scale: int(decimals) + price.Scale}
}

// Sum adds two decimals exactly.
func Sum(a, b api.Decimal) api.Decimal {
	if a.Unscaled == nil {
		return b
	}
	if b.Unscaled == nil {
		return a
	}
	if a.Scale < b.Scale {
		a, b = b, a
	}
	up := api.PowerOfTen(a.Scale - b.Scale)
	return api.Decimal{Unscaled: up.Add(a.Unscaled, up.Mul(up, b.Unscaled)), Scale: a.Scale}
}
