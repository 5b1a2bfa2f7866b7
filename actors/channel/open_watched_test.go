package channel

import (
	"context"
	"testing"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// watchedSender runs a round of the Watcher between the receipt of a transaction and its answer.
type watchedSender struct {
	Sender
	m *market
}

func (w watchedSender) Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error) {
	rc, err := w.Sender.Send(ctx, tx)
	if watchErr := w.m.c.Rounds(SettlePolicy{}).WatchRound(ctx); watchErr != nil {
		w.m.t.Error(watchErr)
	}
	return rc, err
}

// TestOpenSeenByTheWatcher: an opening whose channel the Watcher finds on chain before the request
// has its receipt keeps its voucher, so the request that it pays for is served.
func TestOpenSeenByTheWatcher(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	m.reserve = EscrowOf(m.client)
	m.reserve.Sender = watchedSender{m.reserve.Sender, m}
	m.restart()
	p, tx := m.openTx(key(1), 2*dollar)
	paid, err := m.pay(p.open(tx, 10_000), content)
	if err != nil {
		t.Fatal(err)
	}
	if paid.Held != units(10_000) {
		t.Errorf("%s is held for the request", paid.Held)
	}
	if row := p.row(); row.Status != session.Active || row.Highest.Cumulative != units(10_000) {
		t.Errorf("%s, accepted %s", row.Status, row.Highest.Cumulative)
	}
	a, err := m.c.Admit(t.Context(), paid, Order{Key: TicketKey{1}, Bill: "b", Price: units(10_000)})
	if err != nil || !a.Fresh {
		t.Fatalf("%+v, %v", a, err)
	}
	row := p.row()
	if row.Spent != units(10_000) || !row.Reserved.IsZero() {
		t.Errorf("spent %s, reserved %s", row.Spent, row.Reserved)
	}
}
