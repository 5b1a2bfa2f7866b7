package chain

import "github.com/ethereum/go-ethereum/common"

// FeeRule says what a transaction costs beside gas, and who is paid.
//
//	total = gasUsed x effectiveGasPrice [+ l1Fee] [+ operator fee] [+ blob gas]
//
// The base fee part (gasUsed x baseFee) is burnt, or goes to BaseFeeVault when
// that is set, or to the collector when neither is said. The rest of the gas
// fee goes to Collector, or to the miner of the header when that is nil.
type FeeRule struct {
	AddL1Fee    bool // the receipt's l1Fee is charged beside gas; false where gas already contains it
	OperatorFee bool // the receipt may carry an operator fee (OP-stack since Isthmus)
	// InToken: no fee is ever paid in a native coin (Tempo). For single
	// transaction types see Chain.FeeInToken.
	InToken      bool
	BurnsBaseFee bool // the base fee leaves the supply

	BaseFeeVault     *common.Address // gets the base fee instead of the void
	L1FeeVault       *common.Address // gets the l1Fee
	OperatorFeeVault *common.Address // gets the operator fee
	Collector        *common.Address // gets what the miner of the header would get

	// RecipientsKnown is false where contract state, the consensus layer or an
	// account that changes over time decides who is paid: only a state diff tells.
	RecipientsKnown bool
}

// Fee vaults of the OP-stack, all predeploys: specs.optimism.io, "Predeploys".
// The sequencer fee vault is the miner of every block since Bedrock.
var (
	opSequencerVault = address("0x4200000000000000000000000000000000000011")
	opBaseFeeVault   = address("0x4200000000000000000000000000000000000019")
	opL1FeeVault     = address("0x420000000000000000000000000000000000001a")
	opOperatorVault  = address("0x420000000000000000000000000000000000001b")

	// Scroll's L2TxFeeVault gets gas fee and l1Fee alike (scroll-tech/go-ethereum, params.ScrollConfig).
	scrollVault = address("0x5300000000000000000000000000000000000005")
	// Parlia collects into the system address and pays the validator at the end of the block (bnb-chain/bsc).
	parliaSystem = address("0xffffFFFfFFffffffffffffffFfFFFfffFFFfFFfE")
	// Base fee collector of Gnosis (eip1559FeeCollector in the chain specification).
	gnosisCollector = address("0x6BBe78ee9e474842Dbd4AB4987b3CeFE88426A92")
)

// feeRule is the rule of a chain: that of its stack, unless the chain differs.
func feeRule(id uint64, s Stack) FeeRule {
	switch id {
	case 56: // no base fee so far; all of it is collected
		return FeeRule{Collector: parliaSystem, RecipientsKnown: true}
	case 100:
		return FeeRule{BaseFeeVault: gnosisCollector, RecipientsKnown: true}
	case 43114: // coreth credits base fee and tip to the coinbase, which nobody owns
		return FeeRule{RecipientsKnown: true}
	case 42220: // an L1 until March 2025, then an OP-stack L2 with a fee handler of its own
		return FeeRule{AddL1Fee: true, L1FeeVault: opL1FeeVault}
	case 81457: // Blast shares gas fees with the contracts that used the gas
		return FeeRule{AddL1Fee: true, L1FeeVault: opL1FeeVault}
	}
	switch s {
	case StackEthereum:
		return FeeRule{BurnsBaseFee: true, RecipientsKnown: true}
	case StackOP:
		return FeeRule{
			AddL1Fee: true, OperatorFee: true, RecipientsKnown: true,
			BaseFeeVault: opBaseFeeVault, L1FeeVault: opL1FeeVault,
			OperatorFeeVault: opOperatorVault, Collector: opSequencerVault,
		}
	case StackScroll:
		return FeeRule{
			AddL1Fee: true, RecipientsKnown: true,
			BaseFeeVault: scrollVault, L1FeeVault: scrollVault, Collector: scrollVault,
		}
	case StackMantle: // since Arsia as the OP-stack; before see FeeAt
		return feeRule(0, StackOP)
	case StackTempo:
		return FeeRule{InToken: true}
	}
	// Arbitrum: network, infrastructure and L1 pricing accounts are set by the
	// chain's owner. zkSync: the operator named by the batch. Bor: the base fee
	// goes to a contract that changed, the tip to the signer of the block.
	return FeeRule{}
}

// Times (Unix seconds) from which a chain has the rule of its field Fee.
const (
	mantleArsia = 1776841200 // 2026-04-22, mantle-xyz/op-geth v1.5.4
	celoL2      = 1742957258 // 2025-03-26, block 31056500
)

// FeeAt is the fee rule at a time (Unix seconds). Fee is the rule of today.
func (c *Chain) FeeAt(unix uint64) FeeRule {
	switch {
	case c.Stack == StackMantle && unix < mantleArsia:
		// The L1 fee was turned into gas: gasUsed holds it, and the receipt's
		// l1Fee only says how much of it that was. It still left through the vault.
		return FeeRule{BaseFeeVault: opBaseFeeVault, Collector: opSequencerVault}
	case c.ID == idCelo && unix < celoL2:
		return FeeRule{}
	}
	return c.Fee
}

func address(hex string) *common.Address {
	a := common.HexToAddress(hex)
	return &a
}
