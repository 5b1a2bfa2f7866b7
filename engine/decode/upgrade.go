package decode

import (
	"bytes"
	"encoding/binary"
	"slices"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Kinds of proxy that keep their target in a slot.
const (
	kind1967       = "eip1967"
	kindBeacon     = "beacon"
	kindZeppelinos = "zeppelinos"
	kind1822       = "eip1822"
	kindMatic      = "matic"
	kindAdmin      = "admin" // no target, but who may change it
)

// slotDiamond is where a diamond keeps its facets.
var slotDiamond = crypto.Keccak256Hash([]byte("diamond.standard.diamond.storage"))

// proxySlots are the standard slots in the order in which they are tried.
var proxySlots = []struct {
	slot common.Hash
	kind string
}{
	{statediff.Implementation, kind1967}, {statediff.Beacon, kindBeacon}, {statediff.Zeppelinos, kindZeppelinos},
	{statediff.Proxiable, kind1822}, {statediff.Matic, kindMatic}, {statediff.Admin, kindAdmin},
}

// kindByConstant names a proxy by the slot that its code holds; empty when it holds none.
func kindByConstant(code []byte) string {
	if bytes.Contains(code, slotDiamond[:]) {
		return "diamond"
	}
	for _, s := range proxySlots {
		if s.kind != kindAdmin && bytes.Contains(code, s.slot[:]) {
			return s.kind
		}
	}
	if bytes.Contains(code, evmsig.SelMasterCopy[:]) {
		return "safe"
	}
	return ""
}

// Upgrade is one standard slot that the transaction changed. No event is needed for it:
// some proxies emit none (ERC-7760).
type Upgrade struct {
	Proxy         common.Address
	Kind          string // eip1967, beacon, zeppelinos, eip1822, matic, or admin
	Before, After common.Address
}

// Upgrades lists the changed slots, by address and then in the order in which proxies are
// looked for. A contract made by the transaction had nothing before.
func Upgrades(diff *ethrpc.StateDiff) (list []Upgrade) {
	if diff == nil {
		return nil
	}
	for a := range diff.Post {
		list = upgradesOf(diff, a, list)
	}
	for a := range diff.Pre {
		if diff.Post[a] == nil {
			list = upgradesOf(diff, a, list)
		}
	}
	slices.SortStableFunc(list, func(x, y Upgrade) int { return x.Proxy.Cmp(y.Proxy) })
	return list
}

func upgradesOf(diff *ethrpc.StateDiff, a common.Address, list []Upgrade) []Upgrade {
	for _, s := range proxySlots {
		before, after, changed := changedSlot(diff, a, s.slot)
		if changed && zero(before[:12]) && zero(after[:12]) {
			list = append(list, Upgrade{Proxy: a, Kind: s.kind, Before: common.Address(before[12:]), After: common.Address(after[12:])})
		}
	}
	return list
}

// changedSlot reads one slot of a diff; a side that does not name it holds zero. false:
// the transaction did not change it.
func changedSlot(diff *ethrpc.StateDiff, a common.Address, slot common.Hash) (before, after common.Hash, changed bool) {
	if diff == nil {
		return before, after, false
	}
	var was, is bool
	if pre := diff.Pre[a]; pre != nil {
		before, was = pre.Storage[slot]
	}
	if post := diff.Post[a]; post != nil {
		after, is = post.Storage[slot]
	}
	return before, after, (was || is) && before != after
}

// smallAddress gives the number of an address that fits eight bytes: precompiles
// and the zero address, never a contract.
func smallAddress(a common.Address) (uint64, bool) {
	if !zero(a[:12]) {
		return 0, false
	}
	return binary.BigEndian.Uint64(a[12:]), true
}
