package chain

import "github.com/ethereum/go-ethereum/common"

// celo was an L1 until March 2025 and is an OP-stack L2 with a fee handler of its
// own since then (specs.celo.org).
type celo struct{ opstack }

const celoL2 = 1742957258 // Unix seconds: 2025-03-26, block 31056500

// Types of transactions that name the token of their fee (feeCurrency).
const (
	txCeloFeeCurrency = 0x7b // CIP-64
	txCeloLegacy1559  = 0x7c // CIP-42
)

var goldToken = address("0x471EcE3750Da237f93B8E339c536989b8978a438")

func (celo) TxType(t uint64) TxType {
	if t == txCeloFeeCurrency || t == txCeloLegacy1559 {
		return TxType{FeeInToken: true}
	}
	return opstack{}.TxType(t)
}

func (celo) Fee(h Head) FeeRule {
	if h.Time < celoL2 {
		return FeeRule{}
	}
	return FeeRule{AddL1Fee: true, L1FeeVault: opL1FeeVault}.bedrock(h)
}

// celoFeeHandler gets the base fee.
var celoFeeHandler = address("0xcD437749E43A154C07F3553504c68fBfD56B8778")

// TokenFeeTakers: the token moves the tip and the base fee by itself (CIP-64).
func (celo) TokenFeeTakers() []common.Address {
	return []common.Address{*opSequencerVault, *celoFeeHandler}
}

// NativeToken is GoldToken.
func (celo) NativeToken() *common.Address { return goldToken }

// NativeLogs: GoldToken asks a precompile to move the coin, so its Transfer logs
// stand for moves that no call carries. Plain calls with value emit nothing.
func (celo) NativeLogs() NativeLogs { return NativeLogsAdd }
