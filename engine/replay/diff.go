package replay

import (
	"bytes"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"

	"txlens/engine/ethrpc"
)

// diffRecorder records the state changes of a transaction. Every change passes a hook, so
// the list of accounts is complete. Comparing before and after removes changes that were
// reverted.
type diffRecorder struct {
	db    *state.StateDB
	pre   map[common.Address]*ethrpc.Account
	slots map[common.Address]map[common.Hash]common.Hash // values before the transaction
}

func newDiff(db *state.StateDB) *diffRecorder {
	return &diffRecorder{
		db:    db,
		pre:   make(map[common.Address]*ethrpc.Account),
		slots: make(map[common.Address]map[common.Hash]common.Hash),
	}
}

// attach adds the recorder to hooks that leave state changes alone.
func (d *diffRecorder) attach(h *tracing.Hooks) {
	h.OnBalanceChange = func(a common.Address, prev, _ *big.Int, _ tracing.BalanceChangeReason) {
		d.touch(a, func(acc *ethrpc.Account) { acc.Balance = prev })
	}
	h.OnNonceChange = func(a common.Address, prev, _ uint64) {
		d.touch(a, func(acc *ethrpc.Account) { acc.Nonce = &prev })
	}
	h.OnCodeChange = func(a common.Address, _ common.Hash, prev []byte, _ common.Hash, _ []byte) {
		d.touch(a, func(acc *ethrpc.Account) { acc.Code = prev })
	}
	h.OnStorageChange = func(a common.Address, slot, prev, _ common.Hash) {
		d.touch(a, func(*ethrpc.Account) {})
		if d.slots[a] == nil {
			d.slots[a] = make(map[common.Hash]common.Hash)
		}
		if _, seen := d.slots[a][slot]; !seen {
			d.slots[a][slot] = prev
		}
	}
}

// touch records an account at its first change. A hook runs right after a change, so all
// fields but the changed one have their initial values; undo restores that one.
func (d *diffRecorder) touch(a common.Address, undo func(*ethrpc.Account)) {
	if d.pre[a] != nil {
		return
	}
	nonce := d.db.GetNonce(a)
	acc := &ethrpc.Account{Balance: d.db.GetBalance(a).ToBig(), Nonce: &nonce, Code: d.db.GetCode(a)}
	undo(acc)
	d.pre[a] = acc
}

// result compares the recorded values with the finalised state.
func (d *diffRecorder) result() *ethrpc.StateDiff {
	out := &ethrpc.StateDiff{
		Pre:  make(map[common.Address]*ethrpc.Account),
		Post: make(map[common.Address]*ethrpc.Account),
	}
	for a, pre := range d.pre {
		post := d.changes(a, pre)
		before := d.slotsBefore(a)
		existed := pre.Balance.Sign() != 0 || *pre.Nonce != 0 || len(pre.Code) > 0
		switch {
		case !d.db.Exist(a):
			if existed {
				out.Pre[a] = pre
				pre.Storage = before
			}
		case post != nil:
			out.Post[a] = post
			if existed || len(before) > 0 {
				out.Pre[a] = pre
				pre.Storage = before
			}
		}
	}
	return out
}

// changes returns the fields of the account that differ afterwards, nil if none does.
func (d *diffRecorder) changes(a common.Address, pre *ethrpc.Account) *ethrpc.Account {
	post, changed := &ethrpc.Account{}, false
	if balance := d.db.GetBalance(a).ToBig(); balance.Cmp(pre.Balance) != 0 {
		post.Balance, changed = balance, true
	}
	if nonce := d.db.GetNonce(a); nonce != *pre.Nonce {
		post.Nonce, changed = &nonce, true
	}
	if code := d.db.GetCode(a); !bytes.Equal(code, pre.Code) {
		post.Code, changed = append([]byte{}, code...), true
	}
	for slot, prev := range d.slots[a] {
		now := d.db.GetState(a, slot)
		if now == prev {
			continue
		}
		changed = true
		if now == (common.Hash{}) {
			continue // absent after means zero
		}
		if post.Storage == nil {
			post.Storage = make(map[common.Hash]common.Hash)
		}
		post.Storage[slot] = now
	}
	if !changed {
		return nil
	}
	return post
}

// slotsBefore returns the changed slots that were not zero.
func (d *diffRecorder) slotsBefore(a common.Address) map[common.Hash]common.Hash {
	var out map[common.Hash]common.Hash
	for slot, prev := range d.slots[a] {
		if prev == (common.Hash{}) || d.db.GetState(a, slot) == prev {
			continue
		}
		if out == nil {
			out = make(map[common.Hash]common.Hash)
		}
		out[slot] = prev
	}
	return out
}
