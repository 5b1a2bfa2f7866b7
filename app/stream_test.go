package app_test

import (
	"context"
	stdjson "encoding/json"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/testkit/service"
	"txlens/transport"
)

// streamed asks a server on the stub world for a stream, and gives its frames.
func streamed(t *testing.T, base, body string) (frames []map[string]any) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "POST", base+"/explain", strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%v, %v: %.300s", err, resp.Header, all)
	}
	for event := range strings.SplitSeq(strings.TrimSuffix(string(all), "\n\n"), "\n\n") {
		var f map[string]any
		if err := stdjson.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &f); err != nil {
			t.Fatalf("%v: %.300s", err, event)
		}
		if f["requestId"] != resp.Header.Get("X-Request-Id") {
			t.Errorf("requestId %v", f["requestId"])
		}
		frames = append(frames, f)
	}
	return frames
}

// serveStub runs the public server alone over a World.
func serveStub(t *testing.T, a *app.Analyst) (base string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := transport.New(transport.Config{Explainer: a})
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ln) }()
	t.Cleanup(func() { srv.Shutdown(context.Background()); <-ended })
	return "http://" + ln.Addr().String()
}

// TestStream: the frames of a whole analysis, in order, each call of the world with
// its end, and the costs of the calls add up to those of the result.
func TestStream(t *testing.T) {
	w := service.NewWorld(t)
	a, err := settings.NewAnalyst(w.Flags)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	base := serveStub(t, a)
	got := streamed(t, base, `{"txHash":"`+w.Tx.Hash+`"}`)
	var order []string
	open := map[any]int{}
	results := 0
	for _, f := range got {
		kind := f["type"].(string)
		if !slices.Contains(order, kind) {
			order = append(order, kind)
		}
		switch kind {
		case string(api.EventToolCall):
			open[f["tool"]]++
		case string(api.EventToolResult):
			results++
			if open[f["tool"]]--; open[f["tool"]] < 0 {
				t.Errorf("%v ended before it began", f["tool"])
			}
		}
	}
	if want := "preflight_start preflight_status tool_call tool_result preflight_done complete result"; strings.Join(order, " ") != want {
		t.Errorf("order %q", order)
	}
	end := got[len(got)-1]
	if calls := end["toolCalls"].([]any); len(calls) != results || results < 4 {
		t.Errorf("%d results told, %d in the result", results, len(calls))
	}
	if end["analysisModel"] != "rules" || end["txHash"] != w.Tx.Hash {
		t.Errorf("%v %v", end["analysisModel"], end["txHash"])
	}
	got = streamed(t, base, `{"txHash":"`+w.Tx.Hash+`","chainId":1,"report":true}`)
	if html, _ := got[len(got)-1]["html"].(string); got[len(got)-1]["type"] != "report" || !strings.HasPrefix(html, "<!") {
		t.Errorf("report %.100q", html)
	}
	got = streamed(t, base, `{"txHash":"`+service.NoHash+`"}`)
	if end := got[len(got)-1]; end["type"] != "error" || end["code"] != "transaction_not_found" {
		t.Errorf("%v", end)
	}
}
