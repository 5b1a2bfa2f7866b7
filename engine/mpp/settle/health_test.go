package settle

import (
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

// balanceOf is the answer to balanceOf.
func balanceOf(n uint64) reply {
	return give(hexutil.Bytes(common.BigToHash(tempo.AmountFrom(n).Uint256().ToBig()).Bytes()))
}

// TestHealth: what the key has for fees and what a close costs, and how far the clock
// is off.
func TestHealth(t *testing.T) {
	now := time.Unix(5_000_100, 0)
	n := priced(5_000_000).on("eth_call", balanceOf(777))
	c := clientOf(t, n)
	c.o.Now = func() time.Time { return now }
	h, err := c.Health(soon(t))
	// 300,000 gas at 1.2 * 20 gwei and 1 gwei, in base units of 10^12 attodollars.
	if err != nil || h.Head.Number != 7 || h.Drift != 100*time.Second || h.Key != payee().Address() || h.Gas != tempo.AmountFrom(777) || h.Fee != tempo.AmountFrom(7_500) {
		t.Errorf("%+v, %v", h, err)
	}
	now = time.Unix(4_999_990, 0)
	if h, err := c.Health(soon(t)); err != nil || h.Drift != -10*time.Second {
		t.Errorf("%+v, %v", h, err)
	}
	n.on("eth_maxPriorityFeePerGas", give("0x1"))
	if h, err := c.Health(soon(t)); err != nil || h.Fee != tempo.AmountFrom(7_201) { // 7,200.0000003
		t.Errorf("%+v, %v", h, err)
	}
	c.o.Key = nil
	if h, err := c.Health(soon(t)); err != nil || h.Key != (common.Address{}) {
		t.Errorf("without a key: %+v, %v", h, err)
	}
	if _, err := clientOf(t, newNode().on("eth_chainId", give("0x1"))).Health(soon(t)); !errors.Is(err, ErrWrongChain) {
		t.Errorf("another chain: %v", err)
	}
	if _, err := clientOf(t, newNode()).Health(soon(t)); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nothing: %v", err)
	}
}

// TestLaggingEndpoint: one whose newest block is old is asked after the others.
func TestLaggingEndpoint(t *testing.T) {
	f := func(behind uint64, asked int) {
		t.Helper()
		a := priced(5_000_000-behind).on("eth_call", stateOf(0, 1))
		b := priced(5_000_000).on("eth_call", stateOf(0, 2))
		c := clientOf(t, a, b)
		c.o.Key = nil
		h, err := c.Health(soon(t))
		if err != nil || h.Head.Time.Unix() != 5_000_000 {
			t.Fatalf("%+v, %v", h, err)
		}
		if _, err := c.States(soon(t), common.Hash{1}); err != nil || a.calls("eth_call") != asked {
			t.Errorf("%d s behind: asked %d times, %v", behind, a.calls("eth_call"), err)
		}
	}
	f(0, 1)
	f(30, 1)
	f(31, 0)
}

// TestReadHead: what no chain has is not believed.
func TestReadHead(t *testing.T) {
	f := func(block string, ok bool) {
		t.Helper()
		h, err := readHead(jsontext.Value(block))
		if (err == nil) != ok || ok && (h.Number != 7 || h.Time.Unix() != 9) {
			t.Errorf("%s: %+v, %v", block, h, err)
		}
	}
	f(`{"number":"0x7","timestamp":"0x9","baseFeePerGas":"0x1"}`, true)
	f(`{"number":"0x7","timestamp":"0x9","baseFeePerGas":"0xfffffffffffffffffffffffff"}`, true)
	f(`{"number":"0x7","timestamp":"0x9","baseFeePerGas":"0x10000000000000000000000000"}`, false)
	f(`{"number":"0x7","timestamp":"0x9","baseFeePerGas":"0x1`+strings.Repeat("0", 64)+`"}`, false)
	f(`{"number":"0x7","timestamp":"0x9"}`, false)
	f(`{"number":"0x7","baseFeePerGas":"0x1"}`, false)
	f(`{"timestamp":"0x9","baseFeePerGas":"0x1"}`, false)
	f(`{"number":"0x7","timestamp":"0x10000000001","baseFeePerGas":"0x1"}`, false)
	f(`null`, false)
	f(`"0x7"`, false)
}

// TestRestAfterFault: an endpoint that did not answer is asked first again after 10 s.
func TestRestAfterFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newNode().on("eth_call", reply{dial: true}, stateOf(7, 100)), newNode().on("eth_call", stateOf(7, 100))
		c := clientOf(t, a, b)
		for n, wait := range []time.Duration{0, 10*time.Second - 1, 1} {
			time.Sleep(wait)
			if _, err := c.States(soon(t), common.Hash{1}); err != nil {
				t.Errorf("question %d: %v", n, err)
			}
		}
		if a.calls("eth_call") != 2 || b.calls("eth_call") != 2 {
			t.Errorf("asked %d and %d times", a.calls("eth_call"), b.calls("eth_call"))
		}
	})
}
