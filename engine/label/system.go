package label

import (
	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
)

// Names of rules, as Label.Source gives them.
const (
	ruleChain      = "chain"      // the table of chains
	rulePrecompile = "precompile" // EIPs and stack specifications
	ruleCurated    = "curated"    // package protocol
)

// system names what a chain has from its protocol: precompiles, predeploys, fee
// vaults, and the singletons the table of chains knows.
func system(c *chain.Chain, a common.Address) (Label, bool) {
	if l, ok := fixed(c, a); ok {
		return l, true
	}
	if c == nil {
		return Label{}, false
	}
	is := func(p *common.Address) bool { return p != nil && *p == a }
	fee := c.Stack.Fee(chain.Latest)
	switch {
	case is(c.WrappedNative):
		if c.Native.Symbol == "ETH" && !c.WrappedIsShare {
			return Label{Name: "Wrapped Ether (WETH)", Category: "token", Protocol: "weth", Source: ruleChain}, true
		}
		return Label{Name: "Wrapped " + c.Native.Symbol, Category: "token", Protocol: "weth", Source: ruleChain}, true
	case is(c.Stack.NativeToken()):
		return Label{Name: c.Native.Symbol + " (native coin as a token)", Category: "token", Source: ruleChain}, true
	case is(c.Multicall3):
		return Label{Name: "Multicall3", Category: "infra", Protocol: "multicall3", Source: ruleChain}, true
	case fee.Vault(a):
		return Label{Name: "Fee vault", Category: "fee_vault", Source: ruleChain}, true
	}
	return Label{}, false
}

// fixed names addresses that the protocol itself gives. Without a chain these are
// Ethereum's precompiles.
func fixed(c *chain.Chain, a common.Address) (Label, bool) {
	builtin := chain.Precompile
	if c != nil {
		builtin = c.Stack.Builtin
	}
	b, ok := builtin(a)
	if !ok {
		return Label{}, false
	}
	return Label{Name: b.Name, Category: b.Category, Source: rulePrecompile}, true
}
