package session

import (
	"time"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Charge deducts amount for one unit of service, or returns what is missing. Call it before
// the service.
func (c *Channel) Charge(amount tempo.Amount, now time.Time) *mpp.Problem {
	if f := c.fund(amount); f != nil {
		return f
	}
	c.book(amount, now)
	return nil
}

// ChargeHeld is Charge for work for which held was reserved, and releases that. What was
// reserved is charged also if the payer has asked the chain to close the channel meanwhile,
// because the work was begun before.
func (c *Channel) ChargeHeld(held, amount tempo.Amount, now time.Time) *mpp.Problem {
	reserved := c.Reserved
	c.Release(held)
	f := c.fund(amount)
	if asked := c.CloseRequestedAt; f != nil && asked != 0 && amount.Cmp(held) <= 0 {
		c.CloseRequestedAt = 0
		f = c.fund(amount)
		c.CloseRequestedAt = asked
	}
	if f != nil {
		c.Reserved = reserved
		return f
	}
	c.book(amount, now)
	return nil
}

// Reserve holds amount for work that runs, so that two streams do not count on the
// same money.
func (c *Channel) Reserve(amount tempo.Amount) *mpp.Problem {
	if f := c.fund(amount); f != nil {
		return f
	}
	c.Reserved = sum(c.Reserved, amount)
	return nil
}

// Commit turns a reservation into a charge. If the channel was closed in the meantime, or
// is about to be, nothing is charged and the reservation is released.
func (c *Channel) Commit(amount tempo.Amount, now time.Time) *mpp.Problem {
	c.Release(amount)
	return c.Charge(amount, now)
}

// Release releases a reservation.
func (c *Channel) Release(amount tempo.Amount) {
	c.Reserved, _ = c.Reserved.Sub(smaller(amount, c.Reserved))
}

// Refund reverses a charge for which nothing was served. It is no error if the chain has
// already paid it out, or is about to; then nothing is refunded.
func (c *Channel) Refund(amount tempo.Amount) (refunded bool) {
	served, ok := c.Served().Sub(amount)
	if !ok || c.Status != Active || served.Cmp(c.Settled) < 0 || served.Cmp(c.Settling) < 0 {
		return false
	}
	c.Spent, _ = c.Spent.Sub(amount)
	if c.Settleable.Cumulative.Cmp(served) > 0 {
		c.Settleable = Voucher{} // lifted again by the next charge that reaches Highest
	}
	if c.Units > 0 {
		c.Units--
	}
	return true
}

// GiveBack turns a part of earlier charges, which the payer was told about, into credit for
// later ones. It returns the amount: what the chain has paid out, or is about to, cannot be
// refunded.
func (c *Channel) GiveBack(amount tempo.Amount) tempo.Amount {
	if c.Status != Active {
		return tempo.Amount{}
	}
	held := larger(c.Settled, c.Settling)
	free, _ := c.Served().Sub(smaller(held, c.Served()))
	back := smaller(amount, free)
	c.Credit = sum(c.Credit, back)
	if c.Settleable.Cumulative.Cmp(c.Served()) > 0 {
		c.Settleable = Voucher{} // see Refund
	}
	return back
}

func (c *Channel) fund(amount tempo.Amount) *mpp.Problem {
	if f := c.serving(); f != nil {
		return f
	}
	free := c.Available()
	if amount.Cmp(free) > 0 {
		return mpp.Insufficient(c.ID, amount, free)
	}
	return nil
}

func (c *Channel) book(amount tempo.Amount, now time.Time) {
	used := smaller(amount, c.Credit)
	c.Credit, _ = c.Credit.Sub(used)
	amount, _ = amount.Sub(used)
	c.Spent = sum(c.Spent, amount) // bounded by Highest: fund has looked
	c.Units++
	c.ActiveAt = now.UnixMilli()
	if c.OwedSince == 0 {
		c.OwedSince = c.ActiveAt
	}
	c.keepSettleable()
}
