package api

import "math/big"

// maxPower is the largest power of ten that a 256-bit word holds.
const maxPower = 77

// powers holds 10^0 to 10^maxPower.
var powers = func() (list [maxPower + 1]*big.Int) {
	list[0] = big.NewInt(1)
	for i := 1; i < len(list); i++ {
		list[i] = new(big.Int).Mul(list[i-1], big.NewInt(10))
	}
	return list
}()

// PowerOfTen returns 10^n, and 1 where n is negative.
func PowerOfTen(n int) *big.Int {
	switch {
	case n <= 0:
		return big.NewInt(1)
	case n <= maxPower:
		return new(big.Int).Set(powers[n])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}
