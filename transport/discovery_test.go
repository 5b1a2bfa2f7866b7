package transport

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"txlens/transport/discovery"
)

// get asks with headers, in pairs.
func get(t *testing.T, method, url, host string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	req.Header.Set("Accept-Encoding", "identity") // a compressed document has a weak tag
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: string(body)}
}

// TestDocuments: each has its type, an ETag that saves the second transfer, and HEAD.
func TestDocuments(t *testing.T) {
	b, err := discovery.ParseBaseURL("https://txlens.example")
	if err != nil {
		t.Fatal(err)
	}
	_, url := start(t, Config{BaseURL: b}, well)
	f := func(path, kind, holds string) {
		t.Helper()
		got := get(t, "GET", url+path, "")
		tag := got.header.Get("ETag")
		if got.status != 200 || got.header.Get("Content-Type") != kind || got.header.Get("Cache-Control") != "public, max-age=300" || !strings.Contains(got.body, holds) {
			t.Errorf("%d %v %.200s", got.status, got.header, got.body)
		}
		if len(tag) != 26 || !strings.HasPrefix(tag, `"`) || strings.Contains(got.body, "base.invalid") {
			t.Errorf("%s: ETag %s", path, tag)
		}
		if got := get(t, "HEAD", url+path, ""); got.status != 200 || got.body != "" || got.header.Get("ETag") != tag || got.header.Get("Content-Type") != kind {
			t.Errorf("HEAD: %d %v", got.status, got.header)
		}
		for _, none := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			if got := get(t, "GET", url+path, "", "If-None-Match", none); got.status != 304 || got.body != "" || got.header.Get("ETag") != tag || got.header.Get("Content-Type") != "" {
				t.Errorf("If-None-Match %s: %d %v", none, got.status, got.header)
			}
		}
		if got := get(t, "GET", url+path, "", "If-None-Match", `"other"`, "If-None-Match", tag); got.status != 304 {
			t.Errorf("a second field: %d", got.status)
		}
		for _, some := range []string{`"other"`, strings.Trim(tag, `"`), ""} {
			if got := get(t, "GET", url+path, "", "If-None-Match", some); got.status != 200 || got.body == "" {
				t.Errorf("If-None-Match %s: %d", some, got.status)
			}
		}
		if got := do(t, client(t), "POST", url+path, "application/json", strings.NewReader("{}")); got.status != 405 {
			t.Errorf("POST %s: %d", path, got.status)
		}
	}
	f("/openapi.json", "application/json", `"openapi":"3.1.0"`)
	f("/tool-spec.json", "application/json", `"defaultModel":"model-opus-5"`)
	f("/SKILL.md", "text/markdown; charset=utf-8", "\n## How to pay\n")
	f("/llms.txt", "text/plain; charset=utf-8", "# Txlens\n\n> ")
	f("/llms-full.txt", "text/plain; charset=utf-8", "### ExplanationResult")
}

// TestHostIsNotCached: without a configured base URL documents repeat the Host that
// the client sent, so no cache may give them to another client.
func TestHostIsNotCached(t *testing.T) {
	_, url := start(t, Config{}, well)
	for _, path := range append(discovery.Paths(), "/") {
		for _, method := range []string{"GET", "HEAD"} {
			got := get(t, method, url+path, "evil.example")
			if got.status != 200 || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Vary") != "" {
				t.Errorf("%s %s: %d, Cache-Control %q, Vary %q", method, path, got.status, got.header.Get("Cache-Control"), got.header.Get("Vary"))
			}
			if method == "GET" && !strings.Contains(got.body, "evil.example") {
				t.Errorf("%s does not say where it was asked for", path)
			}
		}
		tag := get(t, "GET", url+path, "evil.example").header.Get("ETag")
		if got := get(t, "GET", url+path, "evil.example", "If-None-Match", tag); tag != "" && (got.status != 304 || got.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %d, Cache-Control %q", path, got.status, got.header.Get("Cache-Control"))
		}
	}
	b, err := discovery.ParseBaseURL("https://txlens.example")
	if err != nil {
		t.Fatal(err)
	}
	_, url = start(t, Config{BaseURL: b}, well)
	for _, path := range append(discovery.Paths(), "/") {
		if got := get(t, "GET", url+path, "evil.example", "X-Forwarded-Host", "evil.example"); strings.Contains(got.body, "evil.example") {
			t.Errorf("%s repeats the Host although the base URL is configured", path)
		}
	}
}

// TestBaseURL: where none is configured, documents say where they were asked for,
// unless the Host is none that could be printed anywhere.
func TestBaseURL(t *testing.T) {
	_, url := start(t, Config{}, well)
	base := func(url, host string) string {
		var spec struct{ BaseURL, SkillURL string }
		got := get(t, "GET", url+"/tool-spec.json", host)
		if err := json.Unmarshal([]byte(got.body), &spec); err != nil || spec.SkillURL != spec.BaseURL+"/SKILL.md" {
			t.Errorf("%v %+v", err, spec)
		}
		return spec.BaseURL
	}
	f := func(host, want string) {
		t.Helper()
		if got := base(url, host); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
	f("", url)
	f("txlens.example", "http://txlens.example")
	f("txlens.example:8402", "http://txlens.example:8402")
	f("[::1]:80", "http://[::1]:80")
	f("x:123456", url)
	for _, host := range []string{`x"><script>evil`, "a)](http://evil", "evil/path", "evil\x00"} {
		got := raw(t, url, "GET /SKILL.md HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n")
		if strings.Contains(got, "evil") || !strings.HasPrefix(got, "HTTP/1.1 400 ") && !strings.Contains(got, "\nService: "+url) {
			t.Errorf("%q: %.300s", host, got)
		}
	}
	if got := raw(t, url, "GET /SKILL.md HTTP/1.0\r\n\r\n"); !strings.Contains(got, "\nService: "+url) {
		t.Errorf("without Host: %.300s", got)
	}
	one, two := get(t, "GET", url+"/SKILL.md", "one.example"), get(t, "GET", url+"/SKILL.md", "two.example")
	if one.header.Get("ETag") == two.header.Get("ETag") {
		t.Error("two documents with one ETag")
	}

	b, err := discovery.ParseBaseURL("https://txlens.example/api/")
	if err != nil {
		t.Fatal(err)
	}
	_, url = start(t, Config{BaseURL: b}, well)
	if got := base(url, "other.example"); got != "https://txlens.example/api" {
		t.Errorf("configured, but %s", got)
	}
}

// TestRoutesAreDescribed: the description has every route, and no other.
func TestRoutesAreDescribed(t *testing.T) {
	_, url := start(t, Config{}, well)
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(get(t, "GET", url+"/openapi.json", "").body), &doc); err != nil {
		t.Fatal(err)
	}
	var described, routed []string
	for path, item := range doc.Paths {
		for method := range item {
			described = append(described, strings.ToUpper(method)+" "+path)
		}
	}
	for path, methods := range routes {
		for method := range methods {
			routed = append(routed, method+" "+path)
		}
	}
	slices.Sort(described)
	slices.Sort(routed)
	if !slices.Equal(described, routed) {
		t.Errorf("described %q\nrouted %q", described, routed)
	}
	for _, path := range discovery.Paths() {
		if routes[path] == nil {
			t.Errorf("no route to %s", path)
		}
	}
}

// TestDeposit: where nothing is charged there is nothing to open.
func TestDeposit(t *testing.T) {
	_, url := start(t, Config{}, well)
	f := func(kind, body string, status int, want string) {
		t.Helper()
		if got := do(t, client(t), "POST", url+"/session/deposit", kind, strings.NewReader(body)); got.status != status || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s, want %d %s", body, got.status, got.body, status, want)
		}
	}
	f("", "", 200, `{"ok":true}`)
	f("application/json", "", 200, `{"ok":true}`)
	f("application/json", " { } ", 200, `{"ok":true}`)
	f("application/json", `{"amount":1}`, 400, "must be empty or {}")
	f("application/json", `{}{}`, 400, "must be empty or {}")
	f("application/json", `[]`, 400, "must be empty or {}")
	f("text/plain", `{}`, 415, "application/json")
}
