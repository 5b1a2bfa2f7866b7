package session

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
)

// later is some time after at.
var later = at.Add(90 * time.Second)

// becomes applies op to a copy of a row and compares all of it.
func becomes(t *testing.T, what string, c Channel, op func(*Channel), change func(*Channel)) {
	t.Helper()
	want := c
	change(&want)
	op(&c)
	if c != want {
		t.Errorf("%s:\n got %+v\nwant %+v", what, c, want)
	}
}

func nothing(*Channel) {}

// active is a row with 500 deposited, 200 signed, 120 spent in one charge and 50 paid
// out.
func active() Channel {
	c := channel(200, 120)
	c.Authorised = sumOf(50)
	c.Observe(State{Settled: sumOf(50), Deposit: sumOf(500), Seen: 5})
	return c
}

func TestStatus(t *testing.T) {
	for s, want := range map[Status]string{0: "unknown", Opening: "opening", Active: "active", Closing: "closing", Closed: "closed", 9: "unknown"} {
		if s.String() != want {
			t.Errorf("%d: %s, want %s", s, s, want)
		}
	}
	if Opening != 1 || Active != 2 || Closing != 3 || Closed != 4 {
		t.Error("the numbers are stored, and must stay")
	}
}

// TestOpened: the row of an opening has what the chain and the voucher say, and what is
// signed for nothing more than was served can be settled at once.
func TestOpened(t *testing.T) {
	c := Opened(domain, active().Descriptor, State{Settled: sumOf(30), Deposit: sumOf(500), Seen: 7}, signed(30), common.Hash{9}, at)
	want := Channel{
		ID: domain.ChannelID(c.Descriptor), ChainID: 42431, Escrow: common.Address{0x4d}, Descriptor: active().Descriptor, Status: Active,
		Deposit: sumOf(500), Settled: sumOf(30), SeenAt: 7, Highest: signed(30), Settleable: signed(30), Spent: sumOf(30),
		OpenTx: common.Hash{9}, CreatedAt: at.UnixMilli(), ActiveAt: at.UnixMilli(),
	}
	if c != want {
		t.Errorf("\n got %+v\nwant %+v", c, want)
	}
	if c := Opened(domain, c.Descriptor, State{Deposit: sumOf(500), Seen: 7}, signed(10), common.Hash{9}, at); c.Settleable != (Voucher{}) {
		t.Errorf("settleable %+v before anything is served", c.Settleable)
	}
}

// TestAdoptedRow: the voucher is kept where it says more than the chain, and can be
// settled where it is for exactly what was served.
func TestAdoptedRow(t *testing.T) {
	f := func(settled, cumulative, amount uint64, highest, settleable Voucher, spent uint64) {
		t.Helper()
		c := Adopted(domain, active().Descriptor, State{Settled: sumOf(settled), Deposit: sumOf(500), Seen: 1}, signed(cumulative), sumOf(amount), at)
		if c.Highest != highest || c.Settleable != settleable || c.Spent != sumOf(spent) || c.Settled != sumOf(settled) || c.OpenTx != (common.Hash{}) {
			t.Errorf("%d, %d, %d: highest %+v, settleable %+v, spent %s", settled, cumulative, amount, c.Highest, c.Settleable, c.Spent)
		}
	}
	f(0, 200, 0, signed(200), signed(200), 200)
	f(0, 200, 10, signed(200), Voucher{}, 190)
	f(100, 101, 0, signed(101), signed(101), 101)
	f(100, 100, 0, Voucher{}, Voucher{}, 100) // the chain has paid that out; nothing is left to settle
	f(100, 99, 0, Voucher{}, Voucher{}, 100)
	f(100, 110, 10, signed(110), Voucher{}, 100)
	f(100, 110, 9, signed(110), Voucher{}, 101)
	f(100, 110, 11, signed(110), Voucher{}, 100)
	f(0, 1, 2, signed(1), Voucher{}, 0) // less is signed than is asked for
}

func TestObserveRow(t *testing.T) {
	see := func(s State) func(*Channel) { return func(c *Channel) { c.Observe(s) } }
	becomes(t, "news", active(), see(State{Settled: sumOf(60), Deposit: sumOf(600), CloseRequestedAt: 8, Seen: 6}), func(c *Channel) {
		c.Settled, c.Deposit, c.CloseRequestedAt, c.SeenAt = sumOf(60), sumOf(600), 8, 6
	})
	becomes(t, "news of the same moment", active(), see(State{Settled: sumOf(60), Deposit: sumOf(500), Seen: 5}), func(c *Channel) { c.Settled = sumOf(60) })
	becomes(t, "old news", active(), see(State{Settled: sumOf(60), Deposit: sumOf(600), Seen: 4}), nothing)
	becomes(t, "nothing", active(), see(State{Seen: 6}), func(c *Channel) { c.Missing = true })
	becomes(t, "less", active(), see(State{Settled: sumOf(40), Deposit: sumOf(400), Seen: 6}), func(c *Channel) { c.SeenAt = 6 })
	missing := active()
	missing.Missing = true
	becomes(t, "found again", missing, see(State{Settled: sumOf(50), Deposit: sumOf(500), Seen: 6}), func(c *Channel) { c.Missing, c.SeenAt = false, 6 })
	closed := active()
	closed.Status = Closed
	becomes(t, "after its end", closed, see(State{Settled: sumOf(60), Deposit: sumOf(600), Seen: 6}), nothing)
}

func TestKnows(t *testing.T) {
	c := active()
	c.CloseRequestedAt = 7
	f := func(settled, deposit uint64, asked int64, want bool) {
		t.Helper()
		if got := c.Knows(State{Settled: sumOf(settled), Deposit: sumOf(deposit), CloseRequestedAt: asked, Seen: 99}); got != want {
			t.Errorf("%t", got)
		}
	}
	f(50, 500, 7, true)
	f(51, 500, 7, false)
	f(50, 501, 7, false)
	f(50, 500, 8, false)
}

// TestAvailable: what is neither spent nor held, of a channel that serves.
func TestAvailable(t *testing.T) {
	f := func(what string, want uint64, change func(*Channel)) {
		t.Helper()
		c := active()
		c.Reserved = sumOf(30)
		change(&c)
		if got := c.Available(); got != sumOf(want) {
			t.Errorf("%s: %s, want %d", what, got, want)
		}
	}
	f("active", 50, nothing)
	f("more held than signed", 0, func(c *Channel) { c.Reserved = sumOf(81) })
	f("asked to be closed", 0, func(c *Channel) { c.CloseRequestedAt = 7 })
	for _, s := range []Status{Opening, Closing, Closed} {
		f(s.String(), 0, func(c *Channel) { c.Status = s })
	}
	c := active()
	c.Reserved = sumOf(30)
	if need, ok := c.Required(sumOf(60)); need != sumOf(210) || !ok {
		t.Errorf("required %s, %v", need, ok)
	}
}

// TestChargeRow: a charge books all that belongs to it; a refusal changes nothing.
func TestChargeRow(t *testing.T) {
	charge := func(n uint64, want mpp.ProblemType) func(*Channel) {
		return func(c *Channel) {
			if f := c.Charge(sumOf(n), later); kind(f) != want {
				t.Errorf("charge %d: %v, want %q", n, f, want)
			}
		}
	}
	becomes(t, "a part", active(), charge(79, ""), func(c *Channel) {
		c.Spent, c.Units, c.ActiveAt = sumOf(199), 2, later.UnixMilli()
	})
	becomes(t, "all", active(), charge(80, ""), func(c *Channel) {
		c.Spent, c.Units, c.ActiveAt, c.Settleable = sumOf(200), 2, later.UnixMilli(), signed(200)
	})
	becomes(t, "too much", active(), charge(81, mpp.InsufficientBalance), nothing)
	paid := active()
	paid.OwedSince = 0
	becomes(t, "the first that is owed", paid, charge(1, ""), func(c *Channel) {
		c.Spent, c.Units, c.ActiveAt, c.OwedSince = sumOf(121), 2, later.UnixMilli(), later.UnixMilli()
	})
	for s, want := range map[Status]mpp.ProblemType{Opening: mpp.ChannelNotFound, Closing: mpp.ChannelFinalized, Closed: mpp.ChannelFinalized} {
		other := active()
		other.Status = s
		becomes(t, s.String(), other, charge(1, want), nothing)
	}
	asked := active()
	asked.CloseRequestedAt = 7
	becomes(t, "asked to be closed", asked, charge(1, mpp.ChannelFinalized), nothing)
	held := active()
	held.Reserved = sumOf(30)
	becomes(t, "commit", held, func(c *Channel) { c.Commit(sumOf(30), later) }, func(c *Channel) {
		c.Spent, c.Units, c.ActiveAt, c.Reserved = sumOf(150), 2, later.UnixMilli(), sumOf(0)
	})
	becomes(t, "release a part", held, func(c *Channel) { c.Release(sumOf(10)) }, func(c *Channel) { c.Reserved = sumOf(20) })
	becomes(t, "release more than is held", held, func(c *Channel) { c.Release(sumOf(31)) }, func(c *Channel) { c.Reserved = sumOf(0) })
}

// TestRefundRow: a refund takes back all that the charge booked.
func TestRefundRow(t *testing.T) {
	refund := func(n uint64, want bool) func(*Channel) {
		return func(c *Channel) {
			if got := c.Refund(sumOf(n)); got != want {
				t.Errorf("refund %d: %t", n, got)
			}
		}
	}
	becomes(t, "a part", active(), refund(20, true), func(c *Channel) { c.Spent, c.Units = sumOf(100), 0 })
	becomes(t, "down to what is settled", active(), refund(70, true), func(c *Channel) { c.Spent, c.Units = sumOf(50), 0 })
	becomes(t, "below what is settled", active(), refund(71, false), nothing)
	full := channel(200, 200)
	becomes(t, "below the voucher that could be settled", full, refund(1, true), func(c *Channel) { c.Spent, c.Units, c.Settleable = sumOf(199), 0, Voucher{} })
	becomes(t, "nothing", full, refund(0, true), func(c *Channel) { c.Units = 0 })
	several := active()
	several.Units, several.Settling = 2, sumOf(110)
	becomes(t, "down to what is being settled", several, refund(10, true), func(c *Channel) { c.Spent, c.Units = sumOf(110), 1 })
	none := active()
	none.Units = 0
	becomes(t, "without a charge", none, refund(1, true), func(c *Channel) { c.Spent = sumOf(119) })
}

// TestAcceptRow: a voucher above all others is taken, with the time.
func TestAcceptRow(t *testing.T) {
	accept := func(n uint64, wantRaised bool, want mpp.ProblemType) func(*Channel) {
		return func(c *Channel) {
			if raised, f := c.Accept(signed(n), later); raised != wantRaised || kind(f) != want {
				t.Errorf("accept %d: %t, %v; want %t, %q", n, raised, f, wantRaised, want)
			}
		}
	}
	taken := func(n uint64) func(*Channel) {
		return func(c *Channel) { c.Highest, c.ActiveAt = signed(n), later.UnixMilli() }
	}
	becomes(t, "one more", active(), accept(201, true, ""), taken(201))
	becomes(t, "the whole deposit", active(), accept(500, true, ""), taken(500))
	becomes(t, "above the deposit", active(), accept(501, false, mpp.AmountExceedsDeposit), nothing)
	becomes(t, "the same", active(), accept(200, false, ""), nothing)
	becomes(t, "another signature for the same", active(), func(c *Channel) {
		if raised, f := c.Accept(Voucher{sumOf(200), signature(9)}, later); raised || f != nil {
			t.Errorf("%t, %v", raised, f)
		}
	}, nothing)
	becomes(t, "less", active(), accept(199, false, ""), nothing)
	asked := active()
	asked.CloseRequestedAt = 7
	becomes(t, "asked to be closed", asked, accept(300, false, mpp.ChannelFinalized), nothing)
	owing := active() // served beyond what was signed, as of a channel that was adopted
	owing.Spent = sumOf(300)
	becomes(t, "what was served before", owing, accept(300, true, ""), func(c *Channel) { taken(300)(c); c.Settleable = signed(300) })
	becomes(t, "a part of that", owing, accept(250, true, ""), func(c *Channel) { taken(250)(c); c.Settleable = signed(250) })
	// A voucher that can be settled is replaced by a higher one alone.
	again := channel(200, 200)
	again.Settleable = Voucher{sumOf(200), signature(9)}
	becomes(t, "no charge", again, func(c *Channel) { c.keepSettleable() }, nothing)
}

// TestVoucherFaults: a refusal is no repeat.
func TestVoucherFaults(t *testing.T) {
	f := func(what string, v Voucher, want mpp.ProblemType, change func(*Channel)) {
		t.Helper()
		c := active()
		change(&c)
		before := c
		if repeat, fault := c.CheckClose(v); repeat || kind(fault) != want || c != before {
			t.Errorf("%s: %t, %v; want %q", what, repeat, fault, want)
		}
	}
	f("what was served", signed(120), "", nothing)
	f("less than was served", signed(119), mpp.VerificationFailed, nothing)
	f("less than is paid out", signed(149), mpp.VerificationFailed, func(c *Channel) { c.Settled = sumOf(150) })
	f("what is paid out", signed(150), "", func(c *Channel) { c.Settled = sumOf(150) })
	f("before it is open", signed(120), mpp.ChannelNotFound, func(c *Channel) { c.Status = Opening })
	f("while it is closed", signed(120), mpp.ChannelFinalized, func(c *Channel) { c.Status = Closing })
	closed := func(c *Channel) { c.Status, c.Close, c.CloseTx = Closed, signed(130), common.Hash{5} }
	f("another sum after the end", signed(131), mpp.ChannelFinalized, closed)
	f("after an end without a transaction", signed(130), mpp.ChannelFinalized, func(c *Channel) { closed(c); c.CloseTx = common.Hash{} })
	f("the same sum while it is closed", signed(130), mpp.ChannelFinalized, func(c *Channel) { closed(c); c.Status = Closing })
}

// TestCoveringRow: the payee closes with a voucher that is as low as possible and covers
// what was served, or with none where all of that is paid out.
func TestCoveringRow(t *testing.T) {
	f := func(what string, want Voucher, capture uint64, change func(*Channel)) {
		t.Helper()
		c := active()
		change(&c)
		if fault := c.BeginClose(Voucher{}); fault != nil || c.Close != want || c.Capture != sumOf(capture) || c.Status != Closing {
			t.Errorf("%s: %v, %+v, capture %s, %s", what, fault, c.Close, c.Capture, c.Status)
		}
	}
	f("the highest", signed(200), 120, nothing)
	f("one for just that", signed(120), 120, func(c *Channel) { c.Settleable = signed(120) })
	f("one for less", signed(200), 120, func(c *Channel) { c.Settleable = signed(110) })
	paid := func(c *Channel) { c.Settled = sumOf(120) }
	f("all is paid out", signed(200), 120, paid)
	f("all is paid out, and no voucher is kept", Voucher{Cumulative: sumOf(120)}, 120, func(c *Channel) { paid(c); c.Highest = Voucher{} })
	f("all is paid out, and the voucher is kept", signed(120), 120, func(c *Channel) { paid(c); c.Highest, c.Settleable = signed(120), Voucher{} })
	f("all is paid out, and one is below that", Voucher{Cumulative: sumOf(120)}, 120, func(c *Channel) { paid(c); c.Highest = signed(119) })
	f("more is paid out than was served", Voucher{Cumulative: sumOf(130)}, 130, func(c *Channel) { c.Settled, c.Highest = sumOf(130), signed(125) })
	f("the deposit bounds it", signed(200), 110, func(c *Channel) { c.Deposit = sumOf(110) })
	less := active() // not all that was served is signed for: nothing covers it
	less.Highest = signed(119)
	if fault := less.BeginClose(Voucher{}); kind(fault) != mpp.VerificationFailed || less.Status != Active {
		t.Errorf("%v, %s", fault, less.Status)
	}
}

// TestEnd: how a channel ends, and what takes the end back.
func TestEnd(t *testing.T) {
	closing := active()
	closing.Reserved, closing.Settling = sumOf(10), sumOf(60)
	if f := closing.BeginClose(signed(130)); f != nil {
		t.Fatal(f)
	}
	becomes(t, "undo", closing, (*Channel).UndoClose, func(c *Channel) { c.Status, c.Close, c.Capture = Active, Voucher{}, sumOf(0) })
	sent := closing
	sent.CloseTx = common.Hash{5}
	becomes(t, "undo what was sent", sent, (*Channel).UndoClose, func(c *Channel) {
		c.Status, c.Close, c.Capture, c.CloseTx = Active, Voucher{}, sumOf(0), common.Hash{}
	})
	becomes(t, "undo nothing", active(), (*Channel).UndoClose, nothing)
	finish := func(n uint64) func(*Channel) { return func(c *Channel) { c.Finish(sumOf(n), common.Hash{6}) } }
	ended := func(captured, lost uint64) func(*Channel) {
		return func(c *Channel) {
			c.Status, c.CloseTx, c.Settled, c.Capture, c.Lost = Closed, common.Hash{6}, sumOf(captured), sumOf(captured), sumOf(lost)
			c.Settling, c.OwedSince, c.Reserved = sumOf(0), 0, sumOf(0)
		}
	}
	becomes(t, "finish", closing, finish(120), ended(120, 0))
	becomes(t, "finish with less", closing, finish(70), ended(70, 50))
	becomes(t, "finish with more", closing, finish(121), ended(121, 0))
	closed := closing
	finish(70)(&closed)
	becomes(t, "reopen", closed, func(c *Channel) {
		c.Reopen(State{Settled: sumOf(55), Deposit: sumOf(510), CloseRequestedAt: 3, Seen: 9})
	}, func(c *Channel) {
		c.Status, c.Close, c.CloseTx, c.Capture, c.Lost = Active, Voucher{}, common.Hash{}, sumOf(0), sumOf(0)
		c.Settled, c.Deposit, c.CloseRequestedAt, c.SeenAt, c.OwedSince = sumOf(55), sumOf(510), 3, 9, c.ActiveAt
	})
	becomes(t, "shrink", active(), func(c *Channel) { c.Shrink(sumOf(400)) }, func(c *Channel) { c.Deposit = sumOf(400) })
	becomes(t, "shrink to more", active(), func(c *Channel) { c.Shrink(sumOf(501)) }, nothing)
}

// TestSettle: what is paid out only grows, and nothing is owed once it covers what was
// served.
func TestSettle(t *testing.T) {
	settle := func(n uint64) func(*Channel) { return func(c *Channel) { c.Settle(sumOf(n)) } }
	if active().OwedSince != at.UnixMilli() {
		t.Fatalf("owed since %d", active().OwedSince)
	}
	becomes(t, "a part", active(), settle(119), func(c *Channel) { c.Settled = sumOf(119) })
	becomes(t, "all", active(), settle(120), func(c *Channel) { c.Settled, c.OwedSince = sumOf(120), 0 })
	becomes(t, "more", active(), settle(121), func(c *Channel) { c.Settled, c.OwedSince = sumOf(121), 0 })
	becomes(t, "less than before", active(), settle(49), nothing)
}

// TestPayableRow: what a settlement pays out, and why that is not all.
func TestPayableRow(t *testing.T) {
	f := func(what string, due, unsettled uint64, why Obstacle, change func(*Channel)) {
		t.Helper()
		c := active()
		c.Settleable = signed(120)
		change(&c)
		if got, obstacle := c.Payable(); got != sumOf(due) || obstacle != why || c.Unsettled() != sumOf(unsettled) {
			t.Errorf("%s: %s, %q, %s unsettled; want %d, %q, %d", what, got, obstacle, c.Unsettled(), due, why, unsettled)
		}
	}
	f("all", 70, 70, "", nothing)
	f("a voucher for less", 60, 70, "voucher_above_served", func(c *Channel) { c.Settleable = signed(110) })
	f("no voucher for that", 0, 70, "voucher_above_served", func(c *Channel) { c.Settleable = Voucher{} })
	f("a voucher for less than is paid out", 0, 70, "voucher_above_served", func(c *Channel) { c.Settleable = signed(40) })
	f("all is paid out", 0, 0, "", func(c *Channel) { c.Settled = sumOf(120) })
	f("more is paid out", 0, 0, "", func(c *Channel) { c.Settled = sumOf(130) })
	f("not open yet", 0, 70, "opening", func(c *Channel) { c.Status = Opening })
	f("being closed", 0, 70, "closing", func(c *Channel) { c.Status = Closing })
	f("closed", 0, 0, "closed", func(c *Channel) { c.Status = Closed })
}

// TestGiveBackRow: what is given back becomes credit, and a voucher that covers more
// than what was served then is not settled.
func TestGiveBackRow(t *testing.T) {
	give := func(n, want uint64) func(*Channel) {
		return func(c *Channel) {
			if got := c.GiveBack(sumOf(n)); got != sumOf(want) {
				t.Errorf("gave back %s of %d, want %d", got, n, want)
			}
		}
	}
	becomes(t, "a part", active(), give(20, 20), func(c *Channel) { c.Credit = sumOf(20) })
	becomes(t, "what is paid out stays", active(), give(71, 70), func(c *Channel) { c.Credit = sumOf(70) })
	full := channel(120, 120)
	if full.Settleable != signed(120) {
		t.Fatalf("%+v", full.Settleable)
	}
	becomes(t, "the voucher covers more", full, give(1, 1), func(c *Channel) { c.Credit, c.Settleable = sumOf(1), Voucher{} })
	becomes(t, "nothing", full, give(0, 0), nothing)
	under := full
	under.BeginSettle()
	becomes(t, "what is on its way stays", under, give(1, 0), nothing)
	closed := active()
	closed.Status = Closing
	becomes(t, "after the end", closed, give(20, 0), nothing)
}

// TestBeginSettleRow: only an active channel with something to pay out is settled.
func TestBeginSettleRow(t *testing.T) {
	settle := func(want bool) func(*Channel) {
		return func(c *Channel) {
			if got := c.BeginSettle(); got != want {
				t.Errorf("due: %t", got)
			}
		}
	}
	full := channel(120, 120)
	becomes(t, "all of it", full, settle(true), func(c *Channel) { c.Settling, c.Authorised = sumOf(120), sumOf(120) })
	becomes(t, "no voucher for it", active(), settle(false), nothing)
	paid := full
	paid.Settled, paid.Authorised = sumOf(120), sumOf(120)
	becomes(t, "it is paid out", paid, settle(false), nothing)
	closing := full
	closing.Status = Closing
	becomes(t, "it is being closed", closing, settle(false), nothing)
}
