package statediff

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Storage slots of proxies, computed from the text that the standards hash.
var (
	Implementation = MinusOne("eip1967.proxy.implementation")
	Admin          = MinusOne("eip1967.proxy.admin")
	Beacon         = MinusOne("eip1967.proxy.beacon")
	Zeppelinos     = crypto.Keccak256Hash([]byte("org.zeppelinos.proxy.implementation"))
	Proxiable      = crypto.Keccak256Hash([]byte("PROXIABLE"))
	Matic          = crypto.Keccak256Hash([]byte("matic.network.proxy.implementation"))
)

// Storage slots of OpenZeppelin from version 5 on, and of Safe accounts.
var (
	Owner     = Namespace("openzeppelin.storage.Ownable")
	Roles     = Namespace("openzeppelin.storage.AccessControl") // mapping of roles to their members
	SafeGuard = crypto.Keccak256Hash([]byte("guard_manager.guard.address"))
)

// erc20 is where OpenZeppelin keeps an upgradeable ERC-20 from version 5 on: balances,
// allowances and the total supply follow each other.
var erc20 = Namespace("openzeppelin.storage.ERC20")

// MinusOne is the slot rule of EIP-1967: the hash less one, so that no preimage is known.
func MinusOne(text string) common.Hash {
	h := crypto.Keccak256Hash([]byte(text))
	h[31]-- // none of the hashes used ends in zero
	return h
}

// Namespace is the slot rule of ERC-7201.
func Namespace(id string) common.Hash {
	h := MinusOne(id)
	h = crypto.Keccak256Hash(h[:])
	h[31] = 0
	return h
}

// plus returns the n-th slot after one that ends in zero or does not overflow 64 bits.
func plus(h common.Hash, n uint64) common.Hash {
	binary.BigEndian.PutUint64(h[24:], binary.BigEndian.Uint64(h[24:])+n)
	return h
}

// Known is a slot whose meaning a standard or a library publishes.
type Known struct {
	Name     string // implementation, owner, ...
	Standard string // who publishes it
}

// The names of published slots.
const (
	NameImplementation = "implementation"
	NameAdmin          = "admin"
	NameBeacon         = "beacon"
	NameOwner          = "owner"
	NamePendingOwner   = "pending_owner"
	NameTotalSupply    = "total_supply"
	NameInitialized    = "initialized"
	NameReentrancy     = "reentrancy_guard"
	NamePaused         = "paused"
	NameSafeHandler    = "fallback_handler"
	NameSafeGuard      = "guard"
)

var published = map[common.Hash]Known{
	Implementation: {NameImplementation, "EIP-1967"},
	Admin:          {NameAdmin, "EIP-1967"},
	Beacon:         {NameBeacon, "EIP-1967"},
	Zeppelinos:     {NameImplementation, "ZeppelinOS"},
	Proxiable:      {NameImplementation, "EIP-1822"},
	Matic:          {NameImplementation, "Polygon"},
	Owner:          {NameOwner, "OpenZeppelin 5"},
	Namespace("openzeppelin.storage.Ownable2Step"):    {NamePendingOwner, "OpenZeppelin 5"},
	Namespace("openzeppelin.storage.Initializable"):   {NameInitialized, "OpenZeppelin 5"},
	Namespace("openzeppelin.storage.ReentrancyGuard"): {NameReentrancy, "OpenZeppelin 5"},
	Namespace("openzeppelin.storage.Pausable"):        {NamePaused, "OpenZeppelin 5"},
	plus(erc20, 2): {NameTotalSupply, "OpenZeppelin 5"},
	common.HexToHash("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff74873927"): {NameOwner, "Solady"},
	crypto.Keccak256Hash([]byte("fallback_manager.handler.address")):                       {NameSafeHandler, "Safe"},
	SafeGuard: {NameSafeGuard, "Safe"},
}

// Published returns what a slot is by a standard.
func Published(slot common.Hash) (Known, bool) {
	k, ok := published[slot]
	return k, ok
}
