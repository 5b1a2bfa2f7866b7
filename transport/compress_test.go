package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"txlens/engine/api"
)

func TestWantedCoding(t *testing.T) {
	f := func(want string, fields ...string) {
		t.Helper()
		var list [][]byte
		for _, s := range fields {
			list = append(list, []byte(s))
		}
		got := "identity"
		if i := wantedCoding(list); i >= 0 {
			got = codings[i].name
		}
		if got != want {
			t.Errorf("%q: %s, want %s", fields, got, want)
		}
	}
	f("identity")
	f("identity", "")
	f("gzip", "gzip")
	f("gzip", "GZIP;q=0.5, deflate")
	f("zstd", "gzip, br, zstd")
	f("br", "gzip", "br")
	f("gzip", "gzip;q=1, br;q=0.8")
	f("identity", "gzip;q=0")
	f("br", "gzip;q=0.1, br; q=0.2")
	f("zstd", "*")
	f("br", "*;q=0.5, zstd;q=0")
	f("identity", "deflate, identity")
	f("identity", "gzip;q=x")
	f("identity", "gzip;q=2")
}

// TestCompression: an answer of more than 1 KiB is compressed as its caller accepts it,
// and reads the same.
func TestCompression(t *testing.T) {
	_, url := start(t, Config{}, func(_ context.Context, req api.Request) (*api.Result, error) { return longResult(req), nil })
	body := `{"txHash":"` + hash + `","chainId":1}`
	ask := func(method, path, accept string) (*http.Response, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept-Encoding", accept)
		resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		doc, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, doc
	}
	resp, plain := ask("POST", "/explain", "identity")
	if resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Vary") != "" {
		t.Errorf("headers %v", resp.Header)
	}
	for coding, decode := range map[string]func([]byte) ([]byte, error){
		"gzip": func(b []byte) ([]byte, error) {
			r, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			return io.ReadAll(r)
		},
		"zstd": func(b []byte) ([]byte, error) {
			r, err := zstd.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(r)
		},
		"br": func(b []byte) ([]byte, error) { return fasthttp.AppendUnbrotliBytes(nil, b) },
	} {
		resp, packed := ask("POST", "/explain", coding)
		got, err := decode(packed)
		if err != nil || !bytes.Equal(got, plain) || resp.Header.Get("Content-Encoding") != coding || len(packed) > len(plain)/4 {
			t.Errorf("%s: %v, %d of %d bytes, headers %v", coding, err, len(packed), len(plain), resp.Header)
		}
	}
	if resp, _ := ask("GET", "/health", "gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Error("a small answer is compressed")
	}
	resp, _ = ask("GET", "/openapi.json", "gzip")
	if tag := resp.Header.Get("ETag"); !strings.HasPrefix(tag, `W/"`) {
		t.Errorf("tag %s", tag)
	}
}
