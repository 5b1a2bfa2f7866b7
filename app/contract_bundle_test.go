package app_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"

	"txlens/app/settings"
	"txlens/engine/upstream"
	"txlens/testkit/service"
)

// recordedServer is a whole server on a node that answers what a bundle holds,
// and that it has no state where it holds nothing.
func recordedServer(t *testing.T, file string) (h *testServer, hash string) {
	t.Helper()
	b, err := upstream.ReadBundle(file)
	if err != nil {
		t.Fatal(err)
	}
	answers := answersOf(t, file)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			ID     stdjson.RawMessage `json:"id"`
			Method string             `json:"method"`
			Params stdjson.RawMessage `json:"params"`
		}
		if err := stdjson.NewDecoder(r.Body).Decode(&q); err != nil { // a batch
			http.Error(w, "no batches", http.StatusBadRequest)
			return
		}
		params := string(q.Params)
		if len(params) > 256 { // as keys of bundles have them
			sum := sha256.Sum256(q.Params)
			params = "sha256:" + hex.EncodeToString(sum[:])
		}
		w.Header().Set("Content-Type", "application/json")
		if result, ok := answers[fmt.Sprintf("rpc|%d|%s %s", b.Meta.ChainID, q.Method, params)]; ok {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"historical state is not available"}}`, q.ID)
	}))
	t.Cleanup(node.Close)
	w := &service.World{Flags: settings.Evidence{RPC: []string{fmt.Sprintf("%d=%s", b.Meta.ChainID, node.URL)}, RPCOnly: true, Sources: "off"}}
	return &testServer{t: t, base: service.Start(t, w, "--admin-listen", "off", "--sources", "off")}, b.Meta.TxHash
}

// answersOf reads the results of a bundle: a line that names the format, and then, under
// zstd, each head with its length before it and its result behind it.
func answersOf(t *testing.T, file string) map[string][]byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, []byte{0x28, 0xb5, 0x2f, 0xfd}) // where zstd begins
	zr, err := zstd.NewReader(bytes.NewReader(raw[max(at, 0):]))
	if err != nil {
		t.Fatal(err)
	}
	defer zr.Close()
	in := bufio.NewReader(zr)
	head := func() (h struct {
		Key  string
		Size int64
	}, more bool) {
		n, err := binary.ReadUvarint(in)
		if err != nil || n == 0 {
			return h, false
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			t.Fatal(err)
		}
		if err := stdjson.Unmarshal(text, &h); err != nil {
			t.Fatal(err)
		}
		return h, true
	}
	head() // of the bundle itself
	out := map[string][]byte{}
	for {
		h, more := head()
		if !more {
			return out
		}
		result := make([]byte, h.Size)
		if _, err := io.ReadFull(in, result); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			out[h.Key] = result
		}
	}
}
