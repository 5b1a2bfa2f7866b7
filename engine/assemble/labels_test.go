package assemble_test

import (
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
)

// TestLabelsSayWhoGaveThem: each label in the list of addresses has a source, and the
// protocol of a result is not among the others that took part.
func TestLabelsSayWhoGaveThem(t *testing.T) {
	labels, graded, others := 0, 0, 0
	recorded.SampleBenign(t, func(ev *assemble.Evidence) {
		r := assemble.Result(ev)
		for _, a := range r.Addresses {
			if (a.Label == "") != (a.LabelSource == "") || a.Label == "" && a.LabelConfidence != "" {
				t.Errorf("%s: %s has the label %q from %q, %q", ev.TxHash, a.Address, a.Label, a.LabelSource, a.LabelConfidence)
			}
			if a.Label != "" {
				labels++
			}
			if a.LabelConfidence == api.LabelOfficial || a.LabelConfidence == api.LabelReviewed || a.LabelConfidence == api.LabelScraped {
				graded++
			}
		}
		seen := map[string]bool{}
		if r.Protocol != nil {
			seen[*r.Protocol] = true
		}
		for _, p := range r.Protocols {
			if p == "" || seen[p] {
				t.Errorf("%s: %q is listed twice", ev.TxHash, p)
			}
			seen[p] = true
			others++
		}
	})
	if labels == 0 || graded == 0 || others == 0 {
		t.Errorf("%d labels, %d with a confidence, %d other protocols: nothing was tested", labels, graded, others)
	}
	t.Logf("%d labels, %d with a confidence; %d other protocols", labels, graded, others)
}
