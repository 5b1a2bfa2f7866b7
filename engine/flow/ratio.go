package flow

import "math/big"

// percentOfFee is what a fee payer pays with a ratio. Kaia rounds twice, for the gas that is
// bought and for what is left of it (docs.kaia.io, partial fee delegation; CalcFeeWithRatio).
func (c *computation) percentOfFee(f *Fee, percent uint64) *big.Int {
	part := func(gas uint64) *big.Int {
		n := new(big.Int).SetUint64(gas)
		n.Mul(n, c.price()).Mul(n, new(big.Int).SetUint64(percent))
		return n.Quo(n, big.NewInt(100))
	}
	if c.Tx.Gas < c.Receipt.GasUsed { // the node does not give the limit
		n := new(big.Int).Mul(f.Total, new(big.Int).SetUint64(percent))
		return n.Quo(n, big.NewInt(100))
	}
	bought := part(c.Tx.Gas)
	return bought.Sub(bought, part(c.Tx.Gas-c.Receipt.GasUsed))
}

// restOfSender sets what the sender pays of the fee beside its payer.
func (c *computation) restOfSender(f *Fee) {
	if r := c.Tx.FeeRatio; r > 0 && r < 100 && f.Payer != c.Tx.From && c.Chain.FeeRatio() {
		f.Rest = FeeShare{Address: c.Tx.From, Amount: new(big.Int).Sub(f.Total, c.percentOfFee(f, r))}
	}
}

// sparedPart is what another account paid of the fee by the state diff: a whole percentage of it.
func (c *computation) sparedPart(f *Fee) *big.Int {
	for i := range c.out.Mismatches {
		m := &c.out.Mismatches[i]
		if m.Address != f.Payer {
			continue
		}
		spared := new(big.Int).Sub(m.Recorded, m.Ledger)
		percent := new(big.Int).Mul(spared, big.NewInt(100))
		percent.Add(percent, new(big.Int).Quo(f.Total, big.NewInt(2))).Quo(percent, f.Total)
		if n := percent.Uint64(); percent.IsUint64() && n > 0 && n < 100 && c.percentOfFee(f, n).Cmp(spared) == 0 {
			return spared
		}
	}
	return f.Total
}

// splitFee makes the sender the giver of its part of the movements of the fee.
func (c *computation) splitFee() {
	f := c.out.Fee
	if f == nil || f.Rest.Amount == nil {
		return
	}
	left := new(big.Int).Set(f.Rest.Amount)
	var moves []Move
	for _, m := range c.out.Moves {
		if m.Kind != MoveFee || left.Sign() == 0 {
			moves = append(moves, m)
			continue
		}
		if m.Amount.Cmp(left) > 0 {
			more := m
			more.Amount = new(big.Int).Sub(m.Amount, left)
			m.Amount = new(big.Int).Set(left)
			moves = append(moves, more)
		}
		m.From = f.Rest.Address
		left.Sub(left, m.Amount)
		moves = append(moves, m)
	}
	c.out.Moves = moves
}
