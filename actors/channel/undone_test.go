package channel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// later is our clock, and the settlement client's, moved with the chain's.
func (m *market) later(d time.Duration) {
	m.chain.IncreaseTime(d)
	m.ahead.Add(int64(d))
}

// TestReconcileUndoneClose: the block with a close is replaced and its transaction
// lost. The channel is closed once more: by the same transaction while it is good, by
// another after that.
func TestReconcileUndoneClose(t *testing.T) {
	f := func(wait time.Duration) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p := m.served(1, 5*dollar, 30_000, 20_000)
		ctx := context.Background()
		if _, err := m.pay(p.close(20_000), management); err != nil {
			t.Fatal(err)
		}
		if err := m.chain.Reorg(1, true); err != nil {
			t.Fatal(err)
		}
		m.later(wait)
		for range 2 {
			if err := m.c.Reconcile(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if row := p.row(); row.Status != session.Closed || row.Settled != units(20_000) || !row.Lost.IsZero() {
			t.Errorf("after %s: %s, settled %s, lost %s", wait, row.Status, row.Settled, row.Lost)
		}
		if sum := m.c.paid.totals(); sum.Settled != units(20_000) {
			t.Errorf("after %s: counted %s", wait, sum.Settled)
		}
		balanced(t, m, 20_000)
	}
	f(0)
	f(40 * time.Second)
}

// TestReconcileUndoneWithdrawal: so it is when it was the payer who had ended it; then
// what was lost is had.
func TestReconcileUndoneWithdrawal(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	ctx := context.Background()
	if _, err := m.client.Send(ctx, m.tx(p.key, requestClose(p))); err != nil {
		t.Fatal(err)
	}
	m.later(901 * time.Second)
	if _, err := m.client.Send(ctx, m.tx(p.key, tempo.WithdrawCall{Descriptor: p.ref.Descriptor})); err != nil {
		t.Fatal(err)
	}
	tr := m.c.Rounds(SettlePolicy{})
	if err := tr.watchRound(ctx); err != nil {
		t.Fatal(err)
	}
	if row := p.row(); row.Lost != units(20_000) {
		t.Fatalf("%s, lost %s", row.Status, row.Lost)
	}
	if err := m.chain.Reorg(1, true); err != nil {
		t.Fatal(err)
	}
	m.later(time.Second)
	if err := tr.watchRound(ctx); err != nil {
		t.Fatal(err)
	}
	if row := p.row(); row.Status != session.Closed || row.Settled != units(20_000) || !row.Lost.IsZero() {
		t.Errorf("%s, settled %s, lost %s", row.Status, row.Settled, row.Lost)
	}
	balanced(t, m, 20_000)
}

// TestUndoneCloseThenWithdrawal: the block with a close is replaced, and before anybody
// lookups its payer withdraws. What was booked as paid out is lost.
func TestUndoneCloseThenWithdrawal(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	ctx := context.Background()
	if _, err := m.client.Send(ctx, m.tx(p.key, requestClose(p))); err != nil {
		t.Fatal(err)
	}
	m.later(901 * time.Second)
	m.expect(p.close(20_000), management, 200, "")
	p.is(session.Closed, 20_000, 0)
	if err := m.chain.Reorg(1, true); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Send(ctx, m.tx(p.key, tempo.WithdrawCall{Descriptor: p.ref.Descriptor})); err != nil {
		t.Fatal(err)
	}
	m.later(2 * reorgWindow)
	tr := m.c.Rounds(SettlePolicy{})
	for range 2 {
		if err := tr.watchRound(ctx); err != nil {
			t.Error(err)
		}
	}
	p.is(session.Closed, 0, 20_000)
	if got := tr.Totals(); got.Lost != units(20_000) || got.Losses != 1 {
		t.Errorf("totals %+v", got)
	}
	balanced(t, m, 0)
}

// TestCloseAfterUndoneTopUp: a deposit that the chain has taken back does not keep a
// channel from being closed, for what is there.
func TestCloseAfterUndoneTopUp(t *testing.T) {
	f := func(consumed, captured uint64) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p := m.served(1, 2*dollar, dollar, dollar)
		ctx := context.Background()
		if _, err := m.pay(p.topUp(dollar), management); err != nil {
			t.Fatal(err)
		}
		if _, err := m.pay(p.voucher(3*dollar), management); err != nil {
			t.Fatal(err)
		}
		if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{9}, recordid.New(), consumed); err != nil {
			t.Fatal(err)
		}
		if err := m.chain.Reorg(1, true); err != nil {
			t.Fatal(err)
		}
		_, err := m.c.CloseChannel(ctx, p.ref.ChannelID)
		if refused := (*settle.Reverted)(nil); errors.As(err, &refused) {
			_, err = m.c.CloseChannel(ctx, p.ref.ChannelID) // it is known now what is there
		}
		if err != nil {
			t.Fatal(err)
		}
		if row := p.row(); row.Status != session.Closed || row.Settled != units(captured) {
			t.Errorf("%s, settled %s of %s", row.Status, row.Settled, row.Spent)
		}
		balanced(t, m, captured)
	}
	f(10_000, dollar+10_000)
	f(2*dollar, 2*dollar)
}

// TestSettleWhileOneIsOpen: a second settlement, which the chain refuses because the
// first has landed unseen, must not make what was paid out refundable.
func TestSettleWhileOneIsOpen(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	ctx, id := context.Background(), p.ref.ChannelID
	if _, err := m.pay(p.open(tx, 50_000), content); err != nil {
		t.Fatal(err)
	}
	job := recordid.New()
	if _, err := admitOn(ctx, m.c, id, TicketKey{1}, job, 50_000); err != nil {
		t.Fatal(err)
	}
	// The first: signed, written, sent, and nobody hears of it.
	row, due, err := m.c.beginSettle(ctx, id, (*session.Channel).BeginSettle)
	if err != nil || !due {
		t.Fatal(due, err)
	}
	signed, err := m.client.SignSettle(ctx, row)
	if err != nil {
		t.Fatal(err)
	}
	intent := Intent{ID: recordid.New(), Kind: IntentSettle, Channels: []common.Hash{id}, Amounts: amountsOf(row.Settling), Raw: signed.Raw, Hash: signed.Hash, ValidBefore: int64(signed.ValidBefore)}
	if err := m.book.Commit(Entry{Intent: &intent}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Broadcast(ctx, signed); err != nil {
		t.Fatal(err)
	}
	m.c.Settle(ctx, id)
	if err := m.c.Void(ctx, id, Order{Key: TicketKey{1}}); !errors.Is(err, errPaidOut) {
		t.Errorf("a charge that is paid out was given back: %v", err)
	}
	if err := m.c.Reconcile(ctx); err != nil {
		t.Error(err)
	}
	if row := p.row(); row.Settled != units(50_000) || row.Spent != units(50_000) {
		t.Errorf("settled %s, spent %s", row.Settled, row.Spent)
	}
	balanced(t, m, 50_000)
}

// TestUnstickLeavesIntents: a close that was signed while the list of intents was read
// is not undone.
func TestUnstickLeavesIntents(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	ctx, id := context.Background(), p.ref.ChannelID
	row, err := m.c.beginClose(ctx, id, session.Voucher{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	intent := Intent{ID: recordid.New(), Kind: IntentClose, Channels: idsOf(p), Amounts: amountsOf(row.Capture), Raw: []byte{1}, Hash: common.Hash{1}, ValidBefore: time.Now().Unix() + 25}
	if err := m.book.Commit(Entry{Intent: &intent}); err != nil {
		t.Fatal(err)
	}
	if err := m.c.reactivate(ctx, id); err != nil {
		t.Fatal(err)
	}
	if row := p.row(); row.Status != session.Closing {
		t.Errorf("%s while its close may be on its way", row.Status)
	}
}

// TestReconcileLate: an end that nobody has seen yet is not given up the very moment
// that its transaction expires.
func TestReconcileLate(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	ctx := context.Background()
	row, err := m.c.beginClose(ctx, p.ref.ChannelID, session.Voucher{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	intent := Intent{ID: recordid.New(), Kind: IntentClose, Channels: idsOf(p), Amounts: amountsOf(row.Capture), Raw: []byte{1}, Hash: common.Hash{1}, ValidBefore: time.Now().Unix() + 10}
	if err := m.book.Commit(Entry{Intent: &intent}); err != nil {
		t.Fatal(err)
	}
	at := time.Duration(-10) * time.Second // after the end of the transaction, on chain
	f := func(after time.Duration, want session.Status) {
		t.Helper()
		m.chain.IncreaseTime(after - at)
		m.chain.Mine()
		at = after
		if err := m.c.Reconcile(ctx); err != nil {
			t.Error(err)
		}
		if row := p.row(); row.Status != want {
			t.Errorf("%s after its transaction expired: %s, want %s", after, row.Status, want)
		}
	}
	f(-4*time.Second, session.Closing)
	f(0, session.Closing)
	f(6*time.Second, session.Active)
}

// TestCommitRefused: what was reserved is free again, whatever came of its charge.
func TestCommitRefused(t *testing.T) {
	row := funded(100)
	c := openChannels(t, StoreOf(newBookkeeper(row)))
	ctx := context.Background()
	if err := c.Hold(ctx, row.ID, units(60)); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(ctx, row.ID, units(200)); err == nil {
		t.Fatal("more was charged than there is")
	}
	if s, err := c.Standing(ctx, row.ID); err != nil || s.Available != units(100) {
		t.Errorf("available %s, %v", s.Available, err)
	}
}

// TestAdoptRefused: a voucher that is refused after its channel was adopted leaves a
// channel that the payee can close; one above the deposit adopts nothing.
func TestAdoptRefused(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 100_000, 100_000)
	ctx, id := context.Background(), p.ref.ChannelID
	if _, err := m.client.Send(ctx, m.tx(p.key, requestClose(p))); err != nil {
		t.Fatal(err)
	}
	full, book := errors.New("no space left on device"), newBookkeeper()
	m.book, m.adopt = StoreOf(book), true // the ledger is lost
	m.restart()
	book.broken = full
	if _, err := m.pay(p.voucher(100_000), management); !errors.Is(err, full) {
		t.Errorf("an adoption that could not be booked: %v", err)
	}
	book.broken = nil
	if _, err := m.pay(p.voucher(6*dollar), management); err == nil {
		t.Error("a voucher above the deposit was taken")
	}
	if _, err := m.book.Channel(id); !errors.Is(err, ErrNoChannel) {
		t.Errorf("a voucher above the deposit has adopted the channel: %v", err)
	}
	if _, err := m.pay(p.voucher(100_000), management); err == nil {
		t.Error("a voucher was taken while the payer wants to close")
	}
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil {
		t.Error(err)
	}
	if row := p.row(); row.Status != session.Closed || row.Settled != units(100_000) {
		t.Errorf("%s, settled %s", row.Status, row.Settled)
	}
	balanced(t, m, 100_000)
}

// TestEndIsWatched: the intent of an end stays for as long as a block may be replaced
// after its transaction could land last, and until then the end is taken back with it.
func TestEndIsWatched(t *testing.T) {
	ctx := context.Background()
	f := func(wait time.Duration, left int) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p := m.served(1, 5*dollar, 30_000, 20_000)
		m.expect(p.close(20_000), management, 200, "")
		list, err := m.book.Intents()
		if err != nil || len(list) != 1 {
			t.Fatalf("%d intents, %v", len(list), err)
		}
		end := time.Unix(list[0].ValidBefore, 0)
		m.later(end.Sub(m.now()) + wait)
		m.chain.Mine()
		if err := m.c.Reconcile(ctx); err != nil {
			t.Fatal(err)
		}
		if list, _ := m.book.Intents(); len(list) != left {
			t.Errorf("%s after its end: %d intents, want %d", wait, len(list), left)
		}
	}
	f(-20*time.Second, 1)
	f(0, 1)
	f(reorgWindow-5*time.Second, 1)
	f(reorgWindow+5*time.Second, 0)
}

// TestYoungOpening: an opening that the chain does not show yet is kept for as long as
// its transaction may land.
func TestYoungOpening(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	tr := m.c.Rounds(SettlePolicy{})
	row := session.Channel{ID: common.Hash{7}, Status: session.Opening, CreatedAt: m.now().UnixMilli()}
	if err := m.book.Commit(Entry{Channel: &row}); err != nil {
		t.Fatal(err)
	}
	f := func(wait time.Duration, there bool) {
		t.Helper()
		m.later(wait)
		if err := tr.watchRound(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := m.book.Channel(row.ID); (err == nil) != there {
			t.Errorf("it is kept: %v", err)
		}
	}
	f(0, true)
	f(5*time.Minute, true) // the longest that the chain takes an expiring transaction ahead
	f(openingTime-5*time.Minute-10*time.Second, true)
	f(20*time.Second, false)
}
