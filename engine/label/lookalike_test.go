package label

import (
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

func TestLookalike(t *testing.T) {
	const stranger = "0x00000000000000000000000000000000deadc0de"
	f := func(chainID uint64, address, symbol, want string) {
		t.Helper()
		if got := Lookalike(chainID, common.HexToAddress(address), symbol); got != want {
			t.Errorf("Lookalike(%d, %s, %q) = %q, want %q", chainID, address, symbol, got, want)
		}
	}
	// letters of other scripts, full-width, accents, invisible characters
	f(1, stranger, "USD\u0421", "USDC")
	f(1, stranger, "\u0405NX", "SNX")
	f(1, stranger, "ＵＳＤＴ", "USDT")
	f(1, stranger, "U\u0301SDC", "USDC")
	f(1, stranger, "US\u200bDC", "USDC")
	f(1, stranger, "\U0001d414\U0001d412\U0001d403\U0001d402", "USDC")
	f(1, stranger, "ÐAI", "DAI")
	f(1, stranger, "Ε\u03a4\u0397", "ETH")
	f(747474, stranger, "US\u0405\u0421", "")
	f(747474, stranger, "USD\u0421", "USDC") // not listed there, known elsewhere
	// the very symbol, in any case, or drawn alike
	f(1, stranger, "USDC", "USDC")
	f(1, stranger, "usdc", "USDC")
	f(1, stranger, "US DC", "USDC")
	f(1, stranger, "UNl", "UNI")
	f(1, stranger, "L1NK", "LINK")
	f(1, stranger, "ETH", "ETH")
	f(56, stranger, "BNB", "BNB")
	// marks, brackets and praise around it
	for _, symbol := range []string{"USDC*", "[USDC]", "`USDC`", "<USDC>", "US|DC", "USDC.", "USDC-", "USDC®", "USDC™", "USDC✓", "USDC (verified)", "$USDC",
		"U.S.D.C", "_USDC_", "Official USDC", "USD Coin", "usd-coin", "🅄🅂🄳🄲", "🅤🅢🅓🅒", "🇺🇸🇩🇨", "ꮜsdc", "ᑌՏᎠC", "𝖴𝖲𝖣𝖢", "ᴜꜱᴅᴄ", "UЅDС✔"} {
		f(1, stranger, symbol, "USDC")
	}
	f(1, stranger, "Tether USD", "USDT")
	f(1, stranger, "Ether", "ETH")
	f(1, stranger, "U5DC", "")
	// nobody is imitated
	f(1, stranger, "", "")
	f(1, stranger, "MYTOKEN9", "")
	f(1, stranger, "猫", "")
	f(1, stranger, "BAI", "") // not BAL
	f(1, stranger, "\u200b\u200b", "")
	f(8453, stranger, "XDAI", "") // another chain's coin
	// the genuine ones
	f(1, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC", "")
	f(42161, "0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8", "USDC", "") // bridged USDC is listed too
	f(8453, "0x4200000000000000000000000000000000000006", "WETH", "")
	f(324, "0x000000000000000000000000000000000000800A", "ETH", "")
}

// TestListedTokensImitateNobody: the check must not turn on what it protects.
// TestClaim: a token without a symbol is called by its name, so its name is what imitates.
func TestClaim(t *testing.T) {
	f := func(symbol, name string, want Token) {
		t.Helper()
		got := Token{Address: common.HexToAddress("0xdeadc0de"), Symbol: symbol, Name: name}
		got.claim(1)
		want.Address, want.Claims = got.Address, symbol+"\n"+name
		if got != want {
			t.Errorf("%q %q: %+v, want %+v", symbol, name, got, want)
		}
	}
	f("", "USD Coin", Token{Lookalike: "USDC"})
	f("", "My token", Token{Name: "My token"})
	f("MYT", "USD Coin", Token{Symbol: "MYT"}) // may wrap it
	f("USDC", "My token", Token{Symbol: "USDC", Name: "My token", Lookalike: "USDC"})
}

func TestListedTokensImitateNobody(t *testing.T) {
	tab := tokens()
	for _, id := range tab.Chains() {
		for i, end := tab.Rows(id); i < end; i += 7 {
			if s := Lookalike(id, tab.Address(i), tab.Field(i, tokenSymbol)); s != "" {
				t.Fatalf("%s on %d imitates %s", tab.Field(i, tokenSymbol), id, s)
			}
		}
	}
}

func FuzzLookalike(f *testing.F) {
	f.Add("USD\u0421")
	f.Add("ＵＳＤＴ\xff")
	f.Fuzz(func(t *testing.T, s string) {
		Lookalike(1, common.HexToAddress("0xdeadc0de"), s)
	})
}

// TestForeign: what a stranger's name looks like, and which are refused.
func TestForeign(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		if got := Foreign(name); got != want {
			t.Errorf("Foreign(%q) = %q, want %q", name, got, want)
		}
		if again := Foreign(want); again != want {
			t.Errorf("Foreign(%q) = %q", want, again)
		}
	}
	f("PEPE", "PEPE")
	f("Pepe the Frog", "Pepe the Frog")
	f("$WIF", "WIF")
	f("1INCH", "1INCH")
	f("UNI-V2", "UNI-V2")
	f("add_liquidity", "add_liquidity")
	f("_x_", "x")
	f("猫", "猫")
	f("🐸", "🐸")
	f(`a"b“c”d«e»`, "abcde")
	f("**[claim](x)** <b>|`", "claimx b")
	f("v1.5", "v1.5")
	f("U.S.D", "U.S.D")
	f("two\nlines", "two lines")
	f("long "+strings.Repeat("x", 100), "long "+strings.Repeat("x", MaxName-5))
	for _, refused := range []string{
		"0xd8da…6045", "0xd8dA", "０ｘd8dA6BF2", "d8dA…6045", "d8dA...6045", "d8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
		"USDC and 1,000,000 USDT", "1 000 000", "1.000", "5 ETH", "0.5 ETH", "$5", "win $", "ＵＳＤ＄5",
		"your own wallet. Nothing was lost", "Gift.. ", "Nothing was lost.", "done! go", "a; b", "MetaMask: Swap router", "metamask swap router", "Multicall3",
		"", "...", "***", "\u200b",
	} {
		f(refused, "")
	}
}
