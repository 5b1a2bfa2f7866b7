package tempo

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/holiman/uint256"
)

const maxDecimal = "79228162514264337593543950335"

func TestParseAmount(t *testing.T) {
	f := func(in, want string, wantErr error) {
		t.Helper()
		a, err := ParseAmount(in)
		if !errors.Is(err, wantErr) || err == nil && a.String() != want {
			t.Errorf("%q: %s, %v; want %s, %v", in, a, err, want, wantErr)
		}
	}
	f("0", "0", nil)
	f("100000", "100000", nil)
	f("18446744073709551615", "18446744073709551615", nil)
	f("18446744073709551616", "18446744073709551616", nil)
	f(maxDecimal, maxDecimal, nil)
	f("000", "0", nil)
	f(strings.Repeat("0", 40)+maxDecimal, maxDecimal, nil)
	f("79228162514264337593543950336", "", ErrAmountRange)
	f(strings.Repeat("9", 78), "", ErrAmountRange)
	f(strings.Repeat("9", 40)+"x", "", ErrAmountSyntax)
	f(strings.Repeat("0", 79), "", ErrAmountSyntax)
	for _, bad := range []string{"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "1e3", "1_0", "١"} {
		f(bad, "", ErrAmountSyntax)
	}
}

func TestAmountArithmetic(t *testing.T) {
	word := func(s string) Amount {
		a, err := ParseAmount(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	numbers := []string{"0", "1", "999999", "18446744073709551615", "18446744073709551616", "18446744073709551617", "39614081257132168796771975168", maxDecimal}
	limit := MaxAmount.Big()
	for _, x := range numbers {
		for _, y := range numbers {
			a, b := word(x), word(y)
			if a.Cmp(b) != a.Big().Cmp(b.Big()) {
				t.Errorf("cmp %s %s: %d", x, y, a.Cmp(b))
			}
			want := new(big.Int).Add(a.Big(), b.Big())
			if sum, ok := a.Add(b); ok != (want.Cmp(limit) <= 0) || ok && sum.Big().Cmp(want) != 0 {
				t.Errorf("%s + %s: %s, %t", x, y, sum, ok)
			}
			want.Sub(a.Big(), b.Big())
			if diff, ok := a.Sub(b); ok != (want.Sign() >= 0) || ok && diff.Big().Cmp(want) != 0 {
				t.Errorf("%s - %s: %s, %t", x, y, diff, ok)
			}
		}
		a := word(x)
		if back, ok := AmountFromUint256(a.Uint256()); !ok || back != a || AmountFromBytes(a.Bytes()) != a {
			t.Errorf("%s does not survive a round trip", x)
		}
	}
	if _, ok := AmountFromUint256(new(uint256.Int).AddUint64(MaxAmount.Uint256(), 1)); ok {
		t.Error("2^96 is taken for an amount")
	}
}
