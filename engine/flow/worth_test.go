package flow

import (
	"math/big"
	"testing"

	"txlens/engine/api"
)

func dec(unscaled int64, scale int) api.Decimal {
	return api.Decimal{Unscaled: big.NewInt(unscaled), Scale: scale}
}

func TestAmount(t *testing.T) {
	f := func(n string, decimals uint8, want string) {
		t.Helper()
		v, _ := new(big.Int).SetString(n, 10)
		if got := Amount(v, decimals); got != want {
			t.Errorf("Amount(%s, %d) = %s, want %s", n, decimals, got, want)
		}
	}
	f("0", 18, "0")
	f("1", 18, "0.000000000000000001")
	f("-1500000000000000000", 18, "-1.5")
	f("1000000", 6, "1")
	f("123", 0, "123")
	f("-5", 255, "-0."+zeros(254)+"5")
	if got := Amount(nil, 18); got != "0" {
		t.Errorf("nil is %s", got)
	}
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

func TestValueAndSum(t *testing.T) {
	f := func(got api.Decimal, want string) {
		t.Helper()
		if got.String() != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	eth := big.NewInt(1_500_000_000_000_000_000)
	f(Value(eth, 18, dec(340012, 2)), "5100.18")
	f(Value(new(big.Int).Neg(eth), 18, dec(340012, 2)), "-5100.18")
	f(Value(big.NewInt(1), 18, dec(1, 9)), "0.000000000000000000000000001")
	f(Value(big.NewInt(7), 0, api.Decimal{}), "0")
	f(Value(nil, 0, dec(1, 0)), "0")
	f(Sum(dec(15, 1), dec(25, 2)), "1.75")
	f(Sum(dec(25, 2), dec(-15, 1)), "-1.25")
	f(Sum(api.Decimal{}, dec(1, 0)), "1")
	f(Sum(dec(1, 0), api.Decimal{}), "1")
	f(Sum(dec(1, -2), dec(5, 1)), "100.5")
}
