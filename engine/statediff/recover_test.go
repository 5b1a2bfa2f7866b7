package statediff

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// TestPublished compares the slots with the constants that the standards print.
func TestPublished(t *testing.T) {
	f := func(slot, name, standard string) {
		t.Helper()
		if got, ok := Published(common.HexToHash(slot)); !ok || got != (Known{name, standard}) {
			t.Errorf("%s: %+v %v", slot, got, ok)
		}
	}
	f("0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc", NameImplementation, "EIP-1967")
	f("0xb53127684a568b3173ae13b9f8a6016e243e63b6e8ee1178d6a717850b5d6103", NameAdmin, "EIP-1967")
	f("0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50", NameBeacon, "EIP-1967")
	f("0xc5f16f0fcc639fa48a6947836d9850f504798523bf8c9a3a87d5876cf622bcf7", NameImplementation, "EIP-1822")
	f("0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3", NameImplementation, "ZeppelinOS")
	f("0x9016d09d72d40fdae2fd8ceac6b6234c7706214fd39c1cd1e609a0528c199300", NameOwner, "OpenZeppelin 5")
	f("0x237e158222e3e6968b72b9db0d8043aacf074ad9f650f0d1606b4d82ee432c00", NamePendingOwner, "OpenZeppelin 5")
	f("0xf0c57e16840df040f15088dc2f81fe391c3923bec73e23a9662efc9c229c6a00", NameInitialized, "OpenZeppelin 5")
	f("0x9b779b17422d0df92223018b32b4d1fa46e071723d6817e2486d003becc55f00", NameReentrancy, "OpenZeppelin 5")
	f("0xcd5ed15c6e187e77e9aee88184c21f4f2182ab5827cb3b7e07fbedcd63f03300", NamePaused, "OpenZeppelin 5")
	f("0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace02", NameTotalSupply, "OpenZeppelin 5")
	f("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffff74873927", NameOwner, "Solady")
	f("0x6c9a6c4a39284e37ed1cf53d337577d14212a4870fb976a4366c693b939918d5", NameSafeHandler, "Safe")
	f("0x4a204f620c8c5ccdca3fd54d003badd85ba500436a431f0cbda4f558c93c34c8", NameSafeGuard, "Safe")
	if _, ok := Published(common.Hash{31: 1}); ok {
		t.Error("slot 1 has no published meaning")
	}
}

// after adds words to a slot.
func after(slot common.Hash, words uint64) common.Hash {
	binary.BigEndian.PutUint64(slot[24:], binary.BigEndian.Uint64(slot[24:])+words)
	return slot
}

func TestRecover(t *testing.T) {
	a, b, id := Word(alice), Word(bob), common.Hash{31: 200}
	hash := func(parts ...[]byte) common.Hash { return crypto.Keccak256Hash(parts...) }
	number := func(n byte) []byte { return common.Hash{31: n}.Bytes() }
	keys := Keys{Single: []common.Hash{a, b, id}}
	f := func(name string, slot common.Hash, keys Keys, want *Place) {
		t.Helper()
		got, ok := Recover([]common.Hash{slot}, keys)[slot]
		if ok != (want != nil) || ok && !reflect.DeepEqual(got, *want) {
			t.Errorf("%s: %+v %v, want %+v", name, got, ok, want)
		}
	}
	sol := func(n byte) Layout { return Layout{Mapping: common.Hash{31: n}} }
	one := func(l Layout, word uint64, keys ...common.Hash) *Place {
		return &Place{Layout: l, Keys: keys, Word: word}
	}
	third := hash(a[:], number(3))
	f("Solidity", third, keys, one(sol(3), 0, a))
	f("the last mapping", hash(a[:], number(32)), keys, one(sol(32), 0, a))
	f("beyond the last mapping", hash(a[:], number(33)), keys, nil)
	f("another key", third, Keys{Single: []common.Hash{b}}, nil)
	f("a number as key", hash(id[:], number(2)), keys, one(sol(2), 0, id))
	f("a struct", after(third, 15), keys, one(sol(3), 15, a))
	f("beyond a struct", after(third, 16), keys, nil)
	f("before the value", after(third, ^uint64(0)), keys, nil)
	f("Vyper", hash(number(7), b[:]), keys, one(Layout{Mapping: common.Hash{31: 7}, Order: Vyper}, 0, b))
	f("Solady", hash(bob[:], make([]byte, 8), soladyBalance[:]), keys, one(Layout{Order: Solady}, 0, b))
	f("ERC-7201", hash(a[:], erc20[:]), keys, one(Layout{Mapping: erc20}, 0, a))

	pair := Keys{Pairs: [][2]common.Hash{{a, b}}}
	inner := hash(a[:], number(4))
	f("allowance", hash(b[:], inner[:]), pair, one(sol(4), 0, a, b))
	f("allowance without the pair", hash(b[:], inner[:]), keys, one(sol(4), 0, a, b))
	f("allowance of another", hash(b[:], inner[:]), Keys{Pairs: [][2]common.Hash{{b, a}}}, nil)
	inner = hash(number(4), a[:])
	f("allowance of Vyper", hash(inner[:], b[:]), pair, one(Layout{Mapping: common.Hash{31: 4}, Order: Vyper}, 0, a, b))
	f("allowance of Solady", hash(alice[:], make([]byte, 8), soladyAllowance[:], bob[:]), pair, one(Layout{Order: Solady}, 0, a, b))
	next := plus(erc20, 1)
	inner = hash(a[:], next[:])
	f("allowance of ERC-7201", hash(b[:], inner[:]), pair, one(Layout{Mapping: next}, 0, a, b))

	f("array", after(hash(number(5)), 1000), keys, &Place{Layout: sol(5), Word: 1000})
	f("a variable", common.Hash{31: 5}, keys, nil)
	f("a published slot", Implementation, keys, nil)
}

// TestRecoverIsBounded counts the hashes for slots that nothing recovers.
func TestRecoverIsBounded(t *testing.T) {
	keys := Keys{}
	for i := range 3 * MaxKeys {
		k := crypto.Keccak256Hash(binary.BigEndian.AppendUint64(nil, uint64(i)))
		keys.Single, keys.Pairs = append(keys.Single, k), append(keys.Pairs, [2]common.Hash{k, k})
	}
	// One key of each of 9 mappings, and a slot that keeps the search going.
	slots := []common.Hash{{1}}
	for i := range layouts[:9] {
		slots = append(slots, layouts[i].Slot(keys.Single[0]))
	}
	s := newSearch(slots)
	s.run(keys)
	if s.hash.count < maxHashes || s.hash.count > maxHashes+len(layouts) || len(s.found) != 9 {
		t.Errorf("%d hashes, %d places", s.hash.count, len(s.found))
	}
	// What was found leads to all other keys.
	want := make([]common.Hash, 0, 2000)
	for _, k := range keys.Single[:2000] {
		want = append(want, (&Layout{Mapping: common.Hash{31: 9}}).Slot(k))
	}
	if found := Recover(want, keys); len(found) != len(want) {
		t.Errorf("%d of %d keys of one mapping recovered", len(found), len(want))
	}
	s = newSearch(nil)
	s.run(keys)
	if s.hash.count != 0 {
		t.Errorf("%d hashes for nothing", s.hash.count)
	}
}

func BenchmarkRecover(b *testing.B) {
	keys := Keys{}
	for i := range 64 {
		keys.Single = append(keys.Single, crypto.Keccak256Hash([]byte{byte(i)}))
	}
	bench := func(name string, slots ...common.Hash) {
		b.Run(name, func(b *testing.B) {
			hashes := 0
			for b.Loop() {
				s := newSearch(slots)
				s.run(keys)
				hashes = s.hash.count
			}
			b.ReportMetric(float64(hashes), "hashes/op")
		})
	}
	ninth := Layout{Mapping: common.Hash{31: 9}}
	bench("two-balances", ninth.Slot(keys.Single[0]), ninth.Slot(keys.Single[1]))
	bench("unknown", common.Hash{1})
	bench("none")
}

// TestRoles: the slot of roles is the one that OpenZeppelin publishes.
func TestRoles(t *testing.T) {
	if want := common.HexToHash("0x02dd7bc7dec4dceedda775e58dd541e08a116c6c53815c0bd028192f7b626800"); Roles != want {
		t.Errorf("%s, want %s", Roles, want)
	}
}
