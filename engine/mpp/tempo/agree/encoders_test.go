package agree

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"txlens/engine/mpp/tempo"
)

// typedDigest is the digest of go-ethereum's reflective EIP-712 encoder: an
// oracle for the packed one, and for the older protocol's vouchers.
func typedDigest(t *testing.T, name, width string, chain uint64, escrow common.Address, channel common.Hash, amount tempo.Amount) common.Hash {
	t.Helper()
	digest, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types: apitypes.Types{
			"EIP712Domain": {{Name: "name", Type: "string"}, {Name: "version", Type: "string"}, {Name: "chainId", Type: "uint256"}, {Name: "verifyingContract", Type: "address"}},
			"Voucher":      {{Name: "channelId", Type: "bytes32"}, {Name: "cumulativeAmount", Type: width}},
		},
		PrimaryType: "Voucher",
		Domain:      apitypes.TypedDataDomain{Name: name, Version: "1", ChainId: math.NewHexOrDecimal256(int64(chain)), VerifyingContract: escrow.Hex()},
		Message:     apitypes.TypedDataMessage{"channelId": channel[:], "cumulativeAmount": amount.String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return common.BytesToHash(digest)
}

func TestDigestAgreesWithTypedData(t *testing.T) {
	salt := common.HexToHash("0x1c42329e65903c6e8a68783ea98ddf86a783899a714c2a44072484e13254097b")
	for _, amount := range []tempo.Amount{{}, tempo.AmountFrom(1), tempo.AmountFrom(1<<64 - 1), tempo.MaxAmount} {
		for _, d := range []*tempo.Domain{tempo.NewDomain(42431, tempo.Escrow), tempo.NewDomain(4217, tempo.Escrow), tempo.NewDomain(1, common.Address{7})} {
			want := typedDigest(t, "TIP20 Channel Reserve", "uint96", d.ChainID(), d.Escrow(), salt, amount)
			if got := d.Digest(salt, amount); got != want {
				t.Errorf("%s on %d: %s, want %s", amount, d.ChainID(), got, want)
			}
		}
	}
}

// TestLegacyVoucherVector pins the digest of the protocol's version 1, which a
// voucher must not be taken for.
func TestLegacyVoucherVector(t *testing.T) {
	key, err := tempo.ParseSecp256k1Key("0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
	if err != nil {
		t.Fatal(err)
	}
	v1 := typedDigest(t, "Tempo Stream Channel", "uint128", 42431, common.HexToAddress("0xe1c4d3dce17bc111181ddf716f75bae49e61a336"), common.HexToHash("0x01"), tempo.AmountFrom(1_000_000))
	if v1 != common.HexToHash("0x09ad77ebcef2ee2ae69706c59e4923560be8ac823755b79afc4190e97e82669f") {
		t.Errorf("v1 digest %s", v1)
	}
	s, err := key.SignDigest(v1)
	if err != nil || hex.EncodeToString(s.Bytes()) != "6e895c8eeb3cb3c8b6d1d97be754d9aef18dcc0a1d79e8ddf52241a6f5d959f936ea96938529ce78c42adbf03e15b5560619f28a2f42d7fab49f2c0d3f54cd1c1b" {
		t.Errorf("v1 signature %x, %v", s.Bytes(), err)
	}
}

// TestEncodersAgreeWithABI compares dynamic layouts with go-ethereum's encoder.
func TestEncodersAgreeWithABI(t *testing.T) {
	const tuple = `{"name":"d","type":"tuple","components":[{"name":"payer","type":"address"},{"name":"payee","type":"address"},
		{"name":"operator","type":"address"},{"name":"token","type":"address"},{"name":"salt","type":"bytes32"},
		{"name":"authorizedSigner","type":"address"},{"name":"expiringNonceHash","type":"bytes32"}]}`
	contract, err := abi.JSON(strings.NewReader(`[
		{"type":"function","name":"settle","inputs":[` + tuple + `,{"name":"c","type":"uint96"},{"name":"s","type":"bytes"}]},
		{"type":"function","name":"close","inputs":[` + tuple + `,{"name":"c","type":"uint96"},{"name":"k","type":"uint96"},{"name":"s","type":"bytes"}]},
		{"type":"function","name":"getChannelStatesBatch","inputs":[{"name":"ids","type":"bytes32[]"}]},
		{"type":"function","name":"swapExactAmountOut","inputs":[{"name":"a","type":"address"},{"name":"b","type":"address"},{"name":"o","type":"uint128"},{"name":"m","type":"uint128"}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	f := func(got []byte, name string, args ...any) {
		t.Helper()
		want, err := contract.Pack(name, args...)
		if err != nil || string(want) != string(got) {
			t.Errorf("%s: %x, want %x, %v", name, got, want, err)
		}
	}
	d := tempo.Descriptor{
		Payer: common.Address{1}, Payee: common.Address{2}, Operator: common.Address{3}, Token: common.Address{4},
		Salt: common.Hash{5}, AuthorizedSigner: common.Address{6}, ExpiringNonceHash: common.Hash{7},
	}
	words := struct {
		Payer, Payee, Operator, Token common.Address
		Salt                          [32]byte
		AuthorizedSigner              common.Address
		ExpiringNonceHash             [32]byte
	}{d.Payer, d.Payee, d.Operator, d.Token, d.Salt, d.AuthorizedSigner, d.ExpiringNonceHash}
	for _, n := range []int{0, 1, 31, 32, 33, 65, 130} {
		sig := make([]byte, n)
		f(tempo.SettleCall{Descriptor: d, Cumulative: tempo.MaxAmount, Signature: sig}.Calldata(), "settle", words, tempo.MaxAmount.Big(), sig)
		f(tempo.CloseCall{Descriptor: d, Cumulative: tempo.MaxAmount, Capture: tempo.AmountFrom(1), Signature: sig}.Calldata(), "close", words, tempo.MaxAmount.Big(), common.Big1, sig)
	}
	f(tempo.GetChannelStatesCall{ChannelIDs: []common.Hash{{1}, {2}}}.Calldata(), "getChannelStatesBatch", [][32]byte{{1}, {2}})
	s := tempo.Swap{TokenIn: d.Payer, MaxIn: *tempo.MaxAmount.Uint256()}
	f(s.Calls(d.Payee, tempo.AmountFrom(3))[1].Data, "swapExactAmountOut", d.Payer, d.Payee, common.Big3, tempo.MaxAmount.Big())
}
