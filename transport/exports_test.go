package transport

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/engine/export"
)

// TestExports: each format of a finished run has its type, and a page that shows one may
// run nothing.
func TestExports(t *testing.T) {
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	_, url := start(t, Config{Runs: runs}, func(_ context.Context, req api.Request) (*api.Result, error) { return longResult(req), nil })
	c := client(t)
	run := do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(`{"txHash":"`+hash+`","chainId":1}`)).header.Get("X-Request-Id")
	for _, f := range export.Formats() {
		a := do(t, c, "GET", url+"/explain/run/"+run+"/export/"+f.Name(), "", nil)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != f.Media || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") ||
			!strings.Contains(a.header.Get("Content-Disposition"), f.Name()) {
			t.Errorf("%s: %d %v", f.Name(), a.status, a.header)
		}
	}
	calls := do(t, c, "GET", url+"/explain/run/"+run+"/export/calls.csv", "", nil)
	if n := strings.Count(calls.body, "\n"); n != 853 || !strings.Contains(calls.body, "execution reverted") {
		t.Errorf("calls.csv has %d lines: %.200s", n, calls.body)
	}
	f := func(path string, status int, says string) {
		t.Helper()
		if a := do(t, c, "GET", url+"/explain/run/"+path, "", nil); a.status != status || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	f(run+"/export/calls.xls", 400, "format: must be one of transfers.csv, balances.csv")
	f("nonsense/export/calls.csv", 404, "unknown request id")
	f(unknownID+"/export/calls.csv", 404, "no run under this request id")
	f(run+"/export/calls.csv/x", 404, "no such path")
	f(run+"/export/", 404, "no such path")
}
