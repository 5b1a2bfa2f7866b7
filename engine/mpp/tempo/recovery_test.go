package tempo

import (
	"errors"
	"math/big"
	"testing"

	"txlens/testkit/size"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// addressOf is the account of the key of a secret number.
func addressOf(secret *big.Int) common.Address {
	var raw [32]byte
	key := secp256k1.PrivKeyFromBytes(secret.FillBytes(raw[:]))
	return common.BytesToAddress(crypto.Keccak256(key.PubKey().SerializeUncompressed()[1:])[12:])
}

// signWith signs with a nonce that the caller chooses, as no wallet would. ok is
// false where the numbers make no signature.
func signWith(secret, nonce, digest *big.Int) (raw []byte, ok bool) {
	n := secp256k1Order.Big()
	inverse := new(big.Int).ModInverse(nonce, n)
	if inverse == nil {
		return nil, false
	}
	var buf [32]byte
	k := secp256k1.PrivKeyFromBytes(nonce.FillBytes(buf[:])).PubKey()
	r := k.X()
	s := new(big.Int).Mul(r, secret)
	s.Add(s, digest).Mul(s, inverse).Mod(s, n)
	v := byte(k.Y().Bit(0))
	if s.Cmp(secp256k1HalfOrder.Big()) > 0 {
		s.Sub(n, s)
		v ^= 1
	}
	if r.Sign() == 0 || r.Cmp(n) >= 0 || s.Sign() == 0 {
		return nil, false
	}
	raw = make([]byte, secp256k1Length)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:64])
	raw[64] = 27 + v
	return raw, true
}

// secondOpinion is the signer as decred's library finds it. With cgo that is another
// implementation of the curve than the one that is used.
func secondOpinion(raw []byte, digest common.Hash) (common.Address, bool) {
	compact := append([]byte{raw[64]}, raw[:64]...)
	key, _, err := ecdsa.RecoverCompact(compact, digest[:])
	if err != nil {
		return common.Address{}, false
	}
	return common.BytesToAddress(crypto.Keccak256(key.SerializeUncompressed()[1:])[12:]), true
}

// agree compares Signer with the second opinion and reports whether signer signed. A
// signature that is not parsed is nobody's.
func agree(t *testing.T, signer common.Address, digest common.Hash, raw []byte) bool {
	t.Helper()
	s, err := ParseSignature(raw)
	if err != nil || s.Kind() != Secp256k1 {
		return false
	}
	got, err := s.Signer(digest)
	want, ok := secondOpinion(s.Bytes(), digest)
	if (err == nil) != ok || got != want {
		t.Fatalf("digest %x, signature %x: %s, %v, want %s, %v", digest, raw, got, err, want, ok)
	}
	return err == nil && got == signer
}

// TestRecoveryAgrees: of many keys, and with every part of a signature changed, both
// implementations find the same signer, and the one who signed only where nothing was
// changed.
func TestRecoveryAgrees(t *testing.T) {
	for i := range 40 {
		secret := new(big.Int).SetBytes(crypto.Keccak256([]byte{1, byte(i)}))
		signer := addressOf(secret)
		digest := crypto.Keccak256Hash([]byte{2, byte(i)})
		raw, ok := signWith(secret, new(big.Int).SetBytes(crypto.Keccak256([]byte{3, byte(i)})), digest.Big())
		if !ok || !agree(t, signer, digest, raw) {
			t.Fatalf("key %d did not sign", i)
		}
		for at := range secp256k1Length {
			bad := append([]byte(nil), raw...)
			if bad[at] ^= 1 << (i % 8); at == 64 {
				bad[at] = 27 + 28 - raw[at]
			}
			if agree(t, signer, digest, bad) {
				t.Fatalf("byte %d may be anything", at)
			}
		}
		other := digest
		other[i%32] ^= 1
		if agree(t, signer, other, raw) {
			t.Fatal("the digest may be anything")
		}
	}
}

// TestRecoveryAtItsEnds: small secrets, nonces and digests make sums of points meet,
// where the formulas of a curve have their special cases.
func TestRecoveryAtItsEnds(t *testing.T) {
	n := secp256k1Order.Big()
	small := []*big.Int{}
	for i := range size.Of(4, 6) {
		small = append(small, big.NewInt(int64(i)), new(big.Int).Sub(n, big.NewInt(int64(i+1))), new(big.Int).Lsh(big.NewInt(1), uint(45*i)))
	}
	signed := 0
	for _, secret := range small {
		if secret.Sign() == 0 {
			continue
		}
		signer := addressOf(secret)
		for _, nonce := range small {
			for _, z := range small[:6] {
				raw, ok := signWith(secret, nonce, z)
				if !ok {
					continue
				}
				digest := common.BigToHash(z)
				if !agree(t, signer, digest, raw) {
					t.Fatalf("secret %x, nonce %x, digest %x: %x is not by the signer", secret, nonce, z, raw)
				}
				signed++
				raw[64] = 27 + 28 - raw[64]
				if agree(t, signer, digest, raw) {
					t.Fatalf("secret %x, nonce %x, digest %x: any recovery id will do", secret, nonce, z)
				}
			}
		}
	}
	if signed < size.Of(300, 1000) {
		t.Errorf("%d signatures were sound", signed)
	}
	// A digest above the order counts modulo it, on both sides.
	secret := big.NewInt(77)
	raw, _ := signWith(secret, big.NewInt(5), big.NewInt(9))
	if digest := common.BigToHash(new(big.Int).Add(n, big.NewInt(9))); !agree(t, addressOf(secret), digest, raw) {
		t.Error("a digest above the order is another")
	}
}

// FuzzRecovery signs with any numbers, changes the signature, and compares.
func FuzzRecovery(f *testing.F) {
	f.Add([]byte{7}, []byte{8}, []byte{9}, uint8(64), uint8(7))
	f.Add(secp256k1HalfOrder[:], secp256k1Order[:31], secp256k1HalfOrder[1:], uint8(3), uint8(0))
	f.Fuzz(func(t *testing.T, secret, nonce, digest []byte, at, flip uint8) {
		n := secp256k1Order.Big()
		d, k := new(big.Int).Mod(new(big.Int).SetBytes(secret), n), new(big.Int).Mod(new(big.Int).SetBytes(nonce), n)
		z := common.BytesToHash(digest)
		raw, ok := signWith(d, k, z.Big())
		if !ok || d.Sign() == 0 {
			return
		}
		if !agree(t, addressOf(d), z, raw) {
			t.Fatalf("secret %x, nonce %x, digest %x: %x is not by the signer", d, k, z, raw)
		}
		raw[at%secp256k1Length] ^= flip
		agree(t, addressOf(d), z, raw)
	})
}

// TestDomainVerifies: the voucher that was signed is accepted in both spellings of its
// recovery id, and nothing else is.
func TestDomainVerifies(t *testing.T) {
	amount := AmountFrom(1_000_000)
	good := unhex(t, sig1)
	with := func(at int, b byte) []byte {
		raw := append([]byte(nil), good...)
		raw[at] = b
		return raw
	}
	f := func(name string, raw []byte, amount Amount, signer common.Address, want error) {
		t.Helper()
		s, err := ParseSignature(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := moderato.Verify(channel1, amount, s, signer); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	f("sound", good, amount, payer, nil)
	f("recovery id 1", with(64, 1), amount, payer, nil)
	f("recovery id 0", with(64, 0), amount, payer, ErrSigner)
	f("recovery id 27", with(64, 27), amount, payer, ErrSigner)
	f("another r", with(31, good[31]^1), amount, payer, ErrSigner)
	f("r on no point", with(0, good[0]^0x80), amount, payer, ErrSignatureInvalid)
	f("another s", with(63, good[63]^1), amount, payer, ErrSigner)
	f("another amount", good, AmountFrom(1_000_001), payer, ErrSigner)
	f("another signer", good, amount, common.Address{1}, ErrSigner)
	f("no signer", good, amount, common.Address{}, ErrSigner)
	f("P-256", unhex(t, sigP256), amount, payer, ErrSigner)
	if err := moderato.Verify(channel1, amount, Signature{}, common.Address{}); !errors.Is(err, ErrSignatureFormat) {
		t.Errorf("no signature: %v", err)
	}
}
