package upstream

import (
	"testing"
	"time"

	"txlens/engine/chain"
	"txlens/testkit/stubnode"

	"github.com/go-json-experiment/json/jsontext"
)

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
		if batches > wantRequests || batches == 0 {
			t.Errorf("%s: %d requests for the batches, want at most %d", name, batches, wantRequests)
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
	// Offered 10, 5 and 2 calls in vain, a provider is not offered batches again; two run at once.
	f("refused", stubnode.Options{MaxBatch: 1}, stubnode.Fault{}, 6, 20)
	f("garbage", stubnode.Options{}, stubnode.Fault{Garbage: true}, 2, 20)
	f("busy", stubnode.Options{}, stubnode.Fault{Status: 503}, 2, 20)
	f("null", stubnode.Options{}, stubnode.Fault{Body: `{"jsonrpc":"2.0","id":1,"result":null}`}, 2, 20)
	// The other batch may be sent in two parts, after the first was limited.
	f("one member failed", stubnode.Options{}, stubnode.Fault{Error: &stubnode.RPCError{Code: -32005, Message: "limit exceeded"}, Times: 1}, 3, 1)
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

// TestAPanicCostsOneBatch: a decoder that falls over ends neither the process nor
// the calls that it would have answered.
func TestAPanicCostsOneBatch(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	node.Handle("eth_getBalance", func([]rawMessage) (rawMessage, error) { return rawMessage(`"0x10"`), nil })
	s := newClient(t, quick(url)).Session(nil, nil)
	asks := []Ask{AskBalance(alice, 1), AskBalance(alice, 2)}
	for i := range asks {
		asks[i].decode = func(*chain.Chain) decodeFunc {
			return func(*jsontext.Decoder) (any, error) { panic("hostile") }
		}
	}
	if err := s.Warm(background(t), mustChain(t, 1), asks...); err != nil {
		t.Fatal(err)
	}
	if b, err := s.Balance(background(t), mustChain(t, 1), alice, 1); err != nil || b.Int64() != 16 {
		t.Errorf("%v, %v", b, err)
	}
}
