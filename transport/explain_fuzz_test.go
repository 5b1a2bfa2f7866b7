package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"
)

// FuzzExplainBody: any body of POST /explain is answered with valid JSON and 200, 400 or 413.
func FuzzExplainBody(f *testing.F) {
	for _, s := range []string{goodBody, `{}`, `[`, `{"txHash":1}`, "\xff", `{"txHash":"` + hash + `","txHash":"x"}`} {
		f.Add([]byte(s))
	}
	ln := fasthttputil.NewInmemoryListener()
	s := New(Config{Explainer: &fake{well}})
	go s.Serve(ln)
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return ln.Dial() }}
	f.Cleanup(func() { tr.CloseIdleConnections(); s.Shutdown(context.Background()) })
	f.Fuzz(func(t *testing.T, body []byte) {
		got := do(t, &http.Client{Transport: conforming(t, tr)}, "POST", "http://memory/explain", "application/json", bytes.NewReader(body))
		if got.status != 200 && got.status != 400 && got.status != 413 || !json.Valid([]byte(got.body)) {
			t.Errorf("%d %s", got.status, got.body)
		}
	})
}
