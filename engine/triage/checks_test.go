package triage

import (
	"slices"
	"testing"

	"txlens/engine/api"
	"txlens/engine/classify"
	"txlens/engine/verdict"
)

// TestFlagsAreFound: each flag that a check is about makes it found, whatever the type
// of the transaction.
func TestFlagsAreFound(t *testing.T) {
	f := func(check string, flags ...verdict.Flag) {
		t.Helper()
		i := slices.IndexFunc(Checks, func(c Check) bool { return c.Name == check })
		for _, flag := range flags {
			l := &look{Facts: &Facts{Facts: &classify.Facts{}, Verdict: &classify.Verdict{Risks: []verdict.Risk{{Flag: flag}}}}}
			if got, why := Checks[i].run(l); got != Found {
				t.Errorf("%s with the flag %s: %s, %s", check, flag, got, why)
			}
		}
	}
	f("control_changed", verdict.ControlFlags()...)
	f("control_changed", verdict.ModuleDisabled, verdict.UninitialisedTakeover)
	f("sandwich", verdict.Sandwich)
	f("drained", verdict.Drain)
	f("price_moved", verdict.PriceMoved)
	f("flash_loan", verdict.FlashLoan)
	f("unlimited_approval", verdict.UnlimitedApproval, verdict.OperatorApproval)
	f("unverified_delegatecall", verdict.UnverifiedDelegatecall)
	f("caught_inner_failure", verdict.CaughtInnerFailure, verdict.InnerFailure)
	f("lookalike_address", verdict.AddressPoisoning)
	f("bad_debt", verdict.BadDebt)
	f("solvency", verdict.BadDebt)
	f("bounded_output", verdict.NoSlippageLimit)
	if slices.Contains(verdict.ControlFlags(), verdict.Paused) {
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
