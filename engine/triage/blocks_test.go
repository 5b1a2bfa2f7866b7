package triage_test

import (
	"strings"
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/assemble/recorded"
	"txlens/engine/explain"
	"txlens/engine/triage"
)

// TestNoExploitInBlocks: of all transactions of whole recorded blocks none is an exploit,
// and each check comes out with a reason.
func TestNoExploitInBlocks(t *testing.T) {
	n, asking, findings := 0, 0, 0
	outcomes := map[triage.Ruled]int{}
	for ev := range recorded.All(t) {
		ev.Triage = true
		c := assemble.Build(ev)
		n++
		if r := c.Result; r.TxType != nil && *r.TxType == explain.TypeExploit || len(r.Findings) > 0 || c.Triage.Exploit {
			t.Errorf("%s: an exploit: %s", ev.TxHash, c.Result.Summary)
		}
		if len(c.Triage.Findings) > 0 {
			findings++
			t.Logf("%s: %s %s", ev.TxHash, c.Triage.Findings[0].Category, c.Triage.Findings[0].BrokenInvariant)
		}
		if len(c.Triage.Questions) > 0 {
			asking++
			t.Logf("%s asks %d: %s", ev.TxHash, len(c.Triage.Questions), c.Triage.Questions[0].Asker)
		}
		lines := 0
		for _, o := range c.Triage.Outcomes {
			outcomes[o.Result]++
			if o.Result != triage.Found {
				lines++
			}
			if o.Result != triage.Found && o.Why == "" {
				t.Errorf("%s: %s is %s without a reason", ev.TxHash, o.Name, o.Result)
			}
		}
		if len(c.Triage.Outcomes) != len(triage.Checks) || len(c.Result.NonFindings) != lines {
			t.Errorf("%s: %d outcomes of %d checks, %d lines", ev.TxHash, len(c.Triage.Outcomes), len(triage.Checks), len(c.Result.NonFindings))
		}
		for _, line := range c.Result.NonFindings {
			if strings.ContainsAny(line, "\n\r") {
				t.Errorf("%s: %q is more than one line", ev.TxHash, line)
			}
		}
	}
	t.Logf("%d transactions, findings in %d, questions in %d, outcomes %v", n, findings, asking, outcomes)
	if n < 400 {
		t.Errorf("only %d transactions", n)
	}
}
