package trace_test

import (
	"bytes"
	stdjson "encoding/json"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

func parse(t testing.TB, b []byte, lim trace.Limits) *trace.Tree {
	t.Helper()
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(b)), lim)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// naive counts frames and frames with an error, and drops the logs on the way.
func naive(f map[string]any) (total, failed int) {
	delete(f, "logs")
	total = 1
	if f["error"] != nil {
		failed = 1
	}
	calls, _ := f["calls"].([]any)
	for _, c := range calls {
		n, m := naive(c.(map[string]any))
		total, failed = total+n, failed+m
	}
	return total, failed
}

// Every recorded trace: counted, joined with its receipt, and given back as it came.
func TestRecordedTraces(t *testing.T) {
	for _, b := range fixture.Blocks(t) {
		for _, x := range b.Txs {
			tree := parse(t, x.Trace, trace.Limits{})
			var want map[string]any
			if err := stdjson.Unmarshal(x.Trace, &want); err != nil {
				t.Fatal(err)
			}
			total, failed := naive(want)
			if tree.Total != total || tree.Failed != failed || len(tree.Frames) != total {
				t.Errorf("%s: %d frames, %d failed; want %d, %d", x.Hash, tree.Total, tree.Failed, total, failed)
			}
			checkRaw(t, x.Hash, tree, want)
			rc, err := ethrpc.ParseReceipt(x.Receipt)
			if err != nil {
				t.Fatal(err)
			}
			tree.JoinLogs(rc)
			checkJoined(t, x.Hash, tree, rc)
		}
	}
}

func checkRaw(t *testing.T, hash string, tree *trace.Tree, want map[string]any) {
	t.Helper()
	raw, err := json.Marshal(tree.Raw())
	if err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := stdjson.Unmarshal(raw, &have); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s: raw trace differs", hash)
	}
}

// checkJoined: each log of the receipt is one frame's, in execution order.
func checkJoined(t *testing.T, hash string, tree *trace.Tree, rc *ethrpc.Receipt) {
	t.Helper()
	if len(tree.Notes) > 0 {
		t.Errorf("%s: %v", hash, tree.Notes)
	}
	next := 0
	var walk func(f *trace.Frame)
	walk = func(f *trace.Frame) {
		for it := range f.Items() {
			switch {
			case it.Child != nil:
				walk(it.Child)
			case it.Log.Receipt != next:
				t.Errorf("%s %s: log %d where %d follows", hash, f.Path(), it.Log.Receipt, next)
				fallthrough
			default:
				next++
			}
		}
	}
	walk(tree.Root)
	if next != len(rc.Logs) {
		t.Errorf("%s: %d logs joined of %d", hash, next, len(rc.Logs))
	}
}
