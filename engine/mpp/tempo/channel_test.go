package tempo

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

var (
	testEscrow = common.HexToAddress("0x4d50500000000000000000000000000000000000")
	pathUSD    = common.HexToAddress("0x20c0000000000000000000000000000000000000")
	payer      = common.HexToAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
	payee      = common.HexToAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
)

// testChannel is the channel that most vectors speak of; transaction T1 opens it.
func testChannel() Descriptor {
	return Descriptor{
		Payer: payer, Payee: payee, Token: pathUSD, AuthorizedSigner: payer,
		Salt:              common.HexToHash("0x1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b"),
		ExpiringNonceHash: common.HexToHash("0x7bbe082457174f59de5bd121cdc182155ad0fff669200a0de58bcc855ba69b09"),
	}
}

func fill20(b byte) common.Address { return common.BytesToAddress(bytes.Repeat([]byte{b}, 20)) }

func TestDescriptorID(t *testing.T) {
	f := func(d Descriptor, chain uint64, want string) {
		t.Helper()
		if got := d.ID(chain, testEscrow); got != common.HexToHash(want) {
			t.Errorf("id %s, want %s", got, want)
		}
	}
	row := Descriptor{
		Payer: fill20(0x11), Payee: fill20(0x22), Operator: fill20(0x33), Token: fill20(0x44),
		Salt: common.HexToHash("0x01"), AuthorizedSigner: fill20(0x55),
		ExpiringNonceHash: common.BytesToHash(bytes.Repeat([]byte{0xaa}, 32)),
	}
	f(row, 42431, "0xba76934166855d51b0af261f57d3cd4bf48397c330f6e4b8804921b2ead973af")
	f(row, 4217, "0xb1f2ecf45e99f0ab9e1c4b8e6c1cbac8c05b1cbf281f313c818e2346978b6eb6")
	f(Descriptor{
		Payer:             common.HexToAddress("0x3d6885f89100445ca9869d1b0a49c97cfdbafeee"),
		Payee:             common.HexToAddress("0xda2390fEE8d9744b39A8A855675649e95617aCd8"),
		Token:             pathUSD,
		Salt:              common.HexToHash("0xfb05173ba9285aef8a91f275930f68ad3565a491edb810c07baa60b643fdd378"),
		AuthorizedSigner:  common.HexToAddress("0xFE9d3D9cBb5f6FBe495b03f7Ec90d4Adc22126f5"),
		ExpiringNonceHash: common.HexToHash("0x4e40183cda8c676032af4f7b038178505d877ae1c36b374239fe20ac3485c3ab"),
	}, 42431, "0xb3946b996bd166db3b61fba0f6af2918b6687bc054e2f4bae979edffc7bd0b4d")
	f(testChannel(), 42431, "0xbd2762058dca912c03284b99b97a4c14f9a93e99f0968747e13691421104d518")
}

func TestDescriptorSigner(t *testing.T) {
	d := testChannel()
	d.AuthorizedSigner = common.Address{}
	if d.Signer() != d.Payer {
		t.Error("the zero signer is not the payer")
	}
	d.AuthorizedSigner = payee
	if d.Signer() != payee {
		t.Error("the named signer is not the signer")
	}
}
