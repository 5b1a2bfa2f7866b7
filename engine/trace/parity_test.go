package trace_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

type recordedParity struct {
	Meta   struct{ Hash string }
	Trace  stdjson.RawMessage `json:"trace"`
	Parity stdjson.RawMessage `json:"trace_parity"`
}

func parityTraces(t testing.TB) (out []recordedParity) {
	t.Helper()
	file, err := os.Open(filepath.Join(fixture.Dir(t), "mev.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zr, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(zr)
	sc.Buffer(nil, 64<<20)
	for sc.Scan() {
		var r recordedParity
		if err := stdjson.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		// Some of the recordings went through Python, which renamed this key.
		r.Parity = bytes.ReplaceAll(r.Parity, []byte(`"trace_address"`), []byte(`"traceAddress"`))
		out = append(out, r)
	}
	if sc.Err() != nil || len(out) == 0 {
		t.Fatalf("read parity traces: %d, %v", len(out), sc.Err())
	}
	return out
}

func parseParity(b []byte, lim trace.Limits) (*trace.Tree, error) {
	return trace.ParseParity(jsontext.NewDecoder(bytes.NewReader(b)), lim)
}

// A flat trace gives the tree that the same calls give nested.
func TestParityEqualsCallTracer(t *testing.T) {
	for _, r := range parityTraces(t) {
		flat, err := parseParity(r.Parity, trace.Limits{})
		if err != nil {
			t.Errorf("%s: %v", r.Meta.Hash, err)
			continue
		}
		nested := parse(t, r.Trace, trace.Limits{})
		if len(flat.Notes) > 0 || flat.Total != nested.Total || flat.Failed != nested.Failed {
			t.Errorf("%s: %d frames, %d failed; want %d, %d; %v",
				r.Meta.Hash, flat.Total, flat.Failed, nested.Total, nested.Failed, flat.Notes)
			continue
		}
		for i, f := range flat.Frames {
			if d := difference(f, nested.Frames[i]); d != "" {
				t.Errorf("%s %s: %s", r.Meta.Hash, f.Path(), d)
			}
		}
	}
}

func difference(a, b *trace.Frame) string {
	switch {
	case a.Path() != b.Path():
		return "path " + b.Path()
	case a.Kind != b.Kind:
		return "kind " + a.Kind.String() + " " + b.Kind.String()
	case a.From != b.From:
		return "from"
	case a.To != b.To || a.HasTo != b.HasTo:
		return "to"
	case a.Value != b.Value:
		return "value " + a.Value.Hex() + " " + b.Value.Hex()
	case a.Gas != b.Gas || a.Err == "" && a.GasUsed != b.GasUsed: // unknown of a revert
		return "gas"
	case !bytes.Equal(a.Input, b.Input) || !bytes.Equal(a.Output, b.Output):
		return "data"
	case a.Err != b.Err:
		return "error " + a.Err + " / " + b.Err
	case a.Status != b.Status:
		return "status"
	}
	return ""
}

// flatTrace writes a call of each address given, as its path.
func flatTrace(paths ...string) []byte {
	var out []string
	for _, p := range paths {
		out = append(out, `{"type":"call","action":{"callType":"call","from":"`+addr(1)+`","to":"`+addr(2)+`","gas":"0x9","value":"0x0","input":"0x"},"traceAddress":[`+p+`]}`)
	}
	return []byte("[" + strings.Join(out, ",") + "]")
}

func TestTraceAddress(t *testing.T) {
	f := func(want string, paths ...string) {
		t.Helper()
		tree, err := parseParity(flatTrace(paths...), trace.Limits{MaxDepth: 4})
		if want == "" {
			if err != nil || tree.Total != len(paths) {
				t.Errorf("%v: %v", paths, err)
			}
			return
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", paths, err, want)
		}
	}
	f("", "")
	f("", "", "0", "0,0", "1", "1,0", "1,1", "2")
	f(trace.ErrNoFrame.Error())
	f(trace.ErrTraceAddress.Error(), "0")
	f(trace.ErrTraceAddress.Error(), "", "")
	f(trace.ErrTraceAddress.Error(), "", "1")
	f(trace.ErrTraceAddress.Error(), "", "0", "0")
	f(trace.ErrTraceAddress.Error(), "", "0", "2")
	f(trace.ErrTraceAddress.Error(), "", "0", "0,0", "1,0")
	f(trace.ErrTraceAddress.Error(), "", "0,0")
	f(trace.ErrTraceAddress.Error(), "", "0", "1", "0,0")
	f(trace.ErrTraceAddress.Error(), "", "18446744073709551615")
	f("traceAddress", "", "-1")
	f(trace.ErrDepth.Error(), "", "0", "0,0", "0,0,0", "0,0,0,0")
	f(trace.ErrDepth.Error(), "0,0,0,0,0,0,0,0,0")
}

func TestParityKinds(t *testing.T) {
	tree, err := parseParity([]byte(`[
		{"type":"create","action":{"from":"`+addr(1)+`","gas":"0x9","init":"0x6001","value":"0x7","creationMethod":"create2"},
		 "result":{"address":"`+addr(5)+`","code":"0xfe","gasUsed":"0x3"},"subtraces":3,"traceAddress":[]},
		{"traceAddress":[0],"type":"suicide","action":{"address":"`+addr(5)+`","refundAddress":"`+addr(6)+`","balance":"0x8"},"result":null,"subtraces":0},
		{"error":"Bad jump destination","type":"call","action":{"callType":"delegatecall","from":"`+addr(5)+`","to":"`+addr(7)+`","gas":"0x64","input":"0x","value":"0x7"},"subtraces":0,"traceAddress":[1]},
		{"type":"reward","action":{"author":"`+addr(9)+`","rewardType":"block","value":"0x1"},"traceAddress":[],"subtraces":0,"result":null}]`), trace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c, d, j := tree.Frames[0], tree.Frames[1], tree.Frames[2]
	if c.Kind != trace.Create2 || c.To != common.HexToAddress(addr(5)) || !c.HasTo || len(c.Input) != 2 || len(c.Output) != 1 || c.GasUsed != 3 {
		t.Errorf("creation: %+v", c)
	}
	if d.Kind != trace.SelfDestruct || d.From != c.To || d.To != common.HexToAddress(addr(6)) || d.Value.Uint64() != 8 || !d.MovesValue() {
		t.Errorf("self-destruct: %+v", d)
	}
	if j.Kind != trace.DelegateCall || j.Err != "invalid jump destination" || j.Status != trace.Failed || j.GasUsed != 100 || j.MovesValue() {
		t.Errorf("failed call: %+v", j)
	}
	if len(tree.Frames) != 3 || len(tree.Notes) != 1 {
		t.Errorf("%d frames, notes %v", len(tree.Frames), tree.Notes)
	}
}
