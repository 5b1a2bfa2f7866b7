package narrate

import (
	"math/big"
	"strconv"

	"txlens/engine/chain"
)

// place is a chain by its id (EIP-155), or by its name where it is no chain of the EVM or not
// in the table.
type place struct {
	id   uint64
	name string
}

// numbering is how a messenger numbers chains.
type numbering map[uint64]place

func evm(id uint64) place               { return place{id: id} }
func other(name string) place           { return place{name: name} }
func both(id uint64, name string) place { return place{id, name} }

// layerZeroNumbers are the chain ids of LayerZero's first version; the endpoint ids of the second
// are these plus 30,000 (docs.layerzero.network, deployed contracts).
var layerZeroNumbers = numbering{
	101: evm(1), 102: evm(56), 106: evm(43114), 108: other("Aptos"), 109: evm(137), 110: evm(42161), 111: evm(10),
	112: both(250, "Fantom"), 115: both(53935, "DFK Chain"), 116: both(1666600000, "Harmony"), 125: evm(42220),
	126: both(1284, "Moonbeam"), 138: both(122, "Fuse"), 145: evm(100), 150: both(8217, "Kaia"), 151: both(1088, "Metis"),
	153: both(1116, "Core"), 158: evm(1101), 159: both(7700, "Canto"), 165: evm(324), 167: both(1285, "Moonriver"),
	168: other("Solana"), 175: evm(42170), 177: both(2222, "Kava"), 181: evm(5000), 183: evm(59144), 184: evm(8453),
	195: both(7777777, "Zora"), 202: both(204, "opBNB"), 210: both(592, "Astar"), 211: both(1313161554, "Aurora"),
	212: both(1030, "Conflux eSpace"), 214: evm(534352), 217: both(169, "Manta Pacific"), 243: evm(81457),
	255: both(252, "Fraxtal"), 260: both(34443, "Mode"), 280: both(1329, "Sei"), 290: both(167000, "Taiko"),
	319: both(480, "World Chain"), 320: both(130, "Unichain"), 324: both(2741, "Abstract"), 332: both(146, "Sonic"),
	339: both(57073, "Ink"), 340: both(1868, "Soneium"), 362: both(80094, "Berachain"), 367: both(999, "HyperEVM"),
	383: both(9745, "Plasma"), 390: both(143, "Monad"),
}

// cctpNumbers are the domains of Circle's CCTP (developers.circle.com, supported domains).
var cctpNumbers = numbering{
	0: evm(1), 1: evm(43114), 2: evm(10), 3: evm(42161), 4: other("Noble"), 5: other("Solana"), 6: evm(8453), 7: evm(137),
	8: other("Sui"), 9: other("Aptos"), 10: both(130, "Unichain"), 11: evm(59144), 13: both(146, "Sonic"), 14: both(480, "World Chain"),
	15: both(143, "Monad"), 16: both(1329, "Sei"), 19: both(999, "HyperEVM"),
}

// wormholeNumbers are the chain ids of Wormhole (wormhole-foundation/wormhole, sdk/vaa).
var wormholeNumbers = numbering{
	1: other("Solana"), 2: evm(1), 3: other("Terra"), 4: evm(56), 5: evm(137), 6: evm(43114), 7: other("Oasis"), 8: other("Algorand"),
	9: both(1313161554, "Aurora"), 10: both(250, "Fantom"), 11: other("Karura"), 12: other("Acala"), 13: both(8217, "Kaia"), 14: evm(42220),
	15: other("NEAR"), 16: both(1284, "Moonbeam"), 18: other("Terra 2"), 19: other("Injective"), 20: other("Osmosis"), 21: other("Sui"),
	22: other("Aptos"), 23: evm(42161), 24: evm(10), 25: evm(100), 28: other("XPLA"), 30: evm(8453), 33: both(30, "Rootstock"),
	34: evm(534352), 35: evm(5000), 36: evm(81457), 37: both(196, "X Layer"), 38: evm(59144), 39: both(80094, "Berachain"),
	40: both(1329, "Sei"), 44: both(130, "Unichain"), 45: both(480, "World Chain"), 46: both(57073, "Ink"), 47: both(999, "HyperEVM"),
	48: both(143, "Monad"), 52: both(146, "Sonic"), 58: both(9745, "Plasma"), 64: both(4326, "MegaETH"), 3104: other("Wormchain"),
}

// ccipNumbers are the chain selectors of Chainlink CCIP (smartcontractkit/chain-selectors).
var ccipNumbers = numbering{
	5009297550715157269: evm(1), 3734403246176062136: evm(10), 11344663589394136015: evm(56), 4051577828743386545: evm(137),
	4348158687435793198: evm(1101), 7550000543357438061: both(2222, "Kava"), 15971525489660198786: evm(8453),
	4949039107694359620: evm(42161), 6433500567565415381: evm(43114), 13204309965629103672: evm(534352),
	5142893604156789321: other("WEMIX"), 3719320017875267166: other("Kroma"), 3776006016387883143: other("BitTorrent Chain"),
}

// chainNamed names a chain by the number that a bridge gives it; what the bridge's own
// numbering does not tell stays a number.
func chainNamed(slug string, n *big.Int) string {
	if !n.IsUint64() {
		return ""
	}
	id := n.Uint64()
	var numbers numbering
	switch slug {
	case "layerzero", "stargate":
		numbers, id = layerZeroNumbers, id%30000
	case "cctp":
		numbers = cctpNumbers
	case "wormhole":
		numbers = wormholeNumbers
	case "ccip":
		numbers = ccipNumbers
	case "across", "hop", "lifi", "relay", "op_stack_bridge":
		return place{id: id}.String()
	default:
		return ""
	}
	if p, ok := numbers[id]; ok {
		return p.String()
	}
	return "chain " + n.String() + " by its own numbers"
}

func (p place) String() string {
	if c, ok := chain.ByID(p.id); ok {
		return c.Name
	}
	if p.name != "" {
		return p.name
	}
	return "chain " + strconv.FormatUint(p.id, 10)
}
