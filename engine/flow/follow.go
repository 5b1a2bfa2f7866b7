package flow

import (
	"math/big"

	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
)

// followState corrects the native balances of accounts that moved something else by the state
// diff than by trace and receipt. Moves stay as they were claimed. A diff that disagrees about
// the fee alone corrects nothing: what the payer moved beside the fee would then be wrong.
func (c *computation) followState() {
	if c.Receipt == nil || c.LogsOnly || !describes(c.Diff, c.Tx.From) || !c.movementsDiffer() {
		return
	}
	for i := range c.out.Mismatches {
		m := &c.out.Mismatches[i]
		if c.creditedElsewhere(m) {
			continue
		}
		m.Followed = true
		a := c.bal.account(m.Address)
		more := new(big.Int).Sub(m.Recorded, m.Ledger)
		if more.Sign() > 0 {
			a.in.addBig(more)
		} else {
			a.out.addBig(more.Neg(more))
		}
		a.touched = a.touched || a.role == ""
	}
}

// describes reports whether a state diff has an account: that of the sender, whose nonce every
// transaction changes.
func describes(d *ethrpc.StateDiff, a common.Address) bool {
	return d != nil && (d.Pre[a] != nil || d.Post[a] != nil)
}

// movementsDiffer reports whether the differences are about more than the fee: an account
// differs that neither paid nor received it, and no payer was spared its part.
func (c *computation) movementsDiffer() (differ bool) {
	for i := range c.out.Mismatches {
		m := &c.out.Mismatches[i]
		paid := new(big.Int)
		if c.out.Fee != nil {
			paid = c.out.Fee.PaidBy(m.Address)
		}
		switch {
		case paid.Sign() > 0:
			if spared(m, paid) {
				return false
			}
		case !c.feeOnly(m.Address) && !c.creditedElsewhere(m):
			differ = true
		}
	}
	return differ
}

// spared reports whether an account did not pay what it was to pay of the fee: all of it, or, if
// it moved nothing else, a part. Who paid is then open.
func spared(m *Mismatch, paid *big.Int) bool {
	beside := new(big.Int).Add(m.Ledger, paid)
	return beside.Cmp(m.Recorded) == 0 || beside.Sign() == 0 && m.Recorded.Sign() <= 0 && m.Recorded.Cmp(m.Ledger) > 0
}

// feeOnly reports whether an account received a part of the fee and moved nothing else.
func (c *computation) feeOnly(a common.Address) bool {
	i, ok := c.bal.index[a]
	return ok && c.bal.accounts[i].role != "" && !c.bal.accounts[i].touched
}

// creditedElsewhere reports whether a difference is that of a tracer that runs a transaction
// outside its rollup: it gives a vault nothing of the fee, or gives it to the block's producer.
func (c *computation) creditedElsewhere(m *Mismatch) bool {
	if m.Recorded.Sign() == 0 {
		return c.fee.Vault(m.Address)
	}
	return c.fee.Collector != nil && c.Block != nil && m.Address == c.Block.Miner && m.Ledger.Sign() == 0 &&
		c.out.Fee != nil && m.Recorded.Sign() > 0 && m.Recorded.Cmp(c.out.Fee.Total) <= 0
}
