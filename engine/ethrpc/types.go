package ethrpc

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Transaction is the answer of eth_getTransactionByHash.
type Transaction struct {
	Hash        common.Hash
	Type        uint64
	ChainID     *big.Int
	From        common.Address
	To          *common.Address // nil: contract creation
	Nonce       uint64
	Gas         uint64
	GasPrice    *big.Int // of the envelope, or as the node filled it in
	MaxFee      *big.Int
	MaxTip      *big.Int
	Value       *big.Int // never nil
	Input       []byte
	BlockHash   *common.Hash // nil: pending
	BlockNumber *uint64
	Index       *uint64

	AccessList     []AccessTuple
	Authorizations []Authorization // EIP-7702
	BlobHashes     []common.Hash   // EIP-4844
	MaxBlobFee     *big.Int
	V, R, S        *big.Int

	// OP-stack deposit transactions (type 0x7e).
	SourceHash *common.Hash
	Mint       *big.Int
	IsSystemTx bool

	FeeCurrency *common.Address // Celo: the token the fee is paid in; nil: the native coin
	FeePayer    *common.Address // Kaia, Tempo: who pays the fee; nil: the sender, or the node does not say
	FeeRatio    uint64          // Kaia: percent of the fee that FeePayer pays, the rest is the sender's; 0: all
}

// Pending reports whether the transaction is known but in no block.
func (t *Transaction) Pending() bool { return t.BlockNumber == nil }

// AccessTuple is one entry of an EIP-2930 access list.
type AccessTuple struct {
	Address     common.Address
	StorageKeys []common.Hash
}

// Authorization is one entry of an EIP-7702 authorization list.
type Authorization struct {
	ChainID *big.Int
	Address common.Address // the delegate
	Nonce   uint64
	V       uint8 // y parity
	R, S    *big.Int
}

// Receipt is the answer of eth_getTransactionReceipt.
type Receipt struct {
	From, To          *common.Address // nil when the node did not say; To also on a creation
	TxHash            *common.Hash    // whose receipt it is; nil when the node did not say
	BlockHash         *common.Hash    // nil when the node did not say
	BlockNumber       *uint64         // likewise
	Type              *uint64
	Status            *uint64 // nil before Byzantium, where the state root stands instead
	GasUsed           uint64
	CumulativeGasUsed uint64
	EffectiveGasPrice *big.Int
	ContractAddress   *common.Address
	Logs              []Log
	Bloom             *types.Bloom // of the logs; nil when the node did not say
	BlobGasUsed       uint64
	BlobGasPrice      *big.Int

	L1Fee               *big.Int // OP-stack, Scroll, Mantle: charged beside gas
	OperatorFeeScalar   *big.Int // OP-stack since Isthmus
	OperatorFeeConstant *big.Int
	GasUsedForL1        *uint64 // Arbitrum: already part of GasUsed
	DepositNonce        *uint64 // OP-stack deposit
}

// Neighbours are the receipts that stand around a transaction in its block, in the
// order of the block; those of failed transactions are left out.
type Neighbours struct {
	Before, After []*Receipt
}

// Log is one log of the receipt, in receipt order.
type Log struct {
	Address common.Address
	Topics  []common.Hash
	Data    []byte
	Index   uint64 // logIndex: position in the block
}

// Block is the header, and the transactions where they were asked for.
type Block struct {
	Number           uint64
	Hash             common.Hash
	ParentHash       common.Hash
	Timestamp        uint64
	Miner            common.Address
	BaseFee          *big.Int // nil before London
	GasLimit         uint64
	GasUsed          uint64
	Difficulty       *big.Int
	MixHash          common.Hash
	ExtraData        []byte
	ExcessBlobGas    *uint64
	BlobGasUsed      *uint64
	ParentBeaconRoot *common.Hash
	Withdrawals      int // count; -1 when the field is absent
	TxHashes         []common.Hash
	Transactions     []*Transaction // only when full transactions were asked for
}

// StateDiff is the answer of prestateTracer in diff mode. An account that is in
// Pre and not in Post was deleted when Pre names a balance, nonce or code; a slot
// in Pre and not in Post was set to zero.
type StateDiff struct {
	Pre, Post map[common.Address]*Account
}

// Account is one side of a state diff; nil means not said.
type Account struct {
	Balance *big.Int
	Nonce   *uint64
	Code    []byte
	Storage map[common.Hash]common.Hash
}
