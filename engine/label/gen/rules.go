package main

import (
	"strings"
	"unicode"
)

// entry is a label as people read it.
type entry struct{ name, category, protocol string }

// read turns the name that a package gives its constant into a label. What is no
// fact about the contract (test contracts, libraries, tokens known better from a
// token list) is left out.
func read(pkg, name string) (entry, bool) {
	switch pkg {
	case "aave-address-book":
		return aave(name)
	case "safe-deployments":
		return entry{name, "safe", "safe"}, true
	case "hyperlane-registry":
		return hyperlane(strings.TrimPrefix(name, "Hyperlane: "))
	case "pendle-core-v2":
		return pendle(strings.TrimPrefix(name, "Pendle: "))
	case "curvefi-api":
		return curve(strings.TrimPrefix(name, "Curve "))
	case "0x-contract-addresses":
		return zeroEx(strings.TrimPrefix(name, "0x: "))
	case "maticnetwork-meta":
		return polygon(strings.TrimPrefix(name, "Polygon: "))
	case "cowprotocol-contracts":
		return cow(strings.TrimPrefix(name, "CoW: "))
	}
	return entry{}, false
}

func hyperlane(name string) (entry, bool) {
	if strings.HasPrefix(name, "test") || name == "batchContractAddress" {
		return entry{}, false
	}
	return entry{"Hyperlane: " + sentence(camel(name)), "bridge", "hyperlane"}, true
}

func pendle(name string) (entry, bool) {
	group, rest, nested := strings.Cut(name, ".")
	if !nested {
		rest = name
	}
	switch {
	case name == "PENDLE" || name == "multicall":
		return entry{}, false
	case group == "network" && rest != "treasury" && rest != "governance" && rest != "devMultisig":
		return entry{}, false // foreign contracts and accounts of the team
	}
	text := "Pendle: " + sentence(camel(strings.TrimPrefix(strings.TrimPrefix(rest, "Pendle"), "pendle")))
	if group == "deprecated" {
		text += " (old)"
	}
	category := "yield"
	switch {
	case strings.HasPrefix(rest, "router"), group == "routerFacets", rest == "limitRouter", rest == "pendleSwap":
		category = "router"
	case strings.Contains(strings.ToLower(rest), "oracle"):
		category = "oracle"
	case strings.Contains(rest, "actory"):
		category = "factory"
	}
	return entry{text, category, "pendle"}, true
}

func curve(name string) (entry, bool) {
	pool, kind, _ := strings.Cut(name, " ")
	switch kind {
	case "swap_address":
		return entry{"Curve: " + pool + " pool", "dex", "curve"}, true
	case "token_address":
		return entry{"Curve: " + pool + " LP token", "lp_token", "curve"}, true
	case "gauge_address":
		return entry{"Curve: " + pool + " gauge", "gauge", "curve"}, true
	case "deposit_address":
		return entry{"Curve: " + pool + " zap", "router", "curve"}, true
	case "sCurveRewards_address":
		return entry{"Curve: " + pool + " rewards", "gauge", "curve"}, true
	}
	return entry{}, false
}

func zeroEx(name string) (entry, bool) {
	switch name {
	case "etherToken", "zrxToken":
		return entry{}, false
	case "exchangeProxy":
		return entry{"0x: Exchange Proxy", "aggregator", "0x"}, true
	case "exchangeProxyFlashWallet":
		return entry{"0x: Exchange Proxy flash wallet", "aggregator", "0x"}, true
	}
	name = strings.TrimPrefix(name, "transformers.")
	category := "infra"
	switch {
	case strings.Contains(strings.ToLower(name), "governor"):
		category = "governance"
	case strings.HasPrefix(name, "staking"), name == "zrxVault":
		category = "staking"
	case name == "zrxTreasury":
		category = "treasury"
	}
	return entry{"0x: " + sentence(camel(name)), category, "0x"}, true
}

func cow(name string) (entry, bool) {
	switch name {
	case "GPv2Settlement":
		return entry{"CoW Protocol: Settlement", "aggregator", "cow"}, true
	case "GPv2VaultRelayer":
		return entry{"CoW Protocol: Vault relayer", "aggregator", "cow"}, true
	case "GPv2AllowListAuthentication_Proxy":
		return entry{"CoW Protocol: Solver allow list", "infra", "cow"}, true
	case "GPv2AllowListAuthentication_Implementation":
		return entry{"CoW Protocol: Solver allow list implementation", "infra", "cow"}, true
	}
	return entry{}, false
}

// polygon keeps the bridge, staking and governance contracts of the PoS chain.
func polygon(name string) (entry, bool) {
	pos := strings.HasPrefix(name, "POS.")
	name = strings.TrimPrefix(name, "POS.")
	for _, library := range []string{"Tokens.", "Dummy", "SafeMath", "SafeERC20", "RLP", "Merkle",
		"BytesLib", "ECVerify", "Common", "PriorityQueue"} {
		if strings.HasPrefix(name, library) {
			return entry{}, false
		}
	}
	name, isProxy := strings.CutSuffix(name, "Proxy")
	suffix := ""
	// Every one of these exists behind a proxy, which has the shorter name.
	for _, proxied := range []string{"WithdrawManager", "DepositManager", "RootChain", "RootChainManager", "StakeManager",
		"EventsHub", "Governance", "Predicate", "ChildChainManager",
		"PolygonZkEVMBridge", "PolygonZkEVM", "PolygonZkEVMGlobalExitRoot"} {
		if !isProxy && (name == proxied || pos && strings.HasSuffix(name, proxied)) {
			suffix = " implementation"
		}
	}
	protocol, prefix, category := "polygon", "Polygon: ", "bridge"
	switch {
	case strings.Contains(name, "ZkEVM"):
		protocol, prefix = "polygon_zkevm", "Polygon zkEVM: "
		name = strings.TrimPrefix(name, "PolygonZkEVM")
		if name == "" {
			name = "Rollup"
		}
	case name == "EIP1559Burn":
		return entry{"Polygon: EIP-1559 burn", "fee_vault", "polygon"}, true
	case strings.HasPrefix(name, "Staking"), strings.HasPrefix(name, "Stake"), strings.HasPrefix(name, "Validator"), name == "SlashingManager":
		category = "staking"
	case strings.HasPrefix(name, "Governance"), name == "Timelock":
		category = "governance"
	case name == "Registry", name == "EventsHub":
		category = "infra"
	case pos:
		prefix = "Polygon PoS bridge: "
	}
	return entry{prefix + name + suffix, category, protocol}, true
}

// camel cuts camelCase into words; runs of capitals stay one word.
func camel(s string) []string {
	var words []string
	r := []rune(s)
	start := 0
	for i := 1; i < len(r); i++ {
		lowUp := !unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i])
		acronymEnd := i+1 < len(r) && unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i]) && unicode.IsLower(r[i+1])
		if lowUp || acronymEnd || r[i] == '_' || r[i] == '.' || r[i] == '-' {
			words = append(words, string(r[start:i]))
			start = i
		}
	}
	return append(words, string(r[start:]))
}

// acronyms are written as they are spoken of; everything else in lower case.
var acronyms = map[string]string{
	"ism": "ISM", "id": "ID", "gas": "gas", "usd": "USD", "ccip": "CCIP", "weth": "WETH", "erc20": "ERC-20",
	"pt": "PT", "yt": "YT", "sy": "SY", "lp": "LP", "oft": "OFT", "amm": "AMM", "ptamm": "PT AMM", "ytv3": "YT V3", "ptv3": "PT V3",
	"ui": "UI", "acl": "ACL", "gho": "GHO", "l2": "L2", "impl": "implementation", "aave": "Aave", "pc": "payloads controller",
	"vm": "voting machine", "gsm": "GSM", "cl": "Chainlink", "stk": "stk", "eth": "ETH", "pol": "POL", "arb": "ARB", "opt": "OP",
	"usdt": "USDT", "usdc": "USDC", "svr": "SVR", "stata": "stata", "merit": "Merit", "ahab": "Ahab", "alc": "ALC", "afc": "AFC",
	"ape": "APE", "masiv": "MASIv", "lvl": "level", "pendle": "Pendle", "chainlink": "Chainlink", "atoken": "aToken", "api": "API", "zrx": "ZRX", "cex": "CEX",
}

// sentence joins words, the first with a capital letter.
func sentence(words []string) string {
	var out []string
	for _, w := range words {
		w = strings.Trim(w, "_.- ")
		if w == "" {
			continue
		}
		low := strings.ToLower(w)
		if a, ok := acronyms[low]; ok {
			low = a
		} else if len(w) <= 3 && len(w) > 1 && w[0] == 'V' && unicode.IsDigit(rune(w[1])) {
			low = w
		}
		out = append(out, low)
	}
	s := strings.Join(out, " ")
	if s == "" {
		return s
	}
	r := []rune(s)
	if !strings.HasPrefix(s, "aToken") {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}
