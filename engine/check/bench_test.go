package check_test

import (
	"testing"

	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/facts"
	"txlens/testkit/recorded"
)

// BenchmarkLook is the triage alone, of all recorded transactions.
func BenchmarkLook(b *testing.B) {
	var list []*check.Input
	for ev := range recorded.All(b) {
		c := assemble.Build(ev)
		list = append(list, &check.Input{
			Case:    facts.Read(&facts.Input{Chain: ev.Chain, Tx: ev.Tx, Receipt: c.Receipt, Block: ev.Block, Tree: c.Tree, Flow: c.Flow, Decoded: c.Decoded, Tokens: ev.Tokens, Succeeded: c.Tree.Root.Err == "", Diff: ev.Diff}),
			Verdict: c.Verdict,
		})
	}
	b.ReportMetric(float64(len(list)), "txs")
	for b.Loop() {
		for _, f := range list {
			check.Run(f)
		}
	}
}
