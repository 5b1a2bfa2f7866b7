// Package agree compares engine/mpp/tempo with code that it does not share: the
// sandbox's chain, and go-ethereum's reflective encoders. It is tests only, and
// apart, because those weigh on the fuzzers of the package itself.
package agree

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"math/big"
	"os"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
)

// The sandbox's chain decodes, hashes and recovers with code of its own. What
// the two say of the same bytes must be the same: each is the other's oracle.

var agreedDigest = tempo.NewDomain(42431, tempo.Escrow).Digest(common.HexToHash("0x01"), tempo.AmountFrom(1_000_000))

// signatures are secp256k1: sound, high s, EIP-2098; and P-256.
var signatures = []string{
	"c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b32c7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f1c",
	"c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3d38095f18ecf0fdd124f435f05191cb6f7e9ee097d28dd2531313268988e1e021b",
	"c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3ac7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f",
	"01b49bf1eae54a3d5167896acce00e48fe3f0174c808f42bdc499de66539f4fe9424b384ad4b8485e78e324f54a4469675b0dce679175c016eba18dae4d49e27fe0217e617f0b6443928278f96999e69a23a4f2c152bdf6d6cdf66e5b80282d4ed194a7debcb97712d2dda3ca85aa8765a56f45fc758599652f2897c65306e579400",
}

// vectors are the recorded transactions T1 to T5.
func vectors(t testing.TB) (list [][]byte) {
	t.Helper()
	text, err := os.ReadFile("../testdata/transactions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, hex, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, common.FromHex(hex))
	}
	if len(list) != 6 {
		t.Fatalf("%d vectors", len(list))
	}
	return list
}

// assertion is a passkey's signature, whose s may be high.
func assertion(t testing.TB, flags byte, client string) []byte {
	t.Helper()
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{0x22}, 32))
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 37)
	data[32] = flags
	clientHash := sha256.Sum256([]byte(client))
	message := sha256.Sum256(append(bytes.Clone(data), clientHash[:]...))
	// Without a source of randomness the signature is that of RFC 6979, the same in each run.
	der, err := key.Sign(nil, message[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var sig struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &sig); err != nil {
		t.Fatal(err)
	}
	r, s := sig.R, sig.S
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	raw := append(append([]byte{2}, data...), client...)
	raw = append(raw, r.FillBytes(make([]byte, 32))...)
	raw = append(raw, s.FillBytes(make([]byte, 32))...)
	return append(raw, point[1:]...)
}

func agreeOnSignature(t *testing.T, raw []byte) {
	t.Helper()
	want, refused := sandbox.RecoverSigner(agreedDigest, raw)
	s, err := tempo.ParseSignature(raw)
	var got common.Address
	if err == nil {
		got, err = s.Signer(agreedDigest)
	}
	if (err == nil) != (refused == nil) || err == nil && got != want {
		t.Errorf("%x: %s, %v; the chain says %s, %v", raw, got, err, want, refused)
	}
	if err != nil {
		return
	}
	if stored, err := sandbox.RecoverSigner(agreedDigest, s.Bytes()); err != nil || stored != want {
		t.Errorf("%x: what is stored is worth %s, %v on chain", raw, stored, err)
	}
}

// signatureSeeds has each kind, sound and damaged.
func signatureSeeds(t *testing.T) (seeds [][]byte) {
	for _, text := range signatures {
		seeds = append(seeds, common.FromHex(text))
	}
	challenge := base64.RawURLEncoding.EncodeToString(agreedDigest[:])
	good := `{"type":"webauthn.get","challenge":"` + challenge + `","origin":"https://example.com"}`
	for _, client := range []string{
		good, strings.Replace(good, "get", "create", 1), strings.Replace(good, "webauthn.get", `webauthn\u002eget`, 1),
		`{"type":"webauthn.get",` + good[1:], `{"a":1,"a":2,` + good[1:], good + " ", " " + good, good + "x", `[` + good + `]`,
		strings.Replace(good, "type", `\u0074ype`, 1), strings.Replace(good, "example", "\xff", 1), strings.Replace(good, "example", `\ud800`, 1),
	} {
		for _, flags := range []byte{0, 1, 4, 0x41, 0x81, 0x1d} {
			seeds = append(seeds, assertion(t, flags, client))
		}
	}
	return seeds
}

// TestSignaturesAgreeWithTheChain flips bits all over small signatures, and cuts
// and pads all.
func TestSignaturesAgreeWithTheChain(t *testing.T) {
	accepted := 0
	for _, raw := range signatureSeeds(t) {
		agreeOnSignature(t, raw)
		agreeOnSignature(t, raw[1:])
		agreeOnSignature(t, append(bytes.Clone(raw), 0))
		if _, err := sandbox.RecoverSigner(agreedDigest, raw); err == nil {
			accepted++
		}
		for i := 0; i < len(raw) && len(raw) <= 130; i += 3 {
			damaged := bytes.Clone(raw)
			damaged[i] ^= 1 << (i % 8)
			agreeOnSignature(t, damaged)
		}
	}
	raw := common.FromHex(signatures[0])
	for v := range 256 {
		raw[64] = byte(v)
		agreeOnSignature(t, raw)
	}
	t.Logf("%d sound signatures", accepted)
	if accepted < 6 {
		t.Errorf("%d sound signatures", accepted)
	}
}

// agreeOnTransaction compares what is decoded and recovered. The simulation
// leaves out what sessions never use; such transactions are passed over.
func agreeOnTransaction(t *testing.T, raw []byte) (agreed bool) {
	t.Helper()
	want, refused := sandbox.ReadTransaction(raw)
	tx, err := tempo.DecodeTransaction(raw)
	var sender common.Address
	if err == nil {
		if tx.AuthorizationList != nil || tx.KeyAuthorization != nil || tx.Sponsorship == tempo.Unsponsored {
			return false
		}
		for _, c := range tx.Calls {
			if c.To == nil || !c.Value.IsZero() {
				return false
			}
		}
		sender, err = tx.Sender()
	}
	if err == nil && tx.Sponsorship == tempo.Sponsored {
		_, err = tx.FeePayer()
	}
	if err == nil && refused != nil {
		t.Errorf("%x: accepted; the chain says %v", raw, refused)
		return false
	}
	if err != nil {
		return false
	}
	hash := want.Type == tempo.TypeHandOff || want.Hash == tx.Hash()
	if sender != want.Sender || tx.SignHash() != want.SignHash || tx.ExpiringNonceHash(sender) != want.ExpiringNonceHash || !hash {
		t.Errorf("%x: sender %s and hashes differ from the chain's %s", raw, sender, want.Sender)
	}
	return true
}

// TestTransactionsAgreeWithTheChain damages the recorded transactions all over,
// and compares each with the chain. FuzzAgreeWithTheChain goes further.
func TestTransactionsAgreeWithTheChain(t *testing.T) {
	for i, raw := range vectors(t) {
		if !agreeOnTransaction(t, raw) {
			t.Errorf("T%d is not accepted", i+1)
		}
		for i := 0; i < len(raw); i += 3 {
			damaged := bytes.Clone(raw)
			damaged[i] ^= 1 << (i % 8)
			agreeOnTransaction(t, damaged)
			if i%24 == 0 {
				agreeOnTransaction(t, append(bytes.Clone(raw[:i]), raw[i+1:]...))
			}
		}
	}
}

func TestVoucherDigestAgreesWithTheChain(t *testing.T) {
	for _, chain := range []uint64{1337, 4217, 42431} {
		for _, amount := range []tempo.Amount{{}, tempo.AmountFrom(1), tempo.MaxAmount} {
			id := common.HexToHash("0xfe")
			got := tempo.NewDomain(chain, tempo.Escrow).Digest(id, amount)
			if want := sandbox.VoucherDigest(chain, id, amount.Uint256()); got != want {
				t.Errorf("%d, %s: %s, want %s", chain, amount, got, want)
			}
		}
	}
}

// FuzzAgreeWithTheChain feeds both with anything.
func FuzzAgreeWithTheChain(f *testing.F) {
	for _, text := range signatures {
		f.Add(common.FromHex(text))
	}
	for _, raw := range vectors(f) {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		agreeOnSignature(t, raw)
		agreeOnTransaction(t, raw)
	})
}
