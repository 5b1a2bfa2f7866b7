package flow

import (
	"bytes"
	"math/big"
	"slices"

	"txlens/engine/ethrpc"

	"github.com/ethereum/go-ethereum/common"
)

// reconcile compares the computed balances with the node's state diff, address by address.
// If the chain's rules do not name the fee recipients, credits that fit into the unassigned
// fee identify them.
func (c *computation) reconcile() {
	if c.Diff == nil {
		return
	}
	c.out.Reconciled = true
	c.out.Mismatches = c.mismatches()
	if c.payerFromDiff() {
		c.out.Mismatches = c.mismatches()
	}
	if c.recipientsFromDiff() {
		c.out.Mismatches = nil
	}
}

// mismatches lists differences: addresses of the ledger in its order, then the
// others by address.
func (c *computation) mismatches() []Mismatch {
	var out []Mismatch
	for i := range c.bal.accounts {
		a := &c.bal.accounts[i]
		recorded, said := recordedNet(c.Diff, a.addr)
		if !said && a.in == a.out {
			continue
		}
		if n := a.native(); n.Cmp(recorded) != 0 {
			out = append(out, Mismatch{Address: a.addr, Ledger: n, Recorded: recorded})
		}
	}
	rest := len(out)
	for _, side := range [2]map[common.Address]*ethrpc.Account{c.Diff.Pre, c.Diff.Post} {
		for addr := range side {
			if _, ok := c.bal.index[addr]; ok {
				continue
			}
			if n, _ := recordedNet(c.Diff, addr); n.Sign() != 0 {
				out = append(out, Mismatch{Address: addr, Ledger: new(big.Int), Recorded: n})
			}
		}
	}
	others := out[rest:]
	slices.SortFunc(others, func(a, b Mismatch) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	others = slices.CompactFunc(others, func(a, b Mismatch) bool { return a.Address == b.Address })
	return out[:rest+len(others)]
}

// recordedNet is the change of a balance by a prestateTracer diff: a side that
// names no balance did not change it, an account missing in post was deleted.
func recordedNet(d *ethrpc.StateDiff, a common.Address) (n *big.Int, said bool) {
	n = new(big.Int)
	pre, post := d.Pre[a], d.Post[a]
	switch {
	case post != nil && post.Balance != nil:
		n.Set(post.Balance)
	case post != nil || pre == nil:
		return n, pre != nil || post != nil
	}
	if pre != nil && pre.Balance != nil {
		n.Sub(n, pre.Balance)
	}
	return n, true
}

// payerFromDiff finds the account that paid the fee in the place of the sender: the sender
// has the whole fee more than computed, and just one other account has as much less. Where a
// ratio may split the fee, a whole percentage of it is enough.
func (c *computation) payerFromDiff() bool {
	f := c.out.Fee
	if f == nil || f.Total.Sign() == 0 || f.Payer != c.Tx.From {
		return false
	}
	var payer *Mismatch
	spared := false
	part := f.Total
	if c.Chain.FeeRatio() {
		part = c.sparedPart(f)
	}
	for i := range c.out.Mismatches {
		m := &c.out.Mismatches[i]
		less := new(big.Int).Sub(m.Ledger, m.Recorded)
		switch {
		case m.Address == f.Payer:
			spared = less.CmpAbs(part) == 0 && less.Sign() < 0
		case less.Sign() < 0: // a recipient of the fee
		case payer != nil || less.Cmp(part) != 0:
			return false
		default:
			payer = m
		}
	}
	if !spared || payer == nil {
		return false
	}
	c.payFee(payer.Address, part)
	return true
}

// payFee makes another account than the sender the payer of a part of the fee that is booked.
func (c *computation) payFee(payer common.Address, part *big.Int) {
	f := c.out.Fee
	c.bal.account(f.Payer).in.addBig(part)
	if rest := new(big.Int).Sub(f.Total, part); rest.Sign() > 0 {
		f.Rest = FeeShare{Address: f.Payer, Amount: rest}
	}
	for i := range c.out.Moves {
		if m := &c.out.Moves[i]; m.Kind == MoveFee {
			m.From = payer
		}
	}
	f.Payer = payer
	a := c.bal.account(payer)
	a.out.addBig(part)
	a.touched = true
}

// recipientsFromDiff turns credits that the ledger cannot explain into shares of
// the unassigned fee. It does so only when credits are all that is unexplained
// and their sum does not pass the unassigned amount.
func (c *computation) recipientsFromDiff() bool {
	f := c.out.Fee
	if f == nil || f.Unassigned.Sign() == 0 || len(c.out.Mismatches) == 0 {
		return false
	}
	sum := new(big.Int)
	for i := range c.out.Mismatches {
		m := &c.out.Mismatches[i]
		credit := new(big.Int).Sub(m.Recorded, m.Ledger)
		if credit.Sign() < 0 {
			return false
		}
		sum.Add(sum, credit)
	}
	if sum.Cmp(f.Unassigned) > 0 {
		return false
	}
	f.Unassigned.Sub(f.Unassigned, sum)
	c.assign(f)
	return true
}

// assign records the credits and replaces the move without a recipient.
func (c *computation) assign(f *Fee) {
	last := len(c.out.Moves) - 1
	for ; last >= 0; last-- { // destroyed coin may stand behind it
		if m := &c.out.Moves[last]; m.Kind == MoveFee && m.NoTo {
			break
		}
	}
	nameless := &c.out.Moves[last]
	nameless.Amount = new(big.Int).Set(f.Unassigned)
	if f.Unassigned.Sign() == 0 {
		c.out.Moves = slices.Delete(c.out.Moves, last, last+1)
	}
	for _, m := range c.out.Mismatches {
		credit := new(big.Int).Sub(m.Recorded, m.Ledger)
		addr := m.Address
		f.pay(&addr, roleFromDiff, credit)
		a := c.bal.account(addr)
		a.in.addBig(credit)
		if a.role == "" {
			a.role = roleFromDiff
		}
		c.out.Moves = append(c.out.Moves, Move{Kind: MoveFee, From: f.Payer, To: addr, Amount: credit, Frame: -1})
	}
}
