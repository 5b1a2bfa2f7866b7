package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"txlens/engine/api"
	"txlens/transport/discovery"
)

// TestLocalServer: on loopback no page of another site starts an analysis or reads an answer,
// and a name that points there by DNS rebinding is not answered. Clients that are no browsers
// send no Sec-Fetch headers.
func TestLocalServer(t *testing.T) {
	var ran atomic.Int64
	base, err := discovery.ParseBaseURL("https://txlens.example/api")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	serve(t, Config{BaseURL: base}, func(ctx context.Context, r api.Request) (*api.Result, error) {
		ran.Add(1)
		return well(ctx, r)
	}, ln)
	at := strings.TrimPrefix(url, "http://")
	hash := "0x" + strings.Repeat("ab", 32)
	page, form := "GET /tx/"+hash, "GET /tx?hash="+hash
	const explain, health = "POST /explain", "GET /health"
	plain := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	f := func(request, host string, want int, runs int64, headers ...string) {
		t.Helper()
		method, path, _ := strings.Cut(request, " ")
		var body io.Reader
		if method == "POST" {
			body = strings.NewReader(`{"txHash":"` + hash + `"}`)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		before := ran.Load()
		// No checked client: the description of the interface is not about these answers.
		resp, err := plain.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		io.Copy(io.Discard, resp.Body)
		if got := ran.Load() - before; resp.StatusCode != want || got != runs {
			t.Errorf("%s, Host %q, %q: %d and %d analyses; want %d and %d", request, host, headers, resp.StatusCode, got, want, runs)
		}
		local := host != "txlens.example" && len(headers) > 0
		if cors := resp.Header.Get("Access-Control-Allow-Origin"); local && cors != "" || !local && cors != "*" {
			t.Errorf("%s, Host %q, %q: Access-Control-Allow-Origin %q", request, host, headers, cors)
		}
		if local && resp.Header.Get("Access-Control-Expose-Headers") != "" {
			t.Errorf("%s, Host %q, %q: headers are exposed", request, host, headers)
		}
	}
	const site, mode, origin = "Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"

	f(page, at, 200, 1) // curl
	f(explain, at, 200, 1)
	f(page, at, 200, 1, site, "none", mode, "navigate") // typed
	f(page, at, 200, 1, site, "same-origin", mode, "navigate")
	f(page, at, 200, 1, site, "same-origin", mode, "cors")
	f(explain, at, 200, 1, site, "same-origin", mode, "cors", origin, url)
	f(explain, at, 200, 1, origin, url)
	f(explain, at, 200, 1, site, "same-origin", origin, "https://behind-a-proxy.example")
	for _, other := range []string{"cross-site", "same-site", "something-new"} {
		f(page, at, 403, 0, site, other, mode, "no-cors")
		f(page, at, 403, 0, site, other, mode, "navigate")
		f(form, at, 403, 0, site, other, mode, "navigate")
		f(explain, at, 403, 0, site, other, mode, "cors", origin, "https://evil.example")
		f(explain, at, 403, 0, site, other, mode, "navigate", origin, "https://evil.example")
		f("POST /explain/async", at, 403, 0, site, other, mode, "cors")
		f("POST /mcp", at, 403, 0, site, other, mode, "cors", origin, "https://evil.example")
		f("OPTIONS /explain", at, 403, 0, site, other, mode, "cors", origin, "https://evil.example")
		f(health, at, 403, 0, site, other, mode, "cors", origin, "https://evil.example")
		f("GET /", at, 200, 0, site, other, mode, "navigate") // a link to the front page
	}
	f(page, at, 403, 0, site, "none", mode, "no-cors")
	f(explain, at, 403, 0, origin, "https://evil.example")
	f(explain, at, 403, 0, origin, "null")
	f(explain, at, 403, 0, origin, "http://127.0.0.1:1")
	f("POST /mcp", at, 403, 0, origin, "https://evil.example")

	f(health, "localhost:8402", 200, 0)
	f(health, "[::1]:8402", 200, 0)
	f(health, "127.8.9.1", 200, 0)
	f(health, "txlens.example", 200, 0, site, "cross-site", mode, "cors", origin, "https://shop.example")
	f(explain, "txlens.example", 200, 1, site, "cross-site", mode, "cors", origin, "https://shop.example")
	for _, rebound := range []string{"evil.example", "evil.example:8402", "127.0.0.1.evil.example", "localhost.evil.example", "x.localhost", "0.0.0.0:8402", "txlens.example:8402"} {
		f(explain, rebound, 403, 0)
		f(explain, rebound, 403, 0, site, "same-origin", mode, "cors", origin, "http://"+rebound)
		f(health, rebound, 403, 0)
	}
}

func TestLoopbackHost(t *testing.T) {
	f := func(want bool, hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			if got := loopbackHost([]byte(host)); got != want {
				t.Errorf("%q: %v", host, got)
			}
		}
	}
	f(true, "localhost", "localhost:", "localhost:80", "127.0.0.1", "127.0.0.1:8080", "127.9.8.7", "[127.0.0.1]", "[::1]", "[::1]:80", "::1", "0:0:0:0:0:0:0:1",
		"[0::1]:8080", "[::ffff:127.0.0.1]")
	f(false, "", ":80", "localhost.example", "localhostx", "localhost:1:2", "localhost:[80]", "Localhost", "example", "example:80", "128.0.0.1", "10.0.0.1:80", "0.0.0.0", "[::]",
		"[::2]:80", "127.0.0.1.example", "1.example", "0x7f.1", "127.1", "2130706433", "[localhost]")
}
