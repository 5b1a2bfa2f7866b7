package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/transport/wire"
)

// events reads a stream as a browser does: lines end at LF, CR or CRLF, a blank
// one ends an event, data lines are joined by LF. Other fields are told by their
// name alone: the server sends none.
func events(body string) (data []string, fields []string) {
	var open []string
	body = strings.ReplaceAll(strings.ReplaceAll(body, "\r\n", "\n"), "\r", "\n")
	for _, line := range strings.SplitAfter(body, "\n") {
		if !strings.HasSuffix(line, "\n") {
			if line != "" {
				fields = append(fields, "unfinished "+line)
			}
			continue
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && open != nil:
			data, open = append(data, strings.Join(open, "\n")), nil
		case line == "":
		case name == "data":
			open = append(open, strings.TrimPrefix(value, " "))
		default:
			fields = append(fields, name)
		}
	}
	if open != nil {
		fields = append(fields, "an event without end")
	}
	return data, fields
}

// split writes payload through a dataWriter in pieces of n bytes.
func split(payload string, n int) string {
	var out bytes.Buffer
	out.WriteString("data: ")
	d := &dataWriter{w: &out}
	for len(payload) > 0 {
		k := min(n, len(payload))
		if m, err := d.Write([]byte(payload[:k])); m != k || err != nil {
			return fmt.Sprint("wrote ", m, " of ", k, err)
		}
		payload = payload[k:]
	}
	return out.String() + "\n\n"
}

func TestDataWriter(t *testing.T) {
	f := func(payload, want string) {
		t.Helper()
		for n := 1; n <= len(payload)+1; n++ {
			if got := split(payload, n); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", payload, n, got, want)
			}
		}
	}
	f("plain", "data: plain\n\n")
	f("a\nb", "data: a\ndata: b\n\n")
	f("a\rb", "data: a\ndata: b\n\n")
	f("a\r\nb", "data: a\ndata: b\n\n")
	f("a\n\rb", "data: a\ndata: \ndata: b\n\n")
	f("a\n\nevent: x\r\r\ndata: y", "data: a\ndata: \ndata: event: x\ndata: \ndata: data: y\n\n")
	f("\r", "data: \ndata: \n\n")
	f("\n", "data: \ndata: \n\n")
	f("a\u2028b\u2029c\u0085d", "data: a\u2028b\u2029c\u0085d\n\n")
}

// FuzzDataWriter: whatever the payload, it arrives as one event and unchanged but
// for the form of its line ends.
func FuzzDataWriter(f *testing.F) {
	for _, s := range []string{"", "a\r\nb", "\r\n\r\n", "data: x\n\nevent: result\rid: 7\n\n", ":\n"} {
		f.Add(s, uint8(1))
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, payload string, n uint8) {
		got, fields := events(split(payload, int(n)+1))
		want := strings.ReplaceAll(strings.ReplaceAll(payload, "\r\n", "\n"), "\r", "\n")
		if len(got) != 1 || got[0] != want || len(fields) > 0 {
			t.Errorf("%q arrives as %q, fields %q", payload, got, fields)
		}
	})
}

const forged = "x\n\ndata: {\"type\":\"error\"}\n\nevent: result\rdata: {}\r\rid: 1\r\n\r\n\u2028\u2029\x00\x1b[2J\"}\n\n\xff\xed\xa0\x80"

// TestForgedEvents: no text in any member makes an event, or a line, of its own.
func TestForgedEvents(t *testing.T) {
	f := func(v any, members int) {
		t.Helper()
		var out bytes.Buffer
		if err := writeFrame(&out, v); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 2 || strings.Contains(out.String(), "\r") {
			t.Errorf("%d line ends in %q", n, out.String())
		}
		data, fields := events(out.String())
		if len(data) != 1 || len(fields) != 0 {
			t.Fatalf("%d events, fields %q", len(data), fields)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(data[0]), &got); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(data[0], `x\n\ndata: {\"type`); n != members {
			t.Errorf("%d of %d texts arrive in %s", n, members, data[0])
		}
	}
	f(api.Event{Type: api.EventAgentText, RequestID: "1", Text: forged, Message: forged, Tool: forged, Failed: []string{forged}}, 4)
	f(api.Event{Type: forged, Skill: forged, Chain: forged}, 3)
	f(wire.ReportFrame{Type: api.EventReport, RequestID: "1", HTML: forged}, 1)
	res := &api.Result{
		Summary: forged, Steps: []string{forged, forged}, Risks: []string{forged}, Protocol: new(string), MermaidDiagram: forged,
		Addresses: []api.Address{{Label: forged, Role: forged}}, Contracts: []api.Contract{{Name: forged, Description: forged}},
		TokenTransfers: []api.TokenTransfer{{TokenName: forged, TokenSymbol: forged}},
		PrettyTrace:    []api.Node{{FunctionName: forged, Error: forged, DecodedArgs: []api.Arg{{Name: forged, Type: forged, Value: forged}}}},
		ToolCalls:      []api.ToolCall{{Tool: forged}},
	}
	*res.Protocol = forged
	f(wire.ResultFrame{Type: api.EventResult, RequestID: "1", Result: res}, 18)
}

// TestResultFrame: type and requestId stand first, and the rest is the result.
func TestResultFrame(t *testing.T) {
	var out bytes.Buffer
	res := result(api.Request{TxHash: hash})
	if err := writeFrame(&out, wire.ResultFrame{Type: api.EventResult, RequestID: "id", Result: res}); err != nil {
		t.Fatal(err)
	}
	if want := `data: {"type":"result","requestId":"id","txHash":"` + hash; !strings.HasPrefix(out.String(), want) {
		t.Errorf("%.200s", out.String())
	}
	plain, err := json.Marshal(map[string]any{"summary": res.Summary})
	if err != nil || !strings.Contains(out.String(), string(plain[1:len(plain)-1])) {
		t.Errorf("%s", out.String())
	}
}

// TestLargeResultIsNotCopied: a result of 40 MB goes out in pieces, with far less
// memory than its bytes.
func TestLargeResultIsNotCopied(t *testing.T) {
	res := &api.Result{Summary: "large"}
	input := make(api.Hex, 1000)
	for i := range 20000 {
		res.PrettyTrace = append(res.PrettyTrace, api.Node{Index: i, Input: input})
	}
	st, there := bareStream(t, 1<<20)
	read := make(chan int64, 1)
	go func() { n, _ := io.Copy(io.Discard, there); read <- n }()
	st.end(wire.ResultFrame{Type: api.EventResult, RequestID: "id", Result: res})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	st.serve(false)
	n := <-read
	runtime.ReadMemStats(&after)
	took := int64(after.TotalAlloc - before.TotalAlloc)
	t.Logf("%d bytes out, %d allocated", n, took)
	if n < 40_000_000 || took > n/4 {
		t.Errorf("%d bytes out, %d allocated", n, took)
	}
}

// TestHeartbeatFrame: what is written by hand is what the encoder would write.
func TestHeartbeatFrame(t *testing.T) {
	st, _ := bareStream(t, 1<<10)
	st.heartbeat()
	var want bytes.Buffer
	if err := writeFrame(&want, api.Event{Type: api.EventHeartbeat, RequestID: st.id}); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := st.take(); string(got) != want.String() {
		t.Errorf("%q, want %q", got, want.String())
	}
}

// TestEncodedFrame: JSON that was encoded before is the same event as if it were encoded now.
func TestEncodedFrame(t *testing.T) {
	f := func(doc string) {
		t.Helper()
		var want bytes.Buffer
		if err := writeFrame(&want, jsontext.Value(doc)); err != nil {
			t.Fatal(err)
		}
		if got, err := encodedFrame(jsontext.Value(doc)); err != nil || string(got) != want.String() {
			t.Errorf("%q, %v; want %q", got, err, want.String())
		}
	}
	f(`{}`)
	f(`{"type":"result","a":"\n <é> \u0001"}`)
	f("{\"a\":\n1}")
	f("{\"a\":\r1}")
}

// TestPageOfAnswer: the page of a report is read from its frame, however that is written.
func TestPageOfAnswer(t *testing.T) {
	f := func(frame, want string, wantErr bool) {
		t.Helper()
		got, err := pageOf(job.Answer{Kept: job.Kept{Run: "r"}, Frame: jsontext.Value(frame)})
		if string(got) != want || (err != nil) != wantErr {
			t.Errorf("%s: %q, %v", frame, got, err)
		}
	}
	f(`{"type":"report","requestId":"r","html":"<p class=\"a\">\u00e9\n</p>"}`, "<p class=\"a\">é\n</p>", false)
	f(`{"type":"report","requestId":"r","html":"a","more":"b"}`, "a", false)
	f(`{"html":"a","type":"report","requestId":"r"}`, "a", false)
	f(`{"type":"report","requestId":"other","html":"a"}`, "a", false)
	f(`{"type":"report","requestId":"r","html":"a`, "", true)
}
