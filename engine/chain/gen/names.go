package main

import (
	"slices"
	"sort"
	"strings"
)

// enriched are the slugs with full enrichment.
var enriched = []string{
	"ethereum-mainnet", "base-mainnet", "arbitrum-mainnet", "optimism-mainnet", "matic-mainnet", "bsc-mainnet",
	"avalanche-mainnet", "linea-mainnet", "zksync-mainnet", "scroll-mainnet", "blast-mainnet", "xdai-mainnet",
	"abstract-mainnet", "bera-mainnet", "celo-mainnet", "fantom-mainnet", "fraxtal-mainnet", "hype-mainnet",
	"kaia-mainnet", "mantle-mainnet", "mode-mainnet", "nova-mainnet", "soneium-mainnet", "sonic-mainnet",
	"story-mainnet", "unichain-mainnet", "worldchain-mainnet", "zkevm-mainnet", "sei-pacific",
}

// popular is the order of the first waves of a search by hash: by the number of
// transactions people ask about, the sunset chains last. The rest keep the order
// of the source.
var popular = []string{
	"ethereum-mainnet", "base-mainnet", "bsc-mainnet", "arbitrum-mainnet", "matic-mainnet", "optimism-mainnet",
	"avalanche-mainnet", "unichain-mainnet", "hype-mainnet", "xdai-mainnet", "linea-mainnet", "worldchain-mainnet",
	"sonic-mainnet", "zksync-mainnet", "scroll-mainnet", "mantle-mainnet", "celo-mainnet", "blast-mainnet",
	"bera-mainnet", "abstract-mainnet", "soneium-mainnet", "sei-pacific", "fraxtal-mainnet", "mode-mainnet",
	"kaia-mainnet", "story-mainnet", "nova-mainnet", "fantom-mainnet", "zkevm-mainnet",
	"monad-mainnet", "plasma-mainnet", "ink-mainnet", "katana-mainnet", "opbnb-mainnet", "megaeth-mainnet",
	"robinhood-mainnet", "tempo-mainnet", "cronos-mainnet", "pulsechain-mainnet", "ronin-mainnet", "apechain-mainnet",
	"taiko-mainnet", "zora-mainnet", "moonbeam-mainnet", "metis-mainnet", "aurora-mainnet", "lisk-mainnet",
	"flow-mainnet", "imx-mainnet", "core-mainnet", "rootstock-mainnet", "flare-mainnet", "manta-pacific",
}

// explorers replaces base URLs under which transactions are no longer found.
var explorers = map[string]string{"etc-mainnet": "https://etc.blockscout.com"}

// unwrapped are chains whose "wrapped" address in the source is the coin itself.
var unwrapped = map[string]bool{"celo-mainnet": true, "boba-mainnet": true}

// shares are chains whose wrapped coin is the share of a bridge's vault.
var shares = map[string]bool{"katana-mainnet": true}

// aliases are the names people and providers use: short names (EIP-3770), the
// stream ids of QuickNode, price services' prefixes. They win over derived ones.
var aliases = map[string]string{
	"ethereum-mainnet":   "ethereum eth mainnet eth-mainnet",
	"base-mainnet":       "base",
	"bsc-mainnet":        "bsc bnb bnbchain bnbchain-mainnet bnb-mainnet bnb-smart-chain binance binance-smart-chain",
	"arbitrum-mainnet":   "arbitrum arb arb1 arbitrum-one arbitrum_one arb-mainnet",
	"matic-mainnet":      "polygon matic pol polygon-mainnet polygon-pos polygon_pos",
	"optimism-mainnet":   "optimism op oeth op-mainnet opt-mainnet optimistic-ethereum",
	"avalanche-mainnet":  "avalanche avax avalanche-c avalanche-c-chain avax-mainnet",
	"unichain-mainnet":   "unichain",
	"hype-mainnet":       "hype hyperevm hyperevm-mainnet hyperliquid",
	"xdai-mainnet":       "gnosis gno xdai gnosis-mainnet gnosis-chain",
	"linea-mainnet":      "linea",
	"worldchain-mainnet": "worldchain world world-chain wc",
	"sonic-mainnet":      "sonic",
	"zksync-mainnet":     "zksync era zksync-era zksync2 zksync-era-mainnet",
	"scroll-mainnet":     "scroll scr",
	"mantle-mainnet":     "mantle mnt",
	"celo-mainnet":       "celo",
	"blast-mainnet":      "blast blastmainnet",
	"bera-mainnet":       "bera berachain berachain-mainnet",
	"abstract-mainnet":   "abstract abs",
	"soneium-mainnet":    "soneium",
	"sei-pacific":        "sei sei-mainnet sei-pacific-1 sei-evm",
	"fraxtal-mainnet":    "fraxtal frax",
	"mode-mainnet":       "mode",
	"kaia-mainnet":       "kaia klaytn klay",
	"story-mainnet":      "story ip",
	"nova-mainnet":       "nova arbitrum-nova arb-nova arbitrum_nova",
	"fantom-mainnet":     "fantom ftm opera fantom-opera",
	"zkevm-mainnet":      "zkevm polygon-zkevm polygonzkevm polygon_zkevm",
	"opbnb-mainnet":      "opbnb",
	"etc-mainnet":        "etc ethereum-classic",
	"tempo-mainnet":      "tempo",
}

// confused are derived names that belong to something else: another network of
// the source's own lists, or a word nobody means this chain by.
var confused = []string{"kasplex", "homestead", "classic", "data"}

// nameAliases gives every chain its curated names, then derived ones that no
// other chain has a claim to.
func nameAliases(rows []row, sources []source) {
	owner := map[string]string{} // name -> slug, empty when disputed
	for _, r := range rows {
		owner[r.Slug] = r.Slug
	}
	for slug, names := range aliases {
		for _, n := range strings.Fields(names) {
			if o, taken := owner[n]; taken && o != slug {
				panic("alias " + n + " given to two chains")
			}
			owner[n] = slug
		}
	}
	for _, n := range confused {
		owner[n] = ""
	}
	fixed := map[string]bool{}
	for n := range owner {
		fixed[n] = true
	}
	for _, s := range sources {
		for _, n := range derived(s) {
			switch o, taken := owner[n]; {
			case fixed[n] || taken && o == s.Slug:
			case taken:
				owner[n] = ""
			default:
				owner[n] = s.Slug
			}
		}
	}
	for i := range rows {
		for n, slug := range owner {
			if slug == rows[i].Slug && n != slug {
				rows[i].Aliases = append(rows[i].Aliases, n)
			}
		}
		sort.Strings(rows[i].Aliases)
	}
}

// derived are the names other lists know a chain by.
func derived(s source) []string {
	names := []string{
		strings.TrimSuffix(s.Slug, "-mainnet"), deref(s.ViemKey), deref(s.Chainlist),
		s.Name,
	}
	if s.LlamaCoins != nil {
		names = append(names, s.LlamaCoins.Prefix)
	}
	// {name}.bsc.quiknode.pro: the label of the network is the second one.
	if host := strings.Split(deref(s.QuicknodeHost), "."); len(host) > 3 {
		names = append(names, host[1])
	}
	for i := range names {
		names[i] = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(names[i])), " ", "-")
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}
