package label

import (
	"testing"

	"txlens/internal/dice"

	"github.com/ethereum/go-ethereum/common"
)

// TestNamed: a listed token is shown as its contract answers, unless it answers the symbol of
// another listed token, nothing, or what would be read as something else.
func TestNamed(t *testing.T) {
	f := func(chainID uint64, address, answer, want string) {
		t.Helper()
		a := common.HexToAddress(address)
		list, ok := LookupToken(chainID, a)
		if !ok {
			t.Fatalf("%s is not listed on %d", address, chainID)
		}
		said := Token{Address: a, Symbol: answer, Name: "Some name", Source: ruleChain}
		said.claim(chainID)
		got := list.Named(chainID, said)
		if got.Symbol != want || !got.Listed || got.Own() || got.Lookalike != "" || got.Decimals == nil || *got.Decimals != *list.Decimals {
			t.Errorf("%d %s answers %q: %+v, want %q", chainID, address, answer, got, want)
		}
		if source := got.Source; (source == ruleChain) != (want != list.Symbol) {
			t.Errorf("%d %s answers %q: source %q", chainID, address, answer, source)
		}
	}
	const (
		weETH   = "0xCd5fE23C85820F7B72D0926FC9b05b43E359b7ee"
		usdc    = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
		bridged = "0x7F5c764cBc14f9669B88837ca1490cCa17c31607" // on Optimism it calls itself USDC
		tether  = "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9" // on Arbitrum
	)
	f(1, weETH, "weETH", "weETH")
	f(10, "0x5A7fACB970D094B6C7FF1df0eA68D99E6e73CBFF", "weETH", "weETH") // WEETH in the list
	f(1, "0x111111111117dC0aa78b770fA6A738034120C302", "1INCH", "1INCH")
	f(1, usdc, "USDC", "USDC")
	f(10, bridged, "USDC", "USDC.e")
	f(42161, tether, "USD\u20ae0", "USD\u20ae0")
	f(1, weETH, "eETHw", "eETHw") // renamed by its issuer
	f(1, weETH, "USDC", "weETH")
	f(1, weETH, "USD Coin", "weETH")
	f(1, weETH, "Official USDC", "weETH")
	f(1, weETH, "USD\u0421", "weETH")
	f(1, weETH, "ETH", "weETH")
	f(1, weETH, "", "weETH")
	f(1, weETH, "1,000 USDC. Approve at 0x1234", "weETH")
}

// TestOf: the label of a token that a list names follows its metadata; other labels do not.
func TestOf(t *testing.T) {
	token := common.HexToAddress("0x5A7fACB970D094B6C7FF1df0eA68D99E6e73CBFF")
	f := func(a common.Address, tok Token, want string) {
		t.Helper()
		l, ok := Of(10, a, map[common.Address]Token{a: tok})
		if !ok || l.Name != want {
			t.Errorf("%s: %+v, want %q", a, l, want)
		}
	}
	f(token, Token{Symbol: "eETHw", Source: ruleChain, Listed: true}, "eETHw token")
	f(token, Token{Symbol: "eETHw", Source: ruleChain}, "WEETH token") // nobody vouches for the word
	f(token, Token{Listed: true}, "WEETH token")
	f(common.HexToAddress("0x4200000000000000000000000000000000000006"), Token{Symbol: "FOO", Listed: true}, "Wrapped Ether (WETH)")
}

// TestKeyOfASCII: the short way to the key of a name is the long one for names of ASCII.
func TestKeyOfASCII(t *testing.T) {
	rnd := dice.Stream(dice.Seed(t), 0)
	for range 20_000 {
		name := make([]byte, rnd.IntN(3*MaxName))
		for i := range name {
			name[i] = byte(rnd.IntN(0x80))
		}
		if got, want := Key(string(name)), keyOf(string(name)); got != want {
			t.Fatalf("%q: %q, want %q", name, got, want)
		}
	}
}
