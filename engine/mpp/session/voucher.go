package session

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

// Opened returns the row of a channel that the chain shows. voucher is the verified one
// that came with it; its amount may be zero.
func Opened(dom *tempo.Domain, d tempo.Descriptor, s State, v Voucher, tx common.Hash, now time.Time) Channel {
	c := Channel{
		ID: dom.ChannelID(d), ChainID: dom.ChainID(), Escrow: dom.Escrow(), Descriptor: d, Status: Active,
		Highest: v, OpenTx: tx, CreatedAt: now.UnixMilli(), ActiveAt: now.UnixMilli(),
	}
	c.Observe(s)
	c.Spent = c.Settled // what is paid out was consumed, whatever became of our record of it
	c.keepSettleable()
	return c
}

// Adopted returns the row of a channel that the chain knows and the database does not: the
// record was lost, or never written. v is the verified voucher that led to it, not above
// the deposit; zero if it was found otherwise. Everything the payer signed before, v less
// the amount requested now, counts as served, so that a lost database gives nobody free
// service. v is kept, because otherwise that sum could never be collected.
func Adopted(dom *tempo.Domain, d tempo.Descriptor, s State, v Voucher, amount tempo.Amount, now time.Time) Channel {
	c := Opened(dom, d, s, Voucher{}, common.Hash{}, now)
	if v.Cumulative.Cmp(c.Settled) > 0 {
		c.Highest = v
	}
	if before, ok := v.Cumulative.Sub(amount); ok && before.Cmp(c.Spent) > 0 {
		c.Spent = before
	}
	c.Acknowledge()
	return c
}

// Observe records the chain's present state if it is new. A close request may also
// disappear, because a top-up revokes it.
func (c *Channel) Observe(s State) {
	if s.Seen < c.SeenAt || c.Status == Closed {
		return
	}
	if c.Missing = s.Deposit.IsZero(); c.Missing {
		return // gone, or a replica that lags: only the event of its end is proof
	}
	c.SeenAt = s.Seen
	c.CloseRequestedAt = s.CloseRequestedAt
	c.Deposit = larger(c.Deposit, s.Deposit)
	c.Settle(s.Settled)
}

// Knows reports whether the chain's state is the recorded one.
func (c *Channel) Knows(s State) bool {
	return c.Deposit == s.Deposit && c.Settled == s.Settled && c.CloseRequestedAt == s.CloseRequestedAt
}

func larger(a, b tempo.Amount) tempo.Amount {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func smaller(a, b tempo.Amount) tempo.Amount {
	if a.Cmp(b) > 0 {
		return b
	}
	return a
}

// serving returns why the channel accepts nothing, or nil.
func (c *Channel) serving() *mpp.Problem {
	switch {
	case c.Status == Opening:
		return refuse(mpp.ChannelNotFound, "the channel is not open yet")
	case c.Status != Active:
		return refuse(mpp.ChannelFinalized, "the channel is closed")
	case c.CloseRequestedAt != 0:
		return refuse(mpp.ChannelFinalized, "the payer has asked the chain to close the channel")
	case c.Missing:
		return refuse(mpp.ChannelNotFound, "the chain does not show the channel")
	case c.Foreign():
		return refuseForeign(c.ID)
	}
	return nil
}

// CheckVoucher checks a voucher before its signature is verified, which is expensive.
// repeat means that it is the voucher already accepted, so nothing is left to check.
func (c *Channel) CheckVoucher(v Voucher, minDelta tempo.Amount) (repeat bool, _ *mpp.Problem) {
	if f := c.serving(); f != nil {
		return false, f
	}
	switch {
	case v.Cumulative.Cmp(c.Deposit) > 0:
		return false, refuse(mpp.AmountExceedsDeposit, "the voucher of "+v.Cumulative.String()+" is above the deposit of "+c.Deposit.String())
	case v.Cumulative.Cmp(c.Highest.Cumulative) < 0:
		return false, refuse(
			mpp.VerificationFailed,
			"the voucher of "+v.Cumulative.String()+" is below the "+c.Highest.Cumulative.String()+" accepted before",
		)
	case v == c.Highest:
		return true, nil // whatever was settled meanwhile: a harmless retry
	case v.Cumulative.Cmp(c.Settled) <= 0:
		return false, refuse(
			mpp.VerificationFailed,
			"the voucher of "+v.Cumulative.String()+" is not above the "+c.Settled.String()+" that are paid out",
		)
	case v.Cumulative == c.Highest.Cumulative:
		return false, nil // another signature for the same sum: to be verified, not stored
	}
	if delta, _ := v.Cumulative.Sub(c.Highest.Cumulative); delta.Cmp(minDelta) < 0 {
		return false, refuse(mpp.DeltaTooSmall, "the voucher adds "+delta.String()+"; the least is "+minDelta.String())
	}
	return false, nil
}

// Accept raises the channel to a voucher whose signature was verified. raised is false if
// the sum was accepted before. The checks of CheckVoucher are repeated, because another
// voucher may have come in between; one that is lower by now is covered by it, which is no
// error.
func (c *Channel) Accept(v Voucher, now time.Time) (raised bool, _ *mpp.Problem) {
	if f := c.serving(); f != nil {
		return false, f
	}
	if v.Cumulative.Cmp(c.Deposit) > 0 {
		return false, refuse(mpp.AmountExceedsDeposit, "the voucher of "+v.Cumulative.String()+" is above the deposit of "+c.Deposit.String())
	}
	if v.Cumulative.Cmp(c.Highest.Cumulative) <= 0 {
		return false, nil
	}
	c.Highest = v
	c.ActiveAt = now.UnixMilli()
	c.keepSettleable()
	return true, nil
}

// keepSettleable keeps the voucher that can be settled without taking more than was
// consumed.
func (c *Channel) keepSettleable() {
	if c.Highest.Cumulative.Cmp(c.Served()) <= 0 && c.Highest.Cumulative.Cmp(c.Settleable.Cumulative) > 0 {
		c.Settleable = c.Highest
	}
}
