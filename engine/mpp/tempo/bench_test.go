package tempo

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
)

// BenchmarkRecover is the floor: one bare recovery of a public key.
func BenchmarkRecover(b *testing.B) {
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	sig, err := crypto.Sign(digest[:], anvil[0].key)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := crypto.Ecrecover(digest[:], sig); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDigest is the hash of a voucher alone.
func BenchmarkDigest(b *testing.B) {
	b.ReportAllocs()
	amount := AmountFrom(1_000_000)
	for b.Loop() {
		moderato.Digest(channel1, amount)
	}
}

// BenchmarkVerifyVoucher reads and verifies a voucher, and prints its time as a
// multiple of a bare recovery, the two measured in turn.
func BenchmarkVerifyVoucher(b *testing.B) {
	amount := AmountFrom(1_000_000)
	raw := unhex(b, sig1)
	digest := moderato.Digest(channel1, amount)
	bare := unhex(b, sig1)
	bare[64] -= 27
	var spent, floor time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := crypto.Ecrecover(digest[:], bare); err != nil {
			b.Fatal(err)
		}
		middle := time.Now()
		s, err := ParseSignature(raw)
		if err == nil {
			err = moderato.Verify(channel1, amount, s, payer)
		}
		if err != nil {
			b.Fatal(err)
		}
		floor += middle.Sub(start)
		spent += time.Since(middle)
	}
	b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N), "ns/voucher")
	b.ReportMetric(float64(spent)/float64(floor), "x-recover")
}

func BenchmarkVerifyP256(b *testing.B) {
	digest := moderato.Digest(channel1, AmountFrom(1_000_000))
	s, err := ParseSignature(unhex(b, sigP256))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Signer(digest); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTransaction(b *testing.B) {
	raw := vector(b, "T1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeTransaction(raw); err != nil {
			b.Fatal(err)
		}
	}
}
