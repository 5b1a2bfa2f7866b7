package api

import (
	"strconv"
	"strings"
)

// StateChange is one value of the state that the transaction changed.
type StateChange struct {
	Address Addr      `json:"address"`
	Kind    StateKind `json:"kind"`
	Slot    Hex       `json:"slot,omitempty"` // of storage
	// Balances are decimal wei, nonces decimal, slots 32 bytes in hex. Code is its Keccak-256
	// hash, 0x where there is none; the designation of EIP-7702 stands itself.
	Before string `json:"before"`
	After  string `json:"after"`
	// Difference is After - Before in decimal; empty where the value is no number.
	Difference string    `json:"difference,omitempty"`
	Name       *SlotName `json:"name,omitempty"` // of storage; nil: what the slot holds is not known
}

// StateKind is what of an account changed.
type StateKind string

// The kinds in the order in which the changes of an account are listed.
const (
	StateBalance StateKind = "balance"
	StateNonce   StateKind = "nonce"
	StateCode    StateKind = "code"
	StateStorage StateKind = "storage"
)

// SlotName says what a storage slot holds, and how that is known.
type SlotName struct {
	Kind  SlotKind  `json:"kind"`
	Basis SlotBasis `json:"basis"`
	Text  string    `json:"text"` // the other members in words
	// Standard is who publishes the slot, or the event that confirms it.
	Standard string `json:"standard,omitempty"`
	// Mapping is the slot of the mapping or array: decimal, or 32 bytes in hex.
	Mapping string    `json:"mapping,omitempty"`
	Order   SlotOrder `json:"order,omitempty"` // how the key is hashed
	Keys    []Hex     `json:"keys,omitempty"`  // addresses have 20 bytes, other keys 32
	Word    uint64    `json:"word,omitzero"`   // words after the slot that the hash gives
}

// SlotKind is what a storage slot holds.
type SlotKind string

// The kinds of slots. SlotMapping and SlotArray are known by their place alone.
const (
	SlotImplementation SlotKind = "implementation"
	SlotAdmin          SlotKind = "admin"
	SlotBeacon         SlotKind = "beacon"
	SlotOwner          SlotKind = "owner"
	SlotPendingOwner   SlotKind = "pending_owner"
	SlotBalance        SlotKind = "balance"
	SlotAllowance      SlotKind = "allowance"
	SlotTotalSupply    SlotKind = "total_supply"
	SlotNFTOwner       SlotKind = "nft_owner"
	SlotInitialized    SlotKind = "initialized"
	SlotReentrancy     SlotKind = "reentrancy_guard"
	SlotPaused         SlotKind = "paused"
	SlotHandler        SlotKind = "fallback_handler"
	SlotGuard          SlotKind = "guard"
	SlotMapping        SlotKind = "mapping"
	SlotArray          SlotKind = "array"
)

// HoldsAddress reports whether the lowest 20 bytes of such a slot are an address.
func (k SlotKind) HoldsAddress() bool {
	switch k {
	case SlotImplementation, SlotAdmin, SlotBeacon, SlotOwner, SlotPendingOwner, SlotNFTOwner, SlotHandler, SlotGuard:
		return true
	}
	return false
}

// HoldsTokens reports whether such a slot is an amount of the token at its address.
func (k SlotKind) HoldsTokens() bool {
	return k == SlotBalance || k == SlotAllowance || k == SlotTotalSupply
}

// SlotBasis is how the name of a slot is known.
type SlotBasis string

// The ways.
const (
	BasisPublished SlotBasis = "published" // a standard or library publishes the slot
	BasisPreimage  SlotBasis = "preimage"  // the slot is the hash of the keys and the mapping
	BasisEvent     SlotBasis = "event"     // the slot changed as an event of its contract says
)

// SlotOrder is how the key of a mapping is hashed.
type SlotOrder string

// The orders.
const (
	OrderSolidity SlotOrder = "solidity" // keccak256(key . mapping)
	OrderVyper    SlotOrder = "vyper"    // keccak256(mapping . key)
	OrderSolady   SlotOrder = "solady"   // key and seed, packed
)

// Describe writes the name in words: "allowance (mapping at slot 4, keys 0x… and 0x…)".
func (n *SlotName) Describe() string {
	if n.Kind == SlotMapping || n.Kind == SlotArray {
		return n.Place()
	}
	return n.Kind.String() + " (" + n.Place() + ")"
}

// String writes the kind in words.
func (k SlotKind) String() string {
	if k == SlotNFTOwner {
		return "owner of the NFT"
	}
	return strings.ReplaceAll(string(k), "_", " ")
}

// Place says how the name is known: who publishes it, or where the slot lies in a mapping.
func (n *SlotName) Place() string {
	switch {
	case n.Basis != BasisPreimage:
		return n.Standard
	case n.Kind == SlotArray:
		return "array at slot " + n.Mapping + ", word " + strconv.FormatUint(n.Word, 10)
	}
	s := "mapping at slot " + n.Mapping
	switch n.Order {
	case OrderSolady:
		s = "mapping of Solady"
	case OrderVyper:
		s += " in the order of Vyper"
	}
	keys := make([]string, len(n.Keys))
	for i, k := range n.Keys {
		keys[i] = k.String()
	}
	if len(keys) == 1 {
		s += ", key "
	} else {
		s += ", keys "
	}
	s += strings.Join(keys, " and ")
	if n.Word > 0 {
		s += ", word " + strconv.FormatUint(n.Word, 10)
	}
	return s
}

// StateMeta is present when changes were left out of stateChanges.
type StateMeta struct {
	OriginalChanges int `json:"originalChanges"`
	KeptChanges     int `json:"keptChanges"`
}
