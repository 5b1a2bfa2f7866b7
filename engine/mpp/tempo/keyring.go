package tempo

import (
	"sync"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/ethereum/go-ethereum/common"
)

// Keyring verifies vouchers as Domain.Verify does, and remembers the keys that sign
// many of them: what a signature must be under a known key is found at less cost
// than whose it is. Both say yes to the same signatures; whatever a known key does
// not say yes to is recovered after all, and refused for the reason that is found
// then. Give it only the signers of channels that stand: anybody can make keys. It is
// safe for concurrent use.
type Keyring struct {
	limit int

	mu    sync.Mutex
	keys  map[common.Address]*knownKey
	order []common.Address // of keys, as a clock whose hand looks for what is cold
	hand  int
	uses  uint64
}

// knownKey is the key of an address.
type knownKey struct {
	seen int    // vouchers before it had a table
	last uint64 // use of the ring when it was asked for
	comb *comb  // nil: it has not signed enough to be worth it
}

// worthComb is after how many vouchers a key gets its table, which takes the time of
// some ten recoveries.
const worthComb = 8

// NewKeyring makes one that holds so many keys at most, at 52 KiB each once they
// sign often.
func NewKeyring(limit int) *Keyring {
	return &Keyring{limit: limit, keys: make(map[common.Address]*knownKey)}
}

// Verify is d.Verify.
func (k *Keyring) Verify(d *Domain, channelID common.Hash, cumulative Amount, s Signature, signer common.Address) error {
	digest := d.Digest(channelID, cumulative)
	if s.kind == Secp256k1 {
		if c := k.comb(signer); c != nil && c.signedBy(digest, &s) {
			return nil
		}
	}
	key, err := s.publicKey(digest)
	if err != nil {
		return err
	}
	if key.address != signer {
		return ErrSigner
	}
	if s.kind == Secp256k1 {
		k.learn(signer, &key)
	}
	return nil
}

// comb is the table of a key, or nil.
func (k *Keyring) comb(signer common.Address) *comb {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uses++
	known := k.keys[signer]
	if known == nil {
		return nil
	}
	known.last = k.uses
	return known.comb
}

// learn counts a voucher of a key that was recovered.
func (k *Keyring) learn(signer common.Address, key *recovered) {
	if !k.worth(signer) {
		return
	}
	var q secp256k1.G1Affine
	q.X.SetBytes(key.point[1:33])
	q.Y.SetBytes(key.point[33:])
	c := newComb(&q, keyWidth)
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.keys[signer]; known != nil {
		known.comb = c
	}
}

// worth reports, once, that a key has signed enough.
func (k *Keyring) worth(signer common.Address) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	known := k.keys[signer]
	if known == nil {
		if !k.room() {
			return false
		}
		known = &knownKey{last: k.uses}
		k.keys[signer] = known
		k.order = append(k.order, signer)
	}
	known.seen++
	return known.seen == worthComb
}

// room makes place for one more key, at the cost of one that was not asked for in
// the last 64 rounds of the ring; keys in use are not put out by newer ones.
func (k *Keyring) room() bool {
	if len(k.order) < k.limit {
		return true
	}
	if k.limit <= 0 {
		return false
	}
	k.hand = (k.hand + 1) % len(k.order)
	cold := k.order[k.hand]
	if k.uses-k.keys[cold].last <= 64*uint64(k.limit) {
		return false
	}
	delete(k.keys, cold)
	k.order[k.hand] = k.order[len(k.order)-1]
	k.order = k.order[:len(k.order)-1]
	return true
}
