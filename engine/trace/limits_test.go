package trace

import "testing"

// TestDefaultLimits: the defaults follow each other where only one of them is set.
func TestDefaultLimits(t *testing.T) {
	f := func(given, want Limits) {
		t.Helper()
		if got := given.withDefaults(); got != want {
			t.Errorf("%+v: %+v, want %+v", given, got, want)
		}
	}
	f(Limits{}, Limits{10_000, 20_000, 1_100})
	f(Limits{CompressAbove: 50}, Limits{50, 100, 1_100})
	f(Limits{MaxKept: 50}, Limits{50, 50, 1_100})
	f(Limits{MaxDepth: 5}, Limits{10_000, 20_000, 5})
}
