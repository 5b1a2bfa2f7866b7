package facts

import (
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
)

// Trade is an exchange of the cluster with a pool inside one external call, by what the pool has more
// and less of after it: a router in between does not matter.
type Trade struct {
	ExternalCall int
	Pool         common.Address
	Paid         Key // to the pool
	Got          Key // from the pool
	In, Out      *big.Int
}

// maxTrades bounds the list.
const maxTrades = 1000

// trades reads the exchanges of the cluster with pools.
func (f *Layout) trades() {
	for i := range f.ExternalCalls {
		if f.ExternalCalls[i].Into >= 0 || len(f.Trades) >= maxTrades {
			continue
		}
		gave, got := false, false
		for _, n := range f.Passed(i) {
			gave, got = gave || n.Sign() < 0, got || n.Sign() > 0
		}
		if gave && got {
			f.tradesIn(i)
		}
	}
}

func (f *Layout) tradesIn(call int) {
	nets := map[common.Address]map[Key]*big.Int{}
	var order []common.Address
	add := func(a common.Address, k Key, n *big.Int) {
		if f.InAttackerCluster(a) || !f.code[a] || f.wrapper(a) {
			return
		}
		if nets[a] == nil {
			nets[a] = map[Key]*big.Int{}
			order = append(order, a)
		}
		if nets[a][k] == nil {
			nets[a][k] = new(big.Int)
		}
		nets[a][k].Add(nets[a][k], n)
	}
	for _, d := range append([]int{call}, f.ExternalCalls[call].Parts...) {
		lo := f.Before(f.ExternalCalls[d].Frame)
		for j := range f.Inside(f.ExternalCalls[d].Frame) {
			m := &f.Moves[lo+j]
			if m.ExternalCall == d && Fungible(m.Key) {
				add(m.From, m.Key, new(big.Int).Neg(m.Amount))
				add(m.To, m.Key, m.Amount)
			}
		}
	}
	for _, a := range order {
		in := sorted(nets[a], func(n *big.Int) bool { return n.Sign() > 0 })
		out := sorted(nets[a], func(n *big.Int) bool { return n.Sign() < 0 })
		if len(in) != 1 || len(out) != 1 {
			continue
		}
		f.Trades = append(
			f.Trades,
			Trade{ExternalCall: call, Pool: a, Paid: in[0].Key, Got: out[0].Key, In: in[0].Amount, Out: new(big.Int).Neg(out[0].Amount)},
		)
	}
}

// RoundTrip is what the cluster bought in a pool and sold to the same pool later.
type RoundTrip struct {
	Pool         common.Address
	Spent, Back  *big.Int // of Paid
	Bought, Sold *big.Int // of Held
	Paid, Held   Key
	First, Last  int // external calls
}

// RoundTrips are the pools that the cluster traded with in both directions.
func (f *Layout) RoundTrips() (out []RoundTrip) {
	type pair struct {
		pool       common.Address
		paid, held Key
	}
	seen := map[pair]int{}
	for i := range f.Trades {
		t := &f.Trades[i]
		if j, ok := seen[pair{t.Pool, t.Got, t.Paid}]; ok { // a sale after a purchase
			r := &out[j]
			r.Back.Add(r.Back, t.Out)
			r.Sold.Add(r.Sold, t.In)
			r.Last = t.ExternalCall
			continue
		}
		p := pair{t.Pool, t.Paid, t.Got}
		j, ok := seen[p]
		if !ok {
			j = len(out)
			seen[p] = j
			out = append(
				out,
				RoundTrip{
					Pool:   t.Pool,
					Paid:   t.Paid,
					Held:   t.Got,
					Spent:  new(big.Int),
					Back:   new(big.Int),
					Bought: new(big.Int),
					Sold:   new(big.Int),
					First:  t.ExternalCall,
					Last:   -1,
				},
			)
		}
		out[j].Spent.Add(out[j].Spent, t.In)
		out[j].Bought.Add(out[j].Bought, t.Out)
	}
	return slices.DeleteFunc(out, func(r RoundTrip) bool { return r.Last < 0 })
}
