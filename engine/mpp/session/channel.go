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
// while the channel is active. Amounts are base units of the token.
package session

import (
	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/tempo"
)

// Status says how far a channel is.
type Status uint8

const (
	// Opening: its transaction may have been sent; the chain has not shown it yet.
	Opening Status = iota + 1
	// Active: vouchers and charges are taken.
	Active
	// Closing: the payout is on its way; nothing is taken any more.
	Closing
	// Closed: the chain has paid out. The row stays, so that late vouchers are told.
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

// Voucher is a payer's signed promise: the payee may take Cumulative in all, over
// the life of the channel. Signature is in the one form that the chain takes.
type Voucher struct {
	Cumulative tempo.Amount
	Signature  tempo.Signature
}

// State is what the channel reserve says of a channel (TIP-1034,
// getChannelState). No deposit means that there is no such channel, or no more.
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
	CloseRequestedAt int64 // Unix seconds, as the chain last said; 0: not asked for
	SeenAt           int64 // Unix milliseconds of the last look at the chain
	// Missing: the last look found no such channel, so nothing is served on it. A replica
	// that lags says so, too. It is not stored.
	Missing bool

	Highest    Voucher
	Settleable Voucher // the highest accepted one that is not above Spent
	// Settling is the sum of a payout that may be on its way; nothing below it can be
	// refunded.
	Settling tempo.Amount
	// Authorised is the highest sum that this payee's books ever signed a settlement or a
	// close for. The chain pays out more only where somebody else settles with the key.
	Authorised tempo.Amount
	Spent      tempo.Amount
	// Credit is the part of Spent that was given back: receipts must not go down, so
	// Spent keeps it.
	Credit tempo.Amount
	Units  uint64 // charges so far
	// Reserved is held for work that runs. It is not stored: a crash ends the work.
	Reserved tempo.Amount

	OpenTx  common.Hash
	CloseTx common.Hash
	Close   Voucher      // what the payer, or nobody, signed for the close
	Capture tempo.Amount // what the close pays out in all
	Lost    tempo.Amount // served, and never to be had: the payer withdrew first

	CreatedAt int64 // Unix milliseconds
	ActiveAt  int64 // Unix milliseconds of the last voucher or charge
	OwedSince int64 // Unix milliseconds of the first charge that is not paid out; 0: none
}

// Foreign reports whether the chain has paid out more than these books ever signed for:
// another server settles with the same key, or the books are an old copy.
func (c *Channel) Foreign() bool { return c.Settled.Cmp(c.Authorised) > 0 }

// Acknowledge takes over what the chain has paid out beyond these books: it counts as
// served, so that it is not served twice.
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

// Required is what the payer must have signed before amount can be charged; ok is
// false where no channel is wide enough.
func (c *Channel) Required(amount tempo.Amount) (tempo.Amount, bool) {
	return sum(c.Served(), c.Reserved).Add(amount)
}

// Served is what the payee may have: the charges, without what was given back.
func (c *Channel) Served() tempo.Amount {
	served, _ := c.Spent.Sub(smaller(c.Credit, c.Spent))
	return served
}

// sum adds amounts that are bounded by a deposit each; at worst it stops at the
// greatest amount, which no comparison mistakes for little.
func sum(a, b tempo.Amount) tempo.Amount {
	if s, ok := a.Add(b); ok {
		return s
	}
	return tempo.MaxAmount
}
