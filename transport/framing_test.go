package transport

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// BenchmarkWellFramed is what the check costs each request.
func BenchmarkWellFramed(b *testing.B) {
	var h fasthttp.RequestHeader
	head := "GET /health HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Header: a value of some length\r\n", 15) + "\r\n"
	if err := h.Read(bufio.NewReader(strings.NewReader(head))); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !wellFramed(&h) {
			b.Fatal("refused")
		}
	}
}

// TestFraming: where a proxy in front might see another end of the request, the
// request is refused, or the connection closed before what follows is read as one.
func TestFraming(t *testing.T) {
	_, url := start(t, Config{ReadTimeout: 300 * time.Millisecond, IdleTimeout: 300 * time.Millisecond}, well)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(goodBody), goodBody)
	length := fmt.Sprint(len(goodBody))
	f := func(head, body string) {
		t.Helper()
		got := raw(t, url, "POST /explain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+head+"\r\n\r\n"+body+"GET /health HTTP/1.1\r\nHost: smuggled\r\n\r\n")
		if n := strings.Count(got, "HTTP/1.1 "); n != 1 || !strings.Contains(got, "Connection: close") {
			t.Errorf("%q: %d answers: %q", head, n, got)
		}
	}
	f("Content-Length: 4\r\nTransfer-Encoding: chunked", chunked)
	f("Transfer-Encoding: chunked\r\nContent-Length: 4", chunked)
	f("Content-Length: 2\r\nContent-Length: "+length, goodBody)
	f("Content-Length: "+length+"\r\nTransfer-Encoding: xchunked", goodBody)
	f("Content-Length: "+length+"\r\nTransfer-Encoding : chunked", goodBody)
	f("Content-Length: "+length+"\r\nTransfer-Encoding: identity", goodBody)
	f("Content-Length: +"+length, goodBody)
	f("Content-Length: -1", goodBody)
	f("Content-Length: "+length+"\r\nHost: y", goodBody)

	// A bare LF ends no line.
	f("X: y\nContent-Length: "+length, goodBody)
	f("Content-Length: "+length+"\nX: y", goodBody)
	f("Content-Length: "+length+"\r\nX: y\n z", goodBody)
	f("Content-Length: "+length+"\r\nX: y\r\n\n", goodBody)
	f("Content-Length: 0\r\n\nGET /health HTTP/1.1\r\nHost: inner", "")
	f("Transfer-Encoding: chunked", strings.TrimSuffix(chunked, "\r\n")+"X: y\nZ: z\r\n\r\n")
	f("Transfer-Encoding: chunked", strings.TrimSuffix(chunked, "\r\n")+"X: y\r\n\n")
	f("Transfer-Encoding: chunked", strings.TrimSuffix(chunked, "\r\n")+"X: y\r\n\r\n")
	f("Transfer-Encoding: chunked", strings.Replace(chunked, "\r\n", "\n", 1))
}
