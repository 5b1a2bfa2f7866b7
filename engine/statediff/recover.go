package statediff

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// Bounds of Recover.
const (
	MaxKeys   = 4096    // keys that are tried
	MaxPairs  = 32      // pairs of keys that are tried
	maxHashes = 12_000  // hashes of one call
	broadKeys = 32      // keys that are tried with all layouts; the others with those that were found
	crossKeys = 5       // keys that are tried in pairs with each other
	maxStruct = 16      // words of a struct in a mapping
	maxArray  = 1 << 20 // words of an array
	maxArrays = 33      // slots that may hold the length of an array
	firstHash = 64      // slots below 2^firstHash are variables, not hashes
)

// Place is what a slot was recovered to be: the value of Keys in the mapping, or the mapping
// of mappings, of Layout; without keys an element of the array at Layout.Mapping.
type Place struct {
	Layout Layout
	Keys   []common.Hash
	Word   uint64 // words after the slot that the hash gives
}

// Keys are what the slots are tried with, the likeliest first. Pairs are owner and spender of
// allowances, and other pairs that are known to belong together.
type Keys struct {
	Single []common.Hash
	Pairs  [][2]common.Hash
}

// Hashed reports whether a slot can be a hash.
func Hashed(slot common.Hash) bool {
	for _, b := range slot[:32-firstHash/8] {
		if b != 0 {
			return true
		}
	}
	return false
}

// Recover finds the places of slots that are hashes. A place is proven: its keys and its
// layout give the slot. The work is bounded, so a slot may stay unknown.
func Recover(slots []common.Hash, keys Keys) map[common.Hash]Place {
	s := newSearch(slots)
	s.run(keys)
	return s.found
}

// search is one call of Recover.
type search struct {
	hash  hasher
	open  map[[24]byte][]common.Hash // wanted slots, by all but their last 64 bits
	left  int
	found map[common.Hash]Place
	used  []Layout // layouts of what was found
}

func newSearch(slots []common.Hash) *search {
	s := &search{open: map[[24]byte][]common.Hash{}, found: map[common.Hash]Place{}}
	for _, slot := range slots {
		s.want(slot)
	}
	return s
}

// run tries what is likeliest first.
func (s *search) run(keys Keys) {
	if s.left == 0 {
		return
	}
	single := keys.Single[:min(len(keys.Single), MaxKeys)]
	s.arrays()
	s.all(single[:min(len(single), broadKeys)])
	s.pairs(keys.Pairs[:min(len(keys.Pairs), MaxPairs)])
	s.others(single[min(len(single), broadKeys):])
	s.cross(single[:min(len(single), crossKeys)])
}

func (s *search) want(slot common.Hash) {
	if _, known := published[slot]; known || !Hashed(slot) {
		return
	}
	at := [24]byte(slot[:24])
	if !slices.Contains(s.open[at], slot) {
		s.open[at] = append(s.open[at], slot)
		s.left++
	}
}

func (s *search) done() bool { return s.left == 0 || s.hash.count >= maxHashes }

// try notes the wanted slots that begin at a hash and lie within so many words: the places
// of the keys in a mapping, or of an array where there are none.
func (s *search) try(h common.Hash, words uint64, l *Layout, keys ...common.Hash) {
	base := binary.BigEndian.Uint64(h[24:])
	for _, slot := range s.open[[24]byte(h[:24])] {
		word := binary.BigEndian.Uint64(slot[24:]) - base
		if _, known := s.found[slot]; known || word >= words {
			continue
		}
		s.found[slot] = Place{Layout: *l, Keys: slices.Clone(keys), Word: word}
		s.left--
		if len(keys) > 0 && !slices.Contains(s.used, *l) {
			s.used = append(s.used, *l)
		}
	}
}

func (s *search) arrays() {
	for n, h := range arrayStarts() {
		s.try(h, maxArray, &Layout{Mapping: common.Hash{31: byte(n)}})
	}
}

// arrayStarts are where the elements of the arrays begin whose lengths are in the first slots.
var arrayStarts = sync.OnceValue(func() (list [maxArrays]common.Hash) {
	for n := range list {
		list[n] = crypto.Keccak256Hash(common.Hash{31: byte(n)}.Bytes())
	}
	return list
})

// all tries keys with all layouts.
func (s *search) all(keys []common.Hash) {
	for i := range layouts {
		for _, k := range keys {
			if s.done() {
				return
			}
			s.single(&layouts[i], k)
		}
	}
}

// others tries keys with the layouts that were found.
func (s *search) others(keys []common.Hash) {
	for i := range s.used {
		for _, k := range keys {
			if s.done() {
				return
			}
			s.single(&s.used[i], k)
		}
	}
}

func (s *search) single(l *Layout, key common.Hash) {
	s.try(s.hash.slot(l, key), maxStruct, l, key)
}

func (s *search) pairs(pairs [][2]common.Hash) {
	for i := range layouts {
		for _, p := range pairs {
			if s.done() {
				return
			}
			s.double(&layouts[i], p[0], s.hash.slot(&layouts[i], p[0]), p[1])
		}
	}
}

// cross tries each key within the mapping of each other.
func (s *search) cross(keys []common.Hash) {
	for i := range layouts {
		for _, outer := range keys {
			inner := s.hash.slot(&layouts[i], outer)
			for _, k := range keys {
				if s.done() {
					return
				}
				s.double(&layouts[i], outer, inner, k)
			}
		}
	}
}

func (s *search) double(l *Layout, outer, inner, key common.Hash) {
	s.try(s.hash.nested(l, outer, inner, key), maxStruct, l, outer, key)
}
