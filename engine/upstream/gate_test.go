package upstream

import (
	"context"
	"errors"
	"testing"

	"txlens/engine/chain"
	"txlens/engine/meter"
	"txlens/testkit/stubnode"
)

// TestGate: a purchase that the gate refuses is not made, metered or recorded, and
// who waits at the gate can be called back.
func TestGate(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	c := newClient(t, quick(url))
	ch := mustChain(t, 1)

	m := &meter.Meter{Gate: func(context.Context, int64) (meter.Hold, error) { return nil, errors.New("no voucher for a minute") }}
	rec := NewRecorder()
	_, err := c.Session(m, rec).Receipt(context.Background(), ch, hashA)
	if !errors.Is(err, ErrUnpaid) || len(m.ToolCalls()) != 0 || m.TotalNano() != 0 || len(rec.entries) != 0 || node.Calls("eth_getTransactionReceipt") != 0 {
		t.Errorf("%v, %d metered, %d recorded, asked %d times", err, len(m.ToolCalls()), len(rec.entries), node.Calls("eth_getTransactionReceipt"))
	}

	ctx, cancel := context.WithCancel(context.Background())
	m = &meter.Meter{Gate: func(ctx context.Context, _ int64) (meter.Hold, error) { cancel(); <-ctx.Done(); return nil, ctx.Err() }}
	if _, err := c.Session(m, nil).Receipt(ctx, ch, hashA); kindOf(err) != KindCanceled {
		t.Errorf("called back: %v", err)
	}

	asked := 0
	m = &meter.Meter{Gate: func(context.Context, int64) (meter.Hold, error) { asked++; return new(heldPrice), nil }}
	s := c.Session(m, nil)
	for range 2 {
		if _, err := s.Receipt(context.Background(), ch, hashA); err != nil {
			t.Error(err)
		}
	}
	if asked != 1 || len(m.ToolCalls()) != 1 {
		t.Errorf("asked the gate %d times for %d calls", asked, len(m.ToolCalls()))
	}
}

// heldPrice is a hold that counts its calls.
type heldPrice struct {
	most  int64
	ended int
}

func (h *heldPrice) Use(int64) {}
func (h *heldPrice) Break()    {}
func (h *heldPrice) End()      { h.ended++ }

// TestReserves: a single call, a batch, a probe of several chains and local work reserve the
// highest price that they can have, and end the hold after their cost is recorded. A batch that
// is refused is not sent.
func TestReserves(t *testing.T) {
	ch := mustChain(t, 1)
	f := func(name string, most, cost int64, buy func(s *Session) error) {
		t.Helper()
		node, url := newNode(t, stubnode.Options{})
		cfg := quick(url)
		cfg.Prices = map[string]int64{"rpc": 100, ToolProbe: 1000, ToolReplay: 70}
		c := newClient(t, cfg)
		h, refused := new(heldPrice), false
		m := &meter.Meter{}
		m.Gate = func(_ context.Context, most int64) (meter.Hold, error) {
			if refused {
				return nil, errors.New("no voucher")
			}
			h.most += most
			return h, nil
		}
		booked := int64(-1)
		m.OnCost = func(nano int64) { booked = nano }
		if err := buy(c.Session(m, nil)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if h.most != most || h.ended != 1 || booked != cost {
			t.Errorf("%s: reserved %d, ended %d times, cost %d; want %d, cost %d", name, h.most, h.ended, booked, most, cost)
		}
		refused = true
		asked := node.Calls(stubnode.All)
		_ = buy(c.Session(m, nil))
		if n := node.Calls(stubnode.All) - asked; n != 0 {
			t.Errorf("%s: refused, and asked %d times", name, n)
		}
	}
	f("a call", 100, 100, func(s *Session) error { _, err := s.Receipt(context.Background(), ch, hashA); return err })
	f("a batch", 200, 200, func(s *Session) error {
		return s.Warm(context.Background(), ch, AskTransaction(hashA), AskReceipt(hashA))
	})
	f("a probe", 1000, 1000, func(s *Session) error {
		_, err := s.Probe(context.Background(), []*chain.Chain{ch, mustChain(t, 8453)}, hashA)
		return err
	})
	ran := 0
	f("local work", 70, 70, func(s *Session) error {
		return s.Local(context.Background(), ToolReplay, "x", func(context.Context) error { ran++; return nil })
	})
	if ran != 1 {
		t.Errorf("local work ran %d times", ran)
	}
}

// TestFailedCallsAreFree: a call that fails is not charged, also if it fails for good; a negative
// answer is an answer.
func TestFailedCallsAreFree(t *testing.T) {
	f := func(kind Kind, want int64) {
		t.Helper()
		cfg := Config{Prices: map[string]int64{"rpc": 7}}
		var err *Error
		if kind != "" {
			err = newError(kind, "x")
		}
		if got := cfg.charge("eth_call", 3, err); got != want {
			t.Errorf("%q: %d, want %d", kind, got, want)
		}
	}
	f("", 21)
	f(KindNotFound, 21)
	f(KindReverted, 21)
	for _, kind := range []Kind{KindUnsupported, KindNoState, KindRejected, KindTimeout, KindServer, KindPayment} {
		f(kind, 0)
	}
}
