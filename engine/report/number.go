package report

import (
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
)

// maxDigits bounds the numbers that are read: 2^256 has 78 digits.
const maxDigits = 120

// integer reads a decimal or 0x hex integer; nil when it is none.
func integer(s string) *big.Int {
	if len(s) == 0 || len(s) > maxDigits {
		return nil
	}
	if digits, ok := strings.CutPrefix(s, "0x"); ok {
		n, ok := new(big.Int).SetString(digits, 16)
		if !ok || digits[0] == '-' || digits[0] == '+' {
			return nil
		}
		return n
	}
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil
	}
	return n
}

// decimal reads a signed decimal number without exponent.
func decimal(s string) (api.Decimal, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	if len(s) > 2*maxDigits || strings.ContainsAny(frac, "+-_") {
		return api.Decimal{}, false
	}
	n, ok := new(big.Int).SetString(whole+frac, 10)
	if !ok {
		return api.Decimal{}, false
	}
	return api.Decimal{Unscaled: n, Scale: len(frac)}, true
}

// units is raw base units as whole tokens. Without decimals the raw number is
// returned, and false.
func units(raw, decimals string) (api.Decimal, bool) {
	n := integer(raw)
	if n == nil {
		return api.Decimal{}, false
	}
	d, err := strconv.ParseUint(decimals, 10, 8)
	if err != nil || d > 77 {
		return api.Decimal{Unscaled: n}, false
	}
	return api.Decimal{Unscaled: n, Scale: int(d)}, true
}

// ether is an amount of the native coin, "" when it is zero or no number.
func ether(wei, symbol string) string {
	n := integer(wei)
	if n == nil || n.Sign() == 0 {
		return ""
	}
	return amount(api.Decimal{Unscaled: n, Scale: 18}) + " " + symbol
}

// amount writes a quantity for reading: thousands separated, six decimals from 1
// on (two from 10^9 on), six significant digits below it, an exponent from 10^18
// on. It takes at most 28 characters.
func amount(d api.Decimal) string {
	s := d.String()
	whole, frac, _ := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	places := 6
	switch {
	case len(whole) > 18:
		return sign(s) + whole[:1] + "." + whole[1:5] + "e" + strconv.Itoa(len(whole)-1)
	case len(whole) > 9:
		places = 2
	case whole == "0":
		places += len(frac) - len(strings.TrimLeft(frac, "0"))
	}
	if len(frac) > places {
		s = d.Round(places).String()
	}
	return api.Thousands(s)
}

func sign(s string) string {
	if strings.HasPrefix(s, "-") {
		return "-"
	}
	return ""
}

// usd writes dollars and cents; nil is the empty string.
func usd(d *api.Decimal) string {
	if d == nil {
		return ""
	}
	s := d.Round(2).String()
	if s == "0" && d.Unscaled != nil && d.Unscaled.Sign() != 0 {
		if d.Unscaled.Sign() < 0 {
			return "-<$0.01"
		}
		return "<$0.01"
	}
	prefix := sign(s)
	whole, frac, _ := strings.Cut(s[len(prefix):], ".")
	return prefix + "$" + api.Thousands(whole) + "." + (frac + "00")[:2]
}

// cost writes small sums of dollars with all digits that matter.
func cost(d api.Decimal) string {
	return "$" + api.Thousands(d.Round(6).String())
}

// signed puts a plus before a number that has no minus and is not zero.
func signed(s string) string {
	if s == "" || s[0] == '-' || s == "0" || s == "$0.00" {
		return s
	}
	return "+" + s
}

// times multiplies; nil stays nil.
func times(a api.Decimal, b *api.Decimal) *api.Decimal {
	if b == nil || a.Unscaled == nil || b.Unscaled == nil {
		return nil
	}
	return &api.Decimal{Unscaled: new(big.Int).Mul(a.Unscaled, b.Unscaled), Scale: a.Scale + b.Scale}
}
