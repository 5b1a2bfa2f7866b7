package trace_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/trace"
)

func TestParseCallTracerRefuses(t *testing.T) {
	head := `{"type":"CALL","from":"` + addr(1) + `"`
	f := func(in, want string) {
		t.Helper()
		_, err := trace.ParseCallTracerBytes([]byte(in), trace.Limits{MaxDepth: 3})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", in, err, want)
		}
	}
	f(`null`, "null")
	f(``, "EOF")
	f(`[]`, "want {")
	f(head, "EOF")
	f(head+`}{}`, "more than one")
	f(`{"from":"`+addr(1)+`"}`, "type: missing")
	f(`{"type":"CALL"}`, "from: missing")
	f(`{"type":7}`, "/type: want a string")
	f(head+`,"to":"0x12"}`, "/to: want 40 hex digits (address), have 2")
	f(head+`,"to":"`+addr(1)[2:]+`"}`, "/to: want a hex string with 0x")
	f(head+`,"to":{"a":1}}`, "/to: want a scalar")
	f(head+`,"to":"0x`+strings.Repeat("g", 40)+`"}`, "/to: ")
	f(head+`,"input":"0x123"}`, "/input: odd number")
	f(head+`,"value":"0x1`+strings.Repeat("0", 64)+`"}`, "/value: quantity above 32 bytes")
	f(head+`,"gas":"0x1`+strings.Repeat("0", 16)+`"}`, "/gas: quantity above 64 bits")
	f(head+`,"gas":-1}`, "/gas: want a quantity")
	f(head+`,"gas":1.5}`, "/gas: want a quantity")
	f(head+`,"gas":"0xz"}`, "/gas: ")
	f(head+`,"gas":"0x1","gas":"0x2"}`, "duplicate")
	f(head+`,"calls":[null]}`, "frame: missing")
	f(head+`,"calls":[`+head+`,"calls":[`+head+`,"calls":[`+head+`}]}]}]}`, trace.ErrDepth.Error())
	f(head+`,"logs":[{}]}`, "/logs/0: address: missing")
	f(head+`,"logs":[{"topics":["0x00"]}]}`, "/logs/0/topics/0: want 64 hex digits")
	five := strings.Repeat(`,"0x`+strings.Repeat("0", 64)+`"`, 5)[1:]
	f(head+`,"logs":[{"topics":[`+five+`]}]}`, "more than 4 topics")
}

func TestParseCallTracerAccepts(t *testing.T) {
	f := func(more string, check func(*trace.Frame) bool) {
		t.Helper()
		// Where a body is cut differs from read to read and must not matter.
		in := `{"from":"` + addr(1) + `"` + more + `}`
		tree, err := trace.ParseCallTracer(jsontext.NewDecoder(iotest.OneByteReader(strings.NewReader(in))), trace.Limits{})
		if err != nil || !check(tree.Root) {
			t.Errorf("%s: %v", more, err)
		}
	}
	f(`,"type":"Call","to":null,"error":null,"revertReason":null,"calls":null,"logs":null`, func(f *trace.Frame) bool {
		return f.Kind == trace.Call && !f.HasTo && f.Status == trace.OK && f.Input == nil
	})
	f(`,"type":"SUICIDE","gas":21000,"gasUsed":"17","value":"0x","input":"0x","beforeEVMTransfers":[{"to":[]}]`, func(f *trace.Frame) bool {
		return f.Kind == trace.SelfDestruct && f.Gas == 21000 && f.GasUsed == 17 && f.Input != nil
	})
	f(`,"type":"NEARCALL","revertReason":"no"`, func(f *trace.Frame) bool {
		return f.Kind == trace.Unknown && f.Kind.String() == "UNKNOWN" && f.Status == trace.Failed && f.Err == "execution reverted"
	})
	f(`,"\u0074ype":"CREATE2","error":"`+strings.Repeat("é", 5000)+`"`, func(f *trace.Frame) bool {
		return f.Kind == trace.Create2 && f.Err == strings.Repeat("é", 2048)
	})
	f(`,"type":"CALL","value":"0x`+strings.Repeat("f", 64)+`"`, func(f *trace.Frame) bool {
		return f.Value.Hex() == "0x"+strings.Repeat("f", 64)
	})
}

// A body that breaks off is told apart from one that is wrong.
func TestParseCallTracerTransportError(t *testing.T) {
	lost := errors.New("connection lost")
	in := io.MultiReader(strings.NewReader(`{"type":"CALL","from":`), iotest.ErrReader(lost))
	if _, err := trace.ParseCallTracer(jsontext.NewDecoder(in), trace.Limits{}); !errors.Is(err, lost) {
		t.Errorf("%v", err)
	}
}

// What a contract reverted with may be no text at all; the result must still be.
func TestRawOfHostileWords(t *testing.T) {
	tree := &trace.Tree{Root: &trace.Frame{Err: "a\xff\"", RevertReason: "\xed\xa0\x80"}}
	tree.Finish()
	b, err := json.Marshal(tree.Raw())
	if err != nil || !strings.Contains(string(b), `"error":"a\ufffd\""`) && !strings.Contains(string(b), "\"error\":\"a\uFFFD\\\"\"") {
		t.Errorf("%s, %v", b, err)
	}
	if (&trace.Tree{}).Raw() != nil {
		t.Error("raw trace of an empty tree")
	}
}
