package api

import (
	"math/big"
	"strings"
	"testing"
)

func TestPowerOfTen(t *testing.T) {
	for _, n := range []int{0, 1, 18, 77, 78, 200} {
		if got, want := PowerOfTen(n).String(), "1"+strings.Repeat("0", n); got != want {
			t.Errorf("10^%d is %s", n, got)
		}
	}
	p := PowerOfTen(18)
	if p.Add(p, p); PowerOfTen(18).Cmp(p) == 0 {
		t.Error("a caller changed the table")
	}
	if PowerOfTen(-1).Cmp(big.NewInt(1)) != 0 {
		t.Error("a negative power is not 1")
	}
}
