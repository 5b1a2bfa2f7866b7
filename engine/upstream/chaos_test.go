package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/internal/dice"
	"txlens/testkit/fixture"
	"txlens/testkit/size"
	"txlens/testkit/stubnode"
)

// chaosSecondsEnv makes TestChaos go on for so many seconds.
const chaosSecondsEnv = "TXLENS_CHAOS_SECONDS"

// chaos is a proxy before a node that answers one call in ten with a fault: a row of the table,
// or one of the forms that have no code.
type chaos struct {
	node http.Handler
	rows []upstream.FaultRow

	mu       sync.Mutex
	rnd      *rand.Rand
	calls    int
	injected map[string]int
}

// forms are faults that are no JSON-RPC error: what the proxy writes, by name.
var forms = map[string]func(w http.ResponseWriter, id string){
	"429":  func(w http.ResponseWriter, _ string) { http.Error(w, "slow down", http.StatusTooManyRequests) },
	"503":  func(w http.ResponseWriter, _ string) { http.Error(w, "busy", http.StatusServiceUnavailable) },
	"page": func(w http.ResponseWriter, _ string) { io.WriteString(w, "<html>bad gateway</html>") },
	"null": func(w http.ResponseWriter, id string) {
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+id+`,"result":null}`)
	},
	"bare": func(w http.ResponseWriter, _ string) {
		io.WriteString(w, `{"code":-32005,"message":"Too Many Requests"}`)
	},
	"other id": func(w http.ResponseWriter, _ string) {
		io.WriteString(w, `{"jsonrpc":"2.0","id":987654,"error":{"code":-32005,"message":"limit exceeded"}}`)
	},
	"reset": func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
	"cut": func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Length", "999")
		io.WriteString(w, `{"jsonrpc":"2.0","id":`+id)
	},
}

// ServeHTTP implements http.Handler.
func (c *chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var q struct {
		ID     json.Number
		Method string
	}
	json.Unmarshal(body, &q) // a batch leaves both empty
	c.mu.Lock()
	c.calls++
	var write func(http.ResponseWriter, string)
	if c.rnd.IntN(10) == 0 {
		names := make([]string, 0, len(forms))
		for name := range forms {
			names = append(names, name)
		}
		slices.Sort(names)
		n := c.rnd.IntN(len(names) + len(c.rows))
		if n < len(names) {
			write = forms[names[n]]
			c.injected[names[n]]++
		} else {
			row := c.rows[n-len(names)]
			write = func(w http.ResponseWriter, id string) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, row.Code, row.Text)
			}
			c.injected[string(row.Kind)]++
		}
	}
	c.mu.Unlock()
	if write != nil {
		id := q.ID.String()
		if id == "" {
			id = "null"
		}
		write(w, id)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c.node.ServeHTTP(w, r)
}

// explainAt analyses a transaction by the rules alone, at these endpoints.
func explainAt(t *testing.T, chainID uint64, hash string, urls ...string) (*api.Result, error) {
	t.Helper()
	client, err := upstream.New(upstream.Config{RPCOnly: true, SourcesOff: true, Backoff: time.Millisecond,
		MaxRetryAfter: time.Millisecond, BreakerFaults: 1000, Endpoints: map[uint64][]string{chainID: urls}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := analysis.New(analysis.Options{SourcesOff: true})
	defer e.Close()
	m := &meter.Meter{}
	return e.Explain(context.Background(), analysis.Input{World: client.Session(m, nil), Meter: m,
		Request: api.Request{TxHash: hash, ChainID: chainID}})
}

// said is what a result says, without what faults may change beside it: costs, times, notes.
func said(r *api.Result) string {
	text, _ := json.Marshal([]any{r.Status, r.TxType, r.SubType, r.Protocol, r.Summary, r.Steps, r.Risks, r.BalanceChanges, r.TokenTransfers})
	return string(text)
}

// TestChaos: nodes that answer one call in ten with a fault, each row of the table among them,
// lead to no wrong result: it says what the undisturbed one says, or that it is partial, or what
// it lacks.
func TestChaos(t *testing.T) {
	rnd := dice.New(t)
	end := time.Now()
	if text := os.Getenv(chaosSecondsEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q is no number of seconds", chaosSecondsEnv, text)
		}
		end = end.Add(time.Duration(n) * time.Second)
	}
	counts := map[string]int{}
	injected, calls := map[string]int{}, 0
	blocks := fixture.Blocks(t)
	for first := true; first || time.Now().Before(end); first = false {
		for range size.Of(20, 60) {
			b := blocks[rnd.IntN(len(blocks))]
			outcome, proxies := disturb(t, rnd, b, b.Txs[rnd.IntN(len(b.Txs))].Hash)
			if outcome != "" {
				counts[outcome]++
			}
			for _, p := range proxies {
				calls += p.calls
				for kind, n := range p.injected {
					injected[kind] += n
				}
			}
		}
	}
	t.Logf("%v; %d calls, faults %v", counts, calls, injected)
	if counts["equal"] == 0 || len(injected) == 0 {
		t.Errorf("nothing was shown: %v, %v", counts, injected)
	}
}

// disturb explains a transaction of a block once at a quiet node and once through one or two
// proxies, and closes them. A wrong result is an error of the test.
func disturb(t *testing.T, rnd *rand.Rand, b fixture.Block, hash string) (outcome string, proxies []*chaos) {
	t.Helper()
	node := stubnode.New([]fixture.Block{b}, stubnode.Options{ChainID: b.ChainID})
	quiet := httptest.NewServer(node)
	defer quiet.Close()
	want, err := explainAt(t, b.ChainID, hash, quiet.URL)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for i := range 1 + rnd.IntN(2) {
		p := &chaos{node: node, rows: upstream.FaultRows(), rnd: rand.New(rand.NewPCG(rnd.Uint64(), uint64(i))), injected: map[string]int{}}
		s := httptest.NewServer(p)
		defer s.Close()
		urls, proxies = append(urls, s.URL), append(proxies, p)
	}
	got, err := explainAt(t, b.ChainID, hash, urls...)
	if outcome = judge(got, err, want); outcome == "" {
		t.Errorf("%s on %d is told wrong\ngot  %s\nwant %s\nnotes %q", hash, b.ChainID, got.Summary, want.Summary, got.Provenance.Notes)
	}
	return outcome, proxies
}

// lack finds the words of the notes that say what a result lacks.
var lack = regexp.MustCompile(`could not (all )?be|were not (compared|answered)`)

// judge says how a disturbed result compares with the undisturbed one; "" if it is wrong.
func judge(got *api.Result, err error, want *api.Result) string {
	switch {
	case err != nil:
		return "error: " + api.FaultOf(err).Code
	case got.Partial():
		if !strings.HasPrefix(got.Summary, "**Partial result") {
			return ""
		}
		return "partial"
	case said(got) == said(want):
		return "equal"
	case got.Provenance.TraceSource != want.Provenance.TraceSource:
		return "another trace"
	case slices.ContainsFunc(got.Provenance.Notes, func(note string) bool {
		return lack.MatchString(note) && !slices.Contains(want.Provenance.Notes, note)
	}):
		return "lacks what its notes name"
	}
	return ""
}
