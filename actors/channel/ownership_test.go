package channel

import (
	"context"
	"errors"
	"testing"
	"time"

	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
)

// beside is another server of the same payee, with a ledger of its own.
func (m *market) beside(adopt bool) *market {
	m.t.Helper()
	other := &market{t: m.t, chain: m.chain, client: m.client, book: StoreOf(newBookkeeper()), terms: m.terms, issuer: m.issuer, route: m.route, payee: m.payee, adopt: adopt}
	other.restart()
	return other
}

// at is the purse at another server.
func (p *purse) at(m *market) *purse { return &purse{m: m, key: p.key, ref: p.ref} }

// TestOwnership: a channel is served by the ledger that it was opened with, and by no
// other one of the same payee.
func TestOwnership(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	m.expect(p.open(tx, 10_000), content, 200, "")
	b := m.beside(false)
	calls := m.chain.Calls("*")
	refused := func(payload mpp.Payload, shape mpp.Shape) {
		t.Helper()
		_, err := b.pay(payload, shape)
		known, _ := errors.AsType[*mpp.Problem](err)
		if known == nil || known.Type != mpp.ChannelNotFound || known.Hint == "" || known.ChannelID != p.ref.ChannelID {
			t.Errorf("%T: %v", payload, err)
		}
	}
	refused(p.voucher(20_000), content)
	refused(p.voucher(20_000), management)
	refused(p.close(10_000), management)
	refused(p.topUp(dollar), management)
	if n := m.chain.Calls("*"); n != calls {
		t.Errorf("%d questions to the chain", n-calls)
	}
	refused(p.open(tx, 10_000), content)
	for _, method := range []string{"eth_sendRawTransactionSync", "eth_sendRawTransaction"} {
		if n := m.chain.Calls(method); n > 1 {
			t.Errorf("%s was called %d times", method, n)
		}
	}
	if _, err := b.book.Channel(p.ref.ChannelID); !errors.Is(err, ErrNoChannel) {
		t.Errorf("the other server keeps it: %v", err)
	}
	forged := p.voucher(20_000).(*mpp.Voucher)
	forged.Signature[7]++
	b.expect(forged, content, 402, mpp.InvalidSignature)
	m.expect(p.voucher(20_000), content, 200, "")

	// The payer has sent it past the server.
	past, tx := m.openTx(key(2), 5*dollar)
	if _, err := m.client.Send(context.Background(), tx); err != nil {
		t.Fatal(err)
	}
	m.expect(past.open(tx, 10_000), content, 410, mpp.ChannelNotFound)
	m.expect(past.voucher(10_000), content, 410, mpp.ChannelNotFound)

	// The operator says that nobody else serves them.
	m.adopt = true
	m.restart()
	m.expect(past.open(tx, 10_000), content, 200, "")
	adopting := m.beside(true)
	adopting.expect(p.at(adopting).voucher(30_000), content, 200, "")
}

// TestOwnershipOfOpening: a channel whose opening was announced is served, also where
// the process that announced it saw no answer.
func TestOwnershipOfOpening(t *testing.T) {
	f := func(payload func(*purse, mpp.Payload) mpp.Payload) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p, tx := m.openTx(key(1), 5*dollar)
		announced := session.Channel{
			ID: p.ref.ChannelID, ChainID: m.chain.ChainID(), Escrow: m.terms.Domain.Escrow(), Descriptor: p.ref.Descriptor,
			Status: session.Opening, OpenTx: tx.Hash(), CreatedAt: m.now().UnixMilli(),
		}
		if err := m.book.Commit(Entry{Channel: &announced}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.client.Send(context.Background(), tx); err != nil {
			t.Fatal(err)
		}
		m.expect(payload(p, p.open(tx, 10_000)), content, 200, "")
	}
	f(func(_ *purse, open mpp.Payload) mpp.Payload { return open })
	f(func(p *purse, _ mpp.Payload) mpp.Payload { return p.voucher(10_000) })
}

// TestForeignSettlement: what the chain has paid out and these books never signed for
// stops new work, is told, and counts as served once the operator says so.
func TestForeignSettlement(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	p, other := m.served(1, 5*dollar, 20_000, 20_000), m.served(2, 6*dollar, 20_000, 20_000)
	b := m.beside(true)
	// Another server with the same key serves and settles the same channel.
	b.expect(p.at(b).voucher(60_000), management, 200, "")
	if err := b.c.Settle(ctx, p.ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	check := func(active bool, count uint64) {
		t.Helper()
		for _, f := range m.c.Faults() {
			if f.Kind == FaultForeign && (f.Active != active || f.Count != count || f.Action == "") {
				t.Errorf("%+v", f)
			}
		}
	}
	check(false, 0)
	m.expect(other.voucher(30_000), content, 200, "")
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil {
		t.Fatal(err)
	}
	check(true, 1)
	if !m.log.has("level=ERROR") || !m.log.has("fault=foreign_settlement") || !m.log.has("--adopt-channels") {
		t.Error("it is not in the log")
	}
	fresh, tx := m.openTx(key(2), 7*dollar)
	refuses := func() {
		t.Helper()
		m.expect(fresh.open(tx, 10_000), content, 503, mpp.InternalPaymentError)
		m.expect(fresh.open(tx, 10_000), management, 503, mpp.InternalPaymentError)
		m.expect(other.voucher(40_000), content, 503, mpp.InternalPaymentError)
		m.expect(p.voucher(70_000), content, 503, mpp.InternalPaymentError)
		m.expect(p.voucher(70_000), management, 503, mpp.InternalPaymentError)
	}
	refuses()
	if s := m.c.SnapshotOf(ctx, p.key.Address()); s != nil {
		t.Errorf("its payer is told to go on with it: %+v", s)
	}
	m.expect(other.voucher(50_000), management, 200, "") // for work that is under way
	m.restart()                                          // it is found again, though the chain is away
	m.away()
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err == nil {
		t.Fatal("the chain answers")
	}
	m.chain.ClearFaults()
	check(true, 1)
	refuses()
	m.expect(other.topUp(dollar), management, 200, "")
	m.expect(other.close(50_000), management, 200, "") // who wants out is let out

	m.adopt = true
	m.restart()
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil {
		t.Fatal(err)
	}
	check(false, 0)
	if row := p.row(); row.Spent != units(60_000) || row.Settled != units(60_000) {
		t.Errorf("spent %s, settled %s", row.Spent, row.Settled)
	}
	m.expect(p.voucher(70_000), content, 200, "")
}

// TestForeignVoucher: it is found at the first voucher, too, before any round.
func TestForeignVoucher(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 20_000, 10_000)
	b := m.beside(true)
	b.expect(p.at(b).voucher(60_000), management, 200, "")
	if err := b.c.Settle(context.Background(), p.ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	m.later(time.Second)
	m.expect(p.voucher(70_000), content, 503, mpp.InternalPaymentError)
	if !m.c.faults.isActive(FaultForeign) {
		t.Error("it was not noticed")
	}
}

// TestForeignEnd: a channel that another holder of the key has closed for more than was
// served here.
func TestForeignEnd(t *testing.T) {
	f := func(captured uint64, foreign bool) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		ctx := context.Background()
		p := m.served(1, 5*dollar, 60_000, 20_000)
		row := p.row()
		row.Status, row.Close, row.Capture = session.Closing, row.Highest, units(captured)
		signed, err := m.client.SignClose(ctx, row)
		if err == nil {
			_, err = m.client.Broadcast(ctx, signed)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil {
			t.Fatal(err)
		}
		if row := p.row(); row.Status != session.Closed || row.Settled != units(captured) {
			t.Errorf("%s, settled %s", row.Status, row.Settled)
		}
		if m.c.faults.isActive(FaultForeign) != foreign {
			t.Errorf("captured %d: foreign %t", captured, !foreign)
		}
	}
	f(50_000, true)
	f(10_000, true) // less than was served, and nobody here has signed it
	f(0, false)     // as if the payer had withdrawn
}

// TestOwnSettlementsAreNot foreign, in whatever order they are seen.
func TestOwnSettlementsAreNotForeign(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	p := m.served(1, 5*dollar, 20_000, 20_000)
	// It lands, and this process does not hear of it.
	row, due, err := m.c.beginSettle(ctx, p.ref.ChannelID, (*session.Channel).BeginSettle)
	if err != nil || !due {
		t.Fatal(due, err)
	}
	signed, err := m.client.SignSettle(ctx, row)
	if err == nil {
		_, err = m.client.Broadcast(ctx, settle.Signed{Raw: signed.Raw, Hash: signed.Hash, ValidBefore: signed.ValidBefore})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.restart()
	m.later(time.Second)
	m.expect(p.voucher(30_000), content, 200, "")
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil {
		t.Fatal(err)
	}
	if row := p.row(); row.Settled != units(20_000) || m.c.faults.isActive(FaultForeign) {
		t.Errorf("settled %s", row.Settled)
	}
	m.expect(p.close(30_000), management, 200, "")
	if err := m.c.Rounds(SettlePolicy{}).watchRound(ctx); err != nil || m.c.faults.isActive(FaultForeign) {
		t.Errorf("%v", err)
	}
}
