package chain

// Transaction types beyond those of Ethereum (0x00-0x04).
const (
	TxDeposit = 0x7e // OP-stack deposit and L1 attributes; Scroll L1 message

	TxArbDeposit         = 0x64 // ETH from L1
	TxArbUnsigned        = 0x65 // from L1, sender is the aliased L1 address
	TxArbContract        = 0x66 // from an L1 contract
	TxArbRetry           = 0x68 // redeems a retryable ticket
	TxArbSubmitRetryable = 0x69 // creates a retryable ticket
	TxArbInternal        = 0x6a // start-of-block bookkeeping

	TxZkSyncUpgrade  = 0xfe
	TxZkSyncPriority = 0xff // requested on L1

	TxBorStateSync = 0x7f // L1 state sync as a transaction of its own type

	TxCeloFeeCurrency = 0x7b // CIP-64
	TxCeloLegacy1559  = 0x7c // CIP-42
	TxTempo           = 0x76
)

// SystemType reports whether the protocol itself makes transactions of this type:
// no sender signed them on this chain. What they carry may still be a user's
// wish, stated on L1 (deposits, messages, retryable tickets).
func (c *Chain) SystemType(txType uint64) bool {
	switch c.Stack {
	case StackOP, StackMantle, StackScroll:
		return txType == TxDeposit
	case StackArbitrum:
		return txType >= TxArbDeposit && txType <= TxArbInternal && txType != 0x67
	case StackZkSync:
		return txType == TxZkSyncUpgrade || txType == TxZkSyncPriority
	case StackBor:
		return txType == TxBorStateSync
	}
	return false
}

// ZeroFeeType reports whether transactions of this type pay no fee on this chain,
// whatever gasUsed and the gas price of the receipt say: their gas was paid on L1
// or is the protocol's own. Arbitrum's other L1 types and zkSync's priority
// operations do pay, out of what their deposit brought.
func (c *Chain) ZeroFeeType(txType uint64) bool {
	switch c.Stack {
	case StackOP, StackMantle, StackScroll:
		return txType == TxDeposit
	case StackArbitrum:
		return txType == TxArbDeposit || txType == TxArbInternal
	case StackZkSync:
		return txType == TxZkSyncUpgrade
	case StackBor:
		return txType == TxBorStateSync
	}
	return false
}

// FeeInToken reports whether the fee of a transaction of this type may have been
// paid in a token, so that gasUsed x price is no amount of the native coin. On
// Celo the transaction names the token (feeCurrency).
func (c *Chain) FeeInToken(txType uint64) bool {
	if c.Fee.InToken {
		return true
	}
	return c.ID == idCelo && (txType == TxCeloFeeCurrency || txType == TxCeloLegacy1559)
}
