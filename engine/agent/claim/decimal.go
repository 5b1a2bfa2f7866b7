package claim

import (
	"math/big"

	"txlens/engine/api"
)

// compare compares two decimals.
func compare(a, b api.Decimal) int {
	x, y := level(a, b)
	return x.Cmp(y)
}

// level converts two decimals to the same scale.
func level(a, b api.Decimal) (x, y *big.Int) {
	switch {
	case a.Scale < b.Scale:
		return times10(a.Unscaled, b.Scale-a.Scale), b.Unscaled
	case a.Scale > b.Scale:
		return a.Unscaled, times10(b.Unscaled, a.Scale-b.Scale)
	}
	return a.Unscaled, b.Unscaled
}

func times10(n *big.Int, by int) *big.Int {
	return new(big.Int).Mul(api.PowerOfTen(by), n)
}

// powerOfTen reports whether n is 1, 10, 100 and so on.
func powerOfTen(n *big.Int) bool {
	text := n.Text(10)
	return text[0] == '1' && n.Cmp(times10(big.NewInt(1), len(text)-1)) == 0
}
