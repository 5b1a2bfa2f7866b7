package analysis

import (
	"path/filepath"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
)

// TestTriageAsksTheState: a finding that rests on what a rate is at rest needs answers of
// the node, which are asked for by themselves; what was ruled out is told where the
// context asks for it.
func TestTriageAsksTheState(t *testing.T) {
	files, err := filepath.Glob("../../engine/check/testdata/read-only-reentrancy-a-*.txlens")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	b, err := upstream.ReadBundle(files[0])
	if err != nil {
		t.Fatal(err)
	}
	f := func(context string, wantLines bool) {
		t.Helper()
		x := New(Options{SourcesOff: true})
		defer x.Close()
		m := &meter.Meter{}
		res, err := x.Explain(t.Context(), Input{Request: api.Request{TxHash: b.Meta.TxHash, ChainID: 1, Context: context}, World: upstream.ReplaySession(b, m), Meter: m})
		if err != nil {
			t.Fatal(err)
		}
		if res.TxType == nil || *res.TxType != api.TypeExploit || len(res.Findings) != 1 || res.Findings[0].Category != api.Reentrancy || !strings.HasPrefix(res.Summary, "Exploit by reentrancy: ") {
			t.Errorf("%q: %s, %d findings", context, res.Summary, len(res.Findings))
		}
		if (len(res.NonFindings) > 10) != wantLines {
			t.Errorf("%q: %q", context, res.NonFindings)
		}
	}
	f("", false)
	f("Was this an attack?", true)
}
