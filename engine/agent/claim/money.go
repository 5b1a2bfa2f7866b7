package claim

import (
	"math/big"
	"time"

	"txlens/engine/api"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// money takes every movement, and the sums that a reader would name: by token, by who
// sent, by who received, by route.
func (ix *Index) money() {
	f := ix.c.Flow
	if f == nil {
		return
	}
	sums := map[[3]common.Address]*big.Int{}
	wild := common.Address{0: 0xff, 19: 0xff} // no account: stands for all
	add := func(token, from, to common.Address, n *big.Int) {
		ix.amount(token, n)
		ix.address(api.AddrOf(token), api.AddrOf(from), api.AddrOf(to))
		for _, key := range [][3]common.Address{{token, wild, wild}, {token, from, wild}, {token, wild, to}, {token, from, to}} {
			if sums[key] == nil {
				sums[key] = new(big.Int)
			}
			sums[key].Add(sums[key], n)
		}
	}
	for i := range f.Transfers {
		t := &f.Transfers[i]
		if t.ID != nil {
			ix.integer(t.ID)
			ix.integer(t.Amount)
			ix.address(api.AddrOf(t.Token), api.AddrOf(t.From), api.AddrOf(t.To))
			continue
		}
		add(t.Token, t.From, t.To, t.Amount)
	}
	for _, m := range f.Moves {
		if m.Kind != flow.MoveFee {
			add(common.Address{}, m.From, m.To, m.Amount)
		}
	}
	for key, n := range sums {
		ix.amount(key[0], n)
	}
	for _, c := range f.Changes {
		ix.address(api.AddrOf(c.Address))
		for _, d := range c.Deltas {
			if d.Key.ID == "" {
				ix.amount(d.Key.Token, d.Amount)
			}
		}
	}
	ix.fee(f.Fee)
	ix.dollars()
}

func (ix *Index) fee(f *flow.Fee) {
	if f == nil {
		return
	}
	for _, n := range []*big.Int{f.Total, f.Execution, f.L1, f.Operator, f.Blob, f.Burnt, f.Unassigned} {
		ix.amount(common.Address{}, n)
	}
	for _, s := range f.Shares {
		ix.amount(common.Address{}, s.Amount)
		ix.address(api.AddrOf(s.Address))
	}
}

// dollars takes what the result itself is worth in USD.
func (ix *Index) dollars() {
	add := func(d *api.Decimal) {
		if d != nil {
			ix.usd.add(*d)
		}
	}
	add(ix.r.USDValue)
	if ix.r.Fee != nil {
		add(ix.r.Fee.TotalUSD)
	}
	for _, c := range ix.r.BalanceChanges {
		add(c.TotalUSD)
		for _, t := range c.Tokens {
			add(t.PriceUSD)
			add(t.ValueUSD)
		}
	}
	for _, p := range ix.c.Evidence.Prices {
		ix.usd.add(p.USD)
	}
}

// storage takes the slots that changed, their values, and the balances.
func (ix *Index) storage() {
	d := ix.c.Evidence.Diff
	if d == nil {
		return
	}
	for a, acc := range d.Pre {
		ix.address(api.AddrOf(a))
		ix.account(acc.Balance, acc.Storage)
	}
	for a, acc := range d.Post {
		ix.address(api.AddrOf(a))
		ix.account(acc.Balance, acc.Storage)
	}
}

func (ix *Index) account(balance *big.Int, storage map[common.Hash]common.Hash) {
	if balance != nil {
		ix.amount(common.Address{}, balance)
	}
	for slot, value := range storage {
		ix.words[slot] = true
		ix.word(value)
	}
}

// moment takes the time of the block in the forms in which it is written.
func (ix *Index) moment(unix uint64) {
	if unix > 253402300799 {
		return
	}
	t := time.Unix(int64(unix), 0).UTC()
	for _, form := range []string{"2006-01-02", "15:04:05", "15:04", "2006", "January", "2"} {
		ix.times[t.Format(form)] = true
	}
}
