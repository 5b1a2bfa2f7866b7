package tool

import (
	"testing"

	"txlens/engine/assemble"
	"txlens/testkit/fixture"
	"txlens/testkit/recorded"
)

// TestDeals: the tool gives all deals of each recorded incident, page by page, and says
// where there are none.
func TestDeals(t *testing.T) {
	pages := 0
	for _, x := range fixture.Exploits(t) {
		c := assemble.Build(recorded.Exploit(t, &x))
		d := &Env{Case: c}
		if c.Result.Dealings == nil {
			if got := called(t, d, "get_deals", `{}`); got != `{"unavailable":"`+noDeals+`"}` {
				t.Errorf("%s: %s", x.Hash, got)
			}
			continue
		}
		all, seen := c.Result.Dealings, 0
		for offset := 0; ; pages++ {
			v := as[DealsView](t, called(t, d, "get_deals", `{"offset":`+itoa(offset)+`}`))
			if len(v.Side) != len(all.Side) || len(v.Lost) != len(all.Lost) || len(v.Gained) != len(all.Gained) {
				t.Fatalf("%s: %+v", x.Hash, v)
			}
			for i, deal := range v.Deals {
				if deal.Frame != all.Deals[offset+i].Frame {
					t.Errorf("%s: deal %d is of %s", x.Hash, offset+i, deal.Frame)
				}
			}
			if seen += len(v.Deals); v.Next == nil {
				break
			}
			offset = *v.Next
		}
		if seen != len(all.Deals) {
			t.Errorf("%s: %d of %d deals", x.Hash, seen, len(all.Deals))
		}
	}
	if pages < 10 {
		t.Errorf("only %d pages", pages)
	}
}
