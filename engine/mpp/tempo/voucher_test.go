package tempo

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

var (
	moderato = NewDomain(42431, testEscrow)
	mainnet  = NewDomain(4217, testEscrow)
	channel1 = common.HexToHash("0x01")
)

const (
	sig1      = "c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b32c7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f1c"
	sig1HighS = "c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3d38095f18ecf0fdd124f435f05191cb6f7e9ee097d28dd2531313268988e1e021b"
	sig1Short = "c450ec62183b00c4c64c7e171a7f289e4d227d93346d8f763b1fbc29e660a1b3ac7f6a0e7130f022edb0bca0fae6e347c2c4eedd321fc3168ea12c2437a8233f"
	sigP256   = "01b49bf1eae54a3d5167896acce00e48fe3f0174c808f42bdc499de66539f4fe9424b384ad4b8485e78e324f54a4469675b0dce679175c016eba18dae4d49e27fe0217e617f0b6443928278f96999e69a23a4f2c152bdf6d6cdf66e5b80282d4ed194a7debcb97712d2dda3ca85aa8765a56f45fc758599652f2897c65306e579400"
)

func TestDomainConstants(t *testing.T) {
	f := func(got common.Hash, want string) {
		t.Helper()
		if got != common.HexToHash(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(voucherType, "0x4730b4b2fe8de522475e80e010877c5b58ad10eb07fd0436615ee123f743bbe8")
	f(domainName, "0x131992c67b15deae2fea2ee6e0448ff6217787c4722ce1b46fba946132054433")
	f(domainType, "0x8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f")
	f(domainVersion, "0xc89efdaa54c0f20c7adf612882df0950f5a951637e0307cdcb4c672f298b8bc6")
	f(mainnet.Separator(), "0x6465ffa0b0c1e7cfc1a894ba54d79615bc06fd7cc9cfec558f3df82189d17367")
	f(moderato.Separator(), "0xa3aa475070603a80823360e5a4a0d3b4fe2cd4e82a109ee3c21a4640a199688d")
	f(NewDomain(1337, testEscrow).Separator(), "0x7f014a95f48406de96efe01417f4c28673401fe97be7abd06e287f294702792d")
}

func TestVoucherVectors(t *testing.T) {
	f := func(d *Domain, channel common.Hash, amount uint64, digest, signature string) {
		t.Helper()
		if got := d.Digest(channel, AmountFrom(amount)); got != common.HexToHash(digest) {
			t.Errorf("digest %s, want %s", got, digest)
		}
		if signature == "" {
			return
		}
		s, err := d.Sign(anvil[0], channel, AmountFrom(amount))
		if err != nil || hex.EncodeToString(s.Bytes()) != signature {
			t.Errorf("signature %x, %v", s.Bytes(), err)
		}
		if err := d.Verify(channel, AmountFrom(amount), s, payer); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
	f(moderato, channel1, 1_000_000, "0x513df895662485e1b58a14895b6fa72699a4a90520ffe8d5abe5854a5a53275e", sig1)
	f(mainnet, channel1, 1_000_000, "0x309b51c802d5a11dcdae563331a943b65c9ca6bafb674b6265d8aa661c0e0191",
		"700fb2081bb5f5990b16f5192a906df4e9542e57af8a70197a976d3bdc9ab9d84e6ebe4a887201c458589e0eaf18d8e907b1ebca5075ce0745069428a5c83cd61b")
	f(moderato, channel1, 0, "0xa36707cd31bd387e50b92b7db0126b7812c9d18d4571983884544a6a2d028331",
		"c7dc00eb2ab7767a583db1f5e2ec4f8f8d6ff271fa4f55918a8c73e4f5a4c284768532ff7ad100321bd67b4b00e0b00e0eca0996fab33521e3513bcc654c33e61c")
	f(moderato, common.HexToHash("0x57e629663a75a0a49f8dc65c9f62ee38ab5dfa9124d7316d160766e4ecbc1227"), 50,
		"0x41a23f1573d302acae1dcec60d237f78d2514768faf670ef27458931c38b5db3", "")
	id := testChannel().ID(42431, testEscrow)
	f(moderato, id, 100000, "0x84079369d80f7abb3b163c795fbc7329a02c1bc96eef742f304c28620e7ad4d3",
		"b3488223310fd9afbef5750e208cc2a62b21ccdf1bb16721fa52b6927a1a32a72b68b2104fa6be581666f48eb2c4af0df254888b66b7ea3ff532db4bddba0b731b")
	f(moderato, id, 200000, "0x7bbd0ffd1bbd318eb2e80268990f8c7c3eac31c22c07c57415119df382d9217f",
		"c2dca0f4f7182ee51273a111e29262cfd4f1e81770ca38092083a84f09b66a933515c9f6a51d3066298bdd7f185ab052c36f5d639d0192e923d68a2a463915fe1b")
	f(moderato, id, 300000, "0xcd8eb3a76eb8b74826c2bc5ffc6827fd0aeb8177ab6a93ab950957648434c7c3",
		"741fe3d8ece1a6aefb24364bcae283c58899797395cc85f57a9455101f1cffa309fa73dbc242670ff193e017c46bce0f3f0115a3c10d3ee6a144317d7d6586dd1b")
	f(moderato, id, 600000, "0xf2557251dab26ffe4261efc5d78896b6a17d936a8eb7f8c583de772ed4ace2f4",
		"9411571d0a37bb9836eb9fe967b9ff00f76e2f90da6cc8f520f59c38251909f6716dfb9180e613e747eff3eeca3f7439baf2fc267491be483057a95a3f6de8881b")
}

// TestVoucherStructHash pins the step between type hash and digest.
func TestVoucherStructHash(t *testing.T) {
	amount := AmountFrom(1_000_000).Uint256().Bytes32()
	if got := crypto.Keccak256Hash(voucherType[:], channel1[:], amount[:]); got != common.HexToHash("0x3c2f8f44e34eaab4c40e8fe41105ade7e810f737de267266ea17ffca689ada13") {
		t.Errorf("struct hash %s", got)
	}
}

// TestVoucherOfAnotherDomain: chain, escrow and protocol version are bound.
func TestVoucherOfAnotherDomain(t *testing.T) {
	amount := AmountFrom(1_000_000)
	f := func(name string, digest common.Hash) {
		t.Helper()
		s, err := anvil[0].SignDigest(digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := moderato.Verify(channel1, amount, s, payer); !errors.Is(err, ErrSigner) && !errors.Is(err, ErrSignatureInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f("another chain", mainnet.Digest(channel1, amount))
	f("another escrow", NewDomain(42431, payee).Digest(channel1, amount))
	f("another channel", moderato.Digest(testChannel().Salt, amount))
	f("another amount", moderato.Digest(channel1, AmountFrom(1_000_001)))
	// What the protocol's version 1 would have signed, as its clients do.
	f("v1", common.HexToHash("0x09ad77ebcef2ee2ae69706c59e4923560be8ac823755b79afc4190e97e82669f"))
}

func TestP256VoucherVector(t *testing.T) {
	key, err := NewP256Key(bytes.Repeat([]byte{0x11}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if want := common.HexToAddress("0x9f2e642877a9411849763c250e5bb36cc57fedea"); key.Address() != want {
		t.Errorf("address %s", key.Address())
	}
	s, err := moderato.Sign(key, channel1, AmountFrom(1_000_000))
	if err != nil || hex.EncodeToString(s.Bytes()) != sigP256 {
		t.Errorf("signature %x, %v", s.Bytes(), err)
	}
	if err := moderato.Verify(channel1, AmountFrom(1_000_000), s, key.Address()); err != nil {
		t.Error(err)
	}
}
