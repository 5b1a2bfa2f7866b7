package chain

import "github.com/ethereum/go-ethereum/common"

// FeeRule says what a transaction costs beside gas, and who is paid.
//
//	total = gasUsed x effectiveGasPrice [+ l1Fee] [+ operator fee] [+ blob gas]
//
// All amounts are in wei of the native coin. The base fee part (gasUsed x baseFee)
// is burnt, or goes to BaseFeeVault when that is set, or to the collector when
// neither is said. The rest of the gas fee goes to Collector, or to the miner of
// the header when that is nil.
type FeeRule struct {
	AddL1Fee        bool // the receipt's l1Fee is charged in addition to gas; false if gas already contains it
	L1FeeNeedsPrice bool // the l1Fee of a transaction whose gas price is zero was not charged
	OperatorFee     bool // the receipt may carry an operator fee (OP-stack since Isthmus)
	BurnsBaseFee    bool // the base fee leaves the supply

	BaseFeeVault     *common.Address // receives the base fee instead of burning it
	L1FeeVault       *common.Address // receives the l1Fee
	OperatorFeeVault *common.Address // receives the operator fee
	BlobFeeVault     *common.Address // receives the fee for blobs; nil: it is burnt (EIP-4844)
	Collector        *common.Address // receives what the miner of the header would receive
	CollectorIs      Collector

	// L1GasPool gets gasUsedForL1 x price, which is part of gasUsed x price.
	L1GasPool *common.Address
	// Prepaid is the account that takes the fee in advance and pays back what was
	// not used, both as Transfer logs of Stack.NativeToken.
	Prepaid *common.Address
	// TipInLog: a LogFeeTransfer of Stack.NativeToken names the tip and its recipient.
	TipInLog bool

	// RecipientsKnown is false where contract state, the consensus layer or an
	// account that changes over time decides who is paid: only a state diff tells.
	RecipientsKnown bool
}

// Vault reports whether an account of the chain itself collects parts of the fee.
func (r *FeeRule) Vault(a common.Address) bool {
	for _, p := range [...]*common.Address{r.Collector, r.BaseFeeVault, r.L1FeeVault, r.OperatorFeeVault} {
		if p != nil && *p == a {
			return true
		}
	}
	return false
}

// Collector is the kind of account of FeeRule.Collector.
type Collector int

// Kinds of collectors.
const (
	CollectorSequencer  Collector = iota // the sequencer's vault; other parts have vaults of their own
	CollectorAll                         // one vault for all parts of the fee
	CollectorValidators                  // the pool that validators are paid from
)
