package trace_test

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/trace"
)

var seedFrames = []string{
	`null`, `{}`, `[]`,
	`{"type":"CALL","from":"` + addr(1) + `","to":"` + addr(2) + `","value":"0x1","calls":[` +
		call(3, 1, "") + "," + call(3, 1, "") + "," + call(3, 1, "") + "," + call(3, 1, `,"error":"out of gas"`) + "," +
		call(3, 1, `,"logs":[{"address":"`+addr(3)+`","topics":[],"data":"0x","position":"0x0"}]`) + `]}`,
}

// tight limits make small inputs compress.
var tight = trace.Limits{CompressAbove: 3, MaxKept: 6, MaxDepth: 12}

func FuzzParseCallTracer(f *testing.F) {
	for _, s := range seedFrames {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, lim := range []trace.Limits{{}, tight} {
			tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(b)), lim)
			if err == nil {
				consistent(t, tree, lim)
				tree.JoinLogs(receiptWith([2]int{3, 1}, [2]int{2, 1}))
			}
		}
	})
}

func FuzzParseParity(f *testing.F) {
	f.Add(flatTrace("", "0", "0,0", "1"))
	f.Add(flatTrace("", "0", "1", "2", "3", "4", "5", "6", "7"))
	f.Add([]byte(`[{"type":"suicide","action":{"address":"` + addr(5) + `","balance":"0x8"},"traceAddress":[]}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, lim := range []trace.Limits{{}, tight} {
			if tree, err := parseParity(b, lim); err == nil {
				consistent(t, tree, lim)
				tree.JoinLogs(receiptWith([2]int{3, 1}, [2]int{2, 1}))
			}
		}
	})
}

// consistent checks what every finished tree promises.
func consistent(t *testing.T, tree *trace.Tree, lim trace.Limits) {
	t.Helper()
	total, failed := len(tree.Frames), 0
	if lim.MaxKept > 0 && total > lim.MaxKept+lim.MaxDepth {
		t.Fatalf("%d frames kept", total)
	}
	for i, f := range tree.Frames {
		if f.Index != i || (f.Parent == nil) != (f == tree.Root) || f.Parent != nil && f.Parent.Depth != f.Depth-1 {
			t.Fatalf("frame %d: index %d, depth %d", i, f.Index, f.Depth)
		}
		if f.Status == trace.Failed {
			failed++
		}
		if (f.Status == trace.Reverted) != (f.RevertedBy != nil) {
			t.Fatalf("frame %d: %v reverted by %v", i, f.Status, f.RevertedBy)
		}
		f.Path()
	}
	for _, f := range tree.Frames {
		for i, m := range f.Markers {
			if m.Parent != f || i > 0 && m.After <= f.Markers[i-1].After && !m.Elided || m.Elided && m.After != len(f.Children) {
				t.Fatalf("marker %+v of frame %d", m, f.Index)
			}
		}
	}
	for _, m := range tree.Markers {
		total, failed = total+m.Removed, failed+m.Failed
		if m.Removed == 0 || m.After > len(m.Parent.Children) || !m.Elided && m.Period*m.Repeats > m.Removed {
			t.Fatalf("marker %+v", m)
		}
	}
	if total != tree.Total || failed != tree.Failed {
		t.Fatalf("%d frames, %d failed; want %d, %d", tree.Total, tree.Failed, total, failed)
	}
	tree.RevertOrigin()
	if _, err := json.Marshal(tree.Raw()); err != nil {
		t.Fatal(err)
	}
}
