package claim

import (
	"math/big"
	"testing"

	"txlens/engine/api"
)

func dec(t testing.TB, s string) api.Decimal {
	t.Helper()
	l := lex(s)
	if len(l) != 1 || l[0].kind != isNumber {
		t.Fatalf("%q is no number", s)
	}
	return l[0].number
}

// TestRounding: what a number that is shown may stand for.
func TestRounding(t *testing.T) {
	f := func(shown, actual string, about, want bool) {
		t.Helper()
		v := dec(t, shown)
		r := reading{value: v, last: -v.Scale, about: about}
		var set amounts
		set.add(dec(t, actual))
		if got := set.between(r.span()); got != want {
			lo, hi := r.span()
			t.Errorf("%s for %s: %v, spans %s to %s", shown, actual, got, lo, hi)
		}
	}
	f("1204.5", "1204.5", false, true)
	f("1204.5", "1204.4567", false, true) // rounded
	f("1204.4", "1204.4567", false, true) // cut off
	f("1204.6", "1204.4567", false, false)
	f("1204.3", "1204.4567", false, false)
	f("1204", "1204.9", false, true)
	f("1,200", "1204.5", false, false)
	f("1,200", "1204.5", true, true)
	f("1,000", "1204.5", true, false)
	f("1", "1.4", false, false)
	f("1", "1.04", false, true)
	f("5", "5.4", true, true)
	f("0.05", "0.054792", false, false)
	f("0.055", "0.054792", false, true)
	f("0.054792", "0.054792071246605796", false, true)
	f("9.9996", "10", false, false)
	f("10", "9.9996", false, true)
	f("1e18", "1000000000000000000", false, true)
	f("115792089237316195423570985008687907853269984665640564039457584007913129639935", "115792089237316195423570985008687907853269984665640564039457584007913129639935", false, true)
}

func TestUSDWithinOnePercent(t *testing.T) {
	f := func(shown, actual string, want bool) {
		t.Helper()
		v := dec(t, shown)
		var set amounts
		set.add(dec(t, actual))
		if got := set.between(reading{value: v, last: -v.Scale}.wide()); got != want {
			t.Errorf("$%s for %s: %v", shown, actual, got)
		}
	}
	f("170.98", "170.975", true)
	f("171", "170.1", true)
	f("172.8", "170.98", false)
	f("0.01", "0.0139", true)
	f("1000000", "990200", true)
	f("1000000", "989000", false)
}

// FuzzSpan: bounds are in order, and the number itself lies between them.
func FuzzSpan(f *testing.F) {
	f.Add(int64(12045), 1, 0, true)
	f.Add(int64(1), -18, 2, false)
	f.Fuzz(func(t *testing.T, n int64, scale, last int, about bool) {
		if n <= 0 || scale > 80 || scale < -80 || last > 80 || last < -scale {
			return
		}
		v := api.Decimal{Unscaled: big.NewInt(n), Scale: scale}
		for _, bounds := range []func() (lo, hi api.Decimal){reading{v, last, about}.span, reading{v, last, about}.wide} {
			lo, hi := bounds()
			if compare(lo, hi) > 0 || compare(v, lo) < 0 || compare(v, hi) > 0 {
				t.Fatalf("%s: %s to %s", v, lo, hi)
			}
		}
	})
}
