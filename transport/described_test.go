package transport

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"txlens/testkit/contract"
	"txlens/transport/discovery"
)

// described is what the service says of itself: every answer that this suite
// receives is held to it.
var described = sync.OnceValue(func() *contract.Document { return documentOfConfig(Config{}) })

// documentOfConfig is what a server of the configuration says of itself.
func documentOfConfig(c Config) *contract.Document {
	set, err := discovery.New(c.withDefaults().described())
	if err != nil {
		panic(err)
	}
	base, _ := discovery.ParseBaseURL("http://127.0.0.1")
	file, _ := set.At("/openapi.json", base)
	doc, err := contract.Load(file.Body)
	if err != nil {
		panic(err)
	}
	return doc
}

// conforming checks every answer that passes through tr.
func conforming(t *testing.T, tr http.RoundTripper) http.RoundTripper {
	return &contract.RoundTripper{Base: tr, Document: described(), Report: func(err error) { t.Helper(); t.Error(err) }}
}

var requestLine = regexp.MustCompile(`(?m)^([A-Z]+) (\S+) HTTP/1\.[01]\r?$`)

// conform checks the answers in the bytes that came back for some that were sent.
// What cannot be told to belong to a request is checked as an answer to none.
func conform(t *testing.T, sent, got string) {
	t.Helper()
	requests := requestLine.FindAllStringSubmatch(sent, -1)
	in := bufio.NewReader(strings.NewReader(got))
	for i := 0; ; i++ {
		if _, err := in.Peek(1); err == io.EOF {
			return
		}
		method, path := "POST", "/no-request"
		if i < len(requests) {
			method, path = requests[i][1], requests[i][2]
		}
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			t.Errorf("read answer %d of %.200q: %v", i, got, err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("read body %d of %.200q: %v", i, got, err)
			return
		}
		if err := described().Check(contract.Answer{Method: method, Path: path, Status: resp.StatusCode, Header: resp.Header, Body: body}); err != nil {
			t.Error(err)
		}
	}
}
