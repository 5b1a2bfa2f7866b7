package transport

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"txlens/engine/api"
	"txlens/testkit/contract"
	"txlens/transport/callers"
)

// keyed makes callers, one for each line of limits, and returns their keys.
func keyed(t *testing.T, limits ...string) (k *callers.Keys, secrets []string) {
	t.Helper()
	var lines []string
	for i, l := range limits {
		key, hash := callers.NewKey()
		secrets = append(secrets, key)
		lines = append(lines, "caller-"+string(rune('a'+i))+" "+hash+" "+l)
	}
	k, err := callers.Parse(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return k, secrets
}

// sending is a client of a server with keys whose requests have these headers, but for
// empty ones.
func sending(c *http.Client, headers map[string]string) *http.Client {
	checked := *c.Transport.(*contract.RoundTripper)
	checked.Document = keyedDocument()
	return &http.Client{Transport: headerSender{&checked, headers}, Timeout: c.Timeout}
}

var keyedDocument = sync.OnceValue(func() *contract.Document { return documentOfConfig(Config{Keys: new(callers.Keys)}) })

type headerSender struct {
	inner   http.RoundTripper
	headers map[string]string
}

func (h headerSender) RoundTrip(r *http.Request) (*http.Response, error) {
	for name, value := range h.headers {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	return h.inner.RoundTrip(r)
}

// TestKeys: with keys, only the pages and documents are open; a good key opens the rest.
func TestKeys(t *testing.T) {
	k, secrets := keyed(t, "")
	jobs := &fakeJobs{refuse: func(api.Request) error { return nil }, jobs: map[string]*api.Job{}}
	_, url := start(t, Config{Keys: k, Jobs: jobs, Runs: &fakeRuns{frames: map[string][]jsontext.Value{}}},
		func(_ context.Context, req api.Request) (*api.Result, error) { return result(req), nil })
	c := client(t)
	body := `{"txHash":"` + hash + `","chainId":1}`
	f := func(method, path, auth string, want int) {
		t.Helper()
		text := ""
		if method == "POST" {
			text = body
		}
		a := do(t, sending(c, map[string]string{"Authorization": auth}), method, url+path, "application/json", strings.NewReader(text))
		if a.status != want || (want == 401) != (a.header.Get("WWW-Authenticate") != "") || strings.Contains(a.body, "txl_") {
			t.Errorf("%s %s with %q: %d %v %.200s", method, path, auth, a.status, a.header, a.body)
		}
	}
	good := "Bearer " + secrets[0]
	for _, path := range []string{"/", "/health", "/openapi.json", "/SKILL.md", "/llms.txt"} {
		f("GET", path, "", 200)
	}
	for _, auth := range []string{"", "Bearer ", "Bearer wrong", secrets[0], "Basic " + secrets[0], good + "x"} {
		f("POST", "/explain", auth, 401)
		f("POST", "/explain/async", auth, 401)
		f("POST", "/mcp", auth, 401)
		f("GET", "/result/"+jobID, auth, 401)
		f("GET", "/explain/run/"+jobID, auth, 401)
		f("GET", "/explain/run/"+jobID+"/calls", auth, 401)
		f("GET", "/explain/run/"+jobID+"/export/calls.csv", auth, 401)
	}
	f("POST", "/explain", good, 200)
	f("POST", "/explain/async", good, 202)
	f("GET", "/result/"+unknownID, good, 404)
	f("OPTIONS", "/explain", "", 204)
}

// TestKeyLimits: the rate and the places of one key are its own, and who has none left is
// told when to ask again.
func TestKeyLimits(t *testing.T) {
	k, secrets := keyed(t, "per-minute=1 at-once=9", "per-minute=60 at-once=1", "")
	release := make(chan struct{})
	began := make(chan struct{}, 9)
	_, url := start(t, Config{Keys: k}, func(_ context.Context, req api.Request) (*api.Result, error) {
		if req.Context == "wait" {
			began <- struct{}{}
			<-release
		}
		return result(req), nil
	})
	c := client(t)
	f := func(caller int, context, accept string, want int) {
		t.Helper()
		body := `{"txHash":"` + hash + `","chainId":1,"context":"` + context + `"}`
		headers := map[string]string{"Authorization": "Bearer " + secrets[caller], "Accept": accept}
		a := do(t, sending(c, headers), "POST", url+"/explain", "application/json", strings.NewReader(body))
		if a.status != want || (want == 429) != (a.header.Get("Retry-After") != "") {
			t.Errorf("caller %d: %d %v %.200s", caller, a.status, a.header, a.body)
		}
	}
	f(0, "", "*/*", 200)
	f(0, "", "*/*", 429)
	f(2, "", "*/*", 200)

	for _, accept := range []string{"*/*", "text/event-stream"} {
		ended := make(chan struct{})
		go func() { f(1, "wait", accept, 200); close(ended) }()
		<-began
		f(1, "", "*/*", 429)
		f(2, "", "*/*", 200)
		release <- struct{}{}
		<-ended
		until(t, "the place is free", func() bool {
			leave, ok := k.Find([]byte(secrets[1])).Enter(1)
			if ok {
				leave()
			}
			return ok
		})
		f(1, "", "*/*", 200)
	}
	close(release)
}

// TestKeyLimitsElsewhere: jobs and tools of the Model Context Protocol count against a key,
// too.
func TestKeyLimitsElsewhere(t *testing.T) {
	k, secrets := keyed(t, "per-minute=1", "per-minute=1", "per-minute=1")
	jobs := &fakeJobs{refuse: func(api.Request) error { return nil }, jobs: map[string]*api.Job{}}
	_, url := start(t, Config{Keys: k, Jobs: jobs}, func(_ context.Context, req api.Request) (*api.Result, error) { return result(req), nil })
	c := client(t)
	body := `{"txHash":"` + hash + `","chainId":1}`
	for _, want := range []int{202, 429} {
		a := do(t, sending(c, map[string]string{"Authorization": "Bearer " + secrets[0]}), "POST", url+"/explain/async", "application/json", strings.NewReader(body))
		if a.status != want {
			t.Errorf("%d %s, want %d", a.status, a.body, want)
		}
	}
	f := func(caller int, args map[string]any) {
		t.Helper()
		tr := &http.Transport{}
		h := &http.Client{Transport: headerSender{tr, map[string]string{"Authorization": "Bearer " + secrets[caller]}}}
		end := &sdk.StreamableClientTransport{Endpoint: url + "/mcp", HTTPClient: h, MaxRetries: -1}
		s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), end, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close(); tr.CloseIdleConnections() })
		for _, want := range []bool{false, true} {
			if _, text, failed := use(t, s, "explain_transaction", args); failed != want {
				t.Errorf("%v: failed %v: %s", args, failed, text)
			}
		}
	}
	f(1, map[string]any{"txHash": hash, "chain": "1"})
	f(2, map[string]any{"txHash": hash, "chain": "1", "background": true})
}
