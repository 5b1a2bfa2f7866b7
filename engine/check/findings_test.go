package check_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/fixture"
	"txlens/testkit/golden"
	"txlens/testkit/recorded"
)

// TestFindingsOfIncidents: what the findings of each recorded incident say beside their
// sentences: how sure, how grave, who lost, whose rule broke, who gained. Nobody is victim
// and attacker of one finding.
func TestFindingsOfIncidents(t *testing.T) {
	var b strings.Builder
	for _, x := range fixture.Exploits(t) {
		c := assemble.Build(recorded.Exploit(t, &x))
		for i := range c.Result.Findings {
			f := &c.Result.Findings[i]
			fmt.Fprintf(&b, "%s %s %s\n", x.Hash, f.ID, described(f))
			for _, v := range f.Victim {
				if slices.Contains(f.Attacker, v) {
					t.Errorf("%s: %s is victim and attacker", x.Hash, v)
				}
			}
			if !slices.Contains(f.Attacker, api.AddrOf(c.Evidence.Tx.From)) {
				t.Errorf("%s: the sender is not among the attackers %v", x.Hash, f.Attacker)
			}
		}
	}
	golden.Compare(t, filepath.Join("testdata", "incidents.txt"), []byte(b.String()))
}

// described lists the members of a finding that are no sentences.
func described(f *api.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, severity %s, confidence %s, primary %t", f.Category, f.Status, f.Severity, f.Confidence, f.Primary)
	one := func(name string, a *api.Addr) {
		if a != nil {
			fmt.Fprintf(&b, "\n  %s %s", name, a)
		}
	}
	list := func(name string, n int, v any) {
		if n > 0 {
			fmt.Fprintf(&b, "\n  %s %v", name, v)
		}
	}
	list("victims", len(f.Victim), f.Victim)
	one("faulty", f.FaultyContract)
	one("entry point", f.EntryPoint)
	list("attackers", len(f.Attacker), f.Attacker)
	list("amplifiers", len(f.Amplifiers), f.Amplifiers)
	list("code", len(f.Code), f.Code)
	list("revoke", len(f.Revoke), f.Revoke)
	list("check", len(f.Check), f.Check)
	for _, e := range f.Evidence {
		fmt.Fprintf(&b, "\n  evidence %s %s", e.Kind, e.Frame)
		if e.LogIndex != nil {
			fmt.Fprintf(&b, " log %d", *e.LogIndex)
		}
		if e.Slot != "" {
			fmt.Fprintf(&b, " slot %s", e.Slot)
		}
	}
	return b.String()
}
