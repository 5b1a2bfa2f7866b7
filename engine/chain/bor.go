package chain

import "github.com/ethereum/go-ethereum/common"

// bor is Polygon PoS (0xPolygon/bor).
type bor struct{ generic }

var _ Stack = bor{}

const (
	txBorStateSync = 0x7f     // L1 state sync as a transaction of its own type
	borNapoli      = 54876000 // block: EIP-6780
)

var borToken = address("0x0000000000000000000000000000000000001010")

func (bor) Name() string         { return "polygon-bor" }
func (bor) Traces() Traces       { return TracesMatch }
func (bor) PublicOrder() bool    { return true }
func (bor) EIP6780(h Head) bool  { return h.Cancun || h.Number >= borNapoli }
func (bor) Unreplayable() string { return "a log of its own for every move of the native coin" }

func (bor) TxType(t uint64) TxType {
	if t == txBorStateSync {
		return TxType{System: true, ZeroFee: true}
	}
	return TxType{}
}

func (s bor) Housekeeping(t uint64, _ common.Address) bool { return s.TxType(t).System }

// Fee: the base fee goes to a contract that changed, the tip to the signer of the
// block. The header names no miner, but the fee log names the signer.
func (bor) Fee(Head) FeeRule { return FeeRule{TipInLog: true} }

// NativeToken is MRC20, which emits LogTransfer and LogFeeTransfer for every move.
func (bor) NativeToken() *common.Address { return borToken }

func (bor) Builtin(a common.Address) (Builtin, bool) { return precompiled(borSystem, a) }

// borSystem: maticnetwork/genesis-contracts.
var borSystem = map[uint32]string{
	0x1000: "Polygon: Validator set", 0x1001: "Polygon: State receiver", 0x1010: "Polygon: native coin (MRC20)",
}
