package statediff

import (
	"bytes"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc"
)

// Kind is what of an account changed.
type Kind int

// The kinds in the order in which the changes of an account are listed.
const (
	Balance Kind = iota
	Nonce
	Code
	Storage
)

// Change is one value that a transaction changed. Only the members of its kind are set.
type Change struct {
	Address common.Address
	Kind    Kind

	BalanceBefore, BalanceAfter *big.Int // never nil in a change of a balance
	NonceBefore, NonceAfter     uint64
	CodeBefore, CodeAfter       []byte
	Slot                        common.Hash
	WordBefore, WordAfter       common.Hash
}

// Difference returns WordAfter - WordBefore as a signed number of 256 bits.
func (c *Change) Difference() *big.Int {
	n := new(big.Int).Sub(c.WordAfter.Big(), c.WordBefore.Big())
	half := new(big.Int).Lsh(big.NewInt(1), 255)
	switch {
	case n.Cmp(half) >= 0:
		n.Sub(n, new(big.Int).Lsh(half, 1))
	case n.Cmp(new(big.Int).Neg(half)) < 0:
		n.Add(n, new(big.Int).Lsh(half, 1))
	}
	return n
}

// Changes lists the changes of a diff by address, kind and slot. Values that are equal on
// both sides are no changes.
func Changes(d *ethrpc.StateDiff) (list []Change) {
	addresses := make([]common.Address, 0, len(d.Pre)+len(d.Post))
	for _, side := range [2]map[common.Address]*ethrpc.Account{d.Pre, d.Post} {
		for a := range side {
			addresses = append(addresses, a)
		}
	}
	slices.SortFunc(addresses, common.Address.Cmp)
	for _, a := range slices.Compact(addresses) {
		list = account(list, a, d.Pre[a], d.Post[a])
	}
	return list
}

// account compares the two sides of an account. Except for slots, a member that the second
// side does not have did not change, unless the account was deleted.
func account(list []Change, a common.Address, pre, post *ethrpc.Account) []Change {
	deleted := post == nil
	if pre == nil {
		pre = &ethrpc.Account{}
	}
	if deleted {
		post = &ethrpc.Account{}
	}
	before, after := orZero(pre.Balance), orZero(post.Balance)
	if (post.Balance != nil || deleted) && before.Cmp(after) != 0 {
		list = append(list, Change{Address: a, Kind: Balance, BalanceBefore: before, BalanceAfter: after})
	}
	was, is := valueOf(pre.Nonce), valueOf(post.Nonce)
	if (post.Nonce != nil || deleted) && was != is {
		list = append(list, Change{Address: a, Kind: Nonce, NonceBefore: was, NonceAfter: is})
	}
	if (post.Code != nil || deleted) && !bytes.Equal(pre.Code, post.Code) {
		list = append(list, Change{Address: a, Kind: Code, CodeBefore: pre.Code, CodeAfter: post.Code})
	}
	return storage(list, a, pre, post)
}

// storage compares the slots. A slot that only one side has was zero on the other.
func storage(list []Change, a common.Address, pre, post *ethrpc.Account) []Change {
	slots := make([]common.Hash, 0, len(pre.Storage)+len(post.Storage))
	for s := range pre.Storage {
		slots = append(slots, s)
	}
	for s := range post.Storage {
		slots = append(slots, s)
	}
	slices.SortFunc(slots, common.Hash.Cmp)
	for _, s := range slices.Compact(slots) {
		if before, after := pre.Storage[s], post.Storage[s]; before != after {
			list = append(list, Change{Address: a, Kind: Storage, Slot: s, WordBefore: before, WordAfter: after})
		}
	}
	return list
}

func orZero(n *big.Int) *big.Int {
	if n == nil {
		return new(big.Int)
	}
	return n
}

func valueOf(n *uint64) uint64 {
	if n == nil {
		return 0
	}
	return *n
}
