package label

import "github.com/ethereum/go-ethereum/common"

// stablecoins are the symbols, as Aave's address book gives them, of coins that are
// redeemed for one US dollar or are backed by such.
var stablecoins = map[string]bool{
	"USDC":  true,
	"USDCn": true,
	"USDbC": true,
	"USDT":  true,
	"USDT0": true,
	"USDt":  true,
	"DAI":   true,
	"WXDAI": true,
}

// stablecoinSource is the one list whose symbols are believed: a symbol costs nothing, and
// the large lists hold many a copy.
const stablecoinSource = "@bgd-labs/aave-address-book"

// Stablecoin knows the dollar coins that other tokens are traded against. That one is
// worth a dollar at any time is an assumption that who makes it must state.
func Stablecoin(chainID uint64, a common.Address) (Token, bool) {
	t, ok := LookupToken(chainID, a)
	return t, ok && t.Listed && t.Source == stablecoinSource && stablecoins[t.Symbol]
}
