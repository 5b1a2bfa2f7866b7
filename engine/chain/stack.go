package chain

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Stack describes how a family of node software differs from others: fees, transaction
// types, built-in contracts, and what its traces and logs contain. There is one file for
// each stack. Code outside this package calls these methods and never compares stacks.
//
// Implementations are values without state, safe for concurrent use.
type Stack interface {
	// Name is the family's name, as the table has it and `txlens chains` shows it.
	Name() string

	// TxType says what transactions of a type are (EIP-2718).
	TxType(txType uint64) TxType

	// Housekeeping reports whether the chain itself makes transactions of this
	// type from this sender, block by block, and nobody asked for them.
	Housekeeping(txType uint64, from common.Address) bool

	// Fee is the rule for the fees of a block. Latest gives the rule of today.
	Fee(h Head) FeeRule

	// TokenFeeTakers are the accounts that get fees which are paid in tokens.
	TokenFeeTakers() []common.Address

	// NativeToken is the contract under which the native coin is a token too, nil
	// where there is none. A log of it and the value of a call may be the same
	// movement: NativeLogs says which.
	NativeToken() *common.Address

	// NativeLogs says what the Transfer logs of NativeToken tell about the coin.
	NativeLogs() NativeLogs

	// EIP6780 reports whether SELFDESTRUCT spares accounts that existed before the
	// transaction.
	EIP6780(h Head) bool

	// Builtin names a contract that the protocol itself puts at an address:
	// precompiles, predeploys, system contracts.
	Builtin(a common.Address) (Builtin, bool)

	// Traces says how the outermost call of a trace relates to the transaction.
	Traces() Traces

	// PublicOrder reports whether others see pending transactions and can pay for
	// a place beside them in the block. Elsewhere one sequencer orders the block.
	PublicOrder() bool

	// SharedBridge reports whether the contracts of the stack's own bridge have the
	// same addresses on each of its chains.
	SharedBridge() bool

	// Unreplayable says why plain go-ethereum cannot execute the chain's
	// transactions, in words that complete "is not supported: …"; "" if it can.
	Unreplayable() string
}

// Head is the part of a block header that the rules of a stack depend on.
type Head struct {
	Number  uint64
	Time    uint64 // Unix seconds
	BaseFee bool   // the header has a base fee (EIP-1559)
	Cancun  bool   // the header has a parent beacon root (EIP-4788) or excess blob gas (EIP-4844)
}

// Latest is a header under the rules of today, for where the block is not known.
var Latest = Head{Number: ^uint64(0), Time: ^uint64(0), BaseFee: true, Cancun: true}

// TxType describes one transaction type. The zero value is a transaction that a user signed
// and pays for in the native coin.
type TxType struct {
	// System: the protocol itself makes these transactions, no sender signed them
	// on this chain. What they carry may still be a user's wish, stated on L1
	// (deposits, messages, retryable tickets).
	System bool

	// ZeroFee: no fee is paid on this chain, whatever gasUsed and the gas price of
	// the receipt say: the gas was paid on L1 or is the protocol's own.
	ZeroFee bool

	// FeeInToken: the fee may have been paid in a token, so that gasUsed x price is
	// no amount of the native coin.
	FeeInToken bool

	// OutsideFrames: native coin moves that neither call frames nor the sender's
	// payment show, the fee among them.
	OutsideFrames bool

	// Mint is where coin comes from that the transaction creates.
	Mint Mint
}

// Mint is how a transaction brings coin from L1.
type Mint int

// How coin comes from L1.
const (
	MintNone  Mint = iota
	MintField      // the field mint goes to the sender, even when the transaction fails
	MintValue      // the value goes to the sender first, when the transaction succeeds
)

// NativeLogs says what the Transfer logs of the native coin's token contract contain.
type NativeLogs int

// What Transfer logs of the native coin tell.
const (
	NativeLogsRepeat NativeLogs = iota // nothing that call frames do not tell
	NativeLogsAdd                      // moves made through the token interface show in logs alone
	NativeLogsAll                      // one log for every move, fee prepayment and refund included
)

// Builtin is a contract that the protocol itself provides.
type Builtin struct {
	Name     string
	Category string // one of the categories of address labels
}

// Traces says how the outermost call of a trace relates to the transaction.
type Traces int

// How the outermost call of a trace relates to the transaction.
const (
	TracesVary   Traces = iota // usually the same; a difference is worth a doubt
	TracesMatch                // the same for Ethereum's own transaction types
	TracesDiffer               // another one by design
)

// stacks are the families that a row of the table may name.
var stacks = byName(generic{}, ethereum{}, opstack{}, mantle{}, scroll{}, arbitrum{}, zksync{}, bor{}, tempo{})

// variants are the chains that differ from their stack in some rule, by chain ID.
var variants = map[uint64]Stack{
	56:    bsc{},
	100:   gnosis{},
	143:   monad{},
	288:   boba{},
	1088:  metis{},
	1284:  moonbeam{},
	1285:  moonbeam{}, // Moonriver
	42220: celo{},
	43114: avalanche{},
	81457: blast{},
}

func byName(list ...Stack) map[string]Stack {
	m := make(map[string]Stack, len(list))
	for _, s := range list {
		m[s.Name()] = s
	}
	return m
}

// stackOf is the stack of a row.
func stackOf(id uint64, family string) (Stack, error) {
	s, ok := stacks[family]
	if !ok {
		return nil, fmt.Errorf("chain %d: unknown stack %q", id, family)
	}
	if v, ok := variants[id]; ok {
		if v.Name() != family {
			return nil, fmt.Errorf("chain %d: stack %q, want %q", id, family, v.Name())
		}
		return v, nil
	}
	return s, nil
}

func address(hex string) *common.Address {
	a := common.HexToAddress(hex)
	return &a
}
