package triage

import (
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/classify"
)

// TestFlagsAreFound: each flag that a check is about makes it found, whatever the type
// of the transaction.
func TestFlagsAreFound(t *testing.T) {
	f := func(check string, flags ...string) {
		t.Helper()
		i := slices.IndexFunc(Checks, func(c Check) bool { return c.Name == check })
		for _, flag := range flags {
			l := &look{Facts: &Facts{Facts: &classify.Facts{}, Verdict: &classify.Verdict{Risks: []string{flag + ": why"}}}}
			if got, why := Checks[i].run(l); got != Found {
				t.Errorf("%s with the flag %s: %s, %s", check, flag, got, why)
			}
		}
	}
	f("control_changed", classify.ControlFlags()...)
	f("control_changed", "module_disabled", "uninitialised_takeover")
	f("sandwich", "sandwich")
	f("drained", "drain")
	f("price_moved", "price_moved")
	f("flash_loan", "flash_loan")
	f("unlimited_approval", "unlimited_approval", "operator_approval")
	f("unverified_delegatecall", "unverified_delegatecall")
	f("caught_inner_failure", "caught_inner_failure", "inner_failure")
	f("lookalike_address", "address_poisoning")
	f("bad_debt", "bad_debt")
	f("solvency", "bad_debt")
	f("bounded_output", "no_slippage_limit")
	if slices.Contains(classify.ControlFlags(), "paused") {
		t.Error("a pause changes no control")
	}
	leg := &look{Facts: &Facts{Facts: &classify.Facts{}, Verdict: &classify.Verdict{Sandwich: &classify.Sandwich{}}}}
	if got, _ := leg.checkSandwich(); got != Found {
		t.Errorf("a part of a sandwich: %s", got)
	}
}

// TestCausesOfChecks: each cause belongs to one check.
func TestCausesOfChecks(t *testing.T) {
	seen := map[api.Category]string{}
	for i := range Checks {
		c := &Checks[i]
		for _, cause := range c.causes {
			if seen[cause] != "" || !slices.Contains(cause.Enum(), any(cause)) {
				t.Errorf("%s: %s is of %q too, or is no cause", c.Name, cause, seen[cause])
			}
			seen[cause] = c.Name
			if !c.Contradicted([]api.Finding{{Category: cause}}) || c.Contradicted([]api.Finding{{Category: api.UnknownCause}}) {
				t.Errorf("%s and %s", c.Name, cause)
			}
		}
	}
}
