package narrate_test

import (
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/testkit/scene"
)

// TestEvidenceMissing: whatever a transaction is, a part of its evidence may be missing or too short,
// and it is told nevertheless.
func TestEvidenceMissing(t *testing.T) {
	forms := []struct {
		name   string
		change func(*facts.Input)
	}{
		{"no flow", func(in *facts.Input) { in.Flow = nil }},
		{"nothing decoded", func(in *facts.Input) { in.Decoded = nil }},
		{"no block", func(in *facts.Input) { in.Block = nil }},
		{"no trace", func(in *facts.Input) { in.Tree = nil }},
		{"no trace and no flow", func(in *facts.Input) { in.Tree, in.Flow = nil, nil }},
		{"no receipt", func(in *facts.Input) { in.Receipt = nil }},
		{"no receipt that confirms anything", func(in *facts.Input) { in.NoReceipt, in.Succeeded = true, false }},
		{"no logs", func(in *facts.Input) { in.Receipt, in.NoLogs = &ethrpc.Receipt{Status: in.Receipt.Status}, true }},
		{"no chain", func(in *facts.Input) { in.Chain, in.Flow = nil, nil }},
		{"no events decoded", func(in *facts.Input) {
			d := *in.Decoded
			d.Events = nil
			in.Decoded = &d
		}},
	}
	creation := scene.New(nil, 0, opaque)
	creation.Rc.ContractAddress = &scene.Vault
	for _, m := range append(scene.Acts(t), scene.Made{Name: "a creation", Scene: creation}) {
		for _, f := range forms {
			in := m.Scene.Facts(t)
			f.change(in)
			if v := scene.Judge(in); v.Summary == "" || len(v.Steps) == 0 {
				t.Errorf("%s, %s, %s: nothing is told", m.Act, m.Name, f.name)
			}
		}
	}
}

// TestEvidenceCutShort: calldata and data of events may end anywhere, and events may have too few
// topics.
func TestEvidenceCutShort(t *testing.T) {
	list := scene.Acts(t)
	for _, end := range []struct{ data, topics int }{{99, 4}, {67, 3}, {35, 2}, {3, 2}, {0, 1}} {
		for _, m := range list {
			s := m.Scene
			s.Tx.Input, s.Root.Input = cut(s.Tx.Input, end.data), cut(s.Root.Input, end.data)
			for i := range s.Rc.Logs {
				l, x := &s.Rc.Logs[i], &s.Root.Logs[i]
				l.Data, l.Topics = cut(l.Data, end.data), cut(l.Topics, end.topics)
				x.Data, x.Topics = l.Data, l.Topics
			}
			if v := scene.Judge(s.Facts(t)); v.Summary == "" || len(v.Steps) == 0 {
				t.Errorf("%s, %s, cut at %d: nothing is told", m.Act, m.Name, end.data)
			}
		}
	}
}

func cut[T any](list []T, n int) []T { return list[:min(n, len(list))] }
