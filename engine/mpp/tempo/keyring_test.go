package tempo

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
)

// BenchmarkKeyring is a voucher of a known key.
func BenchmarkKeyring(b *testing.B) {
	k := NewKeyring(1)
	amount := AmountFrom(1_000_000)
	s, err := ParseSignature(unhex(b, sig1))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := k.Verify(moderato, channel1, amount, s, payer); err != nil {
			b.Fatal(err)
		}
	}
	if k.keys[payer].comb == nil {
		b.Error("the key is not known")
	}
}
func BenchmarkComb(b *testing.B) {
	_ = generator()
	c := generator().points[3]
	b.ReportAllocs()
	for b.Loop() {
		newComb(&c, keyWidth)
	}
}

func BenchmarkMany(b *testing.B) {
	const n = 64
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	var combs []*comb
	var sigs []Signature
	for i := range n {
		var secret [32]byte
		secret[31] = byte(i + 1)
		key, err := NewSecp256k1Key(secret[:])
		if err != nil {
			b.Fatal(err)
		}
		s, err := key.SignDigest(digest)
		if err != nil {
			b.Fatal(err)
		}
		r, _ := s.recover(digest)
		var q secp256k1.G1Affine
		q.X.SetBytes(r.point[1:33])
		q.Y.SetBytes(r.point[33:])
		combs = append(combs, newComb(&q, keyWidth))
		sigs = append(sigs, s)
	}
	b.ResetTimer()
	i := 0
	for b.Loop() {
		if !combs[i%n].signedBy(digest, &sigs[i%n]) {
			b.Fatal(i)
		}
		i++
	}
}
