package channel

import (
	"context"
	"testing"
	"time"

	"txlens/engine/mpp/session"
)

// TestCloseRequestOwingNothing: a payer that asks the chain to close a channel on which nothing
// is owed costs the payee no transaction; what is owed is still taken in time.
func TestCloseRequestOwingNothing(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	unused, settled, owing := m.served(1, 5*dollar, 30_000, 0), m.served(2, 6*dollar, 30_000, 30_000), m.served(1, 7*dollar, 30_000, 20_000)
	if err := m.c.Settle(ctx, settled.ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*purse{unused, settled, owing} {
		p.mustSend(requestClose(p))
	}
	tr := m.c.Rounds(SettlePolicy{IdleClose: time.Minute})
	m.watched(tr, false)
	m.watched(tr, false)
	unused.is(session.Active, 0, 0)
	settled.is(session.Active, 30_000, 0)
	owing.is(session.Closed, 20_000, 0)

	// Nor is it closed for being idle.
	m.c.options.now = func() time.Time { return m.now().Add(time.Hour) }
	if err := tr.settleRound(ctx); err != nil {
		t.Error(err)
	}
	unused.is(session.Active, 0, 0)
	settled.is(session.Active, 30_000, 0)

	// What the payer takes itself ends the channel without a loss.
	m.withdrawn(unused)
	m.withdrawn(settled)
	m.watched(tr, false)
	m.later(5 * time.Minute)
	m.watched(tr, false)
	unused.is(session.Closed, 0, 0)
	settled.is(session.Closed, 30_000, 0)
	balanced(t, m, 50_000)
}
