package sandbox

import (
	"sort"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// space says what a cell of the state holds.
type space uint8

const (
	balanceSpace   space = iota + 1 // owner token, key holder
	supplySpace                     // owner token
	allowanceSpace                  // owner token, key of holder and spender
	policySpace                     // owner token, key account: what is forbidden
	channelSpace                    // owner reserve, key channel id: packed
	nonceSpace                      // owner account, key nonce key
	seenSpace                       // key expiring nonce hash: until when
	keySpace                        // owner account, key access key: packed
	limitSpace                      // owner account, key of access key and token
	feeTokenSpace                   // owner account: the token it chose for fees
	receiveSpace                    // owner account, key sender, zero for all: what its own policy rejects
	masterSpace                     // key master id: account behind virtual addresses
)

// cell names one word of the state.
type cell struct {
	space space
	owner common.Address
	key   common.Hash
}

func addressKey(a common.Address) common.Hash { return common.BytesToHash(a[:]) }

func pairKey(a, b common.Address) common.Hash { return crypto.Keccak256Hash(a[:], b[:]) }

// reader reads the state as of some moment; an absent cell is zero.
type reader interface{ get(c cell) uint256.Int }

// version is a value from a block on.
type version struct {
	block uint64
	value uint256.Int
}

// history is the state of all blocks: each cell keeps its values in order of blocks,
// so that a read at an earlier block costs a search and a reorganisation drops the
// ends.
type history struct{ cells map[cell][]version }

func (h *history) write(block uint64, changes map[cell]uint256.Int) {
	for c, v := range changes {
		values := h.cells[c]
		if n := len(values); n > 0 && values[n-1].block == block {
			values[n-1].value = v
			continue
		}
		h.cells[c] = append(values, version{block, v})
	}
}

// forget drops what was written after the block.
func (h *history) forget(block uint64) {
	for c, values := range h.cells {
		n := sort.Search(len(values), func(i int) bool { return values[i].block > block })
		if n == 0 {
			delete(h.cells, c)
		} else {
			h.cells[c] = values[:n]
		}
	}
}

// at is the state when the block had ended.
func (h *history) at(block uint64) reader { return moment{h, block} }

type moment struct {
	history *history
	block   uint64
}

func (m moment) get(c cell) (v uint256.Int) {
	values := m.history.cells[c]
	n := sort.Search(len(values), func(i int) bool { return values[i].block > m.block })
	if n > 0 {
		v = values[n-1].value
	}
	return v
}

// draft collects changes over a state; dropping it undoes them.
type draft struct {
	under   reader
	changes map[cell]uint256.Int
}

func draftOver(under reader) *draft {
	return &draft{under: under, changes: map[cell]uint256.Int{}}
}

func (d *draft) get(c cell) uint256.Int {
	if v, changed := d.changes[c]; changed {
		return v
	}
	return d.under.get(c)
}

func (d *draft) set(c cell, v uint256.Int) { d.changes[c] = v }

// into hands all changes to the draft below.
func (d *draft) into(below *draft) {
	for c, v := range d.changes {
		below.changes[c] = v
	}
}
