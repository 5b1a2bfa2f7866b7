package claim

import (
	"strings"
	"testing"
)

// TestObservedLengths: how long a number and a name may be.
func TestObservedLengths(t *testing.T) {
	f := func(s string, number, named bool) {
		t.Helper()
		ix := &Index{vocab: map[string]bool{}}
		ix.plain("priceUsd", s)
		if got := len(ix.usd.seen)+len(ix.usd.by) > 0; got != number {
			t.Errorf("%q is a number: %v", s, got)
		}
		ix.identifier(s)
		if got := len(ix.vocab) > 0; got != named {
			t.Errorf("%q is a name: %v", s, got)
		}
	}
	nines, name := strings.Repeat("9", 78), strings.Repeat("x", 64)
	f("-1.5", true, false)
	f(nines, true, false)
	f(nines+"9", false, false)
	f("0."+nines, true, false)
	f("0."+nines+"9", false, false)
	f("1.", false, false)
	f("1e9", false, false)
	f(name, false, true)
	f(name+"x", false, false)
	f(name+"(uint256,bytes)", false, true)
	f(name+"x(uint256,bytes)", false, false)
	f("x(y(z))", false, false)
	f("9x", false, false)
}
