package app

import (
	"testing"

	"txlens/actors/analysis"
	"txlens/actors/job"
	"txlens/transport"
)

// TestKeepsEvidence: evidence is kept for results that may be kept, and never with a language
// model, whose questions are other ones each time.
func TestKeepsEvidence(t *testing.T) {
	kept, whole := new(job.Keeper), func(job.Mined) {}
	f := func(want bool, kept *job.Keeper, agent *analysis.Agent, whole func(job.Mined)) {
		t.Helper()
		a := &Analyst{kept: kept, o: AnalysisOptions{Agent: agent}}
		if got := a.keepsEvidence(transport.RunSpec{Whole: whole}); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
	f(true, kept, nil, whole)
	f(false, nil, nil, whole)
	f(false, kept, new(analysis.Agent), whole)
	f(false, kept, nil, nil)
}
