package channel

import (
	"context"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/recordid"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"
)

// lastFailure makes the chain refuse every question until it is back.
func (m *market) away() {
	m.t.Helper()
	if err := m.chain.Inject(sandbox.Fault{Refuse: &sandbox.Error{Code: -32005, Message: "busy"}}); err != nil {
		m.t.Fatal(err)
	}
}

// statusOf is the HTTP status that an error of Pay is answered with, 200 for none.
func statusOf(err error) int {
	if err == nil {
		return 200
	}
	return mpp.AsProblem(err).Status()
}

// expect pays and holds the answer to a status.
func (m *market) expect(p mpp.Payload, shape mpp.Shape, status int, want mpp.ProblemType) {
	m.t.Helper()
	_, err := m.pay(p, shape)
	if statusOf(err) != status || problemOf(err) != want {
		m.t.Errorf("%T: %d, %v; want %d %s", p, statusOf(err), err, status, want)
	}
	if status == 503 && mpp.AsProblem(err).RetryAfter == 0 {
		m.t.Errorf("%T: no Retry-After", p)
	}
}

// TestOutage: while the chain does not answer, vouchers are taken for as long as what
// it said last cannot cost the payee anything. After that they are refused with 503.
func TestOutage(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 10_000, 10_000)
	m.expect(p.voucher(20_000), content, 200, "")
	m.away()
	m.later(12 * time.Second)
	m.expect(p.voucher(30_000), content, 200, "")
	m.later(MaxStateAge - 20*time.Second)
	m.expect(p.voucher(40_000), management, 200, "")
	if _, err := admitOn(context.Background(), m.c, p.ref.ChannelID, TicketKey{2}, recordid.New(), 10_000); err != nil {
		t.Errorf("a charge: %v", err)
	}
	// What needs the chain waits for it.
	m.expect(p.voucher(6*dollar), content, 503, mpp.InternalPaymentError)
	m.expect(p.topUp(dollar), management, 503, mpp.InternalPaymentError)
	m.expect(p.close(40_000), management, 503, mpp.InternalPaymentError)
	other, tx := m.openTx(key(2), 5*dollar)
	m.expect(other.open(tx, 10_000), content, 503, mpp.InternalPaymentError)

	m.later(20 * time.Second)
	m.expect(p.voucher(50_000), content, 503, mpp.InternalPaymentError)
	m.chain.ClearFaults()
	m.expect(p.voucher(50_000), content, 200, "")
	m.expect(p.close(50_000), management, 200, "")
	balanced(t, m, 20_000)
}

// TestOutageAfterRound: a channel that was not used counts as seen when the watcher has
// seen all channels.
func TestOutageAfterRound(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 10_000, 10_000)
	tr := m.c.Rounds(SettlePolicy{})
	ctx := context.Background()
	f := func(wait time.Duration, round bool, signed uint64, status int) {
		t.Helper()
		m.later(wait)
		if round {
			if err := tr.watchRound(ctx); err != nil {
				t.Fatal(err)
			}
		}
		m.away()
		tr.watchRound(ctx) // which sees nothing
		want := mpp.ProblemType("")
		if status == 503 {
			want = mpp.InternalPaymentError
		}
		m.expect(p.voucher(signed), content, status, want)
		m.chain.ClearFaults()
	}
	f(10*time.Minute, true, 20_000, 200)
	f(4*time.Minute, false, 30_000, 200)
	f(2*time.Minute, false, 40_000, 503)
	f(0, true, 40_000, 200)
	if row := p.row(); row.SeenAt > m.now().Add(-10*time.Minute).UnixMilli() {
		t.Error("the round has written a row without news")
	}
}

// TestOutageAfterNews: what was known before the outage counts during it.
func TestOutageAfterNews(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	asked, gone := m.served(1, 5*dollar, 10_000, 10_000), m.served(2, 6*dollar, 10_000, 10_000)
	if _, err := m.client.Send(ctx, m.tx(asked.key, requestClose(asked))); err != nil {
		t.Fatal(err)
	}
	m.later(time.Second)
	m.expect(asked.voucher(20_000), content, 410, mpp.ChannelFinalized)
	m.away()
	m.expect(asked.voucher(20_000), content, 410, mpp.ChannelFinalized)
	m.chain.ClearFaults()

	m.later(time.Second)
	if err := m.chain.Inject(sandbox.Fault{Method: "eth_call", Lag: 1000}); err != nil { // none is there yet
		t.Fatal(err)
	}
	m.expect(gone.voucher(20_000), content, 410, mpp.ChannelNotFound)
	m.away()
	m.chain.ClearFaults()
	m.away()
	m.expect(gone.voucher(20_000), content, 503, mpp.InternalPaymentError)
	m.chain.ClearFaults()
	m.expect(gone.voucher(20_000), content, 200, "") // it was a replica
}

// TestHangingChain: a chain that takes its time does not hold up a payer whose channel
// was seen lately.
func TestHangingChain(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 10_000, 10_000)
	m.c.options.lookupWait = 20 * time.Millisecond
	if err := m.chain.Inject(sandbox.Fault{Delay: time.Second}); err != nil {
		t.Fatal(err)
	}
	m.later(time.Second)
	m.expect(p.voucher(20_000), content, 200, "")
	if !m.c.watchState.failedRecently(m.now(), time.Minute) {
		t.Error("the payer waited for the chain")
	}
	m.chain.ClearFaults()
}

// TestNobodyWaitsInTurn: when a look at the chain has failed, the next payers do not
// wait for one of their own until some time has passed.
func TestNobodyWaitsInTurn(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, q := m.served(1, 5*dollar, 10_000, 10_000), m.served(2, 6*dollar, 10_000, 10_000)
	m.c.options.StateTTL = 20 * time.Second
	f := func(wait time.Duration, who *purse, signed uint64, looks bool) {
		t.Helper()
		m.later(wait)
		calls := m.chain.Calls("eth_call")
		m.expect(who.voucher(signed), content, 200, "")
		if looked := m.chain.Calls("eth_call") > calls; looked != looks {
			t.Errorf("after %s: looked %t", wait, looked)
		}
	}
	f(10*time.Second, p, 20_000, false)
	m.away()
	f(15*time.Second, p, 30_000, true)
	f(0, p, 40_000, false)
	f(10*time.Second, q, 20_000, false)
	f(15*time.Second, q, 30_000, true)
	m.chain.ClearFaults()
	f(25*time.Second, q, 40_000, true)
	f(0, q, 50_000, false) // it was seen just now
}

// TestSeenByRound: a round counts for the channels that it can have known.
func TestSeenByRound(t *testing.T) {
	w := watchState{missing: map[common.Hash]time.Time{}}
	w.sawAll(time.UnixMilli(100))
	w.sawAll(time.UnixMilli(50)) // one that took longer
	f := func(created, seen, want int64) {
		t.Helper()
		if got := w.seenAt(&session.Channel{CreatedAt: created, SeenAt: seen}); got != want {
			t.Errorf("created %d, seen %d: %d, want %d", created, seen, got, want)
		}
	}
	f(10, 20, 100)
	f(10, 120, 120)
	f(99, 99, 100)
	f(100, 90, 90)
	f(110, 90, 90)
}

// TestClockSkew: a clock that is an hour off, either way, opens, tops up, settles and
// closes channels as one that is right, and what it believes of its transactions goes
// by the chain.
func TestClockSkew(t *testing.T) {
	f := func(skew time.Duration) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		m.skew.Store(int64(skew))
		m.restart()
		ctx := context.Background()
		p := m.served(1, 5*dollar, 10_000, 10_000)
		m.expect(p.topUp(dollar), management, 200, "")
		if err := m.c.Settle(ctx, p.ref.ChannelID); err != nil {
			t.Errorf("%s: settle: %v", skew, err)
		}
		m.expect(p.voucher(20_000), content, 200, "")
		m.expect(p.close(20_000), management, 200, "")
		if row := p.row(); row.Status != session.Closed || row.Settled != units(10_000) {
			t.Errorf("%s: %s, settled %s", skew, row.Status, row.Settled)
		}
		// The end is watched, and no longer than it has to be.
		for _, wait := range []struct {
			time.Duration
			left int
		}{{0, 1}, {40 * time.Second, 1}, {time.Minute, 0}} {
			m.later(wait.Duration)
			if err := m.c.Reconcile(ctx); err != nil {
				t.Errorf("%s: %v", skew, err)
			}
			if list, _ := m.book.Intents(); len(list) != wait.left {
				t.Errorf("%s, after %s: %d intents, want %d", skew, wait.Duration, len(list), wait.left)
			}
		}
		balanced(t, m, 10_000)
		gone := m.served(2, 6*dollar, 10_000, 0)
		m.withdrawn(gone)
		tr := m.c.Rounds(SettlePolicy{})
		for _, left := range []int{1, 1, 0} {
			if err := tr.watchRound(ctx); err != nil {
				t.Errorf("%s: %v", skew, err)
			}
			gone.is(session.Closed, 0, 0)
			if list, _ := m.book.Intents(); len(list) != left {
				t.Errorf("%s, withdrawn: %d intents, want %d", skew, len(list), left)
			}
			m.later(40 * time.Second)
		}
	}
	f(0)
	f(time.Hour)
	f(-time.Hour)
	f(40 * time.Second)
	f(-40 * time.Second)
}

// TestPayersTime: the window of a payer's transaction is held to the chain's time, not
// to ours.
func TestPayersTime(t *testing.T) {
	f := func(skew time.Duration, ends time.Duration, status int, want mpp.ProblemType) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		m.skew.Store(int64(skew))
		m.restart()
		m.chain.Mine()
		k := key(1)
		salt++
		call := tempo.OpenCall{Payee: m.payee.Address(), Token: sandbox.PathUSD, Deposit: units(dollar), Salt: [32]byte{31: salt}, AuthorizedSigner: k.Address()}
		tx := m.tx(k, call)
		tx.ValidBefore = uint64(time.Now().Add(ends).Unix())
		if err := tx.Sign(k.Address(), k); err != nil {
			t.Fatal(err)
		}
		d, _, err := tempo.OpenedBy(tx, k.Address())
		if err != nil {
			t.Fatal(err)
		}
		p := &purse{m: m, key: k, ref: mpp.ChannelRef{ChannelID: m.terms.Domain.ChannelID(d), Descriptor: d}}
		m.expect(p.open(tx, 10_000), content, status, want)
		if sent := m.chain.Calls("eth_sendRawTransactionSync"); (sent > 0) != (status == 200) {
			t.Errorf("skew %s, ends in %s: sent %d times", skew, ends, sent)
		}
	}
	f(0, 20*time.Second, 200, "")
	f(time.Hour, 20*time.Second, 200, "")
	f(-time.Hour, 20*time.Second, 200, "")
	f(0, -20*time.Second, 402, mpp.VerificationFailed)
	f(-time.Hour, -20*time.Second, 402, mpp.VerificationFailed)
}

// TestSeenAgain: that the chain shows a channel as before is known, and not written.
func TestSeenAgain(t *testing.T) {
	book := newBookkeeper()
	m := newMarket(t, StoreOf(book))
	p := m.served(1, 5*dollar, 30_000, 20_000)
	ctx, id := context.Background(), p.ref.ChannelID
	writes := func() int { book.mu.Lock(); defer book.mu.Unlock(); return book.commits }
	before, row := writes(), p.row()
	s, err := m.c.stateOf(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	s.Seen = row.SeenAt + 1
	seen, err := m.c.observe(ctx, id, s)
	if err != nil || seen.SeenAt != row.SeenAt+1 || writes() != before {
		t.Errorf("seen at %d, want %d; %d writes; %v", seen.SeenAt, row.SeenAt+1, writes()-before, err)
	}
	s.Seen, s.Deposit = s.Seen+1, units(6*dollar)
	if seen, err = m.c.observe(ctx, id, s); err != nil || seen.Deposit != units(6*dollar) || writes() != before+1 {
		t.Errorf("deposit %s; %d writes; %v", seen.Deposit, writes()-before, err)
	}
}
