package transport

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/transport/discovery"
)

// linkTargets are the addresses in a page, a document or a Link header.
var linkTargets = regexp.MustCompile(`(?:href|src|action)="([^"#][^"]*)"|\]\(([^)]+)\)|<([^>\s]+)>; rel=`)

// plainClient follows no redirect, and does not compare answers with the OpenAPI document, which has
// no paths in a folder.
func plainClient(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// folder is a proxy that serves a server below /lens, as a browser sees it.
type folder struct {
	t    *testing.T
	base string
	to   *url.URL
	web  *http.Client
	seen map[string]bool
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	f := &folder{t: t, web: plainClient(t), seen: map[string]bool{}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/lens/") {
			http.Error(w, "another site", http.StatusTeapot)
			return
		}
		proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(f.to)
			p.Out.URL.Path = strings.TrimPrefix(p.In.URL.Path, "/lens")
			p.Out.Host = p.In.Host
		}}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f.base = s.URL + "/lens"
	return f
}

func (f *folder) config(cfg *Config) {
	base, err := discovery.ParseBaseURL(f.base + "/")
	if err != nil {
		f.t.Fatal(err)
	}
	cfg.BaseURL = base
	cfg.Sample = func() (*api.Result, error) { return result(api.Request{TxHash: pageHash}), nil }
	cfg.Examples = []Example{{Name: "a-swap", Title: "A swap", Result: cfg.Sample}}
}

// follow opens a page and what it links to. Each address of the service must be in the folder, and
// be answered.
func (f *folder) follow(at string, statuses ...int) {
	f.t.Helper()
	if f.seen[at] {
		return
	}
	f.seen[at] = true
	resp, err := f.web.Get(at)
	if err != nil {
		f.t.Error(err)
		return
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	ok := resp.StatusCode == 200
	for _, status := range statuses {
		ok = ok || resp.StatusCode == status
	}
	if !ok {
		f.t.Errorf("%s: %d", at, resp.StatusCode)
		return
	}
	text := strings.Join(resp.Header.Values("Link"), ", ")
	if strings.Contains(resp.Header.Get("Content-Type"), "html") || strings.HasSuffix(at, ".txt") {
		text += string(body)
	}
	if to := resp.Header.Get("Location"); to != "" {
		text += `<a href="` + to + `">`
	}
	for _, m := range linkTargets.FindAllStringSubmatch(text, -1) {
		next, err := resp.Request.URL.Parse(m[1] + m[2] + m[3])
		if err != nil || next.Host != resp.Request.URL.Host {
			continue
		}
		if !strings.HasPrefix(next.Path, "/lens/") {
			f.t.Errorf("%s leads to %s", at, next)
		} else if next.Path != "/lens/tx" { // the form: it wants a hash
			f.follow(next.String())
		}
	}
}

// TestFolder: behind a proxy that serves the service below a folder, every page, document and
// header leads to an address in that folder.
func TestFolder(t *testing.T) {
	const id = "0190a0b0-0000-7000-8000-000000000000"
	free := newFolder(t)
	cfg := Config{Jobs: &fakeJobs{refuse: byRequestContext, jobs: map[string]*api.Job{}}}
	free.config(&cfg)
	_, at := start(t, cfg, well)
	free.to, _ = url.Parse(at)
	free.follow(free.base + "/")
	free.follow(free.base+"/tx?hash="+pageHash, 303)
	free.follow(free.base+"/tx/nowhere/"+pageHash, 404)
	free.follow(free.base+"/tx?hash=1", 400)
	free.follow(free.base+"/run/"+id, 404)
	free.follow(free.base+"/nothing", 404)
	sells := newFolder(t)
	shop := sellWith(t, nil, func(cfg *Config, _ *sale.Options) { sells.config(cfg) })
	sells.to, _ = url.Parse(shop.url)
	sells.follow(sells.base + "/")
	for _, path := range []string{"/tx?hash=" + pageHash, "/tx/" + pageHash, "/tx/base/" + pageHash, "/run/" + id} {
		sells.follow(sells.base+path, 303)
	}
	for _, f := range []*folder{free, sells} {
		for _, path := range []string{"/SKILL.md", "/openapi.json", "/tool-spec.json", "/llms.txt", "/llms-full.txt", "/sample.html", "/examples/a-swap"} {
			if !f.seen[f.base+path] {
				t.Errorf("nothing leads to %s", path)
			}
		}
	}
	a := do(t, free.web, "POST", free.base+"/explain/async", "application/json", strings.NewReader(`{"txHash":"`+pageHash+`"}`))
	if to := a.header.Get("Location"); a.status != 202 || !strings.HasPrefix(to, "/lens/result/") {
		t.Errorf("job: %d at %q, %s", a.status, to, a.body)
	}
}

// TestHiddenSeparators: a path with a coded slash or dot leads nowhere, because a proxy before the
// server takes it for another path. Other coded characters are the same path.
func TestHiddenSeparators(t *testing.T) {
	cfg := Config{Sample: func() (*api.Result, error) { return result(api.Request{TxHash: pageHash}), nil }}
	_, url := start(t, cfg, well)
	web := plainClient(t)
	f := func(path string, status int) {
		t.Helper()
		if a := do(t, web, "GET", url+path, "", nil); a.status != status {
			t.Errorf("%s: %d %.100s, want %d", path, a.status, a.body, status)
		}
	}
	f("/health", 200)
	f("/%68ealth", 200)
	f("/health?of=%2f%2e", 200)
	f("/%2fhealth", 404)
	f("/x%2F..%2fhealth", 404)
	f("/x/%2e%2e/health", 404)
	f("/x/.%2E/health", 404)
	f("/x%5c..%5Chealth", 404)
	f("/%2e/health", 404)
	f("/sample%2ehtml", 404)
	for _, path := range []string{"/tx/a%5Cb", "/run/%5c", "/examples/%2e"} { // of a route whose 404 is a page
		if a := do(t, web, "GET", url+path, "", nil); a.status != 404 || !strings.Contains(a.body, "no such path") {
			t.Errorf("%s: %d %.100s", path, a.status, a.body)
		}
	}
	f("/tx%2f"+pageHash, 404)
	f("/%252fhealth", 404)
}
