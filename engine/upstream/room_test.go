package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/meter"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// TestRoom: a large answer asks for memory while it is read, and ends without it; a small one
// does not ask.
func TestRoom(t *testing.T) {
	input := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"type":"CALL","from":"0x0000000000000000000000000000000000000001","to":"0x0000000000000000000000000000000000000002","gas":"0x1","gasUsed":"0x1","input":"0x` + input + `"}}`))
	}))
	defer srv.Close()
	ch, _ := chain.ByID(1)
	f := func(bytes int, refuse error, asks int) {
		t.Helper()
		input = strings.Repeat("00", bytes/2)
		c, err := New(Config{Endpoints: map[uint64][]string{1: {srv.URL}}, RPCOnly: true, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		asked, last := 0, int64(0)
		s := c.Session(&meter.Meter{Room: func(_ context.Context, n int64) error {
			if asked++; n <= last {
				t.Errorf("%d bytes after %d", n, last)
			}
			last = n
			return refuse
		}}, nil)
		_, err = s.DebugTrace(t.Context(), ch, common.Hash{1}, trace.Limits{})
		if refuse == nil && err != nil || refuse != nil && kindOf(err) != KindNoMemory {
			t.Errorf("%d bytes: %v", bytes, err)
		}
		if asked != asks {
			t.Errorf("%d bytes: asked %d times, want %d", bytes, asked, asks)
		}
	}
	full := errors.New("full")
	f(1<<10, nil, 0)
	f(1<<20, nil, 4)
	f(1<<20, full, 1)
}
