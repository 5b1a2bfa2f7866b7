package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestRead(t *testing.T) {
	f := func(pkg, in string, want entry) {
		t.Helper()
		got, ok := read(pkg, in)
		if got != want || ok != (want.name != "") {
			t.Errorf("%s %q: %+v, %v; want %+v", pkg, in, got, ok, want)
		}
	}
	f("aave-address-book", "AaveV3Ethereum.POOL", entry{"Aave V3: Pool", "lending", "aave_v3"})
	f("aave-address-book", "AaveV3EthereumEtherFi.POOL_IMPL", entry{"Aave V3 EtherFi: Pool implementation", "infra", "aave_v3"})
	f("aave-address-book", "AaveV2EthereumAMM.ASSETS.UNI_BAT_WETH.V_TOKEN", entry{"Aave V2 AMM: variable debt UNI_BAT_WETH", "lending_token", "aave_v2"})
	f("aave-address-book", "AaveV3Base.ASSETS.USDC.A_TOKEN", entry{"Aave V3: aUSDC", "lending_token", "aave_v3"})
	f("aave-address-book", "AaveV3Base.ASSETS.USDC.UNDERLYING", entry{})
	f("aave-address-book", "AaveV3Base.DEFAULT_A_TOKEN_IMPL", entry{"Aave V3: Default aToken implementation", "infra", "aave_v3"})
	f("aave-address-book", "ChainlinkBase.CBETH__ETH", entry{"Chainlink: CBETH/ETH feed", "oracle", "chainlink"})
	f("aave-address-book", "GovernanceV3Ethereum.VOTING_PORTAL_ETH_POL", entry{"Aave Governance V3: Voting portal ETH POL", "governance", "aave"})
	f("aave-address-book", "MiscEthereum.stEUR", entry{})
	f("aave-address-book", "nonsense", entry{})
	f("hyperlane-registry", "Hyperlane: staticMessageIdMultisigIsmFactory", entry{"Hyperlane: Static message ID multisig ISM factory", "bridge", "hyperlane"})
	f("hyperlane-registry", "Hyperlane: testRecipient", entry{})
	f("pendle-core-v2", "Pendle: routerFacets.ActionSwapPTV3", entry{"Pendle: Action swap PT V3", "router", "pendle"})
	f("pendle-core-v2", "Pendle: deprecated.vePendle", entry{"Pendle: Ve Pendle (old)", "yield", "pendle"})
	f("pendle-core-v2", "Pendle: network.lzEndpoint", entry{})
	f("curvefi-api", "Curve 3pool swap_address", entry{"Curve: 3pool pool", "dex", "curve"})
	f("0x-contract-addresses", "0x: exchangeProxy", entry{"0x: Exchange Proxy", "aggregator", "0x"})
	f("0x-contract-addresses", "0x: zrxToken", entry{})
	f("maticnetwork-meta", "Polygon: POS.RootChainManagerProxy", entry{"Polygon PoS bridge: RootChainManager", "bridge", "polygon"})
	f("maticnetwork-meta", "Polygon: POS.RootChainManager", entry{"Polygon PoS bridge: RootChainManager implementation", "bridge", "polygon"})
	f("maticnetwork-meta", "Polygon: POS.SafeMath", entry{})
	f("cowprotocol-contracts", "CoW: GPv2Settlement", entry{"CoW Protocol: Settlement", "aggregator", "cow"})
	f("somebody-else", "Thing", entry{})
}

// TestTablesAreCurrent makes the tables anew and compares: the committed files
// are what the generator gives, and it gives the same each time.
func TestTablesAreCurrent(t *testing.T) {
	dir := t.TempDir()
	if err := run(".", dir, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"labels.zst", "tokens.zst", "public.zst"} {
		got, _ := os.ReadFile(filepath.Join(dir, name))
		want, err := os.ReadFile(filepath.Join("..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("engine/label/%s is not what the generator makes (%v); run go generate ./engine/label, or make generate", name, err)
		}
	}
}
