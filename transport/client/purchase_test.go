package client

import (
	"errors"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// TestMatches: a channel is used for an offer only where all that its id binds is the same.
func TestMatches(t *testing.T) {
	r := newDirect(t)
	x := r.payer()
	f := func(want bool, change func(rw *row, q *mpp.SessionRequest)) {
		t.Helper()
		rw, q := r.row(10, 1, 1), r.offer
		change(&rw, &q)
		if got := x.matches(&rw, &q); got != want {
			t.Errorf("matches: %t, want %t", got, want)
		}
	}
	f(true, func(*row, *mpp.SessionRequest) {})
	f(false, func(_ *row, q *mpp.SessionRequest) { q.ChainID++ })
	f(false, func(_ *row, q *mpp.SessionRequest) { q.EscrowContract[0]++ })
	f(false, func(_ *row, q *mpp.SessionRequest) { q.Recipient[0]++ })
	f(false, func(_ *row, q *mpp.SessionRequest) { q.Currency[0]++ })
	f(false, func(_ *row, q *mpp.SessionRequest) { q.Operator[0]++ })
	f(false, func(rw *row, _ *mpp.SessionRequest) { rw.Descriptor.AuthorizedSigner[0]++ })
}

// TestNext: what must be signed in all for a price, in cents.
func TestNext(t *testing.T) {
	r := newDirect(t)
	x := r.payer()
	f := func(spent, signed, price, delta, short, want uint64) {
		t.Helper()
		q := r.offer
		q.Amount, q.MinVoucherDelta = usd(price), usd(delta)
		got, err := x.purchase(r.row(100, signed, spent)).next(&q, usd(short))
		if got != usd(want) || err != nil {
			t.Errorf("next: %s, %v; want %s", got, err, usd(want))
		}
	}
	f(1, 1, 1, 0, 0, 2)
	f(1, 1, 5, 0, 0, 6)
	f(1, 3, 1, 0, 0, 3) // signed before
	f(1, 2, 1, 5, 0, 2) // nothing to raise
	f(1, 1, 1, 5, 0, 6)
	f(1, 1, 2, 1, 0, 3)
	f(1, 3, 2, 0, 5, 5) // no more than the price is missing
	f(1, 3, 2, 0, 1, 4)
	g := func(change func(rw *row, q *mpp.SessionRequest), short tempo.Amount) {
		t.Helper()
		rw, q := r.row(100, 1, 1), r.offer
		change(&rw, &q)
		if _, err := x.purchase(rw).next(&q, short); !has(err, ErrProtocol, "out of range") {
			t.Errorf("next: %v", err)
		}
	}
	g(func(_ *row, q *mpp.SessionRequest) { q.Amount = tempo.MaxAmount }, tempo.Amount{})
	g(func(_ *row, q *mpp.SessionRequest) { q.MinVoucherDelta = tempo.MaxAmount }, tempo.Amount{})
	g(func(rw *row, _ *mpp.SessionRequest) { rw.Signed = tempo.MaxAmount }, usd(1))
}

// TestRaise: a voucher is booked within the deposit and the limit of the request, and
// nothing else.
func TestRaise(t *testing.T) {
	r := newDirect(t)
	f := func(to, booked uint64, target error, told ...string) {
		t.Helper()
		x := r.payer(func(o *Options) { o.Limits.MaxCharge = usd(5) })
		defer x.Close()
		p := x.purchase(r.row(7, 3, 1))
		p.signed = usd(1)
		err := p.storeVoucher(usd(to))
		var limit *LimitError
		switch {
		case target == nil && err == nil:
		case target != nil && errors.Is(err, target):
		case target == errLimit && errors.As(err, &limit) && limit.Limit == LimitRequest && limit.Allowed == usd(5):
		default:
			t.Errorf("raise to %d: %v", to, err)
		}
		if more, _ := usd(booked).Sub(usd(3)); p.row().Signed != usd(booked) || p.signed != must2(usd(1).Add(more)) {
			t.Errorf("raise to %d: signed %s, for the request %s", to, p.row().Signed, p.signed)
		}
		if !slices.Equal(x.said(), told) {
			t.Errorf("raise to %d: told %q", to, x.said())
		}
		x.store.book.Channels = nil
	}
	f(2, 3, nil)
	f(3, 3, nil)
	f(4, 4, nil, "signed 10000")
	f(7, 7, nil, "signed 40000") // all of the deposit and of the limit
	f(8, 3, ErrProtocol)
	g := func(signed tempo.Amount, raise tempo.Amount, ok bool) {
		t.Helper()
		x := r.payer(func(o *Options) { o.Limits.MaxCharge = usd(5) })
		defer x.Close()
		p := x.purchase(r.row(9, 3, 1))
		p.signed = signed
		if err := p.checkLimit(raise); (err == nil) != ok || !ok && !errors.As(err, new(*LimitError)) {
			t.Errorf("allow %s after %s: %v", raise, signed, err)
		}
		before := p.row().Signed
		sum, fits := before.Add(raise)
		if err := p.storeVoucher(sum); fits && (err == nil) != ok || !ok && p.row().Signed != before {
			t.Errorf("raise by %s after %s: %v, signed %s", raise, signed, err, p.row().Signed)
		}
	}
	g(usd(0), usd(5), true)
	g(usd(0), usd(6), false)
	g(usd(4), usd(1), true)
	g(usd(4), usd(2), false)
	g(usd(4), tempo.MaxAmount, false)
}

// errLimit stands for a *LimitError in tables.
var errLimit = errors.New("limit")

func must2(a tempo.Amount, ok bool) tempo.Amount {
	if !ok {
		panic("out of range")
	}
	return a
}

// TestRoom: what channels hold, and top-ups that may be on their way, count against
// MaxDeposit.
func TestRoom(t *testing.T) {
	r := newDirect(t)
	x := r.payer(func(o *Options) { o.Limits.MaxDeposit = usd(20) })
	f := func(want uint64, rows ...row) {
		t.Helper()
		x.store.book.Channels = rows
		if got := x.depositRoom(); got != usd(want) {
			t.Errorf("room %s, want %s", got, usd(want))
		}
	}
	pending := r.row(5, 1, 1)
	pending.Pending = usd(3)
	f(20)
	f(15, r.row(5, 1, 1))
	f(12, pending)
	f(5, r.row(5, 1, 1), r.row(10, 1, 1))
	f(0, r.row(20, 1, 1))
	f(0, r.row(21, 1, 1), r.row(1, 1, 1))
	pending.Pending = tempo.MaxAmount
	f(0, pending)
}

// TestSpent: receipts are booked and told once; a charge that was given back is taken off.
func TestSpent(t *testing.T) {
	r := newDirect(t)
	f := func(sum, charged, want uint64, told ...string) {
		t.Helper()
		x := r.payer()
		defer x.Close()
		p := x.purchase(r.row(10, 5, 3))
		p.charged = usd(charged)
		if err := p.storeCharges(usd(sum)); err != nil || p.row().Spent != usd(sum) || p.charged != usd(want) || !slices.Equal(x.said(), told) {
			t.Errorf("%v, spent %s, charged %s, told %q", err, p.row().Spent, p.charged, x.said())
		}
	}
	f(3, 1, 1)
	f(4, 1, 2, "charged 10000")
	f(5, 0, 2, "charged 20000")
	f(2, 2, 1)
	f(1, 2, 0)
	f(0, 1, 0) // more than was charged for this request
}

// TestOpened: an opening is noted once, and a channel at its ceiling is told.
func TestOpened(t *testing.T) {
	r := newDirect(t)
	f := func(state ChannelState, ceiling uint64, told ...string) {
		t.Helper()
		x := r.payer(func(o *Options) { o.Limits.MaxDeposit = usd(ceiling) })
		defer x.Close()
		rw := r.row(10, 5, 3)
		rw.State, rw.OpenTx, rw.ValidBefore = state, []byte{1}, 5
		p := x.purchase(rw)
		if err := p.opened(); err != nil || !slices.Equal(x.said(), told) {
			t.Errorf("%s: %v, told %q", state, err, x.said())
		}
		if got := p.row(); state == Opening && (got.State != Open || got.OpenTx != nil || got.ValidBefore != 0) || state != Opening && got.State != state {
			t.Errorf("%s: %+v", state, got)
		}
		for _, m := range x.moves {
			if m.Channel.ID != rw.ID || (m.Text != "") != (m.Kind == MoneyNotice) {
				t.Errorf("%s: told %+v", state, m)
			}
		}
	}
	f(Opening, 20, "opened 100000")
	f(Opening, 10, "opened 100000", "notice 0")
	f(Open, 10)
	f(Closing, 10)
}

// TestCover: a channel is topped up by what is missing, the payer's step or the
// server's suggestion, within MaxDeposit.
func TestCover(t *testing.T) {
	f := func(sum, step, suggested, ceiling, add uint64) {
		t.Helper()
		virtual(t, func(r *rogue) {
			r.honest()
			r.offer.SuggestedDeposit = usd(10)
			x := r.payer()
			must(x.Explain(r.t.Context(), request, nil))
			x.o.Limits = Limits{MaxDeposit: usd(ceiling), TopUp: usd(step)}
			p := x.newPurchase()
			p.channel = x.store.book.Channels[0].ID
			r.offer.SuggestedDeposit = usd(suggested)
			of := must(p.demand(r.t.Context(), pathDeposit))
			x.moves, r.moves = nil, nil
			err := p.cover(r.t.Context(), pathDeposit, of, usd(sum))
			var limit *LimitError
			if refused := errors.As(err, &limit); refused != (add == 99) || !refused && err != nil || refused && (limit.Asked != usd(sum) || limit.Allowed != usd(ceiling) || limit.Limit != LimitDeposit || limit.Own) {
				t.Errorf("cover %d: %v", sum, err)
			}
			if add == 99 || add == 0 {
				if len(r.moves) != 0 || p.row().Deposit != usd(10) || len(x.moves) != 0 {
					t.Errorf("cover %d: %d moves, deposit %s", sum, len(r.moves), p.row().Deposit)
				}
				return
			}
			if rw := p.row(); len(r.moves) != 1 || r.moves[0].(*mpp.TopUp).AdditionalDeposit != usd(add) || rw.Deposit != usd(10+add) || !rw.Pending.IsZero() || rw.ValidBefore != 0 {
				t.Errorf("cover %d: %d moves, %+v", sum, len(r.moves), rw)
			}
			if want := []string{"topped up " + usd(add).String()}; !slices.Equal(x.said(), want) {
				t.Errorf("cover %d: told %q", sum, x.said())
			}
		})
	}
	const refused = 99
	f(10, 3, 5, 50, 0)
	f(9, 3, 5, 50, 0)
	f(11, 3, 5, 50, 3)
	f(11, 0, 5, 50, 5)
	f(20, 3, 5, 50, 10)
	f(11, 3, 5, 12, 2)
	f(12, 3, 5, 12, 2)
	f(13, 3, 5, 12, refused)
	f(11, 3, 5, 10, refused)
}

// TestBelieve: a receipt is booked only where it claims what was signed and answered.
func TestBelieve(t *testing.T) {
	r := newDirect(t)
	f := func(ok bool, change func(rc *mpp.Receipt)) {
		t.Helper()
		x := r.payer()
		defer x.Close()
		rw := r.row(10, 5, 3)
		p := x.purchase(rw)
		p.answered["a"] = true
		rc := &mpp.Receipt{ChallengeID: "a", ChannelID: rw.ID, AcceptedCumulative: usd(4), Spent: usd(4)}
		change(rc)
		err := p.acceptReceipt(rc, usd(4))
		if (err == nil) != ok || !ok && (!errors.Is(err, ErrProtocol) || p.row().Spent != usd(3)) || ok && p.row().Spent != rc.Spent {
			t.Errorf("%v, spent %s", err, p.row().Spent)
		}
	}
	f(true, func(*mpp.Receipt) {})
	f(true, func(rc *mpp.Receipt) { rc.AcceptedCumulative = usd(5) })
	f(false, func(rc *mpp.Receipt) { rc.AcceptedCumulative = usd(6) })
	f(false, func(rc *mpp.Receipt) { rc.AcceptedCumulative, rc.Spent = usd(3), usd(3) })
	f(false, func(rc *mpp.Receipt) { rc.ChallengeID = "b" })
	f(false, func(rc *mpp.Receipt) { rc.ChannelID = common.Hash{1} })
}
