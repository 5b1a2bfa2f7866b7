package settle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

// TestFailover: whatever keeps one endpoint from answering, the next one is asked.
func TestFailover(t *testing.T) {
	f := func(first reply) {
		t.Helper()
		a, b := newNode().all(first), newNode().on("eth_call", stateOf(7, 100))
		states, err := clientOf(t, a, b).States(soon(t), common.Hash{1})
		if err != nil || len(states) != 1 || states[0].Settled != tempo.AmountFrom(7) || states[0].Deposit != tempo.AmountFrom(100) || a.calls("*") == 0 {
			t.Errorf("%+v: %+v, %v", first, states, err)
		}
	}
	f(refuse(-32601, "the method does not exist"))
	f(refuse(-32005, "limit exceeded"))
	f(refuse(-32603, "internal error"))
	f(refuse(-32000, "header not found"))
	f(refuse(-32000, "missing trie node"))
	f(reply{status: 429, body: "slow down"})
	f(reply{status: 503, err: &rpcError{Code: -32005, Message: "busy"}})
	f(reply{status: 500, body: "<html>"})
	f(reply{body: "no JSON"})
	f(reply{body: `{"jsonrpc":"2.0","id":1}`})
	f(reply{body: strings.Repeat(" ", maxAnswer) + "{}"})
	f(give("0x"))
	f(give("0x00"))
	f(give(nil))
	f(reply{dial: true})
	f(reply{lost: true})
	whole := stateOf(7, 101)
	whole.broken = true
	f(whole)
}

// TestHangingEndpoint: one that never answers takes its share of the time and no more.
func TestHangingEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newNode().all(reply{hangs: true}), newNode().on("eth_call", stateOf(7, 100))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		c := clientOf(t, a, b)
		if _, err := c.States(ctx, common.Hash{1}); err != nil {
			t.Fatal(err)
		}
		// It is asked last for a while.
		if _, err := c.States(ctx, common.Hash{1}); err != nil || a.calls("*") != 1 || b.calls("*") != 2 {
			t.Errorf("%v, the first was asked %d times and the second %d", err, a.calls("*"), b.calls("*"))
		}
	})
}

// TestCallerLeaves: that a caller gives up is no fault of the endpoint.
func TestCallerLeaves(t *testing.T) {
	a, b := newNode().on("eth_call", reply{hangs: true}, stateOf(7, 100)), newNode().on("eth_call", stateOf(7, 100))
	c := clientOf(t, a, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := c.States(ctx, common.Hash{1}); done <- err }()
	for a.calls("eth_call") == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-done; !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
	if _, err := c.States(soon(t), common.Hash{1}); err != nil || a.calls("eth_call") != 2 || b.calls("eth_call") != 0 {
		t.Errorf("%v; asked %d and %d times", err, a.calls("eth_call"), b.calls("eth_call"))
	}
}

// TestNobodyAnswers: then nothing is known, also where the caller's time is up.
func TestNobodyAnswers(t *testing.T) {
	f := func(first, second reply) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		c := clientOf(t, newNode().all(first), newNode().all(second))
		if _, err := c.States(ctx, common.Hash{1}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%v", err)
		}
	}
	f(refuse(-32000, "busy"), refuse(-32601, "no"))
	f(reply{dial: true}, refuse(3, "execution reverted"))
	f(reply{hangs: true}, reply{hangs: true})
}

// TestSimulationReverts: that a transaction reverts is an answer, and a node that
// cannot run it gives none.
func TestSimulationReverts(t *testing.T) {
	k := payee()
	tx := tempo.NewTransaction(42431, uint64(time.Now().Unix()), tempo.CallReserve(domain.Escrow(), tempo.RequestCloseCall{}))
	if err := tx.Sign(k.Address(), k); err != nil {
		t.Fatal(err)
	}
	f := func(first reply, reason string, asked int) {
		t.Helper()
		a, b := newNode().on("eth_call", first), newNode().on("eth_call", give("0x")).on("eth_sendRawTransactionSync", give(receiptOf(tx.Hash(), 1)))
		b.on("eth_getTransactionReceipt", give(receiptOf(tx.Hash(), 1)))
		_, err := clientOf(t, a, b).Send(soon(t), tx)
		reverted, _ := errors.AsType[*Reverted](err)
		if reason == "" && err != nil || reason != "" && (reverted == nil || reverted.Reason != reason) || b.calls("eth_call") != asked {
			t.Errorf("%+v: %v; the second was asked %d times", first.err, err, b.calls("eth_call"))
		}
	}
	notFound := jsontext.Value(`"0x1e07dd94"`) // ChannelNotFound()
	f(refuse(3, "execution reverted"), "execution reverted", 0)
	f(reply{err: &rpcError{Code: -32000, Message: "execution failed", Data: notFound}}, "ChannelNotFound", 0)
	f(refuse(-32000, "header not found"), "", 1)
	f(refuse(-32000, "cannot revert to the block"), "", 1) // the second runs it
	f(refuse(-32005, "limit exceeded"), "", 1)
	// A message alone is believed where nobody runs it.
	a, b := newNode().on("eth_call", refuse(-32000, "execution reverted")), newNode()
	if _, err := clientOf(t, a, b).Send(soon(t), tx); !isReverted(err) {
		t.Errorf("%v", err)
	}
}

// TestWrongChain: an endpoint of another chain is asked for nothing, also where it was
// away at the start.
func TestWrongChain(t *testing.T) {
	other := newNode().on("eth_chainId", reply{dial: true}, give("0x1")).on("eth_call", stateOf(0, 0))
	c := clientOf(t, other)
	if err := c.CheckChain(soon(t)); !errors.Is(err, ErrUnreachable) || errors.Is(err, ErrWrongChain) {
		t.Errorf("while it is away: %v", err)
	}
	for range 2 {
		if _, err := c.States(soon(t), common.Hash{1}); !errors.Is(err, ErrWrongChain) || !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "chain 1, not 42431") {
			t.Errorf("%v", err)
		}
	}
	if other.calls("eth_call") != 0 {
		t.Error("it was asked for more than its chain")
	}
	right := newNode().on("eth_call", stateOf(7, 100))
	c = clientOf(t, other, right)
	if states, err := c.States(soon(t), common.Hash{1}); err != nil || states[0].Deposit.IsZero() {
		t.Errorf("beside one of the right chain: %+v, %v", states, err)
	}
	if err := c.CheckChain(soon(t)); !errors.Is(err, ErrWrongChain) || !strings.Contains(err.Error(), "endpoint 1 of 2") {
		t.Errorf("%v", err)
	}
	if err := clientOf(t, newNode().on("eth_chainId", reply{lost: true}), right).CheckChain(soon(t)); err != nil {
		t.Errorf("one answers: %v", err)
	}
}

// TestReceipt: only that of the very transaction counts.
func TestReceipt(t *testing.T) {
	hash := common.Hash{1}
	f := func(r reply, there, reverted bool, want error) {
		t.Helper()
		rc, err := clientOf(t, newNode().on("eth_getTransactionReceipt", r)).Receipt(soon(t), hash)
		if (rc != nil) != there || isReverted(err) != reverted || !reverted && !errors.Is(err, want) {
			t.Errorf("%+v: %+v, %v", r, rc, err)
		}
	}
	f(give(receiptOf(hash, 1)), true, false, nil)
	f(give(receiptOf(hash, 0)), false, true, nil)
	f(give(nil), false, false, nil)
	f(give(receiptOf(common.Hash{2}, 1)), false, false, ErrUnreachable)
	f(give(receiptOf(common.Hash{2}, 0)), false, false, ErrUnreachable)
	f(give("0x"), false, false, ErrUnreachable)
}

// TestStatesInBatches: many channels are asked for in one question, in their order.
func TestStatesInBatches(t *testing.T) {
	n := newNode()
	asked := 0
	n.do["eth_call"] = func(params []jsontext.Value) reply {
		size := maxBatch
		if asked == maxBatch {
			size = 1
		}
		var list []tempo.ChannelState
		for range size {
			asked++
			list = append(list, tempo.ChannelState{Deposit: tempo.AmountFrom(uint64(asked))})
		}
		if size == 1 {
			return give(hexutil.Bytes(list[0].Encode()))
		}
		return give(hexutil.Bytes(tempo.EncodeChannelStates(list)))
	}
	states, err := clientOf(t, n).States(soon(t), make([]common.Hash, maxBatch+1)...)
	if err != nil || len(states) != maxBatch+1 || n.calls("eth_call") != 2 {
		t.Fatalf("%d states in %d calls, %v", len(states), n.calls("eth_call"), err)
	}
	for i, s := range states {
		if s.Deposit != tempo.AmountFrom(uint64(i+1)) {
			t.Fatalf("state %d is %+v", i, s)
		}
	}
}

// TestEndpoints: an endpoint is an http or https URL with a host.
func TestEndpoints(t *testing.T) {
	f := func(good bool, urls ...string) {
		t.Helper()
		if _, err := New(Options{URLs: urls, Domain: domain}); (err == nil) != good {
			t.Errorf("%q: %v", urls, err)
		}
	}
	f(true, "http://a.test", "https://b.test:8545/key")
	f(false)
	f(false, "https://a.test", "ftp://b.test")
	f(false, "http:///a")
	f(false, "a.test")
	f(false, "http://a.test/%zz")
}

// TestFaultOfNode: what a node said is in the error, on one line.
func TestFaultOfNode(t *testing.T) {
	c := clientOf(t, newNode().all(refuse(-32000, "too\nbusy")))
	if _, err := c.States(soon(t), common.Hash{1}); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "node error -32000: too") || strings.Contains(err.Error(), "\nbusy") {
		t.Errorf("%v", err)
	}
}

// TestClip: foreign text is bounded, and stays on one line.
func TestClip(t *testing.T) {
	if got := clip(strings.Repeat("é", 500)); got != strings.Repeat("é", 200) {
		t.Errorf("%d bytes", len(got))
	}
	if got := clip("a\nb\x7fc"); got != "a b c" {
		t.Errorf("%q", got)
	}
}

// TestChainIsAskedOnce: which chain an endpoint serves is asked before its first call.
func TestChainIsAskedOnce(t *testing.T) {
	n := newNode().on("eth_call", stateOf(7, 100))
	c := clientOf(t, n)
	for range 3 {
		if _, err := c.States(soon(t), common.Hash{1}); err != nil {
			t.Fatal(err)
		}
	}
	if n.chains != 1 {
		t.Errorf("asked %d times", n.chains)
	}
}
