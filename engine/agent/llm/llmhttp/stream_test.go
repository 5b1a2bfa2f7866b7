package llmhttp

import (
	"errors"
	"io"
	"strings"
	"testing"

	"txlens/engine/agent/llm"
)

// events reads a stream to its end and words its events.
func events(text string) (string, error) {
	s := NewStream(io.NopCloser(strings.NewReader(text)))
	defer s.Close()
	var b strings.Builder
	for s.Next() {
		e := s.Event()
		b.WriteString(e.Name + "=" + strings.TrimSuffix(string(e.Data), "\n") + ";")
	}
	return b.String(), s.Err()
}

func TestStream(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		if got, err := events(text); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	f("event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", "a=1;b=2;")
	f("event:a\r\ndata:1\r\n\r\ndata:2\r\n\r\n", "a=1;=2;")
	f("data: 1\ndata:  2\n\n", "=1\n 2;")
	f(": comment\n\nid: 3\nretry: 5\nother\ndata: 1\n\n", "=1;")
	f("event: a\n\ndata: 1\n\n", "=1;")
	f("event: a\ndata:\n\ndata: 1\n\n", "=1;")
	f("event: a\nevent: b\ndata: a:b\n\n", "b=a:b;")
	f("data: 1\n\ndata: cut off\n", "=1;")
	f("data: "+strings.Repeat("x", maxEvent-7)+"\n\n", "="+strings.Repeat("x", maxEvent-7)+";")
	f("", "")
}

// TestStreamIsBounded: neither a long line nor many lines make it hold more than one
// event may have.
func TestStreamIsBounded(t *testing.T) {
	f := func(text string) {
		t.Helper()
		_, err := events("data: 1\n\n" + text)
		var fault *llm.Fault
		if !errors.As(err, &fault) || fault.Err != llm.ErrMalformed || fault.Detail != "an event of the stream is too large" {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	f("data: " + strings.Repeat("x", maxEvent) + "\n\n")
	f(strings.Repeat("x", maxEvent+1))
	f(strings.Repeat("data: "+strings.Repeat("x", 1<<16)+"\n", maxEvent>>16) + "\n")
}

// TestLaxMembers: what servers write where a string or an integer should stand.
func TestLaxMembers(t *testing.T) {
	f := func(data string, text Text, count Count) {
		t.Helper()
		v := struct {
			T Text  `json:"t"`
			N Count `json:"n"`
		}{"before", 1}
		if err := Decode([]byte(data), &v); err != nil || v.T != text || v.N != count {
			t.Errorf("%s: %+v, %v", data, v, err)
		}
	}
	f(`{"t":"x","n":7}`, "x", 7)
	f(`{}`, "before", 1)
	f(`{"t":null,"n":null}`, "", 0)
	f(`{"t":["x"],"n":[1]}`, "", 0)
	f(`{"t":{"x":1},"n":{}}`, "", 0)
	f(`{"t":1,"n":true}`, "", 0)
	f(`{"t":"\ud800","t":"y","n":10.0}`, "y", 10)
	f(`{"t":"","n":"12"}`, "", 12)
	f(`{"t":"","n":"NaN"}`, "", 0)
	f(`{"t":"","n":-3}`, "", -3)
	f(`{"t":"","n":9223372036854775808}`, "", 1<<63-1)
	f(`{"t":"","n":1e999}`, "", 1<<63-1)
	f(`{"t":"","n":-1e999}`, "", -1<<63)
	if err := Decode([]byte(`{"n":`), &struct{ N Count }{}); err == nil {
		t.Error("half an object is read")
	}
}

// TestEncodeIsPlain: the text of a request is not escaped for HTML.
func TestEncodeIsPlain(t *testing.T) {
	got, err := Encode(map[string]string{"a": "<&>\xff\u2028"})
	if err != nil || string(got) != "{\"a\":\"<&>\ufffd\u2028\"}" {
		t.Errorf("%s, %v", got, err)
	}
}
