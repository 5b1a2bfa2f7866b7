package channel

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"txlens/actors/recordid"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/session"
)

func problemOf(err error) mpp.ProblemType {
	var p *mpp.Problem
	if errors.As(err, &p) {
		return p.Type
	}
	if err != nil {
		return mpp.ProblemType("not a problem: " + err.Error())
	}
	return ""
}

// TestPayLife takes a channel from its opening to its end on a real reserve.
func TestPayLife(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	f := func(what string, payload mpp.Payload, shape mpp.Shape, want mpp.ProblemType, accepted, spent, deposit uint64) {
		t.Helper()
		got, err := m.pay(payload, shape)
		if problemOf(err) != want {
			t.Fatalf("%s: %v, want %q", what, err, want)
		}
		if err == nil && (got.Accepted != units(accepted) || got.Spent != units(spent) || got.Deposit != units(deposit)) {
			t.Errorf("%s: accepted %s, spent %s, deposit %s", what, got.Accepted, got.Spent, got.Deposit)
		}
	}
	ctx := context.Background()
	id := p.ref.ChannelID
	f("voucher before the open", p.voucher(10_000), content, mpp.ChannelNotFound, 0, 0, 0)
	f("open", p.open(tx, 10_000), content, "", 10_000, 0, 5*dollar)
	f("the same open again", p.open(tx, 10_000), content, "", 10_000, 0, 5*dollar)
	if a, err := admitOn(ctx, m.c, id, TicketKey{1}, "0", 10_000); err != nil || !a.Fresh || a.Spent != units(10_000) {
		t.Fatalf("admit: %+v, %v", a, err)
	}
	if a, err := admitOn(ctx, m.c, id, TicketKey{1}, "1", 10_000); err != nil || a.Fresh || a.Bill != "0" || a.Spent != units(10_000) {
		t.Fatalf("admit again: %+v, %v", a, err)
	}
	if _, err := admitOn(ctx, m.c, id, TicketKey{2}, "2", 10_000); problemOf(err) != mpp.InsufficientBalance {
		t.Fatalf("admit without money: %v", err)
	}
	f("the open again after the charge", p.open(tx, 10_000), content, "", 10_000, 10_000, 5*dollar)
	f("voucher", p.voucher(40_000), management, "", 40_000, 10_000, 5*dollar)
	f("the open again after a voucher", p.open(tx, 10_000), content, "", 40_000, 10_000, 5*dollar)
	f("lower voucher", p.voucher(39_999), content, mpp.VerificationFailed, 0, 0, 0)
	f("voucher above the deposit", p.voucher(5*dollar+1), content, mpp.AmountExceedsDeposit, 0, 0, 0)
	f("top up", p.topUp(2*dollar), management, "", 40_000, 10_000, 7*dollar)
	f("voucher above the old deposit", p.voucher(6*dollar), content, "", 6*dollar, 10_000, 7*dollar)
	forged := p.voucher(6*dollar + 5).(*mpp.Voucher)
	forged.CumulativeAmount = units(6*dollar + 6)
	f("forged voucher", forged, content, mpp.InvalidSignature, 0, 0, 0)
	f("close below what was served", p.close(9_999), management, mpp.VerificationFailed, 0, 0, 0)

	m.restart() // the ledger holds all of it
	f("after a restart", p.voucher(6*dollar), content, "", 6*dollar, 10_000, 7*dollar)
	f("close", p.close(20_000), management, "", 20_000, 10_000, 7*dollar)
	f("the same close again", p.close(20_000), management, "", 20_000, 10_000, 7*dollar)
	f("voucher after the close", p.voucher(6*dollar+9), content, mpp.ChannelFinalized, 0, 0, 0)
	if row := p.row(); row.Status != session.Closed || row.Capture != units(10_000) || !row.Lost.IsZero() {
		t.Errorf("row %+v", row)
	}
	balanced(t, m, 10_000)
}

// balanced holds the sandbox's books: the payee got what was served, and each
// finished channel gave out what was put in.
func balanced(t *testing.T, m *market, captured uint64) {
	t.Helper()
	sum := new(uint256.Int)
	for _, ch := range m.chain.Books().Channels {
		sum.Add(sum, ch.Captured)
		if out := new(uint256.Int).Add(ch.Captured, ch.Refunded); !ch.Open && !out.Eq(ch.Deposited) {
			t.Errorf("channel %s: %s out of %s", ch.ID, out, ch.Deposited)
		}
	}
	if !sum.Eq(uint256.NewInt(captured)) {
		t.Errorf("captured %s, want %d", sum, captured)
	}
}

// TestPayLostLedger (H8): a healthy channel that the ledger lost goes on, and what
// was signed before counts as served.
func TestPayLostLedger(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	m.adopt = true
	p, tx := m.openTx(key(1), 5*dollar)
	if _, err := m.pay(p.open(tx, 100_000), content); err != nil {
		t.Fatal(err)
	}
	m.book = StoreOf(newBookkeeper())
	m.restart()
	got, err := m.pay(p.voucher(110_000), content)
	if err != nil || got.Spent != units(100_000) || got.Held != units(10_000) || !got.Available.IsZero() {
		t.Fatalf("%+v, %v", got, err)
	}
	forged := p.voucher(120_000).(*mpp.Voucher)
	forged.Signature[3]++
	m.book = StoreOf(newBookkeeper())
	m.restart()
	if _, err := m.pay(forged, content); problemOf(err) != mpp.InvalidSignature {
		t.Errorf("a stranger's voucher: %v", err)
	}
}

// TestPayHolds (H10): what a voucher brings for its own request is nobody else's on
// the channel, until the request is charged or given up.
func TestPayHolds(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	ctx := context.Background()
	if _, err := m.pay(p.open(tx, 10_000), content); err != nil {
		t.Fatal(err)
	}
	id := p.ref.ChannelID
	if _, err := admitOn(ctx, m.c, id, TicketKey{1}, "stream", 10_000); err != nil {
		t.Fatal(err)
	}
	take := func() mpp.ProblemType {
		_, _, err := m.c.Collect(ctx, id, "stream", units(dollar), units(10_000), units(0))
		return problemOf(err)
	}
	f := func(n uint64, use func(*Payment) error, takes mpp.ProblemType, spent uint64) {
		t.Helper()
		got, err := m.pay(p.voucher(n), content)
		if err != nil || got.Held != units(10_000) {
			t.Fatalf("%+v, %v", got, err)
		}
		if kind := take(); kind != mpp.InsufficientBalance {
			t.Errorf("the stream takes what is held: %q", kind)
		}
		if err := use(got); err != nil || !got.Held.IsZero() {
			t.Errorf("%v, held %s", err, got.Held)
		}
		if kind := take(); kind != takes || p.row().Spent != units(spent) {
			t.Errorf("then %q, spent %s", kind, p.row().Spent)
		}
	}
	f(20_000, func(pay *Payment) error {
		_, err := m.c.Admit(ctx, pay, Order{Key: TicketKey{2}, Bill: "job", Price: units(10_000)})
		return err
	}, mpp.InsufficientBalance, 20_000)
	f(30_000, func(pay *Payment) error {
		a, err := m.c.Admit(ctx, pay, Order{Key: TicketKey{2}, Bill: "job", Price: units(10_000)})
		fresh := a.Fresh
		if fresh {
			t.Error("one request was charged twice")
		}
		return err
	}, "", 30_000)
	f(40_000, func(pay *Payment) error {
		_, _, err := m.c.CollectHeld(ctx, pay, "job", units(15_000))
		return err
	}, mpp.InsufficientBalance, 35_000)
	f(50_000, func(pay *Payment) error { m.c.ReleaseHeld(ctx, pay); return nil }, "", 45_000)
}

// TestPayLostAnswer (H5): the open landed and its answer was lost, also across a
// restart; the client repeats the same bytes.
func TestPayLostAnswer(t *testing.T) {
	for _, method := range []string{"eth_sendRawTransactionSync", "eth_getTransactionReceipt"} {
		m := newMarket(t, StoreOf(newBookkeeper()))
		p, tx := m.openTx(key(1), 5*dollar)
		if err := m.chain.Inject(sandbox.Fault{Method: method, Lose: true, Times: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.pay(p.open(tx, 10_000), content); err != nil {
			t.Errorf("%s lost: %v", method, err)
		}
		m.chain.ClearFaults()
		m.restart()
		if got, err := m.pay(p.open(tx, 10_000), content); err != nil || got.Accepted != units(10_000) {
			t.Errorf("%s lost, again: %v", method, err)
		}
		if n := len(m.chain.Books().Channels); n != 1 {
			t.Errorf("%d channels", n)
		}
	}
}

// TestPayCloseRequested: service stops when the payer asks the chain to close, the
// payee is paid within the grace, and a top-up revives the channel.
func TestPayCloseRequested(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	ctx := context.Background()
	if _, err := m.pay(p.open(tx, 30_000), content); err != nil {
		t.Fatal(err)
	}
	if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{1}, "0", 20_000); err != nil {
		t.Fatal(err)
	}
	if _, err := m.client.Send(ctx, m.tx(key(1), requestClose(p))); err != nil {
		t.Fatal(err)
	}
	m.c.options.now = func() time.Time { return time.Now().Add(time.Second) } // what was known is too old
	if _, err := m.pay(p.open(tx, 30_000), content); problemOf(err) != mpp.ChannelFinalized {
		t.Fatalf("opening again while a close is asked for: %v", err)
	}
	m.c.options.now = func() time.Time { return time.Now().Add(2 * time.Second) }
	if _, err := m.pay(p.voucher(40_000), content); problemOf(err) != mpp.ChannelFinalized {
		t.Fatalf("voucher while a close is asked for: %v", err)
	}
	if _, err := m.pay(p.topUp(dollar), management); err != nil {
		t.Fatal(err)
	}
	if _, err := m.pay(p.voucher(40_000), content); err != nil {
		t.Fatalf("voucher after the request was taken back: %v", err)
	}
	if row, err := m.c.CloseChannel(ctx, p.ref.ChannelID); err != nil || row.Capture != units(20_000) {
		t.Fatalf("%+v, %v", row, err)
	}
	balanced(t, m, 20_000)
}

// TestSettle pays out what was consumed and no more (H7), and books it once.
func TestSettle(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	ctx := context.Background()
	var purses []*purse
	for i, k := range []byte{1, 2} {
		p, tx := m.openTx(key(k), 5*dollar)
		if _, err := m.pay(p.open(tx, 50_000), content); err != nil {
			t.Fatal(err)
		}
		if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{byte(i)}, "0", 50_000); err != nil {
			t.Fatal(err)
		}
		if _, err := m.pay(p.voucher(70_000), content); err != nil {
			t.Fatal(err)
		}
		purses = append(purses, p)
	}
	for range 2 { // the second time there is nothing to pay out
		if err := m.c.Settle(ctx, purses[0].ref.ChannelID, purses[1].ref.ChannelID); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range purses {
		if row := p.row(); row.Settled != units(50_000) || !row.Settling.IsZero() {
			t.Errorf("settled %s, settling %s", row.Settled, row.Settling)
		}
	}
	balanced(t, m, 100_000)
	if list, _ := m.book.Intents(); len(list) != 0 {
		t.Errorf("intents left: %v", list)
	}
}

// TestReconcile: a close that was sent and not seen to its end is decided by the
// next process.
func TestReconcile(t *testing.T) {
	f := func(fault sandbox.Fault, wantStatus session.Status, captured uint64) {
		t.Helper()
		m := newMarket(t, StoreOf(newBookkeeper()))
		p, tx := m.openTx(key(1), 5*dollar)
		ctx := context.Background()
		if _, err := m.pay(p.open(tx, 30_000), content); err != nil {
			t.Fatal(err)
		}
		if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{1}, "0", 20_000); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		row, err := m.c.beginClose(short, p.ref.ChannelID, session.Voucher{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := m.client.SignClose(short, row)
		if err != nil {
			t.Fatal(err)
		}
		intent := Intent{ID: recordid.New(), Kind: IntentClose, Channels: idsOf(p), Amounts: amountsOf(row.Capture), Raw: signed.Raw, Hash: signed.Hash, ValidBefore: int64(signed.ValidBefore)}
		if err := m.book.Commit(Entry{Intent: &intent}); err != nil {
			t.Fatal(err)
		}
		if err := m.chain.Inject(fault); err != nil {
			t.Fatal(err)
		}
		m.c.finishClose(short, row, intent) // its outcome is lost with the process
		m.chain.ClearFaults()
		m.restart()
		if err := m.c.Reconcile(ctx); err != nil {
			t.Error(err)
		}
		if row := p.row(); row.Status != wantStatus {
			t.Errorf("%s, want %s", row.Status, wantStatus)
		}
		// The end of a channel is watched for a while, in case the chain takes it back.
		m.later(2 * time.Minute)
		if err := m.c.Reconcile(ctx); err != nil {
			t.Error(err)
		}
		if list, _ := m.book.Intents(); len(list) != 0 {
			t.Errorf("intents left: %d", len(list))
		}
		balanced(t, m, captured)
	}
	f(sandbox.Fault{Method: sandbox.All, Lose: true}, session.Closed, 20_000)                                            // landed, no answer ever came
	f(sandbox.Fault{Method: "eth_sendRawTransactionSync", Revert: true, Times: 1}, session.Active, 0)                    // refused: the channel lives
	f(sandbox.Fault{Method: sandbox.All, Refuse: &sandbox.Error{Code: -32000, Message: "busy"}}, session.Closed, 20_000) // never sent: sent now
}
