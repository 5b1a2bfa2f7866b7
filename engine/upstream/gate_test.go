package upstream

import (
	"context"
	"errors"
	"testing"

	"txlens/engine/meter"
	"txlens/testkit/stubnode"
)

// TestGate: a purchase that the gate refuses is not made, metered or recorded, and
// who waits at the gate can be called back.
func TestGate(t *testing.T) {
	node, url := newNode(t, stubnode.Options{})
	c := newClient(t, quick(url))
	ch := mustChain(t, 1)

	m := &meter.Meter{Gate: func(context.Context) error { return errors.New("no voucher for a minute") }}
	rec := NewRecorder()
	_, err := c.Session(m, rec).Receipt(context.Background(), ch, hashA)
	if !errors.Is(err, ErrUnpaid) || len(m.ToolCalls()) != 0 || m.TotalNano() != 0 || len(rec.entries) != 0 || node.Calls("eth_getTransactionReceipt") != 0 {
		t.Errorf("%v, %d metered, %d recorded, asked %d times", err, len(m.ToolCalls()), len(rec.entries), node.Calls("eth_getTransactionReceipt"))
	}

	ctx, cancel := context.WithCancel(context.Background())
	m = &meter.Meter{Gate: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}
	if _, err := c.Session(m, nil).Receipt(ctx, ch, hashA); kindOf(err) != KindCanceled {
		t.Errorf("called back: %v", err)
	}

	asked := 0
	m = &meter.Meter{Gate: func(context.Context) error { asked++; return nil }}
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
