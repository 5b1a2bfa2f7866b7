package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/actors/sale"
	"txlens/engine/api"
)

const pageHash = "0x1df81f86e2f373abe72e672f1a23615419b073bc61a89c01181f7f7d8092f8ad"

// browser is a client that follows no redirect.
func browser(t *testing.T) *http.Client {
	c := client(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// TestFindTx: whatever names a transaction leads to its page, and anything else to a page
// that says what to enter.
func TestFindTx(t *testing.T) {
	_, url := start(t, Config{}, well)
	f := func(text string, status int, want string) {
		t.Helper()
		a := do(t, browser(t), "GET", url+"/tx?hash="+text, "", nil)
		if got := a.header.Get("Location") + a.body; a.status != status || !strings.Contains(got, want) {
			t.Errorf("%s: %d %.300s, want %d with %q", text, a.status, got, status, want)
		}
	}
	f(pageHash, 303, "tx/"+pageHash)
	f(strings.ToUpper(pageHash[2:]), 303, "tx/"+pageHash)
	f("https://etherscan.io/tx/"+pageHash, 303, "tx/ethereum-mainnet/"+pageHash)
	f("", 400, "Enter the hash")
	f("0x12", 400, "Enter the hash")
	f("%3Cscript%3E", 400, "Enter the hash")
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url+"/tx?hash="+pageHash, nil)
	req.Header.Set("Accept", "application/json")
	resp, err := browser(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if a := (answer{status: resp.StatusCode, body: string(body)}); a.status != 200 || a.body != `{"txHash":"`+pageHash+`","page":"tx/`+pageHash+`"}` {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestTxPage: the report of a transaction stands at an address of its own, with a policy
// that keeps it from doing anything; errors are pages, too.
func TestTxPage(t *testing.T) {
	var asked api.Request
	fails := error(nil)
	_, url := start(t, Config{}, func(_ context.Context, req api.Request) (*api.Result, error) {
		asked = req
		if fails != nil {
			return nil, fails
		}
		return result(req), nil
	})
	f := func(path string, status int, want string) {
		t.Helper()
		a := do(t, browser(t), "GET", url+path, "", nil)
		if a.status != status || !strings.Contains(a.body, want) || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s %.300s", path, a.status, a.header.Get("Content-Type"), a.body)
		}
		if p := a.header.Get("Content-Security-Policy"); !strings.Contains(p, "default-src 'none'") || status == 200 != strings.Contains(p, "sandbox") {
			t.Errorf("%s: policy %q", path, p)
		}
	}
	f("/tx/"+pageHash, 200, "<!DOCTYPE html>")
	if asked.ChainID != 0 || !asked.Report || asked.TxHash != pageHash {
		t.Errorf("asked %+v", asked)
	}
	f("/tx/10/"+pageHash, 200, "<!DOCTYPE html>")
	if asked.ChainID != 10 {
		t.Errorf("asked %+v", asked)
	}
	f("/tx/base/"+pageHash, 200, "<!DOCTYPE html>")
	if asked.ChainID != 8453 {
		t.Errorf("asked %+v", asked)
	}
	f("/tx/nowhere/"+pageHash, 404, "There is no chain")
	f("/tx/0x12", 404, "must end in the hash")
	fails = api.ErrNotFound
	f("/tx/"+pageHash, 404, "Look up another transaction")
	fails = errors.New("secret")
	f("/tx/"+pageHash, 500, "Internal Server Error")
}

// TestRunPage: a run that ended has a page; a run that did not, or another id, has none.
func TestRunPage(t *testing.T) {
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	_, url := start(t, Config{Runs: runs}, well)
	a := do(t, client(t), "POST", url+"/explain", "application/json", strings.NewReader(`{"txHash":"`+pageHash+`"}`))
	id := a.header.Get("X-Request-Id")
	f := func(path string, status int, want string) {
		t.Helper()
		a := do(t, browser(t), "GET", url+path, "", nil)
		if a.status != status || !strings.Contains(a.body, want) {
			t.Errorf("%s: %d %.300s", path, a.status, a.body)
		}
	}
	f("/run/"+id, 200, "<!DOCTYPE html>")
	f("/run/0190a0b0-0000-7000-8000-000000000000", 404, "Look up another transaction")
	f("/run/x", 404, "Look up another transaction")
}

// TestExamples: they are made once, at the first look, and are linked on the front page.
func TestExamples(t *testing.T) {
	made := 0
	example := Example{Name: "swap", Title: "A swap", Result: func() (*api.Result, error) {
		made++
		return result(api.Request{TxHash: pageHash}), nil
	}}
	_, url := start(t, Config{Examples: []Example{example}}, well)
	if a := do(t, client(t), "GET", url+"/", "", nil); !strings.Contains(a.body, `<a href="examples/swap">A swap</a>`) || made != 0 {
		t.Errorf("made %d: %.200s", made, a.body)
	}
	for range 2 {
		if a := do(t, browser(t), "GET", url+"/examples/swap", "", nil); a.status != 200 || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%d %v", a.status, a.header)
		}
	}
	if a := do(t, browser(t), "GET", url+"/examples/other", "", nil); a.status != 404 || made != 1 {
		t.Errorf("%d, made %d", a.status, made)
	}
}

// TestPagesOfASeller: where analyses are sold the pages lead to the front page, which has no form.
func TestPagesOfASeller(t *testing.T) {
	url := sellWith(t, nil, func(*Config, *sale.Options) {}).url
	for _, path := range []string{"/tx?hash=" + pageHash, "/tx/" + pageHash, "/tx/base/" + pageHash, "/run/0190a0b0-0000-7000-8000-000000000000"} {
		if a := do(t, browser(t), "GET", url+path, "", nil); a.status != 303 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := do(t, client(t), "GET", url+"/", "", nil); strings.Contains(a.body, "<form") || strings.Contains(a.body, "<script") {
		t.Error("the front page of a seller has a form")
	}
}
