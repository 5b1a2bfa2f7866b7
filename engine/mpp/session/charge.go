package session

import (
	"time"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Charge takes amount for one unit of service, or says what is missing. It comes
// before the service.
func (c *Channel) Charge(amount tempo.Amount, now time.Time) *mpp.Problem {
	if f := c.fund(amount); f != nil {
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

// Commit turns a reservation into a charge. A channel that is closed by now, or is
// about to, takes no charge any more: the reservation is gone.
func (c *Channel) Commit(amount tempo.Amount, now time.Time) *mpp.Problem {
	c.Release(amount)
	return c.Charge(amount, now)
}

// Release gives a reservation back.
func (c *Channel) Release(amount tempo.Amount) {
	c.Reserved, _ = c.Reserved.Sub(smaller(amount, c.Reserved))
}

// Refund takes a charge back that nothing was served for. It is no fault if
// nothing can be given back any more: the chain has paid it out, or is about to.
func (c *Channel) Refund(amount tempo.Amount) (refunded bool) {
	left, ok := c.Spent.Sub(amount)
	if !ok || c.Status != Active || left.Cmp(c.Settled) < 0 || left.Cmp(c.Settling) < 0 {
		return false
	}
	c.Spent = left
	if c.Settleable.Cumulative.Cmp(left) > 0 {
		c.Settleable = Voucher{} // lifted again by the next charge that reaches Highest
	}
	if c.Units > 0 {
		c.Units--
	}
	return true
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
	c.Spent = sum(c.Spent, amount) // bounded by Highest: fund has looked
	c.Units++
	c.ActiveAt = now.UnixMilli()
	if c.OwedSince == 0 {
		c.OwedSince = c.ActiveAt
	}
	c.lift()
}
