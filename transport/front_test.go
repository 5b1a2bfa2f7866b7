package transport

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"txlens/engine/api"
	"txlens/transport/discovery"
)

func TestFrontPage(t *testing.T) {
	f := func(cfg Config, want string, never ...string) {
		t.Helper()
		_, url := start(t, cfg, well)
		a := do(t, client(t), "GET", url+"/", "", nil)
		if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.HasPrefix(a.body, "<!DOCTYPE html>") {
			t.Errorf("%d %v", a.status, a.header)
		}
		if want = strings.ReplaceAll(want, "URL", url); !strings.Contains(a.body, want) {
			t.Errorf("it lacks %q", want)
		}
		for _, n := range append(never, "<link", "ZgotmplZ") {
			if strings.Contains(a.body, n) {
				t.Errorf("it has %q", n)
			}
		}
		for _, doc := range []string{"SKILL.md", "openapi.json", "tool-spec.json", "llms.txt", "llms-full.txt"} {
			if !strings.Contains(a.body, `href="`+doc+`"`) {
				t.Errorf("no link to %s", doc)
			}
		}
		// The policy allows the one script of the form by its hash, and none where there is no form.
		wantScript := ""
		if _, rest, ok := strings.Cut(a.body, "<script>"); ok {
			script, _, _ := strings.Cut(rest, "</script>")
			sum := sha256.Sum256([]byte(script))
			wantScript = "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		}
		p := a.header.Get("Content-Security-Policy")
		if !strings.Contains(p, "default-src 'none'") || !strings.HasSuffix(p, wantScript) || strings.Contains(p, "script-src") != (wantScript != "") {
			t.Errorf("policy %q, want %q", p, wantScript)
		}
		if n := strings.Count(a.body, "<script"); n > 1 || n == 0 != cfg.Metered {
			t.Errorf("%d scripts", n)
		}
	}
	own, err := discovery.ParseBaseURL("https://tx.example")
	if err != nil {
		t.Fatal(err)
	}
	sample := func() (*api.Result, error) { return result(api.Request{TxHash: "0xfeed"}), nil }
	f(Config{}, "curl -s URL/explain \\\n", "iframe src", "paid by the cent")
	f(Config{}, "free on this server")
	f(Config{}, "its chain, and says")
	f(Config{Chains: make([]discovery.Chain, 12)}, "its chain among 12 mainnets, and says")
	f(Config{BaseURL: own}, "curl -s https://tx.example/explain", "127.0.0.1")
	f(Config{Sample: sample}, `<iframe src="sample.html"`)
	f(Config{Sample: sample}, `-d '{"txHash":"0xfeed"}'`)
	f(Config{Sample: func() (*api.Result, error) { return nil, errors.New("secret") }}, exampleHash, "iframe src", "secret")
	f(Config{Metered: true}, "times 1.20, plus $0.02", "free on this server", "/explain \\")
}

// TestHostOfTheFrontPage: who asks chooses the Host, and a reader copies it.
func TestHostOfTheFrontPage(t *testing.T) {
	_, url := start(t, Config{}, well)
	f := func(head, want string) {
		t.Helper()
		got := raw(t, url, "GET / HTTP/1.1\r\nConnection: close\r\n"+head+"\r\n\r\n")
		if !strings.Contains(got, "curl -s "+want+"/explain") {
			_, after, _ := strings.Cut(got, "curl -s ")
			t.Errorf("%s: %.100s", head, after)
		}
	}
	f("Host: tx.example", "http://tx.example")
	f("Host: tx.example:8402\r\nX-Forwarded-Proto: https", "https://tx.example:8402")
	f("Host: tx.example\r\nX-Forwarded-Proto: javascript", "http://tx.example")
	f("Host: [2001:db8::1]:80", "http://[2001:db8::1]:80")
	f("Host: x$(id)", url)
	f("Host: x'y", url)
	f("Host: x;reboot", url)
	f("Host: "+strings.Repeat("x", 300), url)
	f("Host: "+strings.Repeat("x", 253)+":80", "http://"+strings.Repeat("x", 253)+":80")
	f("Host: "+strings.Repeat("x", 254), url)
}

// TestSampleReport: it is made once, however many look, and alone it runs in no
// origin.
func TestSampleReport(t *testing.T) {
	var made atomic.Int32
	_, url := start(t, Config{Sample: func() (*api.Result, error) {
		made.Add(1)
		return result(api.Request{TxHash: hash}), nil
	}}, well)
	c := client(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			a := do(t, c, "GET", url+[]string{"/", "/sample.html"}[i%2], "", nil)
			if a.status != 200 || !strings.HasPrefix(a.body, "<!DOCTYPE html>") {
				t.Errorf("%d", a.status)
			}
			if p := a.header.Get("Content-Security-Policy"); i%2 == 1 && (!strings.Contains(p, "sandbox") || !strings.Contains(p, "frame-ancestors 'self'")) {
				t.Errorf("policy %q", p)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
	_, none := start(t, Config{}, well)
	if a := do(t, c, "GET", none+"/sample.html", "", nil); a.status != 404 {
		t.Errorf("without a sample: %d", a.status)
	}
	_, broken := start(t, Config{Sample: func() (*api.Result, error) { return nil, errors.New("secret") }}, well)
	if a := do(t, c, "GET", broken+"/sample.html", "", nil); a.status != 500 || strings.Contains(a.body, "secret") {
		t.Errorf("a broken sample: %d %s", a.status, a.body)
	}
}
