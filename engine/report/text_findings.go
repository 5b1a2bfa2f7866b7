package report

import "strings"

// maxChecks is how many lines of checks a terminal shows: the fixed list is shorter.
const maxChecks = 40

// findings come before all else: they are what somebody looks for at three in the
// morning.
func (t *text) findings() {
	for i, f := range t.page.names.findings(t.r, textBounds) {
		if i == 0 {
			t.heading("Findings")
		}
		code := yellow
		if f.Grave == "bad" {
			code = red
		}
		words := []string{f.Severity, f.Category, f.Status}
		if f.Confidence != "" {
			words = append(words, f.Confidence+" confidence")
		}
		t.wrapped("  ! ", strings.Join(words, " · "), bold+";"+code)
		t.wrapped("    ", f.Invariant, "")
		t.accused("Victim", f.Victims)
		t.accused("Attacker", f.Attackers)
		for j, e := range f.Evidence {
			name := ""
			if j == 0 {
				name = "Evidence"
			}
			t.wrapped("    "+pad(name, findingWidth)+"· ", e.Claim+" ("+join2(e.Kind, e.Places)+")", "")
		}
		for j, a := range f.Revoke {
			name := ""
			if j == 0 {
				name = "Revoke"
			}
			t.wrapped("    "+pad(name, findingWidth), "the right of "+inFull(a.Spender)+" over "+a.Token.Both()+" of "+a.Owner.Both(), "")
		}
		t.more("Check", f.Check)
		t.more("Aggravating", f.Amplified)
		t.more("To confirm", strings.Join(f.Missing, "; "))
	}
}

// findingWidth is the column of names in a finding.
const findingWidth = 12

func (t *text) more(name, value string) {
	if value != "" {
		t.wrapped("    "+pad(name, findingWidth), value, "")
	}
}

func (t *text) accused(name string, list []party) {
	for i, p := range list {
		if i > 0 {
			name = ""
		}
		t.wrapped("    "+pad(name, findingWidth), inFull(p), "")
	}
}

// checked are the checks that a caller asked for, with what came of each.
func (t *text) checked() {
	lines, more := proses(t.r.NonFindings, maxChecks, 400)
	if len(lines) == 0 {
		return
	}
	t.heading("What was checked")
	for _, l := range lines {
		t.wrapped("  · ", l, "")
	}
	if more > 0 {
		t.line(t.paint(dim, "  … and more"))
	}
}
