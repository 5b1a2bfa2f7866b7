package main

import (
	"context"
	stdjson "encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"txlens/testkit/service"
)

// TestServe starts the command, asks it over HTTP and stops it as a signal would.
func TestServe(t *testing.T) {
	w := service.NewWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log service.LogBuffer
	ended := make(chan int, 1)
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--grace", "5s", "--data", t.TempDir()}, service.RPCFlags(w.Flags)...)
	go func() { ended <- run(ctx, args, console{in: strings.NewReader(""), out: io.Discard, err: &log}) }()
	var base string
	for end := time.Now().Add(2 * time.Minute); base == "" && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if m := service.ListeningAt.FindStringSubmatch(log.String()); m != nil {
			base = "http://" + m[1]
		}
	}
	if base == "" {
		t.Fatalf("it does not serve: %s", log.String())
	}
	f := func(method, path, body string, wantStatus int, wantBody string) {
		t.Helper()
		req, err := http.NewRequest(method, base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != wantStatus || !strings.Contains(string(got), wantBody) {
			t.Errorf("%s %s: %d %.300s; want %d %q", method, path, resp.StatusCode, got, wantStatus, wantBody)
		}
		if !strings.Contains(resp.Header.Get("Content-Type"), "html") && !stdjson.Valid(got) {
			t.Errorf("%s %s: not JSON: %.200s", method, path, got)
		}
		if resp.Header.Get("X-Service-Version") != "1" || resp.Header.Get("X-Service-Cost-Model") != "mpp-x402" {
			t.Errorf("%s %s: headers %v", method, path, resp.Header)
		}
		links := strings.Join(resp.Header.Values("Link"), ", ")
		for _, doc := range []string{"</SKILL.md>", "</openapi.json>", "</tool-spec.json>"} {
			if !strings.Contains(links, doc) {
				t.Errorf("%s %s: Link %q lacks %s", method, path, links, doc)
			}
		}
	}
	f("GET", "/health", "", 200, `"status":"ok"`)
	f("POST", "/explain", `{"txHash":"`+w.Tx.Hash+`"}`, 200, `"analysisModel":"rules"`)
	f("POST", "/explain", `{"txHash":"`+w.Tx.Hash+`","chainId":1,"report":true}`, 200, `<!`)
	f("POST", "/explain", `{"txHash":"0x12"}`, 400, `txHash`)
	f("POST", "/explain", `{"txHash":"`+w.Tx.Hash+`","chainId":"1"}`, 400, `chainId`)
	f("POST", "/explain", `{"txHash":"`+w.Tx.Hash+`","chainId":"ethereum-mainnet"}`, 200, `"chain":"ethereum-mainnet"`)
	f("POST", "/explain", `{"txHash":"`+w.Tx.Hash+`","chainId":987654321}`, 400, `chainId: chain is not supported`)
	f("POST", "/explain", `{"txHash":"`+service.NoHash+`"}`, 404, `not found`)
	f("POST", "/explain", `{"txHash":"`+strings.Repeat("x", 70_000)+`"}`, 413, `error`)
	f("GET", "/nowhere", "", 404, `error`)
	cancel()
	select {
	case code := <-ended:
		if code != 0 {
			t.Errorf("exit %d: %s", code, log.String())
		}
	case <-time.After(15 * time.Second):
		t.Fatal("it does not stop")
	}
}
