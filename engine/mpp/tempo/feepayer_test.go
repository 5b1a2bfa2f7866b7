package tempo

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

// TestFeePayerParity: the sponsor's signature has a parity of 0 or 1; the forms that
// other signatures may have, such as 27, 28 and EIP-155's, are refused.
func TestFeePayerParity(t *testing.T) {
	for parity := range 256 {
		r := bytes.Repeat([]byte{1}, 32)
		content, err := rlp.EncodeToBytes([]any{uint64(parity), r, r})
		if err != nil {
			t.Fatal(err)
		}
		_, inner, _, err := rlp.Split(content)
		if err != nil {
			t.Fatal(err)
		}
		reader := new(itemReader)
		sig := reader.feePayerSignature(inner)
		if good := parity < 2; (reader.err == nil) != good || good && sig.Kind() != Secp256k1 {
			t.Errorf("parity %d: %v, %v", parity, sig, reader.err)
		}
	}
}

// TestShortestWebAuthn: one byte of type and 128 of key and signature, with no client
// data, is the shortest form.
func TestShortestWebAuthn(t *testing.T) {
	for length, want := range map[int]bool{1 + 127: false, 1 + 128: true, 1 + 129: true} {
		raw := append([]byte{typeWebAuthn}, bytes.Repeat([]byte{1}, length-1)...)
		if _, err := ParseSignature(raw); (err == nil) != want {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

func TestAmountUint64(t *testing.T) {
	for text, want := range map[string]uint64{"0": 0, "1": 1, "18446744073709551615": 1<<64 - 1} {
		a, err := ParseAmount(text)
		if v, ok := a.Uint64(); err != nil || !ok || v != want {
			t.Errorf("%s: %d, %t, %v", text, v, ok, err)
		}
	}
	a, err := ParseAmount("18446744073709551617")
	if v, ok := a.Uint64(); err != nil || ok || v != 0 {
		t.Errorf("2^64+1: %d, %t, %v", v, ok, err)
	}
}
