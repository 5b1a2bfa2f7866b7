package flow

import (
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// Input is the evidence that a Flow is computed from. Only Tx and Chain are required. If
// something else is missing, the Flow has less, and its Notes say what.
type Input struct {
	Chain     *chain.Chain
	Tx        *ethrpc.Transaction
	Receipt   *ethrpc.Receipt
	Block     *ethrpc.Block
	Tree      *trace.Tree
	Diff      *ethrpc.StateDiff // compared with the result, which follows it where accounts differ
	Succeeded bool              // outcome of the whole transaction
	NoLogs    bool              // the logs are not available: transfers are read from calls
	LogsOnly  bool              // Receipt contains only the logs of the trace: the fee is unknown

	// NFT reports whether a token is known to move ids, whatever the layout of its events. It
	// may be nil.
	NFT func(common.Address) bool
	// Token reports whether a contract is a known fungible token. It may be nil.
	Token func(common.Address) bool
	// Divisible reports whether a contract answered decimals() with more than none. It may be
	// nil.
	Divisible func(common.Address) bool
}

// computation is the state of one call of Compute.
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
	kinds  tokenKinds

	repeated  map[int]bool         // see repeats
	twins     *booked              // see bookOnce
	logFrames map[int]*trace.Frame // see emittedBy
}

// Compute derives all movements of one transaction. It only reads its input and never
// panics; the same input gives the same Flow.
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
		c.silent()
		c.tokens()
	}
	c.out.Unread = c.unread()
	c.fees()
	c.lost()
	c.reconcile()
	c.followState()
	c.splitFee()
	c.check()
	c.observe()
	c.out.Changes = c.bal.changes()
	c.bal.release()
	return &c.out
}

// headOf returns the header fields that the chain's rules depend on; today's if the block
// is unknown.
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
