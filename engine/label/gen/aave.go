package main

import "strings"

// aaveBook is the source of the constants of Aave's address book. They are keys of the code and
// no symbols: marks that a name of Solidity cannot hold are left out, and a second token of the
// same symbol has a suffix.
const aaveBook = "@bgd-labs/aave-address-book"

// aaveKeys are the keys that differ from the symbol of the contract.
var aaveKeys = map[string]string{
	"USDCn": "USDC", "ONE_INCH": "1INCH", "BTCb": "BTC.b",
	"AAVEe": "AAVE.e", "DAIe": "DAI.e", "LINKe": "LINK.e", "USDCe": "USDC.e", "USDTe": "USDT.e", "WBTCe": "WBTC.e", "WETHe": "WETH.e",
}

// aaveBridged are the chains on which the book's USDC is that of a bridge, beside the one of its
// issuer.
var aaveBridged = map[uint64]bool{10: true, 137: true, 42161: true}

// aaveSymbol is the symbol of the token with a key; empty where the key describes a position or
// a stake, whose symbol only the contract tells.
func aaveSymbol(chainID uint64, key string) string {
	switch symbol, differs := aaveKeys[key]; {
	case differs:
		return symbol
	case key == "USDC" && aaveBridged[chainID]:
		return "USDC.e"
	case strings.HasPrefix(key, "UNI_"):
		return "UNI-V2"
	case strings.Contains(key, "_"):
		return ""
	}
	return key
}

// aaveChains are the suffixes of the address book's libraries; what follows one
// of them names a market of its own.
var aaveChains = []string{
	"ArbitrumSepolia", "BaseSepolia", "OptimismSepolia", "ScrollSepolia", "Arbitrum", "Avalanche", "BNB", "Base", "Bob", "Celo",
	"Ethereum", "Fuji", "Gnosis", "Ink", "Linea", "Mantle", "MegaEth", "Metis", "Optimism", "Plasma", "Polygon", "Scroll",
	"Sepolia", "Soneium", "Sonic", "ZkSync",
}

// aaveBooks are the prefixes of the names of the libraries in the address book of Aave; of
// two that begin alike the longer comes first.
var aaveBooks = []struct {
	prefix string
	entry
}{
	{"AaveGovernanceV2", entry{"Aave Governance V2", "governance", "aave"}},
	{"AaveSafetyModule", entry{"Aave Safety Module", "staking", "aave"}},
	{"AaveV1", entry{"Aave V1", "lending", "aave_v1"}},
	{"AaveV2", entry{"Aave V2", "lending", "aave_v2"}},
	{"AaveV3", entry{"Aave V3", "lending", "aave_v3"}},
	{"GovernanceV3", entry{"Aave Governance V3", "governance", "aave"}},
	{"Umbrella", entry{"Aave Umbrella", "staking", "aave"}},
	{"Gho", entry{"Aave GHO", "stablecoin", "gho"}},
	{"Misc", entry{"Aave", "infra", "aave"}},
}

// aave reads names such as AaveV3EthereumLido.ASSETS.WETH.A_TOKEN.
func aave(name string) (entry, bool) {
	book, rest, ok := strings.Cut(name, ".")
	if !ok {
		return entry{}, false
	}
	if strings.HasPrefix(book, "Chainlink") {
		return chainlink(rest)
	}
	for _, b := range aaveBooks {
		if market, ok := strings.CutPrefix(book, b.prefix); ok {
			e := b.entry
			if m := aaveMarket(market); m != "" {
				e.name += " " + m
			}
			return e.item(rest)
		}
	}
	return entry{}, false
}

func aaveMarket(s string) string {
	for _, c := range aaveChains {
		if m, ok := strings.CutPrefix(s, c); ok {
			return m
		}
	}
	return s
}

// item completes the label with what a constant of the library names.
func (e entry) item(constant string) (entry, bool) {
	parts := strings.Split(constant, ".")
	switch {
	case len(parts) == 3 && parts[0] == "ASSETS":
		return e.asset(parts[1], parts[2])
	case len(parts) == 3: // UMBRELLA_STAKE_ASSETS.STK_USDC_V1.STAKE_TOKEN
		e.name += ": stake token " + parts[1]
		return e, true
	case len(parts) == 2 && parts[0] == "EXTERNAL_LIBRARIES":
		e.name += ": " + snake(parts[1]) + " library"
		e.category = "infra"
		return e, true
	case len(parts) != 1 || constant != strings.ToUpper(constant) || constant == "GHO_TOKEN" || constant == "FAUCET":
		return entry{}, false // tokens and rate providers of others
	}
	e.name += ": " + snake(strings.ReplaceAll(strings.TrimPrefix(constant, "AAVE_"), "A_TOKEN", "ATOKEN"))
	if e.category == "lending" {
		e.category = lendingPart(constant)
	}
	if strings.HasSuffix(constant, "_SAFE") {
		e.category = "treasury"
	}
	return e, true
}

// lendingPart tells the pool, at which users act, from the machinery around it.
func lendingPart(constant string) string {
	switch constant {
	case "POOL",
		"WETH_GATEWAY",
		"CORE",
		"SWAP_COLLATERAL_ADAPTER",
		"REPAY_WITH_COLLATERAL_ADAPTER",
		"DEBT_SWAP_ADAPTER",
		"WITHDRAW_SWAP_ADAPTER":
		return "lending"
	case "COLLECTOR":
		return "treasury"
	case "ORACLE", "LENDING_RATE_ORACLE", "PRICE_ORACLE_SENTINEL":
		return "oracle"
	}
	return "infra"
}

func (e entry) asset(symbol, part string) (entry, bool) {
	switch part {
	case "UNDERLYING":
		return entry{}, false // the token is not Aave's; the token lists know it
	case "ORACLE":
		return entry{symbol + " price feed", "oracle", ""}, true
	case "A_TOKEN":
		e.name += ": a" + symbol
	case "V_TOKEN":
		e.name += ": variable debt " + symbol
	case "S_TOKEN":
		e.name += ": stable debt " + symbol
	case "STATIC_A_TOKEN", "STATA_TOKEN":
		e.name += ": static a" + symbol
	case "INTEREST_RATE_STRATEGY":
		e.name += ": Interest rate strategy"
		e.category = "infra"
		return e, true
	default:
		return entry{}, false
	}
	e.category = "lending_token"
	return e, true
}

// chainlink reads feed names: ETH__USD, SVR_BTC__USD, wstETH__stETH_Exchange_Rate.
func chainlink(name string) (entry, bool) {
	text := strings.ReplaceAll(strings.ReplaceAll(name, "__", "/"), "_", " ")
	return entry{"Chainlink: " + text + " feed", "oracle", "chainlink"}, true
}

func snake(s string) string { return sentence(strings.Split(strings.ToLower(s), "_")) }
