package channel

import (
	"context"
	"testing"

	"txlens/engine/mpp/tempo"
)

// TestConsumed: what an operation charged is in its standing, and nothing that others charged.
func TestConsumed(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	p, tx := m.openTx(key(1), 5*dollar)
	f := func(name string, s Standing, err error, consumed, spent uint64) {
		t.Helper()
		if err != nil || s.Consumed != units(consumed) || s.Spent != units(spent) {
			t.Errorf("%s: %s consumed, %s spent, %v; want %d and %d", name, s.Consumed, s.Spent, err, consumed, spent)
		}
	}
	paid, err := m.pay(p.open(tx, 90_000), management)
	f("opening", paid.Standing, err, 0, 0)
	a, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{1}, "a", 10_000)
	f("a new request", a.Standing, err, 10_000, 10_000)
	a, err = admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{1}, "b", 10_000)
	f("the same again", a.Standing, err, 0, 10_000)
	_, s, err := m.c.Collect(ctx, p.ref.ChannelID, "a", units(40_000), tempo.MaxAmount, units(0))
	f("the rest", s, err, 30_000, 40_000)
	_, s, err = m.c.Collect(ctx, p.ref.ChannelID, "a", units(40_000), tempo.MaxAmount, units(0))
	f("nothing", s, err, 0, 40_000)
	paid, err = m.pay(p.voucher(95_000), management)
	f("a voucher", paid.Standing, err, 0, 40_000)
	if r := a.Standing.Receipt("id", 7, m.now()); r.Units != 7 || r.Spent != units(10_000) {
		t.Errorf("%+v", r)
	}
}
