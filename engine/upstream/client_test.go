package upstream

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"txlens/engine/trace"
	"txlens/engine/upstream/stubnode"
)

// TestFaults lets a node fail in every way and holds the outcome, the time and
// the memory. One endpoint, no way out.
func TestFaults(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	f := func(name string, fault stubnode.Fault, want, wantTrace Kind) {
		t.Helper()
		cfg := quick(url)
		cfg.Retries = -1
		s := newClient(t, cfg).Session(nil, nil)
		ch := mustChain(t, 1)
		node.SetFault(stubnode.All, fault)
		defer node.ClearFaults()
		start := time.Now()
		var err, terr error
		peak := peakHeap(func() {
			_, err = s.Receipt(background(t), ch, hashA)
			_, terr = s.DebugTrace(background(t), ch, hashA, trace.Limits{})
		})
		if kindOf(err) != want || kindOf(terr) != wantTrace {
			t.Errorf("%s: receipt %v (want %q), trace %v (want %q)", name, err, want, terr, wantTrace)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if peak > 160<<20 {
			t.Errorf("%s: %d MiB of heap", name, peak>>20)
		}
	}
	f("refuse", stubnode.Fault{Refuse: true}, KindUnreachable, KindUnreachable)
	f("silence", stubnode.Fault{Delay: 5 * time.Second}, KindTimeout, KindTimeout)
	f("drip", stubnode.Fault{Drip: 50 * time.Millisecond}, KindTimeout, KindTimeout)
	f("garbage", stubnode.Fault{Garbage: true}, KindGarbage, KindGarbage)
	f("page", stubnode.Fault{HTML: true}, KindGarbage, KindGarbage)
	f("empty", stubnode.Fault{Empty: true}, KindGarbage, KindGarbage)
	f("wrong id", stubnode.Fault{WrongID: true}, KindGarbage, KindGarbage)
	f("truncated", stubnode.Fault{Truncate: true}, KindUnreachable, KindUnreachable)
	f("not a receipt", stubnode.Fault{Body: `{"jsonrpc":"2.0","id":1,"result":"0x"}`}, KindGarbage, KindGarbage)
	f("500", stubnode.Fault{Status: 500}, KindServer, KindServer)
	f("503 gzip", stubnode.Fault{Status: 503, Gzip: true}, KindServer, KindServer)
	f("429", stubnode.Fault{Status: 429}, KindRateLimited, KindRateLimited)
	f("403", stubnode.Fault{Status: 403}, KindRefused, KindRefused)
	f("403 with words", stubnode.Fault{Status: 403, Error: &stubnode.RPCError{Code: -32053, Message: "method is not whitelisted"}}, KindUnsupported, KindUnsupported)
	f("404", stubnode.Fault{Status: 404}, KindRefused, KindRefused)
	f("no method", stubnode.Fault{Error: &stubnode.RPCError{Code: -32601, Message: "method not found"}}, KindUnsupported, KindUnsupported)
	f("gzip", stubnode.Fault{Gzip: true}, "", "")
}

// TestHugeAnswers streams 300 MB of several things into small and large limits.
func TestHugeAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("streams gigabytes")
	}
	const open = `{"jsonrpc":"2.0","id":1,"result":`
	f := func(name, prefix, unit string, zipped bool, maxTrace int64) {
		t.Helper()
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			var out io.Writer = w
			if zipped {
				w.Header().Set("Content-Encoding", "gzip")
				zw := gzip.NewWriter(w)
				defer zw.Close()
				out = zw
			}
			chunk := []byte(strings.Repeat(unit, 1<<20/len(unit)))
			if _, err := io.WriteString(out, prefix); err != nil {
				return
			}
			for range 300 {
				if _, err := out.Write(chunk); err != nil {
					return
				}
			}
		})
		cfg := quick(url)
		cfg.Retries, cfg.Timeout, cfg.TraceTimeout, cfg.MaxTrace = -1, 20*time.Second, 30*time.Second, maxTrace
		c := newClient(t, cfg)
		if racing {
			c.cfg.MaxAnswer, c.cfg.MaxTrace, c.maxToken = 1<<20, 8<<20, 1<<20
		}
		s := c.Session(nil, NewRecorder())
		start := time.Now()
		var err, terr error
		peak := peakHeap(func() { _, err = s.Block(background(t), mustChain(t, 1), blockNumber, true) })
		if k := kindOf(err); k != KindTooLarge && k != KindGarbage {
			t.Errorf("%s: %v", name, err)
		}
		if peak > 48<<20 {
			t.Errorf("%s: %d MiB of heap for a limit of 8 MiB", name, peak>>20)
		}
		peak = peakHeap(func() { _, terr = s.DebugTrace(background(t), mustChain(t, 1), hashA, trace.Limits{}) })
		if k := kindOf(terr); k != KindTooLarge && k != KindGarbage {
			t.Errorf("%s: trace: %v", name, terr)
		}
		if peak > 128<<20 {
			t.Errorf("%s: trace: %d MiB of heap", name, peak>>20)
		}
		t.Logf("%-22s %6v  trace: %d MiB, %v", name, time.Since(start).Round(time.Millisecond), peak>>20, terr)
	}
	f("zeros", "", "\x00", false, 256<<20)
	f("spaces", "", " ", false, 256<<20)
	f("spaces in the result", open, " ", false, 256<<20)
	f("string", open+`"0x`, "00", false, 256<<20)
	f("string in a frame", open+`{"type":"CALL","input":"0x`, "00", false, 256<<20)
	f("unknown member", open+`{"zz":["`, `a","`, false, 32<<20)
	f("names", open+`{"zz":{"a":1`, `,"abcdefgh":1`, false, 32<<20)
	f("digits", open, "1", false, 256<<20)
	f("empty arrays", open+`[`, `[],`, false, 32<<20)
	f("escapes", open+`"`, `\u0000`, false, 32<<20)
	f("error message", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"`, "xx", false, 256<<20)
	f("extra member", `{"jsonrpc":"2.0","id":1,"x":[0`, ",1", false, 32<<20)
	f("bomb: string", open+`"0x`, "00", true, 256<<20)
	f("bomb: spaces", "", " ", true, 256<<20)
}

// TestGzipOfNothing is a gzip stream that goes on without unpacking to anything.
func TestGzipOfNothing(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		var member strings.Builder
		gzip.NewWriter(&member).Close()
		chunk := []byte(strings.Repeat(member.String(), 1000))
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	cfg := quick(url)
	cfg.MaxAnswer, cfg.Timeout, cfg.Retries = 1<<20, 10*time.Second, -1
	start := time.Now()
	_, err := newClient(t, cfg).Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA)
	wantKind(t, err, KindTooLarge)
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Int32
	other := serve(t, func(w http.ResponseWriter, r *http.Request) { followed.Add(1) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	_, err := newClient(t, quick(url)).Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA)
	wantKind(t, err, KindRefused)
	if followed.Load() > 0 {
		t.Error("the request was posted to somebody else")
	}
}

func TestRetries(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(name string, fault stubnode.Fault, want Kind, calls int) {
		t.Helper()
		node, url := newNode(t, stubnode.Options{})
		node.SetFault("eth_getTransactionReceipt", fault)
		_, err := newClient(t, quick(url)).Session(nil, nil).Receipt(background(t), ch, hashA)
		if kindOf(err) != want {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if n := node.Calls("eth_getTransactionReceipt"); n != calls {
			t.Errorf("%s: asked %d times, want %d", name, n, calls)
		}
	}
	rpc := func(code int, message string) stubnode.Fault {
		return stubnode.Fault{Error: &stubnode.RPCError{Code: code, Message: message}}
	}
	// Faults that pass.
	f("503 once", stubnode.Fault{Status: 503, Times: 1}, "", 2)
	f("503 twice", stubnode.Fault{Status: 503, Times: 2}, "", 3)
	f("503 for ever", stubnode.Fault{Status: 503}, KindServer, 3)
	f("429 once", stubnode.Fault{Status: 429, Times: 1}, "", 2)
	f("refused once", stubnode.Fault{Refuse: true, Times: 1}, "", 2)
	f("cut once", stubnode.Fault{Truncate: true, Times: 1}, "", 2)
	once := rpc(-32005, "limit exceeded")
	once.Times = 1
	f("-32005 once", once, "", 2)
	f("-32005 for ever", rpc(-32005, "limit exceeded"), KindRateLimited, 3)
	// A timeout is paid for twice at most.
	f("silence", stubnode.Fault{Delay: 2 * time.Second}, KindTimeout, 2)
	// Definite answers.
	f("method not found", rpc(-32601, "the method does not exist/is not available"), KindUnsupported, 1)
	f("reverted", rpc(3, "execution reverted"), KindReverted, 1)
	f("transaction not found", rpc(-32000, "transaction not found"), KindNotFound, 1)
	f("invalid argument", rpc(-32602, "invalid argument 0"), KindRejected, 1)
	f("null", stubnode.Fault{Body: `{"jsonrpc":"2.0","id":1,"result":null}`}, KindNotFound, 1)
	f("403", stubnode.Fault{Status: 403}, KindRefused, 1)
	f("garbage", stubnode.Fault{Garbage: true}, KindGarbage, 1)
	f("wrong id", stubnode.Fault{WrongID: true}, KindGarbage, 1)
}

func TestRetryAfter(t *testing.T) {
	f := func(header string, wantAtLeast, wantAtMost time.Duration) {
		t.Helper()
		node, url := newNode(t, stubnode.Options{})
		node.SetFault(stubnode.All, stubnode.Fault{Status: 429, RetryAfter: header, Times: 1})
		cfg := quick(url)
		cfg.Timeout, cfg.MaxRetryAfter = 4*time.Second, 1500*time.Millisecond
		start := time.Now()
		if _, err := newClient(t, cfg).Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA); err != nil {
			t.Errorf("%q: %v", header, err)
		}
		if took := time.Since(start); took < wantAtLeast || took > wantAtMost {
			t.Errorf("%q: took %v, want %v to %v", header, took, wantAtLeast, wantAtMost)
		}
	}
	f("1", time.Second, 1400*time.Millisecond)
	f("3600", 1500*time.Millisecond, 2500*time.Millisecond) // capped
	f("soon", 0, 500*time.Millisecond)
	f("-5", 0, 500*time.Millisecond)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := http.Header{"Retry-After": {now.Add(90 * time.Second).Format(http.TimeFormat)}}
	if d := retryAfter(h, now); d != 90*time.Second {
		t.Errorf("date: %v", d)
	}
}

func TestFailover(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(name string, fault stubnode.Fault, wantFirst int) {
		t.Helper()
		bad, badURL := newNode(t, stubnode.Options{})
		good, goodURL := newNode(t, stubnode.Options{})
		bad.SetFault(stubnode.All, fault)
		s := newClient(t, quick(badURL, goodURL)).Session(nil, nil)
		if _, err := s.DebugTrace(background(t), ch, hashA, trace.Limits{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := bad.Calls(stubnode.All); n != wantFirst {
			t.Errorf("%s: first endpoint asked %d times, want %d", name, n, wantFirst)
		}
		if n := good.Calls(stubnode.All); n != 1 {
			t.Errorf("%s: second endpoint asked %d times", name, n)
		}
	}
	rpc := func(code int, message string) stubnode.Fault {
		return stubnode.Fault{Error: &stubnode.RPCError{Code: code, Message: message}}
	}
	f("server", stubnode.Fault{Status: 502}, 3)
	f("refuse", stubnode.Fault{Refuse: true}, 3)
	f("unsupported", rpc(-32601, "method not found"), 1)
	f("no state", rpc(-32000, "historical state is not available"), 1)
	f("not found", rpc(-32000, "transaction not found"), 1)
	f("null", stubnode.Fault{Body: `{"jsonrpc":"2.0","id":1,"result":null}`}, 1)
	f("garbage", stubnode.Fault{Garbage: true}, 1)
	f("wrong id", stubnode.Fault{WrongID: true}, 1)
	f("half a trace", stubnode.Fault{Truncate: true}, 3)
	f("forbidden", stubnode.Fault{Status: 401}, 1)
	f("long wait", stubnode.Fault{Status: 429, RetryAfter: "60"}, 1)
	f("silence", stubnode.Fault{Delay: 2 * time.Second}, 1) // costs one timeout, then the next
}

func TestFailoverOfErrors(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(first, second stubnode.Fault, want Kind) {
		t.Helper()
		a, aURL := newNode(t, stubnode.Options{})
		b, bURL := newNode(t, stubnode.Options{})
		a.SetFault(stubnode.All, first)
		b.SetFault(stubnode.All, second)
		_, err := newClient(t, quick(aURL, bURL)).Session(nil, nil).DebugTrace(background(t), ch, hashA, trace.Limits{})
		if kindOf(err) != want {
			t.Errorf("%+v, %+v: %v, want %q", first, second, err, want)
		}
	}
	unsupported := stubnode.Fault{Error: &stubnode.RPCError{Code: -32601, Message: "method not found"}}
	null := stubnode.Fault{Error: &stubnode.RPCError{Code: -32000, Message: "transaction not found"}}
	down := stubnode.Fault{Status: 500}
	f(unsupported, unsupported, KindUnsupported)
	f(unsupported, down, KindServer)
	f(down, unsupported, KindServer)
	f(null, down, KindNotFound)
	f(down, null, KindNotFound)
	f(null, null, KindNotFound)
}

func TestWrongChainIsRefused(t *testing.T) {
	node := stubnode.New(nil, stubnode.Options{ChainID: 1})
	node.Handle("eth_getTransactionByHash", func([]rawMessage) (rawMessage, error) {
		return rawMessage(strings.ReplaceAll(string(block(1, hashA).Txs[0].Tx), `"chainId":"0x1"`, `"chainId":"0x38"`)), nil
	})
	_, err := newClient(t, quick(node.Start(t))).Session(nil, nil).Transaction(background(t), mustChain(t, 1), hashA)
	wantKind(t, err, KindWrongChain)
	if err == nil || !strings.Contains(err.Error(), "56") {
		t.Errorf("the error does not say which chain: %v", err)
	}
}

func TestAnswersToOtherQuestions(t *testing.T) {
	ch, other := mustChain(t, 1), block(1, hashB).Txs[0]
	node := stubnode.New(nil, stubnode.Options{ChainID: 1})
	node.Handle("eth_getTransactionByHash", func([]rawMessage) (rawMessage, error) { return other.Tx, nil })
	node.Handle("eth_getTransactionReceipt", func([]rawMessage) (rawMessage, error) { return other.Receipt, nil })
	node.Handle("eth_getBlockByNumber", func([]rawMessage) (rawMessage, error) { return block(1, hashA).Header, nil })
	s := newClient(t, quick(node.Start(t))).Session(nil, nil)
	_, err := s.Transaction(background(t), ch, hashA)
	wantKind(t, err, KindGarbage)
	_, err = s.Receipt(background(t), ch, hashA)
	wantKind(t, err, KindGarbage)
	_, err = s.Block(background(t), ch, blockNumber+1, false)
	wantKind(t, err, KindGarbage)
}

func TestBreaker(t *testing.T) {
	b := breaker{limit: 3, rest: time.Minute}
	at := time.Unix(1000, 0)
	pass := func(want bool) {
		t.Helper()
		if got := b.allow(at); got != want {
			t.Fatalf("let through: %v, want %v", got, want)
		}
	}
	fail := func() { t.Helper(); pass(true); b.report(at, judgeFault) }
	fail()
	fail()
	pass(true)
	b.report(at, judgeGood) // a good answer in between starts the count again
	fail()
	fail()
	pass(true)
	b.report(at, judgeNeutral) // says nothing
	fail()
	pass(false) // open
	at = at.Add(59 * time.Second)
	pass(false)
	at = at.Add(time.Second)
	pass(true)  // half open: one
	pass(false) // not two
	b.report(at, judgeFault)
	pass(false) // open again, for the whole rest
	at = at.Add(time.Minute)
	pass(true)
	b.report(at, judgeNeutral) // the trial was called off
	pass(true)
	b.report(at, judgeGood)
	pass(true)
	pass(true) // closed: any number
}

func TestBreakerSparesADeadEndpoint(t *testing.T) {
	ch := mustChain(t, 1)
	node, url := newNode(t, stubnode.Options{})
	cfg := quick(url)
	cfg.BreakerFaults, cfg.Retries = 3, -1
	c := newClient(t, cfg)
	ask := func() error {
		_, err := c.Session(nil, nil).Receipt(background(t), ch, hashA)
		return err
	}
	node.SetFault(stubnode.All, stubnode.Fault{Status: 500})
	for range 3 {
		wantKind(t, ask(), KindServer)
	}
	wantKind(t, ask(), KindBusy)
	if n := node.Calls(stubnode.All); n != 3 {
		t.Errorf("an endpoint behind an open breaker was asked: %d calls", n)
	}
	node.ClearFaults()
	time.Sleep(60 * time.Millisecond)
	wantKind(t, ask(), "")
	wantKind(t, ask(), "")
}

func TestDefiniteErrorsDoNotOpenTheBreaker(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	cfg := quick(url)
	cfg.BreakerFaults, cfg.Retries = 2, -1
	c := newClient(t, cfg)
	for _, fault := range []stubnode.Fault{{Status: 429}, {Error: &stubnode.RPCError{Code: -32601, Message: "method not found"}}, {Status: 401}} {
		node.SetFault(stubnode.All, fault)
		for range 4 {
			if _, err := c.Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA); kindOf(err) == KindBusy {
				t.Errorf("%+v opened the breaker", fault)
			}
		}
	}
}

func TestConcurrencyLimit(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	node.SetFault(stubnode.All, stubnode.Fault{Delay: 20 * time.Millisecond})
	cfg := quick(url)
	cfg.MaxConcurrent, cfg.Timeout = 3, 5*time.Second
	c := newClient(t, cfg)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := c.Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := node.PeakInFlight(); n > 3 {
		t.Errorf("%d requests in flight, the limit is 3", n)
	}
}

func TestNoEndpoint(t *testing.T) {
	_, err := newClient(t, Config{RPCOnly: true}).Session(nil, nil).Receipt(background(t), mustChain(t, 1), hashA)
	wantKind(t, err, KindNoEndpoint)
}

func TestGivenEndpointsComeFirst(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(rpcOnly bool, want int) {
		t.Helper()
		c := newClient(t, Config{RPCOnly: rpcOnly, Endpoints: map[uint64][]string{1: {"https://mine.example/key"}}})
		for range 2 {
			list := c.endpoints(ch)
			if len(list) != want || list[0].host != "mine.example" {
				t.Errorf("rpc only %v: %d endpoints", rpcOnly, len(list))
			}
		}
	}
	f(true, 1)
	f(false, 1+len(ch.RPC))
}

func TestBadURLsAreNotRepeated(t *testing.T) {
	f := func(cfg Config) {
		t.Helper()
		_, err := New(cfg)
		if err == nil {
			t.Fatalf("accepted %+v", cfg)
		}
		noSecrets(t, "the error", err.Error(), "SECRET")
	}
	for _, url := range []string{"ftp://SECRET@host", "http://", "SECRET", "http://host:SECRET/", "://SECRET", "wss://host/SECRET", "http://[SECRET"} {
		f(Config{Endpoints: map[uint64][]string{1: {url}}})
		f(Config{SourcifyURL: url})
	}
}

func TestCancellation(t *testing.T) {
	ch := mustChain(t, 1)
	node, url := newNode(t, stubnode.Options{})
	cfg := quick(url)
	cfg.Timeout = 10 * time.Second
	s := newClient(t, cfg).Session(nil, nil)

	t.Run("others go on", func(t *testing.T) {
		node.SetFault(stubnode.All, stubnode.Fault{Delay: 150 * time.Millisecond})
		first, cancel := context.WithCancel(background(t))
		gone, stays := make(chan error), make(chan error)
		go func() { _, err := s.Receipt(first, ch, hashA); gone <- err }()
		time.Sleep(30 * time.Millisecond)
		go func() { _, err := s.Receipt(background(t), ch, hashA); stays <- err }()
		time.Sleep(30 * time.Millisecond)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that left: %v", err)
		}
		if err := <-stays; err != nil {
			t.Errorf("the one that stayed: %v", err)
		}
		if n := node.Calls("eth_getTransactionReceipt"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("the last ends it", func(t *testing.T) {
		node.SetFault(stubnode.All, stubnode.Fault{Delay: 10 * time.Second})
		ctx, cancel := context.WithCancel(background(t))
		out := make(chan error)
		for range 3 {
			go func() { _, err := s.Block(ctx, ch, blockNumber, false); out <- err }()
		}
		time.Sleep(50 * time.Millisecond)
		cancel()
		start := time.Now()
		for range 3 {
			if err := <-out; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %v to stop", took)
		}
	})
	t.Run("and it can be asked again", func(t *testing.T) {
		node.ClearFaults()
		if _, err := s.Block(background(t), ch, blockNumber, false); err != nil {
			t.Error(err)
		}
	})
	t.Run("a deadline is a timeout", func(t *testing.T) {
		node.SetFault(stubnode.All, stubnode.Fault{Delay: 10 * time.Second})
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := s.Transaction(ctx, ch, hashA)
		wantKind(t, err, KindTimeout)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing starts after the end", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		before := node.Requests()
		_, err := s.Code(ctx, ch, alice, 1)
		wantKind(t, err, KindCanceled)
		if node.Requests() != before {
			t.Error("a request was made")
		}
	})
}

// TestStorm stops a thousand calls in flight and leaves it to TestMain to find
// goroutines they left behind.
func TestStorm(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	node.SetFault(stubnode.All, stubnode.Fault{Delay: 5 * time.Second})
	cfg := quick(url)
	cfg.Timeout, cfg.MaxConcurrent = 5*time.Second, 64
	c := newClient(t, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for i := range 1000 {
		s := c.Session(nil, nil)
		wg.Go(func() {
			if _, err := s.Block(ctx, mustChain(t, 1), uint64(i), false); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	cancel()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		t.Fatal("calls outlive their context")
	}
}

func TestAPanicCostsOneCall(t *testing.T) {
	node := stubnode.New(nil, stubnode.Options{ChainID: 1})
	node.Handle("eth_getBalance", func([]rawMessage) (rawMessage, error) { return rawMessage(`"0x1"`), nil })
	c := newClient(t, quick(node.Start(t)))
	c.cfg.MaxConcurrent = 1
	s := c.Session(nil, nil)
	ask := AskBalance(alice, 1).call(mustChain(t, 1))
	ask.live = func(context.Context, *Client, bool) (reply, int, *Error) { panic("hostile") }
	_, err := s.ask(background(t), ask)
	wantKind(t, err, KindInternal)
	if _, err := s.Balance(background(t), mustChain(t, 1), alice, 2); err != nil {
		t.Error(err)
	}
}

func TestWarm(t *testing.T) {
	ch := mustChain(t, 1)
	var asks []Ask
	for i := range 10 {
		asks = append(asks, AskBalance(alice, uint64(i)), AskNonce(alice, uint64(i)))
	}
	balance := func([]rawMessage) (rawMessage, error) { return rawMessage(`"0x10"`), nil }
	f := func(name string, opt stubnode.Options, fault stubnode.Fault, wantRequests, wantSingles int) {
		t.Helper()
		node, url := newNode(t, opt)
		node.Handle("eth_getBalance", balance)
		node.Handle("eth_getTransactionCount", balance)
		if fault != (stubnode.Fault{}) {
			node.SetFault("eth_getBalance", fault)
		}
		cfg := quick(url)
		cfg.Timeout = 5 * time.Second
		s := newClient(t, cfg).Session(nil, nil)
		if err := s.Warm(background(t), ch, asks...); err != nil {
			t.Fatal(err)
		}
		batches := node.Requests()
		if batches > wantRequests || (wantSingles == 0 && batches < wantRequests) {
			t.Errorf("%s: %d requests for the batches, want %d", name, batches, wantRequests)
		}
		node.ClearFaults()
		for i := range 10 {
			if b, err := s.Balance(background(t), ch, alice, uint64(i)); err != nil || b.Int64() != 16 {
				t.Errorf("%s: balance %d: %v, %v", name, i, b, err)
			}
			if n, err := s.Nonce(background(t), ch, alice, uint64(i)); err != nil || n != 16 {
				t.Errorf("%s: nonce %d: %v, %v", name, i, n, err)
			}
		}
		if n := node.Requests() - batches; n != wantSingles {
			t.Errorf("%s: %d calls alone, want %d", name, n, wantSingles)
		}
	}
	f("good", stubnode.Options{}, stubnode.Fault{}, 2, 0)
	f("gzip", stubnode.Options{}, stubnode.Fault{Gzip: true}, 2, 0)
	// Refused once, a provider is not offered batches again; two run at once.
	f("refused", stubnode.Options{MaxBatch: 1}, stubnode.Fault{}, 2, 20)
	f("garbage", stubnode.Options{}, stubnode.Fault{Garbage: true}, 2, 20)
	f("busy", stubnode.Options{}, stubnode.Fault{Status: 503}, 2, 20)
	f("null", stubnode.Options{}, stubnode.Fault{Body: `{"jsonrpc":"2.0","id":1,"result":null}`}, 2, 20)
	f("one member failed", stubnode.Options{}, stubnode.Fault{Error: &stubnode.RPCError{Code: -32005, Message: "limit exceeded"}, Times: 1}, 2, 1)
	f("one member has a foreign id", stubnode.Options{}, stubnode.Fault{WrongID: true, Times: 1}, 2, 10)
}

func TestWarmAfterARefusal(t *testing.T) {
	node, url := newNode(t, stubnode.Options{MaxBatch: 1})
	s := newClient(t, quick(url)).Session(nil, nil)
	for i := range 3 {
		if err := s.Warm(background(t), mustChain(t, 1), AskCode(alice, uint64(i)), AskBalance(alice, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	if n := node.Requests(); n != 1 {
		t.Errorf("%d batches sent to a provider that refuses them", n)
	}
}

func TestOnCall(t *testing.T) {
	_, url := newNode(t, stubnode.Options{})
	s := newClient(t, quick(url)).Session(nil, nil)
	var mu sync.Mutex
	var told []string
	tell := func(text string) { mu.Lock(); defer mu.Unlock(); told = append(told, text) }
	s.OnStart = func(tool string) { tell("start " + tool) }
	s.OnCall = func(tool string, ok bool, d time.Duration) { tell(fmt.Sprintf("end %s %v", tool, ok)) }
	s.Receipt(background(t), mustChain(t, 1), hashA)
	s.Receipt(background(t), mustChain(t, 1), hashA)
	s.Receipt(background(t), mustChain(t, 1), unknown)
	s.ParityTrace(background(t), mustChain(t, 1), hashA, trace.Limits{})
	want := "start eth_getTransactionReceipt,end eth_getTransactionReceipt true,start eth_getTransactionReceipt,end eth_getTransactionReceipt true,start trace_transaction,end trace_transaction false"
	if got := strings.Join(told, ","); got != want {
		t.Errorf("told %s", got)
	}
}
