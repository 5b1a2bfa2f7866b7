package label

import (
	"encoding/binary"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
)

// Names of rules, as Label.Source gives them.
const (
	ruleChain      = "chain"      // the table of chains
	rulePrecompile = "precompile" // EIPs and stack specifications
	ruleCurated    = "curated"    // curated.tsv
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
	switch {
	case is(c.WrappedNative):
		if c.Native.Symbol == "ETH" && c.Slug != vaultBridged {
			return Label{"Wrapped Ether (WETH)", "token", "weth", ruleChain}, true
		}
		return Label{"Wrapped " + c.Native.Symbol, "token", "weth", ruleChain}, true
	case is(c.NativeToken):
		return Label{c.Native.Symbol + " (native coin as a token)", "token", "", ruleChain}, true
	case is(c.Multicall3):
		return Label{"Multicall3", "infra", "multicall3", ruleChain}, true
	case is(c.Fee.Collector), is(c.Fee.BaseFeeVault), is(c.Fee.L1FeeVault), is(c.Fee.OperatorFeeVault):
		return Label{"Fee vault", "fee_vault", "", ruleChain}, true
	}
	return Label{}, false
}

// fixed names addresses that the protocol itself gives: small numbers (as
// precompiles have them) and the predeploys of rollups.
func fixed(c *chain.Chain, a common.Address) (Label, bool) {
	n, prefix, ok := number(a)
	if !ok {
		return Label{}, false
	}
	switch prefix {
	case 0:
		if name, ok := stackPrecompile(c, n); ok {
			return Label{name, "precompile", "", rulePrecompile}, true
		}
		if name, ok := precompiles[n]; ok {
			return Label{"Precompile: " + name, "precompile", "", rulePrecompile}, true
		}
	case 0x42:
		if c != nil && (c.Stack == chain.StackOP || c.Stack == chain.StackMantle) {
			if p, ok := opPredeploys[n]; ok {
				return Label{p.name, p.category, "", rulePrecompile}, true
			}
		}
	case 0x53:
		if c != nil && c.Stack == chain.StackScroll {
			if p, ok := scrollPredeploys[n]; ok {
				return Label{p.name, p.category, "", rulePrecompile}, true
			}
		}
	}
	return Label{}, false
}

// number splits addresses of the form <byte>00..00<four bytes>.
func number(a common.Address) (n uint32, prefix byte, ok bool) {
	for _, b := range a[1:16] {
		if b != 0 {
			return 0, 0, false
		}
	}
	return binary.BigEndian.Uint32(a[16:]), a[0], true
}

// precompiles of Ethereum: the Yellow Paper, EIP-198, 196, 197, 152, 4844, 2537, 7951.
var precompiles = map[uint32]string{
	0x01: "ecRecover", 0x02: "SHA-256", 0x03: "RIPEMD-160", 0x04: "identity", 0x05: "modexp",
	0x06: "bn254 add", 0x07: "bn254 mul", 0x08: "bn254 pairing", 0x09: "BLAKE2f", 0x0a: "KZG point evaluation",
	0x0b: "BLS12-381 G1 add", 0x0c: "BLS12-381 G1 MSM", 0x0d: "BLS12-381 G2 add", 0x0e: "BLS12-381 G2 MSM",
	0x0f: "BLS12-381 pairing", 0x10: "BLS12-381 map to G1", 0x11: "BLS12-381 map to G2", 0x100: "P256VERIFY",
}

// stackPrecompile names what a stack adds, or puts in place of Ethereum's.
func stackPrecompile(c *chain.Chain, n uint32) (string, bool) {
	if c == nil {
		return "", false
	}
	var name string
	switch c.Stack {
	case chain.StackArbitrum:
		name = arbPrecompiles[n]
	case chain.StackZkSync:
		name = zkSyncSystem[n]
	case chain.StackBor:
		name = map[uint32]string{0x1000: "Polygon: Validator set", 0x1001: "Polygon: State receiver", 0x1010: "Polygon: native coin (MRC20)"}[n]
	}
	if c.ID == idBSC {
		name = bscSystem[n]
	}
	return name, name != ""
}

const idBSC = 56

// arbPrecompiles: Arbitrum Nitro, precompiles and virtual contracts.
var arbPrecompiles = map[uint32]string{
	0x64: "ArbSys", 0x65: "ArbInfo", 0x66: "ArbAddressTable", 0x67: "ArbBLS", 0x68: "ArbFunctionTable", 0x69: "ArbosTest",
	0x6b: "ArbOwnerPublic", 0x6c: "ArbGasInfo", 0x6d: "ArbAggregator", 0x6e: "ArbRetryableTx", 0x6f: "ArbStatistics",
	0x70: "ArbOwner", 0x71: "ArbWasm", 0x72: "ArbWasmCache", 0xc8: "NodeInterface", 0xc9: "NodeInterfaceDebug",
	0xff: "ArbDebug", 0xa4b05: "ArbOS",
}

// zkSyncSystem: the system contracts of the ZK stack (matter-labs/era-contracts).
var zkSyncSystem = map[uint32]string{
	0x8001: "ZKsync: Bootloader", 0x8002: "ZKsync: Account code storage", 0x8003: "ZKsync: Nonce holder",
	0x8004: "ZKsync: Known codes storage", 0x8005: "ZKsync: Immutable simulator", 0x8006: "ZKsync: Contract deployer",
	0x8007: "ZKsync: Force deployer", 0x8008: "ZKsync: L1 messenger", 0x8009: "ZKsync: msg.value simulator",
	0x800a: "ZKsync: Base token", 0x800b: "ZKsync: System context", 0x800c: "ZKsync: Bootloader utilities",
	0x800d: "ZKsync: Event writer", 0x800e: "ZKsync: Compressor", 0x800f: "ZKsync: Complex upgrader",
	0x8010: "ZKsync: Keccak-256", 0x8011: "ZKsync: Pubdata chunk publisher", 0x8012: "ZKsync: Code oracle",
	0x10000: "ZKsync: CREATE2 factory", 0x10002: "ZKsync: L2 bridgehub", 0x10003: "ZKsync: L2 asset router",
	0x10004: "ZKsync: L2 native token vault", 0x10005: "ZKsync: Message root",
}

// bscSystem: bnb-chain/bsc-genesis-contract.
var bscSystem = map[uint32]string{
	0x1000: "BSC: Validator set", 0x1001: "BSC: Slash indicator", 0x1002: "BSC: System reward", 0x1003: "BSC: Light client",
	0x1004: "BSC: Token hub", 0x1005: "BSC: Relayer incentivize", 0x1006: "BSC: Relayer hub", 0x1007: "BSC: Governance hub",
	0x1008: "BSC: Token manager", 0x2000: "BSC: Cross chain", 0x2001: "BSC: Staking", 0x2002: "BSC: Stake hub",
	0x2003: "BSC: Stake credit", 0x2004: "BSC: Governor", 0x2005: "BSC: Governance token", 0x2006: "BSC: Timelock",
}

// predeploy is a contract that a rollup has from its first block.
type predeploy struct{ name, category string }

// opPredeploys: specs.optimism.io, "Predeploys". The prefix is 0x42.
var opPredeploys = map[uint32]predeploy{
	0x00: {"OP: Legacy message passer", "system"}, 0x02: {"OP: Deployer whitelist", "system"},
	0x07: {"OP: L2 cross-domain messenger", "bridge"}, 0x0f: {"OP: Gas price oracle", "system"},
	0x10: {"OP: L2 standard bridge", "bridge"}, 0x11: {"OP: Sequencer fee vault", "fee_vault"},
	0x12: {"OP: Mintable ERC-20 factory", "bridge"}, 0x13: {"OP: L1 block number", "system"},
	0x14: {"OP: L2 ERC-721 bridge", "bridge"}, 0x15: {"OP: L1 block attributes", "system"},
	0x16: {"OP: L2 to L1 message passer", "bridge"}, 0x17: {"OP: Mintable ERC-721 factory", "bridge"},
	0x18: {"OP: Proxy admin", "system"}, 0x19: {"OP: Base fee vault", "fee_vault"}, 0x1a: {"OP: L1 fee vault", "fee_vault"},
	0x1b: {"OP: Operator fee vault", "fee_vault"}, 0x20: {"EAS: Schema registry", "infra"}, 0x21: {"EAS: Attestation service", "infra"},
	0x22: {"OP: Cross L2 inbox", "bridge"}, 0x23: {"OP: L2 to L2 cross-domain messenger", "bridge"},
}

// scrollPredeploys: scroll-tech/scroll-contracts. The prefix is 0x53.
var scrollPredeploys = map[uint32]predeploy{
	0x00: {"Scroll: L2 message queue", "bridge"}, 0x01: {"Scroll: L1 block container", "system"},
	0x02: {"Scroll: L1 gas price oracle", "system"}, 0x03: {"Scroll: Whitelist", "system"}, 0x05: {"Scroll: Fee vault", "fee_vault"},
}
