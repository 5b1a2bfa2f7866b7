package facts

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
)

// Nets sums what each account has more or less of. The zero Nets is empty.
type Nets struct {
	rows     map[common.Address]int
	accounts []netAccount
}

// netAccount is what one account has more or less of, in the order of its movements.
type netAccount struct {
	address   common.Address
	positions []Position
	at        map[Key]int // index in positions; nil while these are few
}

// fewPositions is how many positions of an account are searched one by one. An account
// that gets thousands of NFTs in a batch has as many.
const fewPositions = 16

// Move takes an amount from one account and gives it to another. The amount is not kept.
func (s *Nets) Move(k Key, from, to common.Address, amount *big.Int) {
	out := s.position(from, k)
	out.Sub(out, amount)
	in := s.position(to, k)
	in.Add(in, amount)
}

// Of lists the assets of an account that moved. The list must not be changed.
func (s *Nets) Of(a common.Address) []Position {
	if i, ok := s.rows[a]; ok {
		return s.accounts[i].positions
	}
	return nil
}

// Net is what an account has more or less of one asset; nil where it did not move.
func (s *Nets) Net(a common.Address, k Key) *big.Int {
	if i, ok := s.rows[a]; ok {
		if j := s.accounts[i].find(k); j >= 0 {
			return s.accounts[i].positions[j].Amount
		}
	}
	return nil
}

func (s *Nets) position(a common.Address, k Key) *big.Int {
	i, ok := s.rows[a]
	if !ok {
		if s.rows == nil {
			s.rows = make(map[common.Address]int)
		}
		i = len(s.accounts)
		s.rows[a] = i
		s.accounts = append(s.accounts, netAccount{address: a})
	}
	x := &s.accounts[i]
	j := x.find(k)
	if j < 0 {
		j = len(x.positions)
		x.positions = append(x.positions, Position{k, new(big.Int)})
		switch {
		case x.at != nil:
			x.at[k] = j
		case len(x.positions) > fewPositions:
			x.at = make(map[Key]int, 2*fewPositions)
			for n := range x.positions {
				x.at[x.positions[n].Key] = n
			}
		}
	}
	return x.positions[j].Amount
}

// find is the index of an asset in the positions; -1 for none.
func (x *netAccount) find(k Key) int {
	if x.at != nil {
		if j, ok := x.at[k]; ok {
			return j
		}
		return -1
	}
	for j := range x.positions {
		if x.positions[j].Key == k {
			return j
		}
	}
	return -1
}
