package tempo

import (
	"encoding/binary"
	"errors"
	"math/big"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// combOf is the table of the key of a secret number, and its address.
func combOf(t testing.TB, secret *big.Int) (*comb, common.Address) {
	t.Helper()
	var q secp256k1.G1Affine
	q.ScalarMultiplicationBase(secret)
	xy := append(q.X.Marshal(), q.Y.Marshal()...)
	return newComb(&q, keyWidth), common.BytesToAddress(crypto.Keccak256(xy)[12:])
}

// signWith signs with a nonce that the caller chooses, as no wallet would. ok is
// false where the numbers make no signature.
func signWith(secret, nonce, digest *big.Int) (raw []byte, ok bool) {
	n := fr.Modulus()
	var k secp256k1.G1Affine
	k.ScalarMultiplicationBase(nonce)
	r := k.X.BigInt(new(big.Int))
	s := new(big.Int).Mul(r, secret)
	s.Add(s, digest).Mod(s, n)
	if inverse := new(big.Int).ModInverse(nonce, n); inverse == nil {
		return nil, false
	} else {
		s.Mul(s, inverse).Mod(s, n)
	}
	v := byte(k.Y.Bits()[0] & 1)
	if s.Cmp(new(big.Int).SetBytes(secp256k1HalfOrder[:])) > 0 {
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

// agree holds the table's verdict to the recovery's, and returns it. A table may say
// no where its formulas end; exact says that they do not here.
func agree(t *testing.T, c *comb, signer common.Address, digest common.Hash, raw []byte, exact bool) bool {
	t.Helper()
	s, err := ParseSignature(raw)
	if err != nil {
		return false
	}
	got, err := s.Signer(digest)
	want := err == nil && got == signer
	yes := c.signedBy(digest, &s)
	if yes && !want || exact && want && !yes {
		t.Fatalf("digest %x, signature %x: the table says %v, recovery %s, %v", digest, raw, yes, got, err)
	}
	return want
}

// TestCombMultiplies holds the tables to the library's own multiplication, with
// scalars at the edges of windows and of the order.
func TestCombMultiplies(t *testing.T) {
	n := fr.Modulus()
	scalars := []*big.Int{big.NewInt(1), big.NewInt(2), new(big.Int).Sub(n, big.NewInt(1)), new(big.Int).Sub(n, big.NewInt(2)), new(big.Int).Rsh(n, 1)}
	for _, text := range []string{
		"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f", "8080808080808080808080808080808080808080808080808080808080808080",
		"7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f", "8181818181818181818181818181818181818181818181818181818181818181",
		"8421084210842108421084210842108421084210842108421084210842108421", "8000000000000000000000000000000000000000000000000000000000000000",
		"fffffffffffffffffffffffffffffffe00000000000000000000000000000001", "0000000000000001000000000000000100000000000000010000000000000000",
	} {
		scalars = append(scalars, new(big.Int).SetBytes(common.FromHex(text)))
	}
	for i := range 128 {
		scalars = append(scalars, new(big.Int).Lsh(big.NewInt(1), uint(2*i+1)))
		scalars = append(scalars, new(big.Int).SetBytes(crypto.Keccak256([]byte{byte(i)})))
	}
	_, g := secp256k1.Generators()
	var q secp256k1.G1Affine
	q.ScalarMultiplicationBase(big.NewInt(0x1234567))
	for _, c := range []struct {
		comb  *comb
		point secp256k1.G1Affine
	}{{generator(), g}, {newComb(&q, keyWidth), q}, {newComb(&q, 4), q}, {newComb(&q, 7), q}} {
		for _, k := range scalars {
			k := new(big.Int).Mod(k, n)
			var scalar fr.Element
			scalar.SetBigInt(k)
			var want secp256k1.G1Affine
			want.ScalarMultiplication(&c.point, k)
			var sum accumulator
			if !c.comb.addTo(&sum, &scalar) {
				t.Fatalf("width %d: %x is not computed", c.comb.width, k)
			}
			got := secp256k1.G1Affine{}
			if !sum.zz.IsZero() {
				got.X.Inverse(&sum.zz).Mul(&got.X, &sum.x)
				got.Y.Inverse(&sum.zzz).Mul(&got.Y, &sum.y)
			}
			if !got.Equal(&want) {
				t.Fatalf("width %d: %x times the point is %v, want %v", c.comb.width, k, got, want)
			}
		}
	}
}

// TestCombAgreesWithRecovery: of many keys, and with every part of a signature
// changed, the table never says yes where recovery finds somebody else.
func TestCombAgreesWithRecovery(t *testing.T) {
	for i := range 40 {
		secret := new(big.Int).SetBytes(crypto.Keccak256([]byte{1, byte(i)}))
		c, signer := combOf(t, secret)
		digest := crypto.Keccak256Hash([]byte{2, byte(i)})
		raw, ok := signWith(secret, new(big.Int).SetBytes(crypto.Keccak256([]byte{3, byte(i)})), digest.Big())
		if !ok || !agree(t, c, signer, digest, raw, true) {
			t.Fatalf("key %d did not sign", i)
		}
		for at := range secp256k1Length {
			bad := append([]byte(nil), raw...)
			if bad[at] ^= 1 << (i % 8); at == 64 {
				bad[at] = 27 + 28 - raw[at]
			}
			if agree(t, c, signer, digest, bad, true) {
				t.Fatalf("byte %d may be anything", at)
			}
		}
		other := digest
		other[i%32] ^= 1
		if agree(t, c, signer, other, raw, true) {
			t.Fatal("the digest may be anything")
		}
	}
}

// TestCombAtItsEnds: small secrets, nonces and digests make partial sums meet, where
// the formulas do not hold. The table may say no then, and never a wrong yes.
func TestCombAtItsEnds(t *testing.T) {
	n := fr.Modulus()
	small := []*big.Int{}
	for i := range 6 {
		small = append(small, big.NewInt(int64(i)), new(big.Int).Sub(n, big.NewInt(int64(i+1))), new(big.Int).Lsh(big.NewInt(1), uint(45*i)))
	}
	signed := 0
	for _, secret := range small {
		if secret.Sign() == 0 {
			continue
		}
		c, signer := combOf(t, secret)
		for _, nonce := range small {
			for _, z := range small[:6] {
				raw, ok := signWith(secret, nonce, z)
				if !ok {
					continue
				}
				digest := common.BigToHash(z)
				if agree(t, c, signer, digest, raw, false) {
					signed++
				}
				raw[64] = 27 + 28 - raw[64]
				agree(t, c, signer, digest, raw, false)
			}
		}
	}
	if signed < 1000 {
		t.Errorf("%d signatures were sound", signed)
	}
	// A digest above the order counts modulo it, on both sides.
	secret := big.NewInt(77)
	c, signer := combOf(t, secret)
	raw, _ := signWith(secret, big.NewInt(5), big.NewInt(9))
	if digest := common.BigToHash(new(big.Int).Add(n, big.NewInt(9))); !agree(t, c, signer, digest, raw, true) {
		t.Error("a digest above the order is another")
	}
}

// FuzzComb signs with any numbers, changes the signature, and compares.
func FuzzComb(f *testing.F) {
	f.Add([]byte{7}, []byte{8}, []byte{9}, uint8(64), uint8(7))
	f.Add(secp256k1HalfOrder[:], secp256k1Order[:31], secp256k1HalfOrder[1:], uint8(3), uint8(0))
	f.Fuzz(func(t *testing.T, secret, nonce, digest []byte, at, flip uint8) {
		n := fr.Modulus()
		d, k := new(big.Int).Mod(new(big.Int).SetBytes(secret), n), new(big.Int).Mod(new(big.Int).SetBytes(nonce), n)
		z := common.BytesToHash(digest)
		raw, ok := signWith(d, k, z.Big())
		if !ok || d.Sign() == 0 {
			return
		}
		c, signer := combOf(t, d)
		agree(t, c, signer, z, raw, false)
		raw[at%secp256k1Length] ^= flip
		agree(t, c, signer, z, raw, false)
	})
}

// TestKeyringVerifiesAsTheDomain: before and after a key is known, each voucher gets
// the verdict that recovery gives.
func TestKeyringVerifiesAsTheDomain(t *testing.T) {
	k := NewKeyring(4)
	amount := AmountFrom(1_000_000)
	good := unhex(t, sig1)
	with := func(at int, b byte) []byte {
		raw := append([]byte(nil), good...)
		raw[at] = b
		return raw
	}
	f := func(name string, raw []byte, amount Amount, signer common.Address) {
		t.Helper()
		s, err := ParseSignature(raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := moderato.Verify(channel1, amount, s, signer)
		if got := k.Verify(moderato, channel1, amount, s, signer); !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for range 2 {
		for range worthComb + 1 {
			f("sound", good, amount, payer)
		}
		if k.keys[payer].comb == nil {
			t.Fatal("the key is not known")
		}
		f("recovery id 0", with(64, 0), amount, payer)
		f("recovery id 1", with(64, 1), amount, payer)
		f("the other recovery id", with(64, 27+28-good[64]), amount, payer)
		f("another r", with(31, good[31]^1), amount, payer)
		f("no point", with(0, good[0]^0x80), amount, payer)
		f("another s", with(63, good[63]^1), amount, payer)
		f("another amount", good, AmountFrom(1_000_001), payer)
		f("another signer", good, amount, common.Address{1})
		f("P-256", unhex(t, sigP256), amount, payer)
	}
	if len(k.keys) != 1 {
		t.Errorf("%d keys are known: one of somebody who never signed is, too", len(k.keys))
	}
}

// vouchers are of keys that only this test has.
func vouchers(t testing.TB, n int) (sigs []Signature, signers []common.Address) {
	for i := range n {
		var secret [32]byte
		binary.BigEndian.PutUint32(secret[28:], uint32(i+1))
		key, err := NewSecp256k1Key(secret[:])
		if err != nil {
			t.Fatal(err)
		}
		s, err := moderato.Sign(key, channel1, AmountFrom(1))
		if err != nil {
			t.Fatal(err)
		}
		sigs, signers = append(sigs, s), append(signers, key.Address())
	}
	return sigs, signers
}

// TestKeyringIsBounded: a full ring keeps what is in use, and makes room for a new
// key once one was not asked for in a long time.
func TestKeyringIsBounded(t *testing.T) {
	const limit = 3
	k := NewKeyring(limit)
	sigs, signers := vouchers(t, 6)
	use := func(i, times int) {
		t.Helper()
		for range times {
			if err := k.Verify(moderato, channel1, AmountFrom(1), sigs[i], signers[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	known := func(i int) bool { return k.keys[signers[i]] != nil && k.keys[signers[i]].comb != nil }
	for i := range sigs {
		use(i, worthComb)
	}
	for i := range sigs {
		if known(i) != (i < limit) {
			t.Errorf("key %d of %d: known %v", i, limit, known(i))
		}
	}
	use(1, 64*limit+1)
	use(2, 1)
	use(5, 4*worthComb)
	if !known(5) || known(0) || !known(1) || !known(2) || len(k.keys) != limit || len(k.order) != limit {
		t.Errorf("a cold key stays: %d keys, the new one %v, the cold one %v", len(k.keys), known(5), known(0))
	}
	none := NewKeyring(0)
	if err := none.Verify(moderato, channel1, AmountFrom(1), sigs[0], signers[0]); err != nil || len(none.keys) != 0 {
		t.Errorf("a ring without room: %v, %d keys", err, len(none.keys))
	}
}

// TestKeyringTogether is for the race detector.
func TestKeyringTogether(t *testing.T) {
	k := NewKeyring(4)
	sigs, signers := vouchers(t, 8)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 120 {
				j := (i + g) % len(sigs)
				if err := k.Verify(moderato, channel1, AmountFrom(1), sigs[j], signers[j]); err != nil {
					t.Error(err)
				}
				if err := k.Verify(moderato, channel1, AmountFrom(2), sigs[j], signers[j]); err == nil {
					t.Error("a voucher of another amount is accepted")
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkKeyring is a voucher of one of many known keys, whose tables lie as far
// away as those of a server that is at work.
func BenchmarkKeyring(b *testing.B) {
	k := NewKeyring(64)
	sigs, signers := vouchers(b, 64)
	i := 0
	verify := func() {
		if err := k.Verify(moderato, channel1, AmountFrom(1), sigs[i%64], signers[i%64]); err != nil {
			b.Fatal(err)
		}
		i++
	}
	for range 64 * worthComb {
		verify()
	}
	b.ReportAllocs()
	for b.Loop() {
		verify()
	}
}
