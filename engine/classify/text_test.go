package classify_test

import (
	"math/big"
	"strings"
	"testing"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/testkit/scene"

	"github.com/ethereum/go-ethereum/common"
)

func TestDecimal(t *testing.T) {
	f := func(n string, decimals int, want string) {
		t.Helper()
		v, _ := new(big.Int).SetString(n, 10)
		if got := narrate.Decimal(v, decimals); got != want {
			t.Errorf("%s / 10^%d = %q, want %q", n, decimals, got, want)
		}
	}
	f("0", 18, "0")
	f("1", 0, "1")
	f("1250000000", 6, "1,250")
	f("1234567891", 6, "1,234.57")
	f("1999999999999999999", 18, "2")
	f("410000000000000000", 18, "0.41")
	f("1", 18, "0.000000000000000001")
	f("16612345678901", 18, "0.00001661")
	f("1234567890123456", 6, "1,234,567,890.12")
	f("999999999", 6, "1,000")
	f("5", 30, "less than 0.000000000000001")
	f("7", 255, "less than 0.000000000000001")
	f("115792089237316195423570985008687907853269984665640564039457584007913129639935", 0,
		"115,792,089,237,316,195,423,570,985,008,687,907,853,269,984,665,640,564,039,457,584,007,913,129,639,935")
}

func TestPlainText(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := narrate.PlainText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	f("USDC", "USDC")
	f("USD*C_[x](y)<b>|`", "USDCxyb")
	f("a\nb\r\n\tc", "abc")
	f("  wide   space ", "wide space")
	f("\u202eevil", "evil")
	f("bad\xff", "bad\ufffd")
	f(strings.Repeat("x", 100), strings.Repeat("x", narrate.MaxName))
}

func TestAmountSaysWhatIsNotKnown(t *testing.T) {
	six := uint8(6)
	a := narrate.NewWords(facts.Read(&facts.Input{Tx: scene.New(scene.At(scene.Friend), 0, nil).Tx, Tokens: map[common.Address]label.Token{
		scene.Usdc: {Symbol: "USDC", Decimals: &six}, scene.Weth: {Symbol: "USDC", Decimals: &six, Lookalike: "USDC"}, scene.Nft: {Symbol: "PUNK"},
	}}))
	f := func(key flow.TokenKey, n int64, want string) {
		t.Helper()
		if got := a.Amount(key, big.NewInt(n)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(flow.TokenKey{Token: scene.Usdc}, 2_500000, "2.5 USDC")
	f(flow.TokenKey{Token: scene.Weth}, 2_500000, "2.5 USDC (imitation, 0xc02a…6cc2)")
	f(flow.TokenKey{Token: scene.Friend}, 2500000, "2.5M raw units of 0xf00d…f00d")
	f(flow.TokenKey{Token: scene.Nft, ID: "17", NFT: true}, 1, "NFT 17 of PUNK")
	f(flow.TokenKey{Token: scene.Nft, ID: "123456789012345678901234567890"}, 3, "3 of PUNK id 123456…7890")
}

// A token may call itself anything; what people read stays one plain line.
func TestHostileSymbol(t *testing.T) {
	s := scene.New(scene.At(scene.Usdc), 0, scene.Input("transfer(address,uint256)")).Transfer(scene.Usdc, scene.User, scene.Friend, 5_000000)
	six := uint8(6)
	s.Tokens[scene.Usdc] = label.Token{Symbol: "**[claim](http://evil)**\n# Reward\n<script>", Decimals: &six}
	v := scene.Held(t, "", s.Facts(t))
	for _, text := range append(append([]string{v.Summary}, v.Steps...), lines(v)...) {
		if strings.ContainsAny(text, "\n\r*[]<>`|#") {
			t.Errorf("%q", text)
		}
	}
	if !strings.Contains(v.Summary, "claimhttp://evil") {
		t.Errorf("the name is gone: %q", v.Summary)
	}
}
