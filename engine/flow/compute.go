package flow

import (
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Input is the evidence a Flow is computed from. Only Tx and Chain are needed;
// what else is missing makes the Flow poorer, and its Notes say how.
type Input struct {
	Chain     *chain.Chain
	Tx        *ethrpc.Transaction
	Receipt   *ethrpc.Receipt
	Block     *ethrpc.Block
	Tree      *trace.Tree
	Diff      *ethrpc.StateDiff // compared with the result; makes none of it, but leaves out what is proven fake
	Succeeded bool              // outcome of the whole transaction
	NoLogs    bool              // nobody has the logs: transfers are read from calls
	LogsOnly  bool              // Receipt holds the logs of the trace and nothing else: the fee is not known

	// NFT says of a token whose Transfer does not tell ids from amounts by its
	// layout that it moves ids. It may be nil.
	NFT func(common.Address) bool
	// Token says of a contract that it is a known fungible token. It may be nil.
	Token func(common.Address) bool
}

// computation is one computation.
type computation struct {
	Input
	out    Flow
	bal    *balances
	slab   slab
	head   chain.Head
	fee    chain.FeeRule
	txType chain.TxType
	wrap   *wraps
	fake   map[common.Address]bool // see fakes
}

// Compute makes the ledger of one transaction. It reads only its input, panics
// on none, and the same input gives the same Flow.
func Compute(in Input) *Flow {
	c := &computation{Input: in, bal: balancesPool.Get().(*balances)}
	if in.Chain == nil || in.Tx == nil {
		c.bal.release()
		return &c.out
	}
	c.head = headOf(in.Block)
	c.fee = in.Chain.Stack.Fee(c.head)
	c.txType = in.Chain.Stack.TxType(in.Tx.Type)
	c.bal.account(in.Tx.From) // the sender comes first
	c.minted()
	c.native()
	if c.NoLogs {
		c.calls()
	} else {
		c.tokens()
	}
	c.fees()
	c.lost()
	c.reconcile()
	c.check()
	c.observe()
	c.out.Changes = c.bal.changes()
	c.bal.release()
	return &c.out
}

// headOf is what the rules of a chain depend on; those of today without a block.
func headOf(b *ethrpc.Block) chain.Head {
	if b == nil {
		return chain.Latest
	}
	return chain.Head{
		Number: b.Number, Time: b.Timestamp, BaseFee: b.BaseFee != nil,
		Cancun: b.ParentBeaconRoot != nil || b.ExcessBlobGas != nil,
	}
}

func (c *computation) note(s string) { c.out.Notes = append(c.out.Notes, s) }
