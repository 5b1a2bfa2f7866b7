// Package session holds the state of payment channels as the payee keeps it, and
// the rules by which it changes. It is pure: a method looks at a row and either
// changes it or returns a *mpp.Problem and leaves it as it was; who calls it stores the
// row before anybody may see the outcome.
//
// Three amounts of a channel only ever grow, but for Refund: what the payer has
// signed (Highest), what was charged (Spent) and what the chain has paid out
// (Settled). A charge that turns out to be too high after its payer was told of it
// becomes Credit, which later charges use up first and which is never paid out.
// Always
//
//	Settled <= Served = Spent - Credit
//	Served + Reserved <= Highest <= Deposit
//
// while the channel is active. The exception is a payer who rejects the refund of a close:
// Settled may be above Served then, see BeginExcess, and never above Highest. Amounts are base units of the token.
package session

import (
	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// Status is the state of a channel in its life.
type Status uint8

const (
	// Opening: its transaction may have been sent; the chain does not show it yet.
	Opening Status = iota + 1
	// Active: vouchers and charges are accepted.
	Active
	// Closing: the payout has been started; nothing is accepted any more.
	Closing
	// Closed: the chain has paid out. The row stays, so that late vouchers get a specific
	// error.
	Closed
)

func (s Status) String() string {
	switch s {
	case Opening:
		return "opening"
	case Active:
		return "active"
	case Closing:
		return "closing"
	case Closed:
		return "closed"
	}
	return "unknown"
}

// Voucher is a payer's signed promise: the payee may take Cumulative in total over the life
// of the channel. Signature is in the only form that the chain accepts.
type Voucher struct {
	Cumulative tempo.Amount
	Signature  tempo.Signature
}

// State is what the channel reserve reports about a channel (TIP-1034, getChannelState). A
// deposit of zero means that the channel does not exist, or no longer exists.
type State struct {
	Settled, Deposit tempo.Amount
	CloseRequestedAt int64 // Unix seconds; 0: the payer has not asked for it
	Seen             int64 // Unix milliseconds when it was read
}

// Channel is the row of one channel. It is a plain value: copy it, change the
// copy, store it, then let it replace the old one.
type Channel struct {
	ID         common.Hash
	ChainID    uint64
	Escrow     common.Address
	Descriptor tempo.Descriptor
	Status     Status

	Deposit          tempo.Amount
	Settled          tempo.Amount
	CloseRequestedAt int64 // Unix seconds, as last reported by the chain; 0: not requested
	SeenAt           int64 // Unix milliseconds of the last read from the chain
	// Missing: the last read found no such channel, so nothing is served on it. It may also
	// mean a replica that lags. It is not stored.
	Missing bool

	Highest    Voucher
	Settleable Voucher // the highest accepted voucher that is not above Spent
	// Settling is the sum of a payout that may have been sent; nothing below it can be
	// refunded.
	Settling tempo.Amount
	// Authorised is the highest sum for which this server has signed a settlement or a
	// close. If the chain pays out more, somebody else uses the key.
	Authorised tempo.Amount
	Spent      tempo.Amount
	// Credit is the refunded part of Spent: receipts must not decrease, so Spent includes
	// it.
	Credit tempo.Amount
	Units  uint64 // number of charges so far
	// Reserved is held for running work. It is not stored, because a crash ends the work.
	Reserved tempo.Amount

	OpenTx  common.Hash
	CloseTx common.Hash
	Close   Voucher      // voucher of the close: signed by the payer, or empty
	Capture tempo.Amount // total that the close pays out
	Lost    tempo.Amount // served but not collectable, because the payer withdrew first

	CreatedAt int64 // Unix milliseconds
	ActiveAt  int64 // Unix milliseconds of the last voucher or charge
	OwedSince int64 // Unix milliseconds of the first charge that is not paid out; 0: none
}

// Foreign reports whether the chain has paid out more than this server ever signed for:
// another server settles with the same key, or the database is an old copy.
func (c *Channel) Foreign() bool { return c.Settled.Cmp(c.Authorised) > 0 }

// Acknowledge records what the chain paid out beyond the database: it counts as served, so
// that it is not served twice.
func (c *Channel) Acknowledge() {
	c.Authorised = larger(c.Authorised, c.Settled)
	if missing, short := c.Settled.Sub(c.Served()); short {
		used := smaller(missing, c.Credit)
		c.Credit, _ = c.Credit.Sub(used)
		missing, _ = missing.Sub(used)
		c.Spent = sum(c.Spent, missing)
	}
	c.keepSettleable()
}

// Available is what may be charged or reserved without a new voucher.
func (c *Channel) Available() tempo.Amount {
	if c.serving() != nil {
		return tempo.Amount{}
	}
	held := sum(c.Served(), c.Reserved)
	free, _ := c.Highest.Cumulative.Sub(held) // zero where more is held than signed
	return free
}

// Required is the sum that the payer must have signed before amount can be charged; ok is
// false if it exceeds any channel.
func (c *Channel) Required(amount tempo.Amount) (tempo.Amount, bool) {
	return sum(c.Served(), c.Reserved).Add(amount)
}

// Served is what the payee is entitled to: the charges minus refunds.
func (c *Channel) Served() tempo.Amount {
	served, _ := c.Spent.Sub(smaller(c.Credit, c.Spent))
	return served
}

// sum adds amounts that are bounded by a deposit each. On overflow it returns the largest
// amount.
func sum(a, b tempo.Amount) tempo.Amount {
	if s, ok := a.Add(b); ok {
		return s
	}
	return tempo.MaxAmount
}
