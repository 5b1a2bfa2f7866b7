package facts

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// LossCandidate is a contract outside the cluster that ends with less and has nothing for it.
type LossCandidate struct {
	Address common.Address
	Lost    []Position // fungible, not created here
	Direct  bool       // it paid the cluster itself
}

// maxLosers bounds the list.
const maxLossCandidates = 200

// crossed is what crossed the border of the cluster: its net by asset, and who paid it.
func (f *Layout) crossed() (side map[Key]*big.Int, payers map[common.Address]bool) {
	side, payers = map[Key]*big.Int{}, map[common.Address]bool{}
	for i := range f.Moves {
		m := &f.Moves[i]
		in := f.InAttackerCluster(m.To)
		if in == f.InAttackerCluster(m.From) {
			continue
		}
		n := side[m.Key]
		if n == nil {
			n = new(big.Int)
			side[m.Key] = n
		}
		if in {
			n.Add(n, m.Amount)
			payers[m.From] = payers[m.From] || m.Amount.Sign() > 0
		} else {
			n.Sub(n, m.Amount)
		}
	}
	return side, payers
}

// lossCandidates sets what the cluster gained and spent, and finds who lost to it.
func (f *Layout) lossCandidates() {
	side, direct := f.crossed()
	receipts := f.receipts()
	for _, p := range sorted(side, func(n *big.Int) bool { return n.Sign() != 0 }) {
		switch {
		case p.Amount.Sign() < 0:
			f.Spent = append(f.Spent, Position{p.Key, new(big.Int).Neg(p.Amount)})
		case Fungible(p.Key) && p.Amount.Cmp(dust) > 0 && f.Counts(p.Key) && !receipts[p.Key]:
			f.Gains = append(f.Gains, p)
		}
	}
	seen := map[common.Address]bool{}
	for i := range f.Moves {
		a := f.Moves[i].From
		if seen[a] || f.InAttackerCluster(a) || !f.code[a] || f.wrapper(a) || Nowhere(a) {
			continue
		}
		seen[a] = true
		l := LossCandidate{Address: a, Direct: direct[a]}
		if len(f.LossCandidates) < maxLossCandidates && f.lost(&l) && (l.Direct || l.feeds(side)) {
			f.LossCandidates = append(f.LossCandidates, l)
		}
	}
}

// receipts are the tokens that were minted to the cluster by contracts which in the same external call
// paid it something else: shares or debts, and no gains by themselves.
func (f *Layout) receipts() map[Key]bool {
	type got struct {
		first   Key
		several bool
	}
	calls := map[int]got{} // what the cluster got in each external call
	each := func(see func(*Move)) {
		for i := range f.Moves {
			if m := &f.Moves[i]; f.InAttackerCluster(m.To) && !f.InAttackerCluster(m.From) && m.Amount.Sign() > 0 {
				see(m)
			}
		}
	}
	each(func(m *Move) {
		if g, ok := calls[m.ExternalCall]; !ok {
			calls[m.ExternalCall] = got{first: m.Key}
		} else if g.first != m.Key {
			calls[m.ExternalCall] = got{g.first, true}
		}
	})
	out := map[Key]bool{}
	each(func(m *Move) {
		minted := m.From == (common.Address{}) && calls[m.ExternalCall].several
		if was, seen := out[m.Key]; !seen || was {
			out[m.Key] = minted
		}
	})
	return out
}

// feeds reports whether the cluster gained at least half as much of an asset as the account
// lost.
func (l *LossCandidate) feeds(side map[Key]*big.Int) bool {
	for _, p := range l.Lost {
		if s := side[p.Key]; s != nil && new(big.Int).Lsh(s, 1).Cmp(p.Amount) >= 0 {
			return true
		}
	}
	return false
}

// Robbed is what an account outside the cluster lost without getting anything that counts;
// nil where it did not.
func (f *Layout) Robbed(a common.Address) []Position {
	l := LossCandidate{Address: a}
	if f.InAttackerCluster(a) || !f.lost(&l) {
		return nil
	}
	return l.Lost
}

// lost fills in what an account lost, and reports whether it has nothing for it.
func (f *Layout) lost(l *LossCandidate) bool {
	var got []Position
	for _, p := range f.Changed(l.Address) {
		switch {
		case !f.Counts(p.Key):
		case p.Amount.Sign() > 0:
			if !Fungible(p.Key) || p.Amount.Cmp(dust) > 0 {
				got = append(got, p)
			}
		case Fungible(p.Key) && p.Amount.CmpAbs(dust) > 0:
			l.Lost = append(l.Lost, Position{p.Key, new(big.Int).Neg(p.Amount)})
		}
	}
	return len(l.Lost) > 0 && f.negligible(got, l.Lost)
}

// dust is an amount too small to count, in base units.
var dust = big.NewInt(100)

// negligible reports whether what was got is worth less than 1 % of what was lost, at
// prices that hold for years. What has no such price is not negligible.
func (f *Layout) negligible(got, lost []Position) bool {
	if len(got) == 0 {
		return true
	}
	most, least := new(big.Int), new(big.Int)
	for _, p := range got {
		_, high, ok := f.Bounds(p)
		if !ok {
			return false
		}
		most.Add(most, high)
	}
	for _, p := range lost {
		if low, _, ok := f.Bounds(p); ok {
			least.Add(least, low)
		}
	}
	return most.Mul(most, big.NewInt(100)).Cmp(least) < 0
}

// coins are the prices in USD between which native coins stood for years.
var coins = map[string][2]int64{"ETH": {80, 6000}, "BNB": {10, 1500}}

// Bounds are the least and the most that a position may be worth, in thousandths of a
// dollar. They serve to tell what is negligible and nothing else.
func (f *Layout) Bounds(p Position) (low, high *big.Int, ok bool) {
	if p.Key == (Key{}) {
		b, known := coins[f.Chain.Native.Symbol]
		if !known {
			return nil, nil, false
		}
		unit := api.PowerOfTen(int(f.Chain.Native.Decimals))
		at := func(usd int64) *big.Int {
			n := new(big.Int).Mul(p.Amount, big.NewInt(usd*1000))
			return n.Quo(n, unit)
		}
		return at(b[0]), at(b[1]), true
	}
	t, dollar := label.Stablecoin(f.Chain.ID, p.Key.Token)
	if !dollar || t.Decimals == nil || !Fungible(p.Key) {
		return nil, nil, false
	}
	n := new(big.Int).Mul(p.Amount, big.NewInt(1000))
	n.Quo(n, api.PowerOfTen(int(*t.Decimals)))
	return n, n, true
}

// Free reports whether the cluster gained and has less of nothing that counts.
func (f *Layout) Free() bool {
	if len(f.Gains) == 0 {
		return false
	}
	for _, p := range f.Spent {
		if f.Counts(p.Key) && (!Fungible(p.Key) || p.Amount.Cmp(dust) > 0) {
			return false
		}
	}
	return true
}

// Loses is the loss candidate at an address; nil for none.
func (f *Layout) Loses(a common.Address) *LossCandidate {
	for i := range f.LossCandidates {
		if f.LossCandidates[i].Address == a {
			return &f.LossCandidates[i]
		}
	}
	return nil
}
