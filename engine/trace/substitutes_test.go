package trace_test

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/trace"
)

func decoder(text string) *jsontext.Decoder {
	return jsontext.NewDecoder(strings.NewReader(text))
}

// TestReplayedEqualsFlat: the same list by another method gives the same tree.
func TestReplayedEqualsFlat(t *testing.T) {
	for _, r := range parityTraces(t) {
		flat, err := parseParity(r.Parity, trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := trace.ParseReplayed(decoder(`{"output":"0x01","trace":`+string(r.Parity)+`,"stateDiff":{"a":[{}]},"vmTrace":null}`), trace.Limits{})
		explored, eerr := trace.ParseExplorer(decoder(string(r.Parity)), trace.Limits{})
		if err != nil || eerr != nil || replayed.Source != trace.SourceReplayed || explored.Source != trace.SourceExplorer {
			t.Fatalf("%s: %v, %v", r.Meta.Hash, err, eerr)
		}
		for i, f := range flat.Frames {
			if d := difference(f, replayed.Frames[i]) + difference(f, explored.Frames[i]); d != "" {
				t.Errorf("%s %s: %s", r.Meta.Hash, f.Path(), d)
			}
		}
	}
}

func TestReplayedErrors(t *testing.T) {
	f := func(text string, want string) {
		t.Helper()
		if _, err := trace.ParseReplayed(decoder(text), trace.Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	f(`null`, trace.ErrNull.Error())
	f(`{}`, trace.ErrNoFrame.Error())
	f(`{"trace":[]}`, trace.ErrNoFrame.Error())
	f(`{"trace":null}`, trace.ErrNull.Error())
	f(`{"trace":`+string(flatTrace("", "1"))+`}`, trace.ErrTraceAddress.Error())
	f(`{"trace":`+string(flatTrace(""))+`,"output":`, "EOF")
	f(`[]`, "read trace")
}

// TestExplorerLists: an explorer names CREATE2 by type, and a list with gaps is none.
func TestExplorerLists(t *testing.T) {
	create := `[{"type":"create2","action":{"from":"` + addr(1) + `","gas":"0x9","init":"0x6001","value":"0x7"},
		"result":{"address":"` + addr(5) + `","code":"0xfe","gasUsed":"0x3"},"subtraces":N,"traceAddress":[]}]`
	tree, err := trace.ParseExplorer(decoder(strings.Replace(create, "N", "0", 1)), trace.Limits{})
	if err != nil || tree.Root.Kind != trace.Create2 || len(tree.Root.Input) != 2 {
		t.Errorf("creation: %v", err)
	}
	if _, err := trace.ParseExplorer(decoder(strings.Replace(create, "N", "1", 1)), trace.Limits{}); !errors.Is(err, trace.ErrGaps) {
		t.Errorf("with a gap: %v", err)
	}
	if _, err := trace.ParseExplorer(decoder(`[]`), trace.Limits{}); !errors.Is(err, trace.ErrNoFrame) {
		t.Errorf("empty: %v", err)
	}
}

// otterscan writes a tree as ots_traceTransaction does.
func otterscan(tree *trace.Tree) string {
	var out []string
	for _, f := range tree.Frames {
		value := `"0x` + strconv.FormatUint(f.Value.Uint64(), 16) + `"`
		if f.Value.IsZero() || f.Kind == trace.StaticCall || f.Kind == trace.DelegateCall {
			value = "null"
		}
		out = append(out, `{"type":"`+f.Kind.String()+`","depth":`+strconv.Itoa(f.Depth)+`,"from":"`+f.From.Hex()+`","to":"`+f.To.Hex()+
			`","value":`+value+`,"input":"`+hexBytes(f.Input)+`","output":"`+hexBytes(f.Output)+`"}`)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func hexBytes(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	s.WriteString("0x")
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

// TestOtterscanShape: depths give the same tree as the nested trace has.
func TestOtterscanShape(t *testing.T) {
	for _, r := range parityTraces(t) {
		nested := parse(t, r.Trace, trace.Limits{})
		got, err := trace.ParseOtterscan(decoder(otterscan(nested)), trace.Limits{})
		if err != nil || got.Total != nested.Total || got.Source != trace.SourceOtterscan {
			t.Fatalf("%s: %v", r.Meta.Hash, err)
		}
		for i, f := range got.Frames {
			n := nested.Frames[i]
			if f.Path() != n.Path() || f.Kind != n.Kind || f.From != n.From || f.To != n.To || !bytes.Equal(f.Input, n.Input) || !bytes.Equal(f.Output, n.Output) {
				t.Errorf("%s: frame %s is %+v, want %+v", r.Meta.Hash, n.Path(), f, n)
			}
		}
	}
}

func TestOtterscanErrors(t *testing.T) {
	call := func(depths ...string) string {
		var out []string
		for _, d := range depths {
			out = append(out, `{"type":"CALL","depth":`+d+`,"from":"`+addr(1)+`","to":"`+addr(2)+`","value":"0x0","input":"0x"}`)
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	f := func(text, want string) {
		t.Helper()
		_, err := trace.ParseOtterscan(decoder(text), trace.Limits{MaxDepth: 4})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	f(call("0"), "")
	f(call("0", "1", "2", "1", "2", "3", "1"), "")
	f(`null`, trace.ErrNull.Error())
	f(`[]`, trace.ErrNoFrame.Error())
	f(call("1"), trace.ErrTraceAddress.Error())
	f(call("0", "0"), trace.ErrTraceAddress.Error())
	f(call("0", "2"), trace.ErrTraceAddress.Error())
	f(call("0", "18446744073709551615"), trace.ErrTraceAddress.Error())
	f(call("0", "1", "2", "3", "4"), trace.ErrDepth.Error())
	f(`[{"type":"CALL","from":"`+addr(1)+`"}]`, "depth")
	f(`[{"depth":0,"from":"`+addr(1)+`"}]`, "type")
	f(`[{"type":"CALL","depth":0}]`, "from")
}

// TestHidesFailures: a call that may have failed matters if it would have an effect.
func TestHidesFailures(t *testing.T) {
	f := func(kind, value string, want bool) {
		t.Helper()
		entry := func(depth, kind, value string) string {
			return `{"type":"` + kind + `","depth":` + depth + `,"from":"` + addr(1) + `","to":"` + addr(2) + `","value":"` + value + `","input":"0x"}`
		}
		tree, err := trace.ParseOtterscan(decoder("["+entry("0", "CALL", "0x5")+","+entry("1", kind, value)+"]"), trace.Limits{})
		if err != nil || tree.HidesFailures() != want {
			t.Errorf("%s of %s: %v, error %v", kind, value, !want, err)
		}
		tree.Source = trace.SourceDebug
		if tree.HidesFailures() {
			t.Errorf("%s of %s: a trace with errors hides none", kind, value)
		}
	}
	f("CALL", "0x0", false)
	f("STATICCALL", "0x0", false)
	f("DELEGATECALL", "0x5", false)
	f("CALL", "0x1", true)
	f("CREATE", "0x0", true)
	f("CREATE2", "0x0", true)
	f("SELFDESTRUCT", "0x0", true)
}
