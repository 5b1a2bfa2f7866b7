package chain

import "github.com/ethereum/go-ethereum/common"

// opstack is the OP-stack (specs.optimism.io).
type opstack struct{ generic }

var _ Stack = opstack{}

// txDeposit is a deposit, or the attributes of the L1 block that open each block.
// Scroll gives the same number to its L1 messages.
const txDeposit = 0x7e

// Fee vaults, all predeploys: specs.optimism.io, "Predeploys". The sequencer fee
// vault is the miner of every block since Bedrock.
var (
	opSequencerVault = address("0x4200000000000000000000000000000000000011")
	opBaseFeeVault   = address("0x4200000000000000000000000000000000000019")
	opL1FeeVault     = address("0x420000000000000000000000000000000000001a")
	opOperatorVault  = address("0x420000000000000000000000000000000000001b")
)

// l1Attributes sends the transaction with the attributes of the L1 block.
var l1Attributes = common.HexToAddress("0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001")

func (opstack) Name() string         { return "op-stack" }
func (opstack) Traces() Traces       { return TracesMatch }
func (opstack) SharedBridge() bool   { return true }
func (opstack) Unreplayable() string { return "OP-stack deposit transactions and L1 fees" }

// TxType: deposits mint before they run and keep the mint when they fail
// (specs.optimism.io, "Execution").
func (opstack) TxType(t uint64) TxType {
	if t == txDeposit {
		return TxType{System: true, ZeroFee: true, Mint: MintField}
	}
	return TxType{}
}

// Housekeeping: a deposit that carries a user's call has another sender.
func (opstack) Housekeeping(t uint64, from common.Address) bool {
	return t == txDeposit && from == l1Attributes
}

func (opstack) Fee(h Head) FeeRule {
	r := FeeRule{
		AddL1Fee: true, OperatorFee: true, RecipientsKnown: true,
		BaseFeeVault: opBaseFeeVault, L1FeeVault: opL1FeeVault,
		OperatorFeeVault: opOperatorVault, Collector: opSequencerVault,
	}
	return r.bedrock(h)
}

// bedrock adapts a rule to blocks before Bedrock, whose headers have no base fee.
// One vault took all. For a message from L1 l2geth wrote a fee into the receipt
// and charged none; its price is zero.
func (r FeeRule) bedrock(h Head) FeeRule {
	if !h.BaseFee {
		r.L1FeeVault, r.L1FeeNeedsPrice = r.Collector, true
	}
	return r
}

func (opstack) Builtin(a common.Address) (Builtin, bool) { return predeployed(0x42, opPredeploys, a) }

// opPredeploys: specs.optimism.io, "Predeploys". The prefix is 0x42.
var opPredeploys = map[uint32]Builtin{
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

// blast shares gas fees with the contracts that used the gas.
type blast struct{ opstack }

func (blast) Fee(h Head) FeeRule {
	return FeeRule{AddL1Fee: true, L1FeeVault: opL1FeeVault}.bedrock(h)
}

// boba began on the first OVM.
type boba struct{ opstack }

func (boba) NativeToken() *common.Address { return ovmETH }
