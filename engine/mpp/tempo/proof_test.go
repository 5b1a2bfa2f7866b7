package tempo

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestProofDigest holds the digest and its signature to the vector of the protocol.
func TestProofDigest(t *testing.T) {
	key, err := NewSecp256k1Key(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	account := common.HexToAddress("0x1a642f0E3c3aF545E7AcBD38b07251B3990914F1")
	if key.Address() != account {
		t.Fatalf("account %s", key.Address())
	}
	digest := ProofDigest(42431, account, "kM9xPqWvT2nJrHsY4aDfEb", "api.example.com")
	if want := common.HexToHash("0x3860a700a55e02ad3c2dc047e92489feceecbdb0a801d948e1d9f0b61ea9bc3f"); digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
	sig, err := ParseSignature(common.FromHex("0x53f5d64d9f995e841b4212639b2e17e508e96752e10316df3814a16443dcbdb626c082190a4c3ecc3148101eb443d15bd83b579380b1be735a9c99f0df36c9fe1b"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sig.Signer(digest); err != nil || got != account {
		t.Errorf("signer %s, %v", got, err)
	}
}
