package zoo

import (
	"slices"
	"strings"
	"testing"
)

// TestValues: without a price service the trades of a transaction price it, by the net
// movement of who acted; what is no trade, or moved its pool far, has no value.
func TestValues(t *testing.T) {
	base := open(t)
	f := func(name, usd string) {
		t.Helper()
		i := slices.IndexFunc(specimens, func(s specimen) bool { return s.name == name })
		if i < 0 {
			t.Fatalf("no specimen is called %q", name)
		}
		w := on(t, base.node, base.head)
		res := w.explain(specimens[i].script(w), "")
		got := "none"
		if res.USDValue != nil {
			got = res.USDValue.String()
		}
		if got != usd || (got != "none") != (res.Provenance.PriceSource != "") {
			t.Errorf("%s: %s USD by %q, want %s: %s", name, got, res.Provenance.PriceSource, usd, strings.Join(res.Provenance.Notes, "; "))
		}
	}
	f("v2 swap of an exact input", "2486.30289")
	f("v2 swap for an exact output", "1000")
	f("v2 swap over two pools", "2466.596965")
	f("v3 swap in one pool", "2500")
	f("Universal Router with coins in a v4 pool", "2486.30289")
	f("arbitrage with a flash swap of a v2 pair", "117.845405") // the profit, not what went round
	f("v2 swap of a token that keeps a fee", "none")
	f("ERC-20 transfer", "none")
	f("v2 swap that failed", "none")
}
