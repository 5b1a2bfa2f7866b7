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
	data, n := l.preimage(key)
	return crypto.Keccak256Hash(data[:n])
}

// preimage returns what is hashed for a key, and its length.
func (l *Layout) preimage(key common.Hash) (data [64]byte, n int) {
	switch l.Order {
	case Solady:
		copy(data[:20], key[12:])
		copy(data[28:], soladyBalance[:])
		return data, 32
	case Vyper:
		return join(l.Mapping, key), 64
	}
	return join(key, l.Mapping), 64
}

func join(a, b common.Hash) (words [64]byte) {
	copy(words[:32], a[:])
	copy(words[32:], b[:])
	return words
}

// Word pads an address to a key.
func Word(a common.Address) (h common.Hash) {
	copy(h[12:], a[:])
	return h
}

// hasher computes slots without an allocation for each. The zero hasher is ready.
type hasher struct {
	state crypto.KeccakState
	count int // hashes computed
}

func (h *hasher) sum(data []byte) (out common.Hash) {
	if h.state == nil {
		h.state = crypto.NewKeccakState()
	}
	h.count++
	h.state.Reset()
	_, _ = h.state.Write(data) // a hash state never fails
	_, _ = h.state.Read(out[:])
	return out
}

func (h *hasher) slot(l *Layout, key common.Hash) common.Hash {
	data, n := l.preimage(key)
	return h.sum(data[:n])
}

// nested returns the slot of a key in the mapping at inner, which is the value of outer.
func (h *hasher) nested(l *Layout, outer, inner, key common.Hash) common.Hash {
	var data [64]byte
	switch l.Order {
	case Vyper:
		data = join(inner, key)
	case Solady:
		copy(data[:20], outer[12:])
		copy(data[28:], soladyAllowance[:])
		copy(data[32:], key[12:])
		return h.sum(data[:52])
	default:
		data = join(key, inner)
	}
	return h.sum(data[:])
}
