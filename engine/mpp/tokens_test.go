package mpp

import (
	"errors"
	"strings"
	"testing"

	"txlens/engine/mpp/tempo"
)

// TestConformance_1_6_DecimalRule: whole tokens in settings, base units on the wire.
func TestConformance_1_6_DecimalRule(t *testing.T) {
	f := func(s string, units uint64, back string) {
		t.Helper()
		a, err := ParseTokens(s)
		if err != nil || a != testAmount(units) || FormatTokens(a) != back {
			t.Errorf("%s: %v, %s, %v", s, a, FormatTokens(a), err)
		}
	}
	f("0.1", 100000, "0.10")
	f("32", 32000000, "32.00")
	f("0", 0, "0.00")
	f("0.000001", 1, "0.000001")
	f("0.0123", 12300, "0.0123")
	f("0016.50", 16500000, "16.50")
	f("1234567.654321", 1234567654321, "1234567.654321")
	for _, bad := range []string{"", ".", "1.", ".5", "0.0000001", "1.0000000", "-1", "+1", "1e3", "1,5", "1.2.3", " 1", "0x1", "1.-5", strings.Repeat("1", 99)} {
		if a, err := ParseTokens(bad); err == nil {
			t.Errorf("%q: %v", bad, a)
		}
	}
	if a, err := ParseTokens("79228162514264337593543.950335"); err != nil || a != tempo.MaxAmount || FormatTokens(a) != "79228162514264337593543.950335" {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := ParseTokens("79228162514264337593543.950336"); !errors.Is(err, tempo.ErrAmountRange) {
		t.Error(err)
	}
}
