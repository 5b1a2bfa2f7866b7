package channel

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"txlens/actors/job"
	"txlens/actors/recordid"
	"txlens/engine/mpp"
	"txlens/engine/mpp/session"
	"txlens/engine/mpp/tempo"

	"github.com/ethereum/go-ethereum/common"
)

// payAs is pay with what else a request says.
func (m *market) payAs(p mpp.Payload, change func(*PayRequest)) (*Payment, error) {
	m.t.Helper()
	ch, err := m.issuer.Issue(m.route, time.Now().Add(time.Minute))
	if err != nil {
		m.t.Fatal(err)
	}
	q := PayRequest{Credential: m.credential(ch, p), Route: m.route, Shape: content}
	change(&q)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.c.Pay(ctx, q)
}

// credential is a payload as it arrives.
func (m *market) credential(ch *mpp.Challenge, p mpp.Payload) *mpp.Credential {
	m.t.Helper()
	value, err := mpp.NewCredential(ch, p, mpp.Source{}).HeaderValue()
	if err != nil {
		m.t.Fatal(err)
	}
	cr, err := mpp.ParseCredential(value)
	if err != nil {
		m.t.Fatal(err)
	}
	return cr
}

// TestLowerVoucherOfKnownRequest: a voucher below the accepted one is good for the very
// request that it began, if its signature is, and for nothing else.
func TestLowerVoucherOfKnownRequest(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p, tx := m.openTx(key(1), 5*dollar)
	for _, v := range []mpp.Payload{p.open(tx, 10_000), p.voucher(90_000)} {
		if _, err := m.pay(v, content); err != nil {
			t.Fatal(err)
		}
	}
	f := func(v mpp.Payload, shape mpp.Shape, begun bool, want mpp.ProblemType) {
		t.Helper()
		asked := 0
		got, err := m.payAs(v, func(q *PayRequest) {
			q.Shape = shape
			q.Begun = func(channel common.Hash, sum tempo.Amount) bool {
				if asked++; channel != p.ref.ChannelID || sum != units(20_000) {
					t.Errorf("asked for %s of %s", sum, channel)
				}
				return begun
			}
		})
		if problemOf(err) != want || err == nil && (got.Accepted != units(90_000) || !got.Held.IsZero()) {
			t.Errorf("%+v, %v; want %q", got, err, want)
		}
	}
	f(p.voucher(20_000), content, true, "")
	f(p.voucher(20_000), content, false, mpp.VerificationFailed)
	f(p.voucher(20_000), management, true, mpp.VerificationFailed)
	forged := p.voucher(30_000).(*mpp.Voucher)
	forged.CumulativeAmount = units(20_000)
	f(forged, content, true, mpp.InvalidSignature)
}

// TestContinuedRequest: the same request with another voucher joins the run that it began, for
// an hour and unless it asks for a new run.
func TestContinuedRequest(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 900_000, 0)
	now := time.Now()
	m.c.options.now = func() time.Time { return now }
	newRun := false
	f := func(voucher byte, request TicketKey, bill string, fresh bool, want string, spent uint64) {
		t.Helper()
		a, err := m.c.Admit(context.Background(), &Payment{Standing: Standing{Channel: p.ref.ChannelID}},
			Order{Key: TicketKey{voucher}, Request: request, Bill: bill, Price: units(10_000), NewRun: newRun})
		if err != nil || a.Fresh != fresh || a.Bill != want || a.Spent != units(spent) {
			t.Errorf("%+v, %v; want fresh %t, %s, spent %d", a, err, fresh, want, spent)
		}
	}
	first, second, third, fourth := recordid.New(), recordid.New(), recordid.New(), recordid.New()
	request := TicketKey{200}
	f(1, request, first, true, first, 10_000)
	f(2, request, second, false, first, 10_000)
	f(2, request, second, false, first, 10_000)
	f(3, TicketKey{201}, second, true, second, 20_000) // another request
	f(4, TicketKey{}, third, true, third, 30_000)      // one that its client names itself
	if _, err := m.c.Final(context.Background(), first, units(20_000), nil); err != nil {
		t.Fatal(err)
	}
	f(5, request, fourth, false, first, 30_000)
	newRun = true
	f(1, request, fourth, false, first, 30_000) // the voucher that began the first
	f(5, request, fourth, true, fourth, 40_000) // it paid for nothing before
	f(5, request, recordid.New(), false, fourth, 40_000)
	newRun = false
	f(7, request, recordid.New(), false, fourth, 40_000)                                   // the latest one
	if _, err := m.c.Final(context.Background(), second, units(10_000), nil); err != nil { // no transaction
		t.Fatal(err)
	}
	began := now
	now = began.Add(joinErrorFor - time.Second)
	f(8, TicketKey{201}, recordid.New(), false, second, 40_000)
	now = began.Add(joinErrorFor + time.Second)
	f(9, request, recordid.New(), false, fourth, 40_000) // it is not an error
	f(3, TicketKey{201}, recordid.New(), false, second, 40_000)
	again := recordid.New()
	f(10, TicketKey{201}, again, true, again, 50_000)
	now = now.Add(continueFor + time.Minute)
	last := recordid.New()
	f(6, request, last, true, last, 60_000)
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !cond(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// TestVoidedRequest: an order that was taken back begins anew and is charged again.
func TestVoidedRequest(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 900_000, 0)
	o := Order{Key: TicketKey{1}, Request: TicketKey{2}, Bill: recordid.New(), Price: units(10_000)}
	for range 2 {
		a, err := m.c.Admit(context.Background(), &Payment{Standing: Standing{Channel: p.ref.ChannelID}}, o)
		if err != nil || !a.Fresh || a.Spent != units(10_000) {
			t.Fatalf("%+v, %v", a, err)
		}
		if err := m.c.Void(context.Background(), p.ref.ChannelID, o); err != nil {
			t.Fatal(err)
		}
	}
	o.Key = TicketKey{3}
	if a, err := m.c.Admit(context.Background(), &Payment{Standing: Standing{Channel: p.ref.ChannelID}}, o); err != nil || !a.Fresh {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFinalGivesBack: what was collected beyond the final price is credit for the next
// charge, is never paid out, and does not make a receipt go down.
func TestFinalGivesBack(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 900_000, 0)
	ctx, id := context.Background(), p.ref.ChannelID
	bill := recordid.New()
	if _, err := admitOn(ctx, m.c, id, TicketKey{1}, bill, 10_000); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.c.Collect(ctx, id, bill, units(560_000), units(560_000), units(0)); err != nil {
		t.Fatal(err)
	}
	b, err := m.c.Final(ctx, bill, units(500_000), nil)
	if err != nil || b.Collected != units(500_000) || b.Debt() {
		t.Fatalf("%+v, %v", b, err)
	}
	s, err := m.c.Standing(ctx, id)
	if err != nil || s.Spent != units(560_000) || s.Available != units(400_000) {
		t.Errorf("%+v, %v", s, err)
	}
	if again, err := m.c.Final(ctx, bill, units(1), nil); err != nil || again != b {
		t.Errorf("the price changed: %+v, %v", again, err)
	}
	if _, err := admitOn(ctx, m.c, id, TicketKey{2}, recordid.New(), 40_000); err != nil {
		t.Fatal(err)
	}
	if row := p.row(); row.Spent != units(560_000) || row.Served() != units(540_000) || row.Credit != units(20_000) {
		t.Errorf("spent %s, credit %s", row.Spent, row.Credit)
	}
	if _, err := m.c.CloseChannel(ctx, id); err != nil {
		t.Fatal(err)
	}
	balanced(t, m, 540_000)
}

// TestFinalWithRecord: the record of a run is written with its price, or neither is. A bill that was
// final before its record was lost gets one.
func TestFinalWithRecord(t *testing.T) {
	ctx := context.Background()
	f := func(collected, price uint64) {
		t.Helper()
		books := newBookkeeper()
		m := newMarket(t, StoreOf(books))
		p := m.served(1, 5*dollar, 900_000, 0)
		bill := recordid.New()
		if _, err := admitOn(ctx, m.c, p.ref.ChannelID, TicketKey{1}, bill, collected); err != nil {
			t.Fatal(err)
		}
		record := &job.RunRow{ID: bill, State: job.RunErrored}
		broken := errors.New("the disk is gone")
		books.mu.Lock()
		books.broken = broken
		books.mu.Unlock()
		if _, err := m.c.Final(ctx, bill, units(price), record); !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		books.mu.Lock()
		books.broken = nil
		books.mu.Unlock()
		if b, err := m.c.Bill(bill); err != nil || b.Final || len(books.runs) != 0 {
			t.Errorf("%+v, %v, %d records", b, err, len(books.runs))
		}
		before := books.commits
		b, err := m.c.Final(ctx, bill, units(price), record)
		if err != nil || !b.Final || b.Price != units(price) || len(books.runs) != 1 || books.commits != before+1 {
			t.Errorf("%+v, %v, %d records, %d commits", b, err, len(books.runs), books.commits-before)
		}
		clear(books.runs)
		if again, err := m.c.Final(ctx, bill, units(1), record); err != nil || again != b || len(books.runs) != 1 {
			t.Errorf("%+v, %v, %d records", again, err, len(books.runs))
		}
	}
	f(20_000, 70_000)
	f(20_000, 20_000)
	f(20_000, 10_000) // some is given back
	f(20_000, 0)
}

// TestFinalAfterSettlement: what the chain has paid out is not given back, and the bill
// says so.
func TestFinalAfterSettlement(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 560_000, 0)
	ctx, id := context.Background(), p.ref.ChannelID
	bill := recordid.New()
	if _, err := admitOn(ctx, m.c, id, TicketKey{1}, bill, 560_000); err != nil {
		t.Fatal(err)
	}
	if err := m.c.Settle(ctx, id); err != nil {
		t.Fatal(err)
	}
	if b, err := m.c.Final(ctx, bill, units(500_000), nil); err != nil || b.Collected != units(560_000) || b.Price != units(500_000) || b.Debt() {
		t.Errorf("%+v, %v", b, err)
	}
	if row := p.row(); !row.Credit.IsZero() || row.Settled != units(560_000) {
		t.Errorf("%+v", row)
	}
}

// TestReleaseWakes: money that is held no longer wakes who waits for it. Nothing of
// that reaches the disk, so no commit tells.
func TestReleaseWakes(t *testing.T) {
	row := funded(100)
	c := openChannels(t, StoreOf(newBookkeeper(row)))
	ctx := context.Background()
	if err := c.Hold(ctx, row.ID, units(100)); err != nil {
		t.Fatal(err)
	}
	signal, stop, err := c.Watch(row.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := c.Standing(ctx, row.ID); err != nil { // the watch is in place: the actor works in order
		t.Fatal(err)
	}
	if err := c.Release(ctx, row.ID, units(40)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-signal:
	case <-time.After(30 * time.Second):
		t.Fatal("no signal")
	}
}

// TestDue is the settler's policy, one row a case.
func TestDue(t *testing.T) {
	const now = 1_900_000_000_000
	p := SettlePolicy{MinDeposit: units(2 * dollar)}.withDefaults()
	f := func(what string, want dueAction, busy bool, change func(*session.Channel)) {
		t.Helper()
		row := session.Channel{Status: session.Active, Deposit: units(10 * dollar), ActiveAt: now}
		change(&row)
		if got := p.due(&row, now, busy); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	const minute, hour = 60_000, 3_600_000
	signed := func(n uint64) session.Voucher { return session.Voucher{Cumulative: units(n)} }
	f("nothing served", dueNothing, false, func(c *session.Channel) {})
	f("little served", dueNothing, false, func(c *session.Channel) { c.Spent, c.Settleable = units(dollar), signed(dollar) })
	f("at the threshold", dueSettle, false, func(c *session.Channel) { c.Spent, c.Settleable = units(5*dollar), signed(5*dollar) })
	f("credit is not served", dueNothing, false, func(c *session.Channel) {
		c.Spent, c.Credit, c.Settleable = units(5*dollar), units(1), signed(5*dollar-1)
	})
	f("old", dueSettle, false, func(c *session.Channel) {
		c.Spent, c.Settleable, c.OwedSince = units(1), signed(1), now-24*hour
	})
	f("signed above, in use lately", dueNothing, false, func(c *session.Channel) { c.Spent, c.Highest = units(6*dollar), signed(9*dollar) })
	f("signed above, quiet", dueClose, false, func(c *session.Channel) {
		c.Spent, c.Highest, c.ActiveAt = units(6*dollar), signed(9*dollar), now-10*minute
	})
	f("signed above, quiet, with a run", dueNothing, true, func(c *session.Channel) {
		c.Spent, c.Highest, c.ActiveAt = units(6*dollar), signed(9*dollar), now-10*minute
	})
	f("used up lately", dueSettle, false, func(c *session.Channel) { c.Spent, c.Settleable = units(10*dollar), signed(10*dollar) })
	f("used up and quiet", dueClose, false, func(c *session.Channel) {
		c.Spent, c.Settleable, c.ActiveAt = units(10*dollar), signed(10*dollar), now-10*minute
	})
	f("used up and quiet, with a run", dueSettle, true, func(c *session.Channel) {
		c.Spent, c.Settleable, c.ActiveAt = units(10*dollar), signed(10*dollar), now-10*minute
	})
	f("idle", dueClose, false, func(c *session.Channel) { c.ActiveAt = now - 30*24*hour })
	f("idle with a run", dueNothing, true, func(c *session.Channel) { c.ActiveAt = now - 30*24*hour })
	f("not quite idle", dueNothing, false, func(c *session.Channel) { c.ActiveAt = now - 30*24*hour + 1 })
	f("dust that is idle", dueNothing, false, func(c *session.Channel) { c.Deposit, c.ActiveAt = units(1), now-30*24*hour })
	f("dust that is used up", dueNothing, false, func(c *session.Channel) {
		c.Deposit, c.Spent, c.Settled, c.ActiveAt = units(1), units(1), units(1), now-hour
	})
	f("a small one that owes", dueClose, false, func(c *session.Channel) {
		c.Deposit, c.Spent, c.ActiveAt = units(dollar), units(dollar/2), now-30*24*hour
	})
	f("one that closes", dueNothing, false, func(c *session.Channel) {
		c.Status, c.Spent, c.Settleable = session.Closing, units(5*dollar), signed(5*dollar)
	})
	p.IdleClose = 5 * time.Minute
	f("idle by a shorter setting", dueClose, false, func(c *session.Channel) { c.ActiveAt = now - 5*minute })
}

// TestOccupied: the settler leaves a channel alone whose run has begun since it looked.
func TestOccupied(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 20_000, 20_000)
	ctx, id := context.Background(), p.ref.ChannelID
	leave, also := m.c.Occupy(id), m.c.Occupy(id)
	leave()
	leave() // counts once
	if err := m.c.closeUnused(ctx, id); !errors.Is(err, errInUse) {
		t.Errorf("with a run: %v", err)
	}
	also()
	if err := m.c.Hold(ctx, id, units(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.pay(p.voucher(50_000), management); err != nil {
		t.Fatal(err)
	}
	if err := m.c.Hold(ctx, id, units(10_000)); err != nil {
		t.Fatal(err)
	}
	if err := m.c.closeUnused(ctx, id); !errors.Is(err, errInUse) {
		t.Errorf("with money held: %v", err)
	}
	m.c.Release(ctx, id, units(10_000))
	if err := m.c.closeUnused(ctx, id); err != nil {
		t.Error(err)
	}
	balanced(t, m, 20_000)
}

// TestSmallOpenIsNotBroadcast: an opening below the minimum is refused before the chain
// hears of it, whatever its request is for.
func TestSmallOpenIsNotBroadcast(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	m.c.options.MinDeposit = units(2 * dollar)
	before := m.chain.Calls("eth_sendRawTransactionSync")
	for _, shape := range []mpp.Shape{content, management} {
		p, tx := m.openTx(key(1), 2*dollar-1)
		_, err := m.pay(p.open(tx, 10_000), shape)
		small, ok := errors.AsType[*DepositError](err)
		if !ok || small.Deposit != units(2*dollar-1) || small.Min != units(2*dollar) {
			t.Errorf("%v", err)
		}
		if _, err := m.book.Channel(p.ref.ChannelID); !errors.Is(err, ErrNoChannel) {
			t.Errorf("the ledger has it: %v", err)
		}
	}
	if n := m.chain.Calls("eth_sendRawTransactionSync"); n != before || len(m.chain.Books().Channels) != 0 {
		t.Errorf("%d transactions were sent", n-before)
	}
	p, tx := m.openTx(key(1), 2*dollar)
	if _, err := m.pay(p.open(tx, 10_000), content); err != nil {
		t.Error(err)
	}
}

// TestUnknownChannelIsAskedOnce: the chain is asked for an unknown id once in a while,
// and a flood from one address costs another nothing.
func TestUnknownChannelIsAskedOnce(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	m.c.options.Adopt = true // otherwise the chain is asked about none
	now := time.Now()
	m.c.options.now = func() time.Time { return now }
	from := func(n byte) func(*PayRequest) {
		return func(q *PayRequest) { q.Origin = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, n}), 32) }
	}
	ask := func(p *purse, n byte, want mpp.ProblemType) {
		t.Helper()
		if _, err := m.payAs(p.voucher(10_000), from(n)); problemOf(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	unknown, _ := m.openTx(key(1), 5*dollar)
	before := m.chain.Calls("eth_call")
	for range 50 {
		ask(unknown, 1, mpp.ChannelNotFound)
	}
	if n := m.chain.Calls("eth_call") - before; n != 1 {
		t.Errorf("%d calls for one id", n)
	}
	now = now.Add(unknownTTL)
	ask(unknown, 1, mpp.ChannelNotFound)
	if n := m.chain.Calls("eth_call") - before; n != 2 {
		t.Errorf("%d calls for one id after its time", n)
	}
	for range lookupBurst - 1 {
		p, _ := m.openTx(key(1), 5*dollar)
		ask(p, 1, mpp.ChannelNotFound)
	}
	p, _ := m.openTx(key(1), 5*dollar)
	ask(p, 1, mpp.TooManyRequests)
	ask(p, 2, mpp.ChannelNotFound)
}

// TestSnapshot: a payer learns of its channel by its own signature, or by its account.
func TestSnapshot(t *testing.T) {
	m := newMarket(t, StoreOf(newBookkeeper()))
	p := m.served(1, 5*dollar, 90_000, 30_000)
	big := m.served(1, 9*dollar, 20_000, 0)
	ctx := context.Background()
	ch, err := m.issuer.Issue(m.route, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	check := func(s *mpp.Snapshot, of *purse, accepted, spent, required uint64) {
		t.Helper()
		if s == nil {
			t.Fatal("no snapshot")
		}
		if s.ChannelID != of.ref.ChannelID || s.AcceptedCumulative != units(accepted) || s.Spent != units(spent) || s.RequiredCumulative != units(required) {
			t.Errorf("%+v", s)
		}
		if err := s.Check(&m.route.Request, key(1).Address()); err != nil {
			t.Error(err)
		}
	}
	check(m.c.Snapshot(ctx, m.credential(ch, p.voucher(1)), units(10_000)), p, 90_000, 30_000, 40_000)
	check(m.c.Snapshot(ctx, m.credential(ch, p.close(90_000)), units(0)), p, 90_000, 30_000, 30_000)
	check(m.c.SnapshotOf(ctx, key(1).Address()), big, 20_000, 0, 0)
	none := func(what string, s *mpp.Snapshot) {
		t.Helper()
		if s != nil {
			t.Errorf("%s: %+v", what, s)
		}
	}
	forged := p.voucher(50_000).(*mpp.Voucher)
	forged.CumulativeAmount = units(50_001)
	none("a forged voucher", m.c.Snapshot(ctx, m.credential(ch, forged), units(10_000)))
	none("a stranger", m.c.SnapshotOf(ctx, key(2).Address()))
	foreign := *ch
	foreign.Realm = "elsewhere"
	none("a challenge of another server", m.c.Snapshot(ctx, m.credential(&foreign, p.voucher(1)), units(10_000)))
	if _, err := m.c.CloseChannel(ctx, big.ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	check(m.c.SnapshotOf(ctx, key(1).Address()), p, 90_000, 30_000, 30_000)
	if _, err := m.c.CloseChannel(ctx, p.ref.ChannelID); err != nil {
		t.Fatal(err)
	}
	none("a closed channel", m.c.SnapshotOf(ctx, key(1).Address()))
	none("a closed channel", m.c.Snapshot(ctx, m.credential(ch, p.voucher(1)), units(10_000)))
}
