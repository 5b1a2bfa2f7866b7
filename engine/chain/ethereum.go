package chain

import "github.com/ethereum/go-ethereum/common"

// ethereum is Ethereum and every chain that behaves like it.
type ethereum struct{ generic }

var _ Stack = ethereum{}

func (ethereum) Name() string         { return "ethereum" }
func (ethereum) Traces() Traces       { return TracesMatch }
func (ethereum) PublicOrder() bool    { return true }
func (ethereum) Unreplayable() string { return "" }

// Fee: the base fee is burnt (EIP-1559), the rest goes to the miner of the header.
func (ethereum) Fee(Head) FeeRule { return FeeRule{BurnsBaseFee: true, RecipientsKnown: true} }

// avalanche is the C-Chain.
type avalanche struct{ ethereum }

// Fee: coreth credits base fee and tip to the coinbase, which nobody owns.
func (avalanche) Fee(Head) FeeRule { return FeeRule{RecipientsKnown: true} }

// monad has Ethereum's fee rule and transactions, but a gas schedule of its own.
type monad struct{ ethereum }

func (monad) Unreplayable() string {
	return "Monad charges the gas limit and prices state access differently"
}

// gnosis is Gnosis Chain.
type gnosis struct{ ethereum }

// gnosisCollector is eip1559FeeCollector of the chain specification.
var gnosisCollector = address("0x6BBe78ee9e474842Dbd4AB4987b3CeFE88426A92")

const gnosisPectra = 1746021820 // Unix seconds: since then blob fees are collected, not burnt

func (gnosis) Fee(h Head) FeeRule {
	r := FeeRule{BaseFeeVault: gnosisCollector, RecipientsKnown: true}
	if h.Time >= gnosisPectra {
		r.BlobFeeVault = gnosisCollector
	}
	return r
}

// precompiles of Ethereum: the Yellow Paper, EIP-198, 196, 197, 152, 4844, 2537, 7951.
var precompiles = map[uint32]string{
	0x01: "ecRecover", 0x02: "SHA-256", 0x03: "RIPEMD-160", 0x04: "identity", 0x05: "modexp",
	0x06: "bn254 add", 0x07: "bn254 mul", 0x08: "bn254 pairing", 0x09: "BLAKE2f", 0x0a: "KZG point evaluation",
	0x0b: "BLS12-381 G1 add", 0x0c: "BLS12-381 G1 MSM", 0x0d: "BLS12-381 G2 add", 0x0e: "BLS12-381 G2 MSM",
	0x0f: "BLS12-381 pairing", 0x10: "BLS12-381 map to G1", 0x11: "BLS12-381 map to G2", 0x100: "P256VERIFY",
}

// Precompile names a precompile of Ethereum. A chain may have put another contract
// at the address: Stack.Builtin knows.
func Precompile(a common.Address) (Builtin, bool) {
	if n, ok := numbered(0, a); ok {
		if name, ok := precompiles[n]; ok {
			return Builtin{"Precompile: " + name, "precompile"}, true
		}
	}
	return Builtin{}, false
}
