package llm

import (
	"strings"
	"testing"
)

func TestCost(t *testing.T) {
	f := func(u Usage, want int64) {
		t.Helper()
		if got := (Price{Input: 3000, Output: 15000, CacheRead: 300, CacheWrite: 3750}).Cost(u); got != want {
			t.Errorf("%+v costs %d, want %d", u, got, want)
		}
	}
	f(Usage{}, 0)
	f(Usage{Input: 1}, 3000)
	f(Usage{Output: 1}, 15000)
	f(Usage{CacheRead: 1}, 300)
	f(Usage{CacheWrite: 1}, 3750)
	f(Usage{Input: 1, Output: 1, CacheRead: 1, CacheWrite: 1}, 22050)
	f(Usage{Input: 1, Output: 1}.Plus(Usage{Input: 2, CacheRead: 10}), 3*3000+15000+3000)
}

// TestCostDoesNotOverflow: a dollar a token, and the most tokens that are believed.
func TestCostDoesNotOverflow(t *testing.T) {
	const most = 100_000_000
	p := Price{maxPrice, maxPrice, maxPrice, maxPrice}
	if got := p.Cost(Usage{most, most, most, most}); got != 4*most*maxPrice {
		t.Errorf("%d", got)
	}
}

func TestPriceText(t *testing.T) {
	f := func(text string, want Price, wrong string) {
		t.Helper()
		var p Price
		err := p.UnmarshalText([]byte(text))
		if wrong != "" {
			if err == nil || !strings.Contains(err.Error(), wrong) || p != (Price{}) {
				t.Errorf("%q: %+v, %v, want %q", text, p, err, wrong)
			}
			return
		}
		if err != nil || p != want {
			t.Errorf("%q: %+v, %v", text, p, err)
		}
	}
	f("input:5000,output:25000,cache-read:500,cache-write:6250", Price{5000, 25000, 500, 6250}, "")
	f(" cache-read: 500 , output:25000, input:5000 ", Price{5000, 25000, 500, 5000}, "")
	f("input:5000,output:25000", Price{5000, 25000, 5000, 5000}, "")
	f("input:0,output:0", Price{}, "")
	f("0", Price{}, "")
	f("", Price{}, `"" is no kind of token`)
	f("5000", Price{}, `"5000" is no kind of token`)
	f("input:5000", Price{}, "want input and output")
	f("input:5000,output:25000,", Price{}, "no kind of token")
	f("input:5000,input:1,output:1", Price{}, "input stands there twice")
	f("input:0.5,output:1", Price{}, `input: "0.5" is no whole number`)
	f("input:-1,output:1", Price{}, `input: "-1" is no whole number`)
	f("input:5000,output:", Price{}, `output: "" is no whole number`)
	f("input:1,output:1000000001", Price{}, "more than a dollar")
	f("input:1,output:99999999999999999999", Price{}, "no whole number")
}

func FuzzPriceText(f *testing.F) {
	f.Add("input:5000,output:25000,cache-read:500,cache-write:6250")
	f.Add("0")
	f.Add("input:1,output:2,cache-read:")
	f.Fuzz(func(t *testing.T, text string) {
		var p, again Price
		if p.UnmarshalText([]byte(text)) != nil {
			return
		}
		for _, n := range []int64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if n < 0 || n > maxPrice {
				t.Fatalf("%q: %+v", text, p)
			}
		}
		back, err := p.MarshalText()
		if err != nil || again.UnmarshalText(back) != nil || again != p {
			t.Fatalf("%q: %+v as %q is %+v", text, p, back, again)
		}
	})
}
