package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"txlens/engine/api"
	"txlens/engine/mpp/tempo"
)

// freeServer answers what a server that sells nothing answers.
func freeServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for _, name := range []string{"Authorization", "Payment-Session"} {
			if req.Header.Get(name) != "" {
				t.Errorf("%s: %s", name, req.Header.Get(name))
			}
		}
		switch req.URL.Path {
		case pathExplain:
			w.Header().Set("Content-Type", eventStream)
			io.WriteString(w, `data: {"type":"result","requestId":"`+jobID+`","txHash":"`+hash+`"}`+"\n\n")
		case "/explain/async":
			w.WriteHeader(202)
			io.WriteString(w, `{"jobId":"`+jobID+`"}`)
		case "/result/" + jobID:
			io.WriteString(w, `{"jobId":"`+jobID+`","status":"complete","result":{"txHash":"`+hash+`"}}`)
		case "/explain/run/" + jobID:
			io.WriteString(w, `{"requestId":"`+jobID+`","finishedAt":1,"frames":[{"type":"result","txHash":"`+hash+`"}]}`)
		default:
			w.WriteHeader(404)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// keyless has what a client without a key can be asked for.
func keyless(c *Client) map[string]func() (*Answer, error) {
	ctx := context.Background()
	return map[string]func() (*Answer, error){
		"stream":   func() (*Answer, error) { return c.Explain(ctx, request, nil) },
		"job":      func() (*Answer, error) { return c.ExplainJob(ctx, request, 0, nil) },
		"poll":     func() (*Answer, error) { return c.Job(ctx, jobID, 0, func(api.JobStatus) {}) },
		"recovery": func() (*Answer, error) { return c.Recover(ctx, jobID) },
	}
}

// TestWithoutKey: a server that asks for no payment needs neither key nor folder; one that asks
// for it gets nothing, and the error says what is missing. Nothing is written.
func TestWithoutKey(t *testing.T) {
	free := must(New(Options{Server: freeServer(t).URL}))
	defer free.Close()
	for name, get := range keyless(free) {
		if a, err := get(); err != nil || a.Result.TxHash != hash || !a.Charged.IsZero() || !a.Signed.IsZero() {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	r := newRogue(t)
	sells := must(New(Options{Server: r.web.URL}))
	defer sells.Close()
	for name, get := range keyless(sells) {
		if a, err := get(); a != nil || !errors.Is(err, ErrNoKey) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	ctx := context.Background()
	f := func(name string, err, target error) {
		t.Helper()
		if !errors.Is(err, target) {
			t.Errorf("%s: %v, want %v", name, err, target)
		}
	}
	f("open", second(sells.Open(ctx)), ErrNoKey)
	f("top up", second(sells.TopUp(ctx, tempo.AmountFrom(1))), ErrNoChannel)
	f("close", second(sells.CloseChannel(ctx)), ErrNoChannel)
	f("request close", second(sells.RequestClose(ctx)), ErrNoChannel)
	f("withdraw", second(sells.Withdraw(ctx)), ErrNoChannel)
	f("refresh", second(sells.Refresh(ctx)), nil)
	if len(r.payloads) != 0 || len(sells.Channels()) != 0 {
		t.Error("something was signed")
	}
}

// TestPlainAddress: only a client that pays needs https.
func TestPlainAddress(t *testing.T) {
	f := func(text string, free, paid bool) {
		t.Helper()
		if _, err := baseURL(text, false); (err == nil) != free {
			t.Errorf("%s, free: %v", text, err)
		}
		if _, err := baseURL(text, true); (err == nil) != paid {
			t.Errorf("%s, paid: %v", text, err)
		}
	}
	f("http://192.168.1.7:8402", true, false)
	f("http://txlens:8402/base/", true, false)
	f("http://127.0.0.1:8402", true, true)
	f("https://example.org", true, true)
	f("ftp://example.org", false, false)
	f("http://user:word@txlens", false, false)
}
