package tempo

import (
	"slices"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
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

// BenchmarkVerifyVoucher reads and verifies a voucher. Beside it, in turn with it, are
// measured a bare recovery by the library of this build, which is C with cgo, and one
// by the library of a build without cgo. All figures are medians.
//
//	ns/voucher  the voucher in this build
//	x-recover   the same, as a multiple of the bare recovery of this build
//	x-go        a voucher without cgo, as a multiple of the bare recovery of this build
func BenchmarkVerifyVoucher(b *testing.B) {
	amount := AmountFrom(1_000_000)
	raw := unhex(b, sig1)
	digest := moderato.Digest(channel1, amount)
	bare := unhex(b, sig1)
	bare[64] -= 27
	compact := append([]byte{raw[64]}, raw[:64]...)
	var laps [3][]time.Duration
	lap := func(i int, run func() error) {
		start := time.Now()
		if err := run(); err != nil {
			b.Fatal(err)
		}
		laps[i] = append(laps[i], time.Since(start))
	}
	for b.Loop() {
		lap(0, func() error {
			_, err := crypto.Ecrecover(digest[:], bare)
			return err
		})
		lap(1, func() error {
			s, err := ParseSignature(raw)
			if err != nil {
				return err
			}
			return moderato.Verify(channel1, amount, s, payer)
		})
		lap(2, func() error {
			_, _, err := ecdsa.RecoverCompact(compact, digest[:])
			return err
		})
	}
	median := func(i int) float64 {
		slices.Sort(laps[i])
		return float64(laps[i][len(laps[i])/2])
	}
	floor, voucher := median(0), median(1)
	b.ReportMetric(0, "ns/op") // the sum of the three says nothing
	b.ReportMetric(voucher, "ns/voucher")
	b.ReportMetric(voucher/floor, "x-recover")
	b.ReportMetric((max(voucher-floor, 0)+median(2))/floor, "x-go")
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
