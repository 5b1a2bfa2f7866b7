package session

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// sees is the channel after a look at the chain.
func (c Channel) sees(settled, deposit uint64) Channel {
	c.Observe(State{Settled: sumOf(settled), Deposit: sumOf(deposit), Seen: c.SeenAt + 1})
	return c
}

// settling is the channel while a settlement of its own is on its way.
func (c Channel) settling() Channel {
	if !c.BeginSettle() {
		panic("nothing to settle")
	}
	return c
}

// TestLaggingNode: a node that lags behind shrinks no deposit and undoes no settlement.
func TestLaggingNode(t *testing.T) {
	f := func(c Channel, settled, deposit uint64) {
		t.Helper()
		if c.Settled != sumOf(settled) || c.Deposit != sumOf(deposit) {
			t.Errorf("settled %s of %s", c.Settled, c.Deposit)
		}
	}
	c := channel(100, 100).settling().sees(100, 700)
	f(c, 100, 700)
	f(c.sees(0, 500), 100, 700)
	f(c.sees(100, 499), 100, 700)
	f(c.sees(60, 800), 100, 800)
	c.Shrink(sumOf(600))
	f(c, 100, 600)
	c.Shrink(sumOf(900)) // it is only ever smaller
	f(c, 100, 600)
}

// TestCapture: a close captures what was served, at least what is settled, and no more
// than there is.
func TestCapture(t *testing.T) {
	f := func(c Channel, capture, authorised uint64) {
		t.Helper()
		if fault := c.BeginClose(Voucher{}); fault != nil || c.Capture != sumOf(capture) || c.Authorised != sumOf(authorised) {
			t.Errorf("captures %s, authorised %s, %v", c.Capture, c.Authorised, fault)
		}
	}
	f(channel(200, 120), 120, 120)
	f(channel(200, 0), 0, 0)
	f(channel(120, 120).settling().sees(120, 500), 120, 120)
	undone := channel(480, 480) // a top-up whose block was replaced
	undone.Shrink(sumOf(300))
	f(undone, 300, 300)
	signed := channel(480, 480).settling() // and what was signed before may still land
	signed.Shrink(sumOf(300))
	f(signed, 300, 480)
	f(Adopted(domain, tempo.Descriptor{}, State{Settled: sumOf(90), Deposit: sumOf(500), Seen: 1}, Voucher{}, tempo.Amount{}, at), 90, 90)
}

// TestCovering: the payee closes with the voucher that can stand for the payout: that
// which is just as high where there is one, and none where all is paid out already.
func TestCovering(t *testing.T) {
	f := func(c Channel, want Voucher) {
		t.Helper()
		if fault := c.BeginClose(Voucher{}); fault != nil || c.Close != want {
			t.Errorf("closes with %+v, want %+v; %v", c.Close, want, fault)
		}
	}
	f(channel(200, 120), signed(200))
	exact := channel(120, 120)
	if _, fault := exact.Accept(signed(200), at); fault != nil {
		t.Fatal(fault)
	}
	f(exact, signed(120))
	exact.Charge(sumOf(10), at)
	f(exact, signed(200))
	lost := Adopted(domain, tempo.Descriptor{}, State{Settled: sumOf(90), Deposit: sumOf(500), Seen: 1}, Voucher{}, tempo.Amount{}, at)
	f(lost, Voucher{Cumulative: sumOf(90)})
	found := Adopted(domain, tempo.Descriptor{}, State{Settled: sumOf(90), Deposit: sumOf(500), Seen: 1}, signed(90), tempo.Amount{}, at)
	f(found, Voucher{Cumulative: sumOf(90)}) // v is not above what is settled: it was not kept
	paid := channel(120, 120).settling().sees(120, 500)
	f(paid, signed(120)) // a signature that is there goes along
}

// TestUndoClose: a close that did not come to be leaves nothing behind, and only one
// that is on its way can be undone.
func TestUndoClose(t *testing.T) {
	before := channel(200, 120)
	c := before
	c.BeginClose(signed(150))
	c.CloseTx = common.Hash{5}
	c.UndoClose()
	before.Authorised = sumOf(120) // it may land all the same
	if c != before {
		t.Errorf("%+v, want %+v", c, before)
	}
	ended := before
	ended.BeginClose(signed(150))
	ended.Finish(sumOf(120), common.Hash{5})
	c = ended
	c.UndoClose()
	if c != ended {
		t.Errorf("an end was undone: %+v", c)
	}
}

// TestBeginExcess: the voucher above what was served is settled only if nothing else covers it.
func TestBeginExcess(t *testing.T) {
	f := func(c Channel, due bool, settling uint64) {
		t.Helper()
		before := c
		if c.BeginExcess() != due || c.Settling != sumOf(settling) || due && c.Authorised != sumOf(settling) {
			t.Errorf("due %t, settling %s, authorised %s", !due, c.Settling, c.Authorised)
		}
		if c.Settling, c.Authorised = before.Settling, before.Authorised; c != before {
			t.Errorf("%+v, was %+v", c, before)
		}
	}
	f(channel(200, 120), true, 200)
	f(channel(200, 120).sees(60, 500), true, 200)
	f(channel(200, 120).sees(120, 500), false, 0) // all is paid out
	f(channel(200, 0), false, 0)
	f(channel(120, 120), false, 0) // covered exactly
	exact := channel(120, 120)
	if _, fault := exact.Accept(signed(200), at); fault != nil {
		t.Fatal(fault)
	}
	exact.Charge(sumOf(10), at)
	f(exact, false, 0) // the lower voucher is due first
	f(exact.sees(120, 500), true, 200)
	closing := channel(200, 120)
	closing.BeginClose(Voucher{})
	f(closing, false, 0)
	excess := func(c Channel, want uint64) {
		t.Helper()
		if c.Excess() != sumOf(want) {
			t.Errorf("excess %s, want %d", c.Excess(), want)
		}
	}
	over := channel(200, 120).sees(200, 500)
	excess(over, 80)
	excess(channel(200, 120), 0)
	excess(channel(200, 120).sees(120, 500), 0)
	if over.Authorised = sumOf(200); over.Charge(sumOf(30), at) != nil || over.Excess() != sumOf(50) { // it is the payer's to use
		t.Errorf("excess %s", over.Excess())
	}
	f(over, false, 0)
}

// TestKeepClose: the voucher of a close that was undone is kept if it can be settled.
func TestKeepClose(t *testing.T) {
	f := func(c Channel, v Voucher, want uint64) {
		t.Helper()
		if c.KeepClose(v); c.Settleable.Cumulative != sumOf(want) || want > 0 && c.Settleable != signed(want) {
			t.Errorf("settleable %+v, want %d", c.Settleable, want)
		}
	}
	f(channel(200, 120), signed(120), 120)
	f(channel(200, 120), signed(121), 0)
	f(channel(120, 120), signed(110), 120)
	f(channel(200, 120), Voucher{Cumulative: sumOf(120)}, 0) // no signature
}

// TestFinish: what was served and not captured is lost, and nothing is under way any
// more.
func TestFinish(t *testing.T) {
	f := func(c Channel, captured, lost uint64) {
		t.Helper()
		if fault := c.Reserve(sumOf(5)); fault != nil {
			t.Fatal(fault)
		}
		c.Finish(sumOf(captured), common.Hash{5})
		if c.Status != Closed || c.CloseTx != (common.Hash{5}) || c.Settled != sumOf(captured) || c.Capture != sumOf(captured) || c.Lost != sumOf(lost) ||
			!c.Settling.IsZero() || c.OwedSince != 0 || !c.Reserved.IsZero() || !c.Unsettled().IsZero() {
			t.Errorf("%+v", c)
		}
	}
	f(channel(200, 120), 120, 0)
	f(channel(200, 120), 0, 120)
	f(channel(200, 120), 150, 0) // a foreign end may capture more than was served here
	settling := channel(120, 120).settling()
	settling.Accept(signed(200), at)
	f(settling, 20, 100)
}

// TestReopen takes back an end, and all that it had changed.
func TestReopen(t *testing.T) {
	c := channel(200, 120)
	c.BeginClose(signed(150))
	c.Finish(sumOf(20), common.Hash{5})
	c.Reopen(State{Settled: sumOf(10), Deposit: sumOf(600), CloseRequestedAt: 7, Seen: 9})
	want := channel(200, 120)
	want.Authorised = sumOf(120)
	want.Settled, want.Deposit, want.CloseRequestedAt, want.SeenAt, want.OwedSince = sumOf(10), sumOf(600), 7, 9, want.ActiveAt
	if c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	if c.Unsettled() != sumOf(110) {
		t.Errorf("unsettled %s", c.Unsettled())
	}
}

// TestRepeatedClose: only an end that was closed with the same sum, by a transaction, is
// a repetition.
func TestRepeatedClose(t *testing.T) {
	f := func(c Channel, want bool, kinds mpp.ProblemType) {
		t.Helper()
		if repeat, fault := c.CheckClose(signed(150)); repeat != want || kind(fault) != kinds {
			t.Errorf("%t, %v", repeat, fault)
		}
	}
	c := channel(200, 120)
	c.BeginClose(signed(150))
	f(c, false, mpp.ChannelFinalized)
	unseen := c
	unseen.Finish(sumOf(0), common.Hash{}) // it has ended, and nobody knows by which transaction
	f(unseen, false, mpp.ChannelFinalized)
	c.Finish(sumOf(120), common.Hash{5})
	f(c, true, "")
	f(Channel{Status: Opening}, false, mpp.ChannelNotFound)
}

// TestPayable: a settlement pays out what a voucher covers exactly, and what it leaves
// has a reason.
func TestPayable(t *testing.T) {
	f := func(c Channel, want uint64, why Obstacle) {
		t.Helper()
		if paid, obstacle := c.Payable(); paid != sumOf(want) || obstacle != why {
			t.Errorf("%s, %q; want %d, %q", paid, obstacle, want, why)
		}
	}
	exact := channel(120, 120)
	f(exact, 120, NoObstacle)
	f(channel(200, 120), 0, VoucherAbove)
	exact.Accept(signed(200), at)
	exact.Charge(sumOf(10), at)
	f(exact, 120, VoucherAbove)
	f(exact.settling().sees(120, 500), 0, VoucherAbove)
	f(channel(120, 120).settling().sees(120, 500), 0, NoObstacle)
	f(Channel{Status: Opening}, 0, NotOpen)
	closing := channel(120, 120)
	closing.BeginClose(Voucher{})
	f(closing, 0, BeingClosed)
	closing.Finish(sumOf(120), common.Hash{5})
	f(closing, 0, Ended)
}

// TestOwed: something is owed from the first charge that is not paid out until all is.
func TestOwed(t *testing.T) {
	f := func(c Channel, owed bool) {
		t.Helper()
		if (c.OwedSince != 0) != owed {
			t.Errorf("owed since %d", c.OwedSince)
		}
	}
	c := channel(120, 120)
	f(channel(120, 0), false)
	f(c, true)
	c = c.settling()
	f(c.sees(119, 500), true)
	f(c.sees(120, 500), false)
}

// TestForeign: what the chain pays out beyond what these books have signed for is
// foreign: nothing is served on the channel until that is acknowledged, and then it
// counts as served.
func TestForeign(t *testing.T) {
	f := func(c Channel, foreign bool) {
		t.Helper()
		if c.Foreign() != foreign {
			t.Errorf("foreign: %t; settled %s, authorised %s", c.Foreign(), c.Settled, c.Authorised)
		}
	}
	c := channel(200, 120)
	f(c, false)
	f(c.sees(1, 500), true) // though less than was served
	f(channel(120, 120).settling().sees(120, 500), false)
	f(channel(120, 120).settling().sees(121, 500), true)
	closing := channel(200, 120)
	closing.BeginClose(Voucher{})
	f(closing.sees(120, 500), false)
	closing.Finish(sumOf(120), common.Hash{5})
	f(closing, false)
	closing.Finish(sumOf(121), common.Hash{5})
	f(closing, true)
	f(Adopted(domain, tempo.Descriptor{}, State{Settled: sumOf(90), Deposit: sumOf(500), Seen: 1}, signed(100), sumOf(5), at), false)
	f(Opened(domain, tempo.Descriptor{}, State{Settled: sumOf(1), Deposit: sumOf(500), Seen: 1}, signed(100), common.Hash{9}, at), true)

	taken := c.sees(150, 500)
	for name, fault := range map[string]*mpp.Problem{
		"charge": taken.Charge(sumOf(1), at), "reserve": taken.Reserve(sumOf(1)),
		"voucher": second(taken.CheckVoucher(signed(300), tempo.Amount{})), "accept": second(taken.Accept(signed(300), at)),
	} {
		if fault == nil || fault.Status() != 503 || fault.RetryAfter == 0 {
			t.Errorf("%s: %v", name, fault)
		}
	}
	if !taken.Available().IsZero() {
		t.Errorf("available %s", taken.Available())
	}
	taken.Acknowledge()
	if taken.Foreign() || taken.Spent != sumOf(150) || taken.Available() != sumOf(50) {
		t.Errorf("%+v", taken)
	}
	if fault := taken.Charge(sumOf(50), at); fault != nil {
		t.Error(fault)
	}
	known := c
	known.Acknowledge() // nothing to be acknowledged
	if known != c {
		t.Errorf("%+v, want %+v", known, c)
	}
}

func second[T any](_ T, p *mpp.Problem) *mpp.Problem { return p }
