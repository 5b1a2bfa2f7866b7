package flow

import (
	"bytes"
	"math/big"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// balances sums what each account received and sent. It is owned by one Compute and pooled,
// because its maps cost more than their content.
type balances struct {
	index    map[common.Address]int32
	accounts []account
	keys     map[entryKey]int32
	entries  []entry
	order    []int32
	ranges   []string // of ids; the id of an entry is the position of its range
	byRange  map[string]uint64
}

// account is one address in order of first appearance.
type account struct {
	addr      common.Address
	in, out   uint384 // native coin
	touched   bool    // by anything but a received fee
	created   bool    // in this transaction
	destroyed bool    // by SELFDESTRUCT: its final balance is lost
	inAt      uint384 // sums when it was destroyed
	outAt     uint384
	role      string
}

// entryKey names one token at one account.
type entryKey struct {
	account int32
	form    form
	token   common.Address
	id      uint256.Int
}

// form distinguishes fungible tokens, single NFTs and ids of multi-token contracts: one
// contract may emit events of several standards.
type form uint8

const (
	fungible form = iota
	single
	multi
	ranged // of single NFTs
)

type entry struct {
	key     entryKey
	in, out uint384
}

var balancesPool = sync.Pool{New: func() any {
	return &balances{index: make(map[common.Address]int32, 64), keys: make(map[entryKey]int32, 64)}
}}

// pooledAccounts bounds the size that is kept in the pool.
const pooledAccounts = 4096

func (l *balances) release() {
	if len(l.accounts) > pooledAccounts || len(l.entries) > pooledAccounts {
		return
	}
	clear(l.index)
	clear(l.keys)
	l.accounts, l.entries, l.order = l.accounts[:0], l.entries[:0], l.order[:0]
	l.ranges, l.byRange = nil, nil
	balancesPool.Put(l)
}

// account finds or adds an account. The pointer is valid until the next call.
func (l *balances) account(a common.Address) *account { return &l.accounts[l.number(a)] }

func (l *balances) number(a common.Address) int32 {
	if i, ok := l.index[a]; ok {
		return i
	}
	i := int32(len(l.accounts))
	l.index[a] = i
	l.accounts = append(l.accounts, account{addr: a})
	return i
}

// token records a token amount. The zero address is no holder: a transfer from it is a
// mint, one to it a burn.
func (l *balances) token(holder, token common.Address, f form, id, amount *uint256.Int, in bool) {
	if holder == (common.Address{}) || amount.IsZero() {
		return
	}
	n := l.number(holder)
	l.accounts[n].touched = true
	k := entryKey{account: n, form: f, token: token}
	if id != nil {
		k.id = *id
	}
	i, ok := l.keys[k]
	if !ok {
		i = int32(len(l.entries))
		l.keys[k] = i
		l.entries = append(l.entries, entry{key: k})
	}
	if in {
		l.entries[i].in.add(amount)
	} else {
		l.entries[i].out.add(amount)
	}
}

// changes returns the net movements: accounts in order of first appearance, then fee
// recipients that nothing else touched; zero nets are left out.
func (l *balances) changes() []Change {
	l.sortEntries()
	out := make([]Change, 0, len(l.accounts))
	for _, feeOnly := range [2]bool{false, true} {
		rest := l.order
		for n := range l.accounts {
			a := &l.accounts[n]
			mine := rest
			for i, e := range rest {
				if int(l.entries[e].key.account) != n {
					mine = rest[:i]
					break
				}
			}
			rest = rest[len(mine):]
			if (a.role != "" && !a.touched) != feeOnly {
				continue
			}
			if d := l.deltas(a, mine); len(d) > 0 {
				out = append(out, Change{Address: a.addr, Deltas: d, FeeOnly: feeOnly, Role: a.role})
			}
		}
	}
	return out
}

// deltas returns the movements of one account: native coin first, then tokens.
func (l *balances) deltas(a *account, entries []int32) []Delta {
	native := net(&a.in, &a.out)
	if native == nil && len(entries) == 0 {
		return nil
	}
	d := make([]Delta, 0, len(entries)+1)
	if native != nil {
		d = append(d, Delta{Amount: native})
	}
	for _, i := range entries {
		e := &l.entries[i]
		n := net(&e.in, &e.out)
		if n == nil {
			continue
		}
		k := TokenKey{Token: e.key.token, NFT: e.key.form == single || e.key.form == ranged}
		switch e.key.form {
		case fungible:
		case ranged:
			k.ID = l.ranges[e.key.id.Uint64()]
		default:
			k.ID = e.key.id.Dec()
		}
		d = append(d, Delta{Key: k, Amount: n})
	}
	return d
}

// sortEntries sorts by account, then token address, then id.
func (l *balances) sortEntries() {
	for i := range l.entries {
		l.order = append(l.order, int32(i))
	}
	slices.SortFunc(l.order, func(i, j int32) int {
		a, b := &l.entries[i].key, &l.entries[j].key
		if a.account != b.account {
			return int(a.account) - int(b.account)
		}
		if c := bytes.Compare(a.token[:], b.token[:]); c != 0 {
			return c
		}
		if a.form != b.form {
			return int(a.form) - int(b.form)
		}
		return a.id.Cmp(&b.id)
	})
}

// native is the net movement of the native coin, zero when none.
func (a *account) native() *big.Int {
	if n := net(&a.in, &a.out); n != nil {
		return n
	}
	return new(big.Int)
}

// rangeNumber is the position of a range of ids.
func (l *balances) rangeNumber(ids string) *uint256.Int {
	n, known := l.byRange[ids]
	if !known {
		if l.byRange == nil {
			l.byRange = map[string]uint64{}
		}
		n = uint64(len(l.ranges))
		l.byRange[ids] = n
		l.ranges = append(l.ranges, ids)
	}
	return uint256.NewInt(n)
}
