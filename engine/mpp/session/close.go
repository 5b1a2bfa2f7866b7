package session

import (
	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// CheckClose checks a payer's close voucher before its signature is verified: it must cover
// what was served and what is paid out, and may be below the highest voucher. repeat means
// that the channel is already closed with exactly this sum.
func (c *Channel) CheckClose(v Voucher) (repeat bool, _ *mpp.Problem) {
	switch {
	case c.Status == Closed && c.Close.Cumulative == v.Cumulative && c.CloseTx != (common.Hash{}):
		return true, nil
	case c.Status == Opening:
		return false, refuse(mpp.ChannelNotFound, "the channel is not open yet")
	case c.Status != Active:
		return false, refuse(mpp.ChannelFinalized, "the channel is closed")
	case v.Cumulative.Cmp(c.Served()) < 0 || v.Cumulative.Cmp(c.Settled) < 0:
		return false, refuse(
			mpp.VerificationFailed,
			"closing with "+v.Cumulative.String()+" does not cover the "+larger(c.Served(), c.Settled).String()+" that were consumed",
		)
	}
	return false, nil
}

// BeginClose marks the channel as closing with a verified voucher that covers it, and
// returns the payout: what was served, and never less than what is paid out already.
// Nothing is charged after that. With a zero voucher, which means that the payee closes,
// the highest one is used.
func (c *Channel) BeginClose(v Voucher) *mpp.Problem {
	if v == (Voucher{}) {
		v = c.covering()
	}
	if _, f := c.CheckClose(v); f != nil {
		return f
	}
	c.Status, c.Close = Closing, v
	c.Capture = smaller(larger(c.Served(), c.Settled), c.Deposit)
	c.Authorised = larger(c.Authorised, c.Capture)
	return nil
}

// covering returns the voucher that authorises a payout of what was served. If all of that
// is paid out already, the chain requires no signature, and there may be none, for a
// channel whose record was lost.
func (c *Channel) covering() Voucher {
	if c.Served().Cmp(c.Settled) <= 0 && c.Highest.Cumulative.Cmp(c.Settled) < 0 {
		return Voucher{Cumulative: c.Settled}
	}
	if c.Settleable.Cumulative == c.Served() {
		return c.Settleable
	}
	return c.Highest
}

// UndoClose makes a channel active again whose payout did not happen.
func (c *Channel) UndoClose() {
	if c.Status == Closing {
		c.Status, c.Close, c.Capture, c.CloseTx = Active, Voucher{}, tempo.Amount{}, common.Hash{}
	}
}

// Finish marks a channel as closed. captured is the total that the payee received. It is
// less than was served if the payer withdrew first, and less than was settled if a
// reorganisation removed a settlement before that.
func (c *Channel) Finish(captured tempo.Amount, tx common.Hash) {
	c.Status, c.CloseTx = Closed, tx
	c.Settled = captured
	c.Settling, c.OwedSince = tempo.Amount{}, 0
	c.Capture = captured
	c.Lost, _ = c.Served().Sub(smaller(captured, c.Served()))
	c.Reserved = tempo.Amount{}
}

// Reopen reverts the end of a channel that the chain shows again after a reorganisation.
func (c *Channel) Reopen(s State) {
	c.Status, c.Close, c.CloseTx = Active, Voucher{}, common.Hash{}
	c.Capture, c.Lost, c.Settled = tempo.Amount{}, tempo.Amount{}, s.Settled
	c.OwedSince = c.ActiveAt
	c.Observe(s)
}

// BeginSettle marks the sum that a settlement is about to pay out, so that nothing below it
// is refunded. due is false if there is nothing to pay out.
func (c *Channel) BeginSettle() (due bool) {
	if c.Status != Active || c.Settleable.Cumulative.Cmp(c.Settled) <= 0 {
		return false
	}
	c.Settling = c.Settleable.Cumulative
	c.Authorised = larger(c.Authorised, c.Settling)
	return true
}

// KeepClose keeps the verified voucher of a close that was undone if it can be settled.
func (c *Channel) KeepClose(v Voucher) {
	if v.Cumulative.Cmp(c.Served()) <= 0 && v.Cumulative.Cmp(c.Settleable.Cumulative) > 0 && v.Signature.Kind() != tempo.NoSignature {
		c.Settleable = v
	}
}

// BeginExcess is BeginSettle for a payer who rejects its refund, so that the channel cannot be
// closed: it marks the highest voucher, which is above what was served, if no other covers
// that. due is false if a voucher that is not above it is left to settle.
func (c *Channel) BeginExcess() (due bool) {
	if c.Status != Active || c.Unsettled().IsZero() || c.Settleable.Cumulative.Cmp(c.Settled) > 0 || c.Highest.Cumulative.Cmp(c.Settled) <= 0 {
		return false
	}
	c.Settling = c.Highest.Cumulative
	c.Authorised = larger(c.Authorised, c.Settling)
	return true
}

// Excess is what was paid out above what was served. Charges of the channel use it up.
func (c *Channel) Excess() tempo.Amount {
	excess, _ := c.Settled.Sub(smaller(c.Served(), c.Settled))
	return excess
}

// Shrink records a deposit that is smaller than before, because a reorganisation removed a
// top-up. Only a rejected payout proves that; a replica that lags shows it too.
func (c *Channel) Shrink(deposit tempo.Amount) { c.Deposit = smaller(c.Deposit, deposit) }

// Settle records the total that the chain has paid out.
func (c *Channel) Settle(amount tempo.Amount) {
	c.Settled = larger(c.Settled, amount)
	if c.Settled.Cmp(c.Served()) >= 0 {
		c.OwedSince = 0
	}
}

// Unsettled is what was served and not paid out.
func (c *Channel) Unsettled() tempo.Amount {
	if c.Status == Closed {
		return tempo.Amount{}
	}
	left, _ := c.Served().Sub(smaller(c.Settled, c.Served()))
	return left
}

// Obstacle is the reason why a settlement does not pay out all that was served.
type Obstacle string

const (
	NoObstacle Obstacle = ""
	// NotOpen: the chain has not shown the channel yet.
	NotOpen Obstacle = "opening"
	// BeingClosed: a payout that ends the channel has been started.
	BeingClosed Obstacle = "closing"
	// Ended: the channel has been paid out.
	Ended Obstacle = "closed"
	// VoucherAbove: the rest is covered only by a voucher above what was served. A
	// settlement pays out a whole voucher, so it would take too much; a close does not.
	VoucherAbove Obstacle = "voucher_above_served"
)

// Payable returns what a settlement would pay out now while the channel stays open, and why
// that is not all of Unsettled.
func (c *Channel) Payable() (tempo.Amount, Obstacle) {
	switch c.Status {
	case Opening:
		return tempo.Amount{}, NotOpen
	case Closing:
		return tempo.Amount{}, BeingClosed
	case Closed:
		return tempo.Amount{}, Ended
	}
	due, _ := c.Settleable.Cumulative.Sub(smaller(c.Settled, c.Settleable.Cumulative))
	if due.Cmp(c.Unsettled()) < 0 {
		return due, VoucherAbove
	}
	return due, NoObstacle
}
