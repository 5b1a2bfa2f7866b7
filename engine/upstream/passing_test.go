package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// TestFaultRows: every row says who answers so and where that is published, and decides for
// its own text or code; no earlier row takes it.
func TestFaultRows(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range faultRows {
		if r.by == "" || r.source == "" || r.text != strings.ToLower(r.text) || r.text == "" && r.code == 0 {
			t.Errorf("incomplete row %+v", r)
		}
		if key := fmt.Sprint(r.code, " ", r.text); seen[key] {
			t.Errorf("two rows for %s", key)
		} else {
			seen[key] = true
		}
		if got := classify("eth_getBalance", &rpcFault{code: r.code, message: r.text}); got != r.kind {
			t.Errorf("%d %q: %s, the row says %s", r.code, r.text, got, r.kind)
		}
	}
}

// once answers the first call of a method with exactly these bytes, in which ID stands for the
// id of the request, and all others as node does.
func once(t *testing.T, node http.Handler, method, first string) string {
	t.Helper()
	var mu sync.Mutex
	done := false
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var q struct {
			ID     json.Number
			Method string
		}
		mu.Lock()
		hit := !done && json.Unmarshal(body, &q) == nil && q.Method == method
		done = done || hit
		mu.Unlock()
		if hit {
			io.WriteString(w, strings.ReplaceAll(first, "ID", q.ID.String()))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		node.ServeHTTP(w, r)
	})
}

// TestPassingFaults: a fault that passes is asked again of the only endpoint, in whatever form
// it comes, also while the chain is searched. An answer in a wrong envelope is not believed
// when it says that something does not exist.
func TestPassingFaults(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(first string, want Kind) {
		t.Helper()
		node, _ := newNode(t, stubnode.Options{})
		c := newClient(t, quick(once(t, node, methodReceipt, first)))
		if _, err := c.Session(nil, nil).Receipt(background(t), ch, hashA); kindOf(err) != want {
			t.Errorf("%s: receipt: %v, want %q", first, err, want)
		}
		if want != "" {
			return
		}
		c = newClient(t, quick(once(t, node, methodTransaction, first)))
		if found, err := c.Session(nil, nil).Probe(background(t), []*chain.Chain{ch}, hashA); err != nil || found.Chain != ch {
			t.Errorf("%s: search: %v", first, err)
		}
	}
	f(`{"code":-32005,"message":"Too Many Requests","data":{"see":"https://infura.io/dashboard"}}`, "")
	f(`{"message":"API rate limit exceeded"}`, "")
	f(`{"error":{"code":-32005,"message":"limit exceeded"},"id":null}`, "")
	f(`{"id":1,"error":{"code":-32005,"message":"limit exceeded"}}`, "")
	f(`{"jsonrpc":"1.0","id":ID,"error":{"code":-32603,"message":"Internal error"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"1 upstream not synced"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32011,"message":"no backends available for method"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":19,"message":"Temporary internal error. Please retry"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"request failed or timed out"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":30,"message":"Request timeout on the free tier"}}`, "")
	f(`{"jsonrpc":"2.0","id":ID,"error":"Too many requests"}`, "")
	f("\r\n <html><body>502 Bad Gateway</body></html>", "")
	f(`<?xml version="1.0"?><Error><Code>SlowDown</Code></Error>`, "")

	f(`{"code":-32000,"message":"transaction not found"}`, KindGarbage)
	f(`{"jsonrpc":"2.0","id":987654,"error":{"code":-32000,"message":"transaction not found"}}`, KindGarbage)
	f(`{"code":0,"message":"hello"}`, KindGarbage)
	f(`{"message":"limit exceeded","result":{}}`, KindGarbage)
	f(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"invalid argument 0"}}`, KindRejected)
}

// TestSearchRetriesTheLast: while the chain is searched, a fault of one of two endpoints is
// made good by the other, and only the last one is asked again.
func TestSearchRetriesTheLast(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(first, second stubnode.Fault, wantFirst, wantSecond int, want Kind) {
		t.Helper()
		a, aURL := newNode(t, stubnode.Options{})
		b, bURL := newNode(t, stubnode.Options{})
		a.SetFault(methodTransaction, first)
		b.SetFault(methodTransaction, second)
		got := newClient(t, quick(aURL, bURL)).probeChain(background(t), ch, hashA)
		if (got.tx == nil) != (want != "") || got.err != nil && got.err.Kind != want {
			t.Errorf("%v, want %q", got.err, want)
		}
		if n, m := a.Calls(methodTransaction), b.Calls(methodTransaction); n != wantFirst || m != wantSecond {
			t.Errorf("asked %d and %d times, want %d and %d", n, m, wantFirst, wantSecond)
		}
	}
	busy, once := stubnode.Fault{Status: 503}, stubnode.Fault{Status: 503, Times: 1}
	f(busy, stubnode.Fault{}, 1, 1, "")
	f(busy, once, 1, 2, "")
	f(busy, busy, 1, 3, KindServer)
	f(stubnode.Fault{Error: &stubnode.RPCError{Code: -32000, Message: "transaction not found"}}, busy, 1, 1, KindNotFound)
}

// TestNullOnce: what exists is asked for again when a node knows of none, first at the next
// endpoint; a hash may be of nothing.
func TestNullOnce(t *testing.T) {
	ch := mustChain(t, 1)
	null := stubnode.Fault{Error: &stubnode.RPCError{Code: -32000, Message: "transaction not found"}, Times: 1}
	f := func(method string, calls int, ask func(*Session) error) {
		t.Helper()
		node, url := newNode(t, stubnode.Options{})
		node.SetFault(method, null)
		err := ask(newClient(t, quick(url)).Session(nil, nil))
		if n := node.Calls(method); n != calls || (err == nil) != (calls > 1) {
			t.Errorf("%s: asked %d times, want %d; %v", method, n, calls, err)
		}
		node.SetFault(method, null)
		second, otherURL := newNode(t, stubnode.Options{})
		if err := ask(newClient(t, quick(url, otherURL)).Session(nil, nil)); err != nil {
			t.Errorf("%s: with another endpoint: %v", method, err)
		}
		if n, m := node.Calls(method)-calls, second.Calls(method); n != 1 || m != 1 {
			t.Errorf("%s: asked %d and %d times, want 1 each", method, n, m)
		}
	}
	f(methodReceipt, 2, func(s *Session) error {
		_, err := s.Receipt(background(t), ch, hashA)
		return err
	})
	f(methodBlock, 2, func(s *Session) error {
		_, err := s.Block(background(t), ch, blockNumber, false)
		return err
	})
	f(methodDebugTrace, 2, func(s *Session) error {
		_, err := s.DebugTrace(background(t), ch, hashA, trace.Limits{})
		return err
	})
	f(methodTransaction, 1, func(s *Session) error {
		_, err := s.Transaction(background(t), ch, hashA)
		return err
	})

	node, _ := newNode(t, stubnode.Options{})
	c := newClient(t, quick(once(t, node, methodReceipt, `{"jsonrpc":"2.0","id":ID,"result":null}`)))
	if _, err := c.Session(nil, nil).Receipt(background(t), ch, hashA); err != nil {
		t.Errorf("a receipt that was null once: %v", err)
	}
}

// TestKeptConnectionIsClosed: a node that closes each kept connection when the next request
// arrives answers every request.
func TestKeptConnectionIsClosed(t *testing.T) {
	node, _ := newNode(t, stubnode.Options{})
	var mu sync.Mutex
	answered := map[string]int{}
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := answered[r.RemoteAddr]
		answered[r.RemoteAddr]++
		mu.Unlock()
		if n > 0 {
			panic(http.ErrAbortHandler)
		}
		node.ServeHTTP(w, r)
	})
	cfg := quick(url)
	cfg.Retries = -1
	c := newClient(t, cfg)
	for i := range 6 {
		if _, err := c.Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA); err != nil {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
	if len(answered) != 6 {
		t.Errorf("%d connections, want 6", len(answered))
	}
}

// TestContentEncoding: the name of a coding may be written in any case.
func TestContentEncoding(t *testing.T) {
	node, _ := newNode(t, stubnode.Options{})
	f := func(name string, want Kind) {
		t.Helper()
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("Accept-Encoding")
			plain := &bufferedResponse{header: http.Header{}}
			node.ServeHTTP(plain, r)
			w.Header().Set("Content-Encoding", name)
			if strings.EqualFold(name, "identity") {
				w.Write(plain.Bytes())
				return
			}
			zw := gzip.NewWriter(w)
			zw.Write(plain.Bytes())
			zw.Close()
		})
		_, err := newClient(t, quick(url)).Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA)
		if kindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("gzip", "")
	f("GZip", "")
	f("X-GZIP", "")
	f("Identity", "")
	f("br", KindGarbage)
}

// bufferedResponse keeps the body of an answer.
type bufferedResponse struct {
	bytes.Buffer
	header http.Header
}

func (b *bufferedResponse) Header() http.Header { return b.header }
func (b *bufferedResponse) WriteHeader(int)     {}

// withReceipt is a node whose receipt has a bloom filter of one log, and has the log or not.
func withReceipt(t *testing.T, holds func(call int) bool) (*stubnode.Node, string) {
	t.Helper()
	var bloom types.Bloom
	bloom.Add(token[:])
	bloom.Add(hashB[:])
	b := block(1, hashA)
	text := strings.Replace(string(b.Txs[0].Receipt), `"logs":[]`, `"logsBloom":"0x`+common.Bytes2Hex(bloom[:])+`","logs":LOGS`, 1)
	n := stubnode.New([]fixture.Block{b}, stubnode.Options{})
	calls := 0
	n.Handle(methodReceipt, func([]rawMessage) (rawMessage, error) {
		calls++
		logs := `[]`
		if holds(calls) {
			logs = `[{"address":"` + hexAddress(token) + `","topics":["` + hashB.Hex() + `"],"data":"0x","logIndex":"0x0"}]`
		}
		return rawMessage(strings.Replace(text, "LOGS", logs, 1)), nil
	})
	return n, n.Start(t)
}

// TestReceiptLacksLogs: a receipt without the logs that its bloom filter announces counts only
// where no endpoint has a whole one.
func TestReceiptLacksLogs(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(name string, wantLogs int, wantCalls []int, holds ...func(call int) bool) {
		t.Helper()
		var nodes []*stubnode.Node
		var urls []string
		for _, h := range holds {
			n, url := withReceipt(t, h)
			nodes, urls = append(nodes, n), append(urls, url)
		}
		s := newClient(t, quick(urls...)).Session(nil, nil)
		rc, err := s.Receipt(background(t), ch, hashA)
		if err != nil || len(rc.Logs) != wantLogs || rc.LacksLogs() != (wantLogs == 0) {
			t.Errorf("%s: %+v, %v", name, rc, err)
			return
		}
		var calls []int
		for _, n := range nodes {
			calls = append(calls, n.Calls(methodReceipt))
		}
		if !slices.Equal(calls, wantCalls) {
			t.Errorf("%s: asked %v times, want %v", name, calls, wantCalls)
		}
	}
	always, never := func(int) bool { return true }, func(int) bool { return false }
	f("whole", 1, []int{1}, always)
	f("at the second", 1, []int{1, 1}, never, always)
	f("when asked again", 1, []int{2}, func(call int) bool { return call > 1 })
	f("nowhere", 0, []int{1, 3}, never, never)

	n, url := withReceipt(t, func(call int) bool { return call > 1 })
	s := newClient(t, quick(url)).Session(nil, nil)
	if err := s.Warm(context.Background(), ch, AskReceipt(hashA), AskBlock(blockNumber, false)); err != nil {
		t.Fatal(err)
	}
	if rc, err := s.Receipt(background(t), ch, hashA); err != nil || len(rc.Logs) != 1 || n.Calls(methodReceipt) != 2 {
		t.Errorf("from a batch: %+v, %v", rc, err)
	}
}

// members stands for a batch whose members are all refused.
const members = "members"

// refuseEach answers each request of a batch with a limit.
func refuseEach(list []rawMessage) string {
	var answers []string
	for _, raw := range list {
		var q struct{ ID json.Number }
		json.Unmarshal(raw, &q) // the id is a number: it was written by the client
		answers = append(answers, `{"jsonrpc":"2.0","id":`+q.ID.String()+`,"error":{"code":-32005,"message":"limit exceeded"}}`)
	}
	return "[" + strings.Join(answers, ",") + "]"
}

// TestBatchSizeAdapts: a batch that is too much for a moment is sent in smaller ones, and
// batches grow again.
func TestBatchSizeAdapts(t *testing.T) {
	ch := mustChain(t, 1)
	var asks []Ask
	for i := range 40 {
		asks = append(asks, AskBalance(alice, uint64(i)))
	}
	f := func(name string, refuse func(batch int) string, sizes []int, singles int) {
		t.Helper()
		node, _ := newNode(t, stubnode.Options{})
		node.Handle("eth_getBalance", func([]rawMessage) (rawMessage, error) { return rawMessage(`"0x10"`), nil })
		var mu sync.Mutex
		var got []int
		alone, batches := 0, 0
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			var list []rawMessage
			refusal := ""
			mu.Lock()
			if json.Unmarshal(body, &list) == nil {
				got = append(got, len(list))
				batches++
				refusal = refuse(batches)
			} else {
				alone++
			}
			mu.Unlock()
			if refusal == members {
				refusal = refuseEach(list)
			}
			if refusal != "" {
				io.WriteString(w, refusal)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			node.ServeHTTP(w, r)
		})
		s := newClient(t, quick(url)).Session(nil, nil)
		for some := range slices.Chunk(asks, maxBatch) {
			if err := s.Warm(background(t), ch, some...); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 40 {
			if b, err := s.Balance(background(t), ch, alice, uint64(i)); err != nil || b.Int64() != 16 {
				t.Errorf("%s: balance %d: %v, %v", name, i, b, err)
			}
		}
		if !slices.Equal(got, sizes) || alone != singles {
			t.Errorf("%s: batches of %v and %d alone, want %v and %d", name, got, alone, sizes, singles)
		}
	}
	limited := `{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"limit exceeded"}}`
	f("never", func(int) string { return "" }, []int{10, 10, 10, 10}, 0)
	f("once", func(batch int) string {
		if batch == 1 {
			return limited
		}
		return ""
	}, []int{10, 5, 5, 10, 10, 10}, 0)
	f("bare", func(batch int) string {
		if batch < 3 {
			return `{"code":-32005,"message":"Too Many Requests"}`
		}
		return ""
	}, []int{10, 5, 2, 4, 4, 10, 10, 10}, 0)
	f("each member", func(batch int) string {
		if batch == 1 {
			return members
		}
		return ""
	}, []int{10, 5, 5, 10, 10, 10}, 0)
	f("for a while", func(batch int) string {
		if batch < 5 {
			return limited
		}
		return ""
	}, []int{10, 5, 2, 2, 2, 4, 4, 10}, 20)
	f("for ever", func(int) string { return limited }, []int{10, 5, 2, 2, 2, 2}, 40)
	f("another form", func(int) string {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"invalid request"}}`
	}, []int{10}, 40)
}
