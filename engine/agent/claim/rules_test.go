package claim

import (
	"slices"
	"testing"

	"txlens/engine/api"
)

// TestRulesFindingsStay: what the rules have found and computed is not talked away, and is
// not told twice.
func TestRulesFindingsStay(t *testing.T) {
	found := api.Finding{
		BrokenInvariant: "It must not pay more than it got.", Category: api.Reentrancy, Severity: api.SeverityCritical, Confidence: api.Medium,
		Victim: []api.Addr{addr(vault)}, Status: api.Confirmed, ID: "F1",
	}
	f := func(cause api.Category, change func(*Answer), wantType api.TxType, wantFindings int, wantRulesSummary bool) {
		t.Helper()
		c := exploitCase(t)
		exploit := api.TypeExploit
		mine := found
		mine.Category = cause
		c.Result.TxType, c.Result.Findings, c.Result.Summary = &exploit, []api.Finding{mine}, "Exploit by something"
		c.Evidence.Triage = true
		a := goodAnswer()
		change(a)
		r, _ := Apply(c, a, NewIndex(c))
		if *r.TxType != wantType || len(r.Findings) != wantFindings || (r.Summary == "Exploit by something") != wantRulesSummary {
			t.Errorf("%s, %d findings, %q; want %s, %d", *r.TxType, len(r.Findings), r.Summary, wantType, wantFindings)
		}
		for i, g := range r.Findings {
			if g.ID != "F"+string(rune('1'+i)) {
				t.Errorf("finding %d is called %s", i, g.ID)
			}
		}
		if len(r.NonFindings) < 10 || !slices.Contains(r.NonFindings, "Bad debt: clean; no market booked any") {
			t.Errorf("%q", r.NonFindings)
		}
	}
	own := goodAnswer().Findings[0].Category
	f(own, func(*Answer) {}, api.TypeExploit, 1, false)
	f(api.AccessControl, func(*Answer) {}, api.TypeExploit, 2, false)
	f(own, func(a *Answer) { a.TxType, a.Findings = api.TypeSwap, nil }, api.TypeExploit, 1, true)
	f(own, func(a *Answer) { a.Findings = nil }, api.TypeExploit, 1, false)
}
