package session

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

var domain = tempo.NewDomain(42431, common.Address{0x4d})

var at = time.Unix(1_900_000_000, 0)

func sumOf(n uint64) tempo.Amount { return tempo.AmountFrom(n) }

func signed(n uint64) Voucher { return Voucher{Cumulative: sumOf(n), Signature: signature(byte(n))} }

// signature is well-formed and one for each n.
func signature(n byte) tempo.Signature {
	raw := make([]byte, 65)
	raw[0], raw[31], raw[63], raw[64] = 1, n, 1, 27
	s, err := tempo.ParseSignature(raw)
	if err != nil {
		panic(err)
	}
	return s
}

// channel is active, with 500 deposited and the given sums signed and spent.
func channel(highest, spent uint64) Channel {
	c := Opened(domain, tempo.Descriptor{Payer: common.Address{1}}, State{Deposit: sumOf(500), Seen: 1}, signed(highest), common.Hash{9}, at)
	if spent > 0 {
		if f := c.Charge(sumOf(spent), at); f != nil {
			panic(f)
		}
	}
	return c
}

func kind(f *mpp.Problem) mpp.ProblemType {
	if f == nil {
		return ""
	}
	return f.Type
}

func TestCheckVoucher(t *testing.T) {
	f := func(c Channel, v Voucher, wantRepeat bool, want mpp.ProblemType) {
		t.Helper()
		repeat, fault := c.CheckVoucher(v, sumOf(10))
		if repeat != wantRepeat || kind(fault) != want {
			t.Errorf("%t, %v; want %t, %s", repeat, fault, wantRepeat, want)
		}
	}
	c := channel(100, 50)
	f(c, signed(200), false, "")
	f(c, signed(110), false, "")
	f(c, signed(109), false, mpp.DeltaTooSmall)
	f(c, signed(100), true, "")
	f(c, Voucher{sumOf(100), signature(7)}, false, "") // another signature for the same sum
	f(c, signed(99), false, mpp.VerificationFailed)
	f(c, signed(500), false, "")
	f(c, signed(501), false, mpp.AmountExceedsDeposit)

	settled := c
	settled.Authorised = sumOf(100)
	settled.Observe(State{Settled: sumOf(100), Deposit: sumOf(500), Seen: 2})
	f(settled, signed(100), true, "") // a retry, whatever was settled
	f(settled, Voucher{sumOf(100), signature(7)}, false, mpp.VerificationFailed)

	asked := c
	asked.Observe(State{Deposit: sumOf(500), CloseRequestedAt: 7, Seen: 2})
	f(asked, signed(200), false, mpp.ChannelFinalized)
	asked.Observe(State{Deposit: sumOf(600), Seen: 3}) // a top-up took the request back
	f(asked, signed(600), false, "")
	asked.Observe(State{Deposit: sumOf(500), CloseRequestedAt: 7, Seen: 2}) // old news
	f(asked, signed(600), false, "")

	closing := c
	closing.BeginClose(Voucher{})
	f(closing, signed(200), false, mpp.ChannelFinalized)
	f(Channel{Status: Opening}, signed(1), false, mpp.ChannelNotFound)
}

// TestMissing: a channel that the chain does not show is not served, and nothing else of
// its row changes.
func TestMissing(t *testing.T) {
	c := channel(100, 50)
	f := func(s State, want bool) {
		t.Helper()
		c.Observe(s)
		if c.Missing != want {
			t.Errorf("missing: %t", c.Missing)
		}
		if c.Deposit != sumOf(500) || c.Status != Active {
			t.Errorf("deposit %s, %s", c.Deposit, c.Status)
		}
		if fault := c.Reserve(sumOf(1)); want != (kind(fault) == mpp.ChannelNotFound) || want != c.Available().IsZero() {
			t.Errorf("missing %t: %v, available %s", want, fault, c.Available())
		}
		c.Release(sumOf(1))
	}
	f(State{Deposit: sumOf(500), Seen: 5000}, false)
	f(State{Seen: 5001}, true)
	f(State{Seen: 5002}, true)
	f(State{Deposit: sumOf(500), Seen: 5003}, false)
}

func TestAcceptAndCharge(t *testing.T) {
	c := channel(100, 0)
	f := func(op string, fault *mpp.Problem, want mpp.ProblemType, highest, spent, reserved uint64) {
		t.Helper()
		if kind(fault) != want || c.Highest.Cumulative != sumOf(highest) || c.Spent != sumOf(spent) || c.Reserved != sumOf(reserved) {
			t.Errorf("%s: %v, highest %s, spent %s, reserved %s", op, fault, c.Highest.Cumulative, c.Spent, c.Reserved)
		}
	}
	accept := func(n uint64) *mpp.Problem { _, fault := c.Accept(signed(n), at); return fault }
	f("charge", c.Charge(sumOf(60), at), "", 100, 60, 0)
	f("charge more than is left", c.Charge(sumOf(41), at), mpp.InsufficientBalance, 100, 60, 0)
	f("reserve", c.Reserve(sumOf(30)), "", 100, 60, 30)
	f("charge what is reserved", c.Charge(sumOf(11), at), mpp.InsufficientBalance, 100, 60, 30)
	f("reserve what is reserved", c.Reserve(sumOf(11)), mpp.InsufficientBalance, 100, 60, 30)
	f("accept", accept(200), "", 200, 60, 30)
	f("accept what is covered", accept(150), "", 200, 60, 30)
	f("commit", c.Commit(sumOf(30), at), "", 200, 90, 0)
	f("accept too much", accept(501), mpp.AmountExceedsDeposit, 200, 90, 0)
	if c.Units != 2 || c.Settleable.Cumulative != sumOf(0) {
		t.Errorf("units %d, settleable %s", c.Units, c.Settleable.Cumulative)
	}
	f("charge all", c.Charge(sumOf(110), at), "", 200, 200, 0)
	if c.Settleable.Cumulative != sumOf(200) {
		t.Errorf("settleable %s", c.Settleable.Cumulative)
	}
	if fault := c.Charge(sumOf(7), at); fault == nil || fault.RequiredTopUp != sumOf(7) {
		t.Errorf("fault %+v", fault)
	}
	if c.Highest.Cumulative.Cmp(c.Deposit) > 0 {
		t.Error("more signed than deposited")
	}
}

func TestRefund(t *testing.T) {
	f := func(c Channel, n uint64, want bool, spent uint64) {
		t.Helper()
		if got := c.Refund(sumOf(n)); got != want || c.Spent != sumOf(spent) {
			t.Errorf("%t, spent %s", got, c.Spent)
		}
		if c.Settleable.Cumulative.Cmp(c.Spent) > 0 {
			t.Errorf("settleable %s above spent %s", c.Settleable.Cumulative, c.Spent)
		}
	}
	c := channel(100, 100)
	f(c, 40, true, 60)
	f(c, 101, false, 100)
	settling := c
	settling.Settling = sumOf(100)
	f(settling, 1, false, 100)
	settled := c
	settled.Observe(State{Settled: sumOf(80), Deposit: sumOf(500), Seen: 2})
	f(settled, 20, true, 80)
	f(settled, 21, false, 100)
	closing := c
	closing.BeginClose(Voucher{})
	f(closing, 1, false, 100)
}

func TestClose(t *testing.T) {
	f := func(c Channel, v Voucher, want mpp.ProblemType, capture uint64) {
		t.Helper()
		if fault := c.BeginClose(v); kind(fault) != want || fault == nil && (c.Capture != sumOf(capture) || c.Status != Closing) {
			t.Errorf("%v, capture %s, %s", fault, c.Capture, c.Status)
		}
	}
	c := channel(200, 120)
	f(c, signed(120), "", 120)
	f(c, signed(150), "", 120)
	f(c, signed(300), "", 120)
	f(c, signed(119), mpp.VerificationFailed, 0)
	f(c, Voucher{}, "", 120)
	f(channel(0, 0), Voucher{}, "", 0)
	settled := c
	settled.Observe(State{Settled: sumOf(150), Deposit: sumOf(500), Seen: 2})
	f(settled, signed(149), mpp.VerificationFailed, 0)
	f(settled, signed(150), "", 150)

	c.BeginClose(signed(130))
	if fault := c.BeginClose(signed(130)); kind(fault) != mpp.ChannelFinalized {
		t.Errorf("a second close: %v", fault)
	}
	undone := c
	undone.UndoClose()
	if _, fault := undone.Accept(signed(300), at); fault != nil {
		t.Error(fault)
	}
	c.Finish(sumOf(120), common.Hash{5})
	if repeat, fault := c.CheckClose(signed(130)); !repeat || fault != nil {
		t.Errorf("the same close again: %t, %v", repeat, fault)
	}
	if _, fault := c.CheckClose(signed(131)); kind(fault) != mpp.ChannelFinalized {
		t.Errorf("another close: %v", fault)
	}
	lost := channel(200, 120)
	lost.Finish(sumOf(20), common.Hash{5})
	if lost.Lost != sumOf(100) || !lost.Unsettled().IsZero() {
		t.Errorf("lost %s, unsettled %s", lost.Lost, lost.Unsettled())
	}
	undone = channel(200, 120) // settled, then the settlement's block was replaced, and the payer withdrew
	undone.Settle(sumOf(120))
	undone.Finish(tempo.Amount{}, common.Hash{5})
	if !undone.Settled.IsZero() || undone.Lost != sumOf(120) {
		t.Errorf("settled %s, lost %s", undone.Settled, undone.Lost)
	}
}

// TestAdopt: what was signed before counts as served, and can be had: a channel whose
// record was lost is one that its payee can close.
func TestAdopt(t *testing.T) {
	f := func(settled, cumulative, amount, spent, highest uint64) {
		t.Helper()
		c := Adopted(domain, tempo.Descriptor{}, State{Settled: sumOf(settled), Deposit: sumOf(500), Seen: 1}, signed(cumulative), sumOf(amount), at)
		if c.Spent != sumOf(spent) || c.Highest.Cumulative != sumOf(highest) {
			t.Errorf("spent %s, highest %s", c.Spent, c.Highest.Cumulative)
		}
		if f := c.BeginClose(Voucher{}); f != nil || c.Capture != sumOf(spent) || c.Close.Cumulative.Cmp(c.Capture) < 0 {
			t.Errorf("close with %s, capture %s, %v", c.Close.Cumulative, c.Capture, f)
		}
	}
	f(0, 300, 10, 290, 300)
	f(100, 105, 10, 100, 105)
	f(100, 0, 0, 100, 0)
	f(0, 5, 10, 0, 5)
	f(0, 0, 0, 0, 0)
	f(0, 500, 0, 500, 500)
}

// TestChargeHeld: what was reserved for running work is charged also after the payer has asked
// the chain to close the channel, and no more than that; a charge that fails changes nothing.
func TestChargeHeld(t *testing.T) {
	f := func(what string, change func(*Channel), held, amount uint64, want mpp.ProblemType, spent, reserved uint64) {
		t.Helper()
		c := channel(200, 120)
		c.Observe(State{Deposit: sumOf(500), Seen: 5})
		c.Reserved = sumOf(50)
		change(&c)
		asked := c.CloseRequestedAt
		if got := kind(c.ChargeHeld(sumOf(held), sumOf(amount), at)); got != want || c.Spent != sumOf(spent) || c.Reserved != sumOf(reserved) || c.CloseRequestedAt != asked {
			t.Errorf("%s: %q, spent %s, reserved %s, want %q, %d, %d", what, got, c.Spent, c.Reserved, want, spent, reserved)
		}
	}
	as, closing := func(*Channel) {}, func(c *Channel) { c.CloseRequestedAt = 77 }
	f("all of it", as, 50, 50, "", 170, 0)
	f("a part", as, 30, 20, "", 140, 20)
	f("more, which is signed for", as, 50, 80, "", 200, 0)
	f("more than that", as, 50, 81, mpp.InsufficientBalance, 120, 50)
	f("nothing held", as, 0, 30, "", 150, 50)
	f("nothing held, and too much", as, 0, 31, mpp.InsufficientBalance, 120, 50)
	f("closing", closing, 50, 50, "", 170, 0)
	f("closing, more than held", closing, 50, 51, mpp.ChannelFinalized, 120, 50)
	f("closing, nothing held", closing, 0, 1, mpp.ChannelFinalized, 120, 50)
	f("the payout has begun", func(c *Channel) { c.CloseRequestedAt, c.Status = 77, Closing }, 50, 50, mpp.ChannelFinalized, 120, 50)
	f("gone", func(c *Channel) { c.CloseRequestedAt, c.Missing = 77, true }, 50, 50, mpp.ChannelNotFound, 120, 50)
}
