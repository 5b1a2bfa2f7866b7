package statediff

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Order is how a compiler or library hashes the key of a mapping.
type Order int

// The orders.
const (
	Solidity Order = iota // keccak256(key . slot)
	Vyper                 // keccak256(slot . key)
	Solady                // the key and a seed, packed
)

// Layout is where a contract keeps a mapping.
type Layout struct {
	Mapping common.Hash // slot of the mapping itself; without meaning for Solady
	Order   Order
}

// Mappings are looked for where compilers and libraries put them: mapping number 0 to 32
// and 51 (after the gaps of OpenZeppelin's upgradeable contracts) in the order of Solidity
// and 0 to 15 in that of Vyper, the namespaced storage of ERC-7201 as OpenZeppelin uses it,
// and Solady's seeds.
const (
	maxMapping = 32
	maxVyper   = 15
	gapMapping = 51
)

// Seeds of Solady's ERC20: _BALANCE_SLOT_SEED and _ALLOWANCE_SLOT_SEED.
var (
	soladyBalance   = [4]byte{0x87, 0xa2, 0x11, 0xa2}
	soladyAllowance = [4]byte{0x7f, 0x5e, 0x9f, 0x20}
)

// Layouts lists the layouts in the order in which they are tried.
func Layouts() []Layout { return layouts }

var layouts = func() (list []Layout) {
	for n := range maxMapping + 1 {
		list = append(list, Layout{Mapping: common.Hash{31: byte(n)}})
	}
	list = append(list,
		Layout{Mapping: common.Hash{31: gapMapping}}, Layout{Mapping: erc20}, Layout{Mapping: plus(erc20, 1)}, Layout{Order: Solady},
	)
	for n := range maxVyper + 1 {
		list = append(list, Layout{Mapping: common.Hash{31: byte(n)}, Order: Vyper})
	}
	return list
}()

// Slot returns the slot of a key.
func (l *Layout) Slot(key common.Hash) common.Hash {
	var data [64]byte
	n := l.preimage(&data, key)
	return crypto.Keccak256Hash(data[:n])
}

// preimage writes what is hashed for a key into data and returns its length.
func (l *Layout) preimage(data *[64]byte, key common.Hash) int {
	switch l.Order {
	case Solady:
		*data = [64]byte{}
		copy(data[:20], key[12:])
		copy(data[28:], soladyBalance[:])
		return 32
	case Vyper:
		return join(data, l.Mapping, key)
	}
	return join(data, key, l.Mapping)
}

func join(data *[64]byte, a, b common.Hash) int {
	copy(data[:32], a[:])
	copy(data[32:], b[:])
	return len(data)
}

// Word pads an address to a key.
func Word(a common.Address) (h common.Hash) {
	copy(h[12:], a[:])
	return h
}

// hasher computes slots. It holds what is hashed and the hash, since what is passed to the
// hash state would be allocated for each. The zero hasher is ready.
type hasher struct {
	state crypto.KeccakState
	data  [64]byte
	out   common.Hash
	count int // hashes computed
}

// sum hashes the first n bytes of data.
func (h *hasher) sum(n int) common.Hash {
	if h.state == nil {
		h.state = crypto.NewKeccakState()
	}
	h.count++
	h.state.Reset()
	_, _ = h.state.Write(h.data[:n]) // a hash state never fails
	_, _ = h.state.Read(h.out[:])
	return h.out
}

func (h *hasher) slot(l *Layout, key common.Hash) common.Hash {
	return h.sum(l.preimage(&h.data, key))
}

// nested returns the slot of a key in the mapping at inner, which is the value of outer.
func (h *hasher) nested(l *Layout, outer, inner, key common.Hash) common.Hash {
	switch l.Order {
	case Vyper:
		return h.sum(join(&h.data, inner, key))
	case Solady:
		h.data = [64]byte{}
		copy(h.data[:20], outer[12:])
		copy(h.data[28:], soladyAllowance[:])
		copy(h.data[32:], key[12:])
		return h.sum(52)
	}
	return h.sum(join(&h.data, key, inner))
}
