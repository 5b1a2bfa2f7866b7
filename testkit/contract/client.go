package contract

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
)

// RoundTripper checks what passes through it, and changes nothing. An answer is
// checked when it was read to its end or closed; a stream that its reader leaves is
// not.
type RoundTripper struct {
	Base     http.RoundTripper // nil: http.DefaultTransport
	Document *Document
	Report   func(error) // of every fault; may be called from several goroutines
	Only     string      // host and port of the server; empty: all
}

// RoundTrip sends the request on.
func (r *RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	base := r.Base
	if base == nil {
		base = http.DefaultTransport
	}
	resp, err := base.RoundTrip(req)
	if err != nil || r.Only != "" && r.Only != req.URL.Host {
		return resp, err
	}
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	resp.Body = &readBody{ReadCloser: resp.Body, stream: stream, end: func(body []byte) {
		if err := r.Document.Check(Answer{req.Method, req.URL.EscapedPath(), resp.StatusCode, resp.Header, body}); err != nil {
			r.Report(err)
		}
	}}
	return resp, nil
}

// readBody keeps what was read, and tells it once at the end. A body may be closed while
// another goroutine reads it.
type readBody struct {
	io.ReadCloser
	stream bool

	mu   sync.Mutex
	seen bytes.Buffer
	end  func([]byte)
}

func (b *readBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.Write(p[:n])
	if err == io.EOF && b.end != nil {
		b.end(b.seen.Bytes())
		b.end = nil
	}
	return n, err
}

// Close reads first what its reader did not want.
func (b *readBody) Close() error {
	if !b.stream {
		io.Copy(io.Discard, b)
	}
	return b.ReadCloser.Close()
}
