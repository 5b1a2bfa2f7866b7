package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/engine/api"
	"txlens/engine/trace"
	"txlens/testkit/stubnode"
)

func TestCancellation(t *testing.T) {
	ch := mustChain(t, 1)
	node, _ := newNode(t, stubnode.Options{})
	answer := make(chan struct{}) // the node answers nothing before it is closed
	cfg := quick(serve(t, func(w http.ResponseWriter, r *http.Request) { <-answer; node.ServeHTTP(w, r) }))
	cfg.Timeout = time.Hour
	s := newClient(t, cfg).Session(nil, nil)
	waiting := func(n int) {
		t.Helper()
		until(t, "callers wait", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			all := 0
			for _, f := range s.flights {
				select {
				case <-f.done:
				default:
					all += f.waits
				}
			}
			return all == n
		})
	}

	t.Run("others go on", func(t *testing.T) {
		first, cancel := context.WithCancel(background(t))
		gone, stays := make(chan error), make(chan error)
		go func() { _, err := s.Receipt(first, ch, hashA); gone <- err }()
		waiting(1)
		go func() { _, err := s.Receipt(background(t), ch, hashA); stays <- err }()
		waiting(2)
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("the one that left: %v", err)
		}
		close(answer)
		if err := <-stays; err != nil {
			t.Errorf("the one that stayed: %v", err)
		}
		if n := node.Calls("eth_getTransactionReceipt"); n != 1 {
			t.Errorf("asked %d times", n)
		}
	})
	t.Run("the last ends it", func(t *testing.T) {
		node.SetFault(stubnode.All, stubnode.Fault{Delay: time.Hour})
		ctx, cancel := context.WithCancel(background(t))
		out := make(chan error)
		for range 3 {
			go func() { _, err := s.Block(ctx, ch, blockNumber, false); out <- err }()
		}
		waiting(3)
		cancel()
		for range 3 {
			if err := <-out; !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("and it can be asked again", func(t *testing.T) {
		node.ClearFaults()
		if _, err := s.Block(background(t), ch, blockNumber, false); err != nil {
			t.Error(err)
		}
	})
	t.Run("a deadline is a timeout", func(t *testing.T) {
		node.SetFault(stubnode.All, stubnode.Fault{Delay: time.Hour})
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
	node.SetFault(stubnode.All, stubnode.Fault{Delay: time.Hour})
	cfg := quick(url)
	cfg.Timeout, cfg.MaxConcurrent = time.Hour, 64
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
	until(t, "as many are asked as may be", func() bool { return node.Requests() == 64 })
	cancel()
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
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

func TestOnCall(t *testing.T) {
	_, url := newNode(t, stubnode.Options{})
	s := newClient(t, quick(url)).Session(nil, nil)
	var mu sync.Mutex
	var told []string
	tell := func(text string) { mu.Lock(); defer mu.Unlock(); told = append(told, text) }
	s.OnStart = func(id, tool, args string) { tell("start " + id + " " + tool + " " + args[:min(len(args), 28)]) }
	s.OnCall = func(id string, c api.ToolCall) { tell(fmt.Sprintf("end %s %s %v", id, c.Tool, c.OK)) }
	s.Receipt(background(t), mustChain(t, 1), hashA)
	s.Receipt(background(t), mustChain(t, 1), hashA)
	s.Receipt(background(t), mustChain(t, 1), unknown)
	s.ParityTrace(background(t), mustChain(t, 1), hashA, trace.Limits{})
	want := `start w1 eth_getTransactionReceipt ethereum-mainnet ["` + hashA.Hex()[:9] + `,end w1 eth_getTransactionReceipt true,` +
		`start w2 eth_getTransactionReceipt ethereum-mainnet ["` + unknown.Hex()[:9] + `,end w2 eth_getTransactionReceipt true,` +
		`start w3 trace_transaction ethereum-mainnet ["` + hashA.Hex()[:9] + `,end w3 trace_transaction false`
	if got := strings.Join(told, ","); got != want {
		t.Errorf("told %s", got)
	}
}

// TestPriceOfCalls: who says what a call costs says it of traces, too.
func TestPriceOfCalls(t *testing.T) {
	f := func(given map[string]int64, tool string, want int64) {
		t.Helper()
		cfg := Config{Prices: given}.withDefaults()
		if got := cfg.price(tool); got != want {
			t.Errorf("%v: %s costs %d, want %d", given, tool, got, want)
		}
	}
	f(nil, methodDebugTrace, DefaultPrices()[methodDebugTrace])
	f(nil, methodBalance, DefaultPrices()["rpc"])
	f(map[string]int64{"rpc": 0}, methodDebugTrace, 0)
	f(map[string]int64{"rpc": 0}, methodBalance, 0)
	f(map[string]int64{"rpc": 5, methodParityTrace: 7}, methodParityTrace, 7)
	f(map[string]int64{methodBalance: 3}, methodBalance, 3)
	f(map[string]int64{methodBalance: 3}, ToolProbe, DefaultPrices()[ToolProbe])
}
