package classify_test

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"txlens/internal/testkit/fixture"
	"txlens/internal/testkit/scene"
)

// tally counts the judgements on labelled transactions.
type tally struct {
	all, right        map[string]int
	confusion, missed map[string]int
	judged, good      int
	named, namedRight int
}

func (s *tally) types(l *fixture.Labelled, v *scene.Judged) {
	if len(l.Expect.TxTypes) == 0 {
		return
	}
	class := strings.Join(l.Expect.TxTypes, " or ")
	s.judged++
	s.all[class]++
	s.confusion[fmt.Sprintf("%-22s called %s", class, typeName(v))]++
	if slices.Contains(l.Expect.TxTypes, typeName(v)) {
		s.good++
		s.right[class]++
	}
}

func (s *tally) protocols(l *fixture.Labelled, v *scene.Judged) {
	if len(l.Expect.Protocols) == 0 {
		return
	}
	s.named++
	got := "nothing"
	if v.Protocol != nil {
		got = *v.Protocol
	}
	for _, want := range l.Expect.Protocols {
		if v.Protocol != nil && fixture.SameProtocol(got, want) {
			s.namedRight++
			return
		}
	}
	s.missed[strings.Join(l.Expect.Protocols, " or ")+" named "+got]++
}

// Types and protocols of transactions that people labelled, from receipts and value
// transfers alone. A class is a set of acceptable types.
func TestLabelledTransactions(t *testing.T) {
	s := &tally{all: map[string]int{}, right: map[string]int{}, confusion: map[string]int{}, missed: map[string]int{}}
	for _, id := range fixture.LabelledChains() {
		list := fixture.LabelledOf(t, id)
		for i := range list {
			l := &list[i]
			facts := scene.FromLabelled(t, l)
			v := scene.Judge(facts)
			checkVerdict(t, l.Hash, facts, v)
			s.types(l, v)
			s.protocols(l, v)
			if len(l.Expect.TxTypes) > 0 && !slices.Contains(l.Expect.TxTypes, typeName(v)) {
				t.Logf("%d %s: want %s, got %s/%s: %s", l.ChainID, l.Hash, strings.Join(l.Expect.TxTypes, " or "), typeName(v), v.SubType, v.Summary)
			}
		}
	}
	s.judge(t)
}

func (s *tally) judge(t *testing.T) {
	t.Helper()
	t.Logf("types: %d of %d right\nconfusion:%s", s.good, s.judged, table(s.confusion))
	var recall strings.Builder
	classes := make([]string, 0, len(s.all))
	for c := range s.all {
		classes = append(classes, c)
	}
	sort.Strings(classes)
	for _, c := range classes {
		fmt.Fprintf(&recall, "\n  %3d of %3d (%3d %%) %s", s.right[c], s.all[c], 100*s.right[c]/s.all[c], c)
		if s.all[c] >= 4 && s.right[c]*100 < s.all[c]*90 {
			t.Errorf("class %s: %d of %d are right", c, s.right[c], s.all[c])
		}
	}
	t.Logf("recall of each class:%s", recall.String())
	t.Logf("protocols: %d of %d right\nmisses:%s", s.namedRight, s.named, table(s.missed))
	if s.judged < 400 || s.good*100 < s.judged*95 {
		t.Errorf("types of %d of %d labelled transactions are right", s.good, s.judged)
	}
	if s.named < 400 || s.namedRight*100 < s.named*85 {
		t.Errorf("protocols of %d of %d labelled transactions are right", s.namedRight, s.named)
	}
}
