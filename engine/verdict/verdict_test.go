package verdict_test

import (
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/verdict"
)

// TestFlagRegistry: each flag has a row, a name of its own, and is found by it; values of
// the interface's lists are members of these lists.
func TestFlagRegistry(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range verdict.Flags() {
		i := f.Info()
		if i.Slug == "" || i.Title == "" || seen[i.Slug] {
			t.Errorf("flag %d: %+v", f, i)
		}
		seen[i.Slug] = true
		if g, ok := verdict.FlagOf(i.Slug); !ok || g != f {
			t.Errorf("%s is found as %d", i.Slug, g)
		}
		if !slices.Contains(i.Severity.Enum(), any(i.Severity)) || i.Category != "" && !slices.Contains(i.Category.Enum(), any(i.Category)) ||
			i.Amplifier != "" && !slices.Contains(i.Amplifier.Enum(), any(i.Amplifier)) {
			t.Errorf("%s: %+v", i.Slug, i)
		}
	}
	for _, v := range api.Category("").Enum() {
		c := v.(api.Category)
		f := verdict.FlagOfCause(c)
		g, ok := verdict.FlagOf(f.String())
		if f == verdict.NoFlag || f.Info().Category != c || !ok || g != f || seen[f.String()] {
			t.Errorf("the flag of %s is %q", c, f)
		}
	}
	if f, ok := verdict.FlagOf("unexplained_loss"); !ok || f != verdict.FlagOfCause(api.UnknownCause) {
		t.Errorf("an unknown cause has the flag %q", f)
	}
	if _, ok := verdict.FlagOf(""); ok || verdict.NoFlag.String() != "" || verdict.Flag(255).String() != "" {
		t.Error("no flag has a name")
	}
	if verdict.FlagOfCause("nothing") != verdict.NoFlag {
		t.Error("a cause that does not exist raises a flag")
	}
}

// TestAdd: equal risks are one, and the bound holds.
func TestAdd(t *testing.T) {
	a := verdict.Risk{Flag: verdict.Drain, Why: verdict.Say(verdict.LostHoldings, verdict.Int(1))}
	b := verdict.Risk{Flag: verdict.Drain, Why: verdict.Say(verdict.LostHoldings, verdict.Int(2))}
	f := func(limit, want int, more ...verdict.Risk) {
		t.Helper()
		if got := len(verdict.Add(nil, limit, more...)); got != want {
			t.Errorf("%d of %d, want %d", got, len(more), want)
		}
	}
	f(9, 1, a, a)
	f(9, 2, a, b, a)
	f(1, 1, a, b)
}
