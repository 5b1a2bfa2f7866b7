package sandbox

import (
	"encoding/base64"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

func TestVoucherVectors(t *testing.T) {
	// f: who signed this voucher; an empty signer means that the chain refuses it.
	f := func(chainID uint64, channel string, cumulative uint64, digest, sig, signer string) {
		t.Helper()
		got := VoucherDigest(chainID, common.HexToHash(channel), uint256.NewInt(cumulative))
		if digest != "" && got.Hex() != digest {
			t.Errorf("digest %s, want %s", got, digest)
		}
		who, err := RecoverSigner(got, common.FromHex(sig))
		switch {
		case signer == "" && !errors.Is(err, ErrSignature):
			t.Errorf("signer %s, %v; want ErrSignature", who, err)
		case signer != "" && (err != nil || who != common.HexToAddress(signer)):
			t.Errorf("signer %s, %v; want %s", who, err, signer)
		}
	}
	const anvil0 = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
	const digest1 = "0x513df895662485e1b58a14895b6fa72699a4a90520ffe8d5abe5854a5a53275e"
	f(42431, "0x01", 1000000, digest1, "0xc450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b32c7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f1c", anvil0)
	f(4217, "0x01", 1000000, "0x309b51c802d5a11dcdae563331a943b65c9ca6bafb674b6265d8aa661c0e0191", "0x700fb2081bb5f5990b16f5192a906df4e9542e57af8a70197a976d3bdc9ab9d84e6ebe4a887201c458589e0eaf18d8e907b1ebca5075ce0745069428a5c83cd61b", anvil0)
	f(42431, "0x01", 0, "0xa36707cd31bd387e50b92b7db0126b7812c9d18d4571983884544a6a2d028331", "0xc7dc00eb2ab7767a583db1f5e2ec4f8f8d6ff271fa4f55918a8c73e4f5a4c284768532ff7ad100321bd67b4b00e0b00e0eca0996fab33521e3513bcc654c33e61c", anvil0)
	f(42431, "0x01", 1000000, digest1, "0x01b49bf1eae54a3d5167896acce00e48fe3f0174c808f42bdc499de66539f4fe9424b384ad4b8485e78e324f54a4469675b0dce679175c016eba18dae4d49e27fe0217e617f0b6443928278f96999e69a23a4f2c152bdf6d6cdf66e5b80282d4ed194a7debcb97712d2dda3ca85aa8765a56f45fc758599652f2897c65306e579400", "0x9f2e642877a9411849763c250e5bb36cc57fedea")
	// The high-s twin and the compact form of the first.
	f(42431, "0x01", 1000000, digest1, "0xc450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3d38095f18ecf0fdd124f435f05191cb6f7e9ee097d28dd2531313268988e1e021b", "")
	f(42431, "0x01", 1000000, digest1, "0xc450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3ac7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f", "")
	const session = "0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518"
	f(42431, session, 100000, "0x84079369d80f7abb3b163c795fbc7329a02c1bc96eef742f304c28620e7ad4d3", "0xb3488223310fd9afbef5750e208cc2a62b21ccdf1bb16721fa52b6927a1a32a72b68b2104fa6be581666f48eb2c4af0df254888b66b7ea3ff532db4bddba0b731b", anvil0)
	f(42431, session, 200000, "0x7bbd0ffd1bbd318eb2e80268990f8c7c3eac31c22c07c57415119df382d9217f", "0xc2dca0f4f7182ee51273a111e29262cfd4f1e81770ca38092083a84f09b66a933515c9f6a51d3066298bdd7f185ab052c36f5d639d0192e923d68a2a463915fe1b", anvil0)
	f(42431, session, 300000, "0xcd8eb3a76eb8b74826c2bc5ffc6827fd0aeb8177ab6a93ab950957648434c7c3", "0x741fe3d8ece1a6aefb24364bcae283c58899797395cc85f57a9455101f1cffa309fa73dbc242670ff193e017c46bce0f3f0115a3c10d3ee6a144317d7d6586dd1b", anvil0)
	f(42431, session, 600000, "0xf2557251dab26ffe4261efc5d78896b6a17d936a8eb7f8c583de772ed4ace2f4", "0x9411571d0a37bb9836eb9fe967b9ff00f76e2f90da6cc8f520f59c38251909f6716dfb9180e613e747eff3eeca3f7439baf2fc267491be483057a95a3f6de8881b", anvil0)
	f(42431, "0x57e629663a75a0a49f8dc65c9f62ee38ab5dfa9124d7316d160766e4ecbc1227", 50, "0x41a23f1573d302acae1dcec60d237f78d2514768faf670ef27458931c38b5db3", "0x", "")
}

// Forms of secp256k1 signatures around the good one.
func TestSecp256k1Forms(t *testing.T) {
	digest := crypto.Keccak256Hash([]byte("anything"))
	good := payer.sign(digest)
	f := func(sig []byte, want bool) {
		t.Helper()
		who, err := RecoverSigner(digest, sig)
		if got := err == nil && who == payer.address(); got != want {
			t.Errorf("good %v, want %v: %s, %v", got, want, who, err)
		}
	}
	v := func(v byte) []byte { return append(append([]byte(nil), good[:64]...), v) }
	part := func(at int, word []byte) []byte {
		sig := append([]byte(nil), good...)
		copy(sig[at:at+32], common.LeftPadBytes(word, 32))
		return sig
	}
	f(good, true)
	f(v(good[64]-27), true)
	f(v(good[64]^7), false) // the other parity, 27 and 28 differing by 7
	for _, wrong := range []byte{2, 3, 26, 29, 30, 35, 36, 255} {
		f(v(wrong), false)
	}
	order := common.FromHex("0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	half := common.FromHex("0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1")
	for _, bad := range [][]byte{nil, order, half, common.FromHex("0x" + strings.Repeat("ff", 32))} {
		f(part(32, bad), false)
	}
	for _, bad := range [][]byte{nil, order, common.FromHex("0x" + strings.Repeat("ff", 32)), {5}} { // 5: x of no point
		f(part(0, bad), false)
	}
	f(good[:64], false)
	f(append(append([]byte(nil), good...), 0), false)
	f(nil, false)
}

// The recovery agrees with another implementation of the curve.
func TestRecoveryAgrees(t *testing.T) {
	for i := range 200 {
		digest := crypto.Keccak256Hash([]byte{byte(i)})
		key := crypto.ToECDSAUnsafe(crypto.Keccak256([]byte{1, byte(i)}))
		sig, err := crypto.Sign(digest[:], key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := RecoverSigner(digest, sig); err != nil || got != crypto.PubkeyToAddress(key.PublicKey) {
			t.Fatalf("signature %d: %s, %v", i, got, err)
		}
	}
}

func TestP256Forms(t *testing.T) {
	digest := crypto.Keccak256Hash([]byte("anything"))
	k := p256TestKey{d: big.NewInt(1234567)}
	f := func(sig []byte, want bool) {
		t.Helper()
		who, err := RecoverSigner(digest, sig)
		if got := err == nil && who == k.address(); got != want {
			t.Errorf("good %v, want %v: %s, %v", got, want, who, err)
		}
	}
	good := k.sign(digest)
	f(good, true)
	k.prehash = 1
	hashed := k.sign(digest)
	f(hashed, true)
	k.prehash = 7 // any mark but 0 means the same
	f(k.sign(digest), true)
	flag := func(sig []byte, b byte) []byte { return append(append([]byte(nil), sig[:129]...), b) }
	f(flag(good, 1), false)
	f(flag(hashed, 0), false)
	high := append([]byte(nil), good...)
	order := new(big.Int).Add(new(big.Int).Lsh(p256Half, 1), big.NewInt(1))
	new(big.Int).Sub(order, new(big.Int).SetBytes(good[33:65])).FillBytes(high[33:65])
	f(high, false)
	off := append([]byte(nil), good...)
	off[70]++ // no point of the curve
	f(off, false)
	f(good[:129], false)
	f(append(append([]byte(nil), good...), 0), false)
	zero := append([]byte(nil), good...)
	copy(zero[33:65], make([]byte, 32))
	f(zero, false)
}

func TestWebAuthnForms(t *testing.T) {
	digest := crypto.Keccak256Hash([]byte("anything"))
	k := p256TestKey{d: big.NewInt(7654321), webAuthn: true}
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	f := func(flags byte, client string, want bool) {
		t.Helper()
		who, err := RecoverSigner(digest, k.assert(digest, flags, client))
		if got := err == nil && who == k.address(); got != want {
			t.Errorf("%#x %s: good %v, want %v: %v", flags, client, got, want, err)
		}
	}
	good := `{"type":"webauthn.get","challenge":"` + challenge + `"}`
	f(0x01, good, true)
	f(0x04, good, true)
	f(0x05, good, true)
	f(0x00, good, false)        // nobody was present
	f(0x41, good, false)        // attested data
	f(0x81, good, false)        // extensions
	f(0x01, " "+good+" ", true) // blanks around it
	f(0x01, `{"challenge":"`+challenge+`","type":"webauthn.get","origin":"x","a":{"type":[1]}}`, true)
	f(0x01, `{"type":"webauthn.create","challenge":"`+challenge+`"}`, false)
	f(0x01, `{"type":"webauthn.get","challenge":"`+challenge+`="}`, false)
	f(0x01, `{"type":"webauthn.get","challenge":"`+strings.ToLower(challenge)+`"}`, false)
	f(0x01, `{"Type":"webauthn.get","challenge":"`+challenge+`"}`, false)
	f(0x01, `{"type":"webauthn.get","type":"webauthn.get","challenge":"`+challenge+`"}`, false)
	f(0x01, `{"type":"webauthn\u002eget","challenge":"`+challenge+`"}`, false)
	f(0x01, `{"type":"webauthn.get","challenge":"`+challenge+`"}}`, false)
	f(0x01, `{"type":"webauthn.get","challenge":"`+challenge+`"`, false)
	f(0x01, `["webauthn.get","`+challenge+`"]`, false)
	f(0x01, `{"type":"webauthn.get","challenge":["`+challenge+`"]}`, false)
	f(0x01, `{}`+strings.Repeat(" ", 40), false)
	f(0x01, good[:len(good)-1]+`,"pad":"`+strings.Repeat("x", 1850)+`"}`, false) // longer than 2048 bytes
	f(0x01, good[:len(good)-1]+`,"pad":"`+strings.Repeat("x", 1700)+`"}`, true)
}
