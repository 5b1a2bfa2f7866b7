package claim

import (
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
)

// largest is the case with the most nodes.
func largest(tb testing.TB) *assemble.Analysis {
	var most *assemble.Evidence
	for ev := range recorded.All(tb) {
		if most == nil || len(ev.Receipt.Logs)+len(ev.Tree.Frames) > len(most.Receipt.Logs)+len(most.Tree.Frames) {
			most = ev
		}
	}
	return assemble.Build(most)
}

func BenchmarkIndex(b *testing.B) {
	c := largest(b)
	for b.Loop() {
		NewIndex(c)
	}
}

// BenchmarkApply holds an answer that is as large as it may be, full of what has to be
// looked up, against the largest recorded transaction.
func BenchmarkApply(b *testing.B) {
	c := largest(b)
	ix := NewIndex(c)
	a := &Answer{TxType: api.TypeOther, Summary: strings.Repeat("{address:0x1234…abcd} ", 40)}
	for range maxSteps {
		a.Steps = append(a.Steps, TextRefs{strings.Repeat("{amount:net:sender:native} {address:target}. ", 22), []string{"tx"}})
	}
	for i := range maxAnnotations {
		a.Annotations = append(a.Annotations, Annotation{i, strings.Repeat("{count:transfers} {count:tokens} ", 10)})
	}
	for range maxFindings {
		f := goodFinding()
		f.Victim = []api.Addr{c.Result.TokenTransfers[0].From}
		a.Findings = append(a.Findings, f)
	}
	for b.Loop() {
		Apply(c, a, ix)
	}
}
