package channel

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// served opens a channel, signs and consumes.
func (m *market) served(k byte, deposit, signed, consumed uint64) *purse {
	m.t.Helper()
	p, tx := m.openTx(key(k), deposit)
	if _, err := m.pay(p.open(tx, signed), content); err != nil {
		m.t.Fatal(err)
	}
	if consumed > 0 {
		if _, err := admitOn(context.Background(), m.c, p.ref.ChannelID, TicketKey{k, byte(deposit)}, recordid.New(), consumed); err != nil {
			m.t.Fatal(err)
		}
	}
	return p
}

// TestWatcher (H9): a payer's request to close is answered before its grace ends;
// who withdrew first is booked as a loss; an opening that never came is forgotten.
func TestWatcher(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	asked, gone, well := m.served(1, 5*dollar, 30_000, 20_000), m.served(2, 6*dollar, 50_000, 40_000), m.served(1, 7*dollar, 10_000, 10_000)
	for _, p := range []*purse{asked, gone} {
		if _, err := m.client.Send(ctx, m.tx(p.key, requestClose(p))); err != nil {
			t.Fatal(err)
		}
	}
	m.chain.IncreaseTime(901 * time.Second)
	tx := m.tx(gone.key, tempo.WithdrawCall{Descriptor: gone.ref.Descriptor})
	tx.ValidBefore += 901
	if err := tx.Sign(gone.key.Address(), gone.key); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Send(ctx, tx); err != nil {
		t.Fatal(err)
	}
	never := session.Channel{ID: common.Hash{7}, Status: session.Opening, CreatedAt: time.Now().Add(-time.Hour).UnixMilli()}
	if err := m.book.Commit(Entry{Channel: &never}); err != nil {
		t.Fatal(err)
	}
	m.clockAhead(901 * time.Second)
	tr := m.c.Rounds(SettlePolicy{})
	if err := tr.watchRound(ctx); err != nil {
		t.Error(err)
	}
	f := func(p *purse, status session.Status, captured, lost uint64) {
		t.Helper()
		if row := p.row(); row.Status != status || row.Capture != units(captured) || row.Lost != units(lost) {
			t.Errorf("%s, captured %s, lost %s", row.Status, row.Capture, row.Lost)
		}
	}
	f(asked, session.Closed, 20_000, 0)
	f(gone, session.Closed, 0, 40_000)
	f(well, session.Active, 0, 0)
	if _, err := m.book.Channel(never.ID); err == nil {
		t.Error("an opening that never came is still there")
	}
	if got := tr.Totals(); got.Settled != units(20_000) || got.Lost != units(40_000) || got.Open != 4 {
		t.Errorf("totals %+v", got)
	}
	balanced(t, m, 20_000)
}

// TestSettler pays out by threshold and age, and closes what is idle, used up, or
// covered by a too high voucher only.
func TestSettler(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	small, large := m.served(1, 5*dollar, 20_000, 20_000), m.served(2, 9*dollar, 6*dollar, 6*dollar)
	used := m.served(1, 6*dollar, 6*dollar, 6*dollar-5_000)
	over := m.served(2, 8*dollar, 7*dollar, 6*dollar)
	tr := m.c.Rounds(SettlePolicy{MaxAge: time.Hour})
	f := func(p *purse, status session.Status, settled uint64) {
		t.Helper()
		if row := p.row(); row.Status != status || row.Settled != units(settled) {
			t.Errorf("%s, settled %s; want %s, %d", row.Status, row.Settled, status, settled)
		}
	}
	if err := tr.settleRound(context.Background()); err != nil {
		t.Fatal(err)
	}
	f(small, session.Active, 0)
	f(large, session.Active, 6*dollar)
	f(used, session.Active, 0) // its payer may be about to top it up
	f(over, session.Active, 0)
	m.c.options.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if err := tr.settleRound(context.Background()); err != nil {
		t.Fatal(err)
	}
	f(small, session.Active, 20_000)
	f(used, session.Closed, 6*dollar-5_000)
	f(over, session.Closed, 6*dollar)
	m.c.options.now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) }
	if err := tr.settleRound(context.Background()); err != nil {
		t.Fatal(err)
	}
	f(small, session.Closed, 20_000)
	f(large, session.Closed, 6*dollar)
	balanced(t, m, 18*dollar+15_000)
}

// TestRounds: Settler and Watcher work without being called, and end with Close.
func TestRounds(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	settler := m.c.NewSettler(SettlePolicy{Every: 10 * time.Millisecond})
	watcher := m.c.NewWatcher(WatchIntervals{Channels: 10 * time.Millisecond})
	if _, err := m.client.Send(context.Background(), m.tx(p.key, requestClose(p))); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); p.row().Status != session.Closed && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	settler.Close()
	watcher.Close()
	if row := p.row(); row.Status != session.Closed || row.Settled != units(20_000) {
		t.Errorf("%s, settled %s", row.Status, row.Settled)
	}
}
