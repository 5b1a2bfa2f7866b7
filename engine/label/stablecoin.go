package label

import "github.com/ethereum/go-ethereum/common"

// stablecoins are the symbols, of tokens in Aave's address book, of coins that are redeemed for
// one US dollar or are backed by such.
var stablecoins = map[string]bool{
	"USDC":   true,
	"USDC.e": true,
	"USDbC":  true,
	"USDT.e": true,
	"DAI.e":  true,
	"USDS":   true,
	"PYUSD":  true,
	"USDT":   true,
	"USDT0":  true,
	"USDt":   true,
	"DAI":    true,
	"WXDAI":  true,
}

// stablecoinSource is the one list whose symbols are believed: a symbol costs nothing, and
// the large lists hold many a copy.
const stablecoinSource = "@bgd-labs/aave-address-book"

// issuedDollars are dollar coins that the address book lacks, as their issuers publish them:
// Circle (USDC), Tether and LayerZero (USDT0), World Liberty Financial (USD1), Sky (USDS), Tempo
// (pathUSD, OUSD and the bridged USDC.e).
var issuedDollars = map[uint64]map[common.Address]issuedDollar{
	1:    {common.HexToAddress("0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d"): {"USD1", 18}},
	56:   {common.HexToAddress("0x8d0D000Ee44948FC98c9B98A4FA4921476f08B0d"): {"USD1", 18}},
	130:  {common.HexToAddress("0x078D782b760474a361dDA0AF3839290b0EF57AD6"): {"USDC", 6}},
	143:  {common.HexToAddress("0x754704Bc059F8C67012fEd69BC8A327a5aafb603"): {"USDC", 6}},
	480:  {common.HexToAddress("0x79A02482A880bCe3F13E09da970dC34dB4cD24D1"): {"USDC", 6}},
	999:  {common.HexToAddress("0xB8CE59FC3717ada4C02eaDF9682A9e934F625ebb"): {"USDT0", 6}},
	1329: {common.HexToAddress("0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392"): {"USDC", 6}},
	4217: {
		common.HexToAddress("0x20C0000000000000000000000000000000000000"): {"pathUSD", 6},
		common.HexToAddress("0x20C000000000000000000000b9537d11c60E8b50"): {"USDC.e", 6},
		common.HexToAddress("0x20c0000000000000000000006a37DA5C996874BE"): {"OUSD", 6},
	},
}

type issuedDollar struct {
	symbol   string
	decimals uint8
}

// issued is the token of an issuer's dollar coin.
func issued(chainID uint64, a common.Address) (Token, bool) {
	d, ok := issuedDollars[chainID][a]
	if !ok {
		return Token{}, false
	}
	return Token{Address: a, Symbol: d.symbol, Name: d.symbol, Decimals: &d.decimals, Source: "issuer", Listed: true}, true
}

// Stablecoin knows the dollar coins that other tokens are traded against. That one is
// worth a dollar at any time is an assumption that who makes it must state.
func Stablecoin(chainID uint64, a common.Address) (Token, bool) {
	if t, ok := issued(chainID, a); ok {
		return t, true
	}
	t, ok := LookupToken(chainID, a)
	return t, ok && t.Listed && t.Source == stablecoinSource && stablecoins[t.Symbol]
}
