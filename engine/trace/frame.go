package trace

import (
	"txlens/engine/evmsig"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Source is how a call tree was obtained, best first. A result from a later source has at
// most medium or low confidence.
type Source string

const (
	SourceDebug       Source = "debug_traceTransaction"
	SourceParity      Source = "trace_transaction"
	SourceReplayed    Source = "trace_replayTransaction" // the same list, made anew by the node
	SourceOtterscan   Source = "ots_traceTransaction"    // a list without gas and failures
	SourceExplorer    Source = "blockscout"              // what a block explorer says
	SourceReplay      Source = "local-replay"            // re-executed after the earlier transactions of its block
	SourceReplayQuick Source = "local-replay-quick"      // re-executed at the parent block's state
	SourceReceipt     Source = "receipt"                 // one frame, made of transaction and receipt
)

// Status is the outcome of one frame.
type Status uint8

const (
	OK       Status = iota
	Failed          // the frame itself failed
	Reverted        // it succeeded, an ancestor failed: no effect
)

// Kind is the opcode that made a frame.
type Kind uint8

const (
	Call Kind = iota
	StaticCall
	DelegateCall
	CallCode
	Create
	Create2
	SelfDestruct
	Unknown
)

// Frame is one call. Children and logs are in execution order.
type Frame struct {
	Kind         Kind
	From         common.Address
	To           common.Address // code address for DELEGATECALL and CALLCODE; beneficiary for SELFDESTRUCT
	HasTo        bool           // false on a creation that failed before it had an address
	Value        uint256.Int    // wei; of a DELEGATECALL the parent's value, which does not move
	Gas, GasUsed uint64
	Input        []byte
	Output       []byte
	Err          string // the EVM's error text, empty if the frame succeeded
	RevertReason string // as the node decoded it
	Logs         []Log
	Children     []*Frame

	// Set when the tree is finished.
	Parent     *Frame
	Index      int // position in Tree.Frames (execution order)
	Depth      int // 0 for the root
	Status     Status
	RevertedBy *Frame // nearest failed ancestor, when Status is Reverted
	Markers    []*Marker
}

// Logged reports whether the code of the frame emitted a log. The chain's own log of the coin
// that a frame carries (EIP-7708) shows no code.
func (f *Frame) Logged() bool {
	for i := range f.Logs {
		if f.Logs[i].Address != evmsig.NativeLogger {
			return true
		}
	}
	return false
}

// MovesValue reports whether the frame transfers its Value when it succeeds:
// CALL, CREATE, CREATE2 and SELFDESTRUCT do; CALLCODE pays itself.
func (f *Frame) MovesValue() bool {
	switch f.Kind {
	case Call, Create, Create2, SelfDestruct:
		return !f.Value.IsZero()
	}
	return false
}

// Log is a log of a frame. Receipt is its position in the receipt, -1 before JoinLogs.
// Calls is the number of child calls before it.
type Log struct {
	Address common.Address
	Topics  []common.Hash
	Data    []byte
	Calls   int
	Receipt int
}

// Tree is the finished call tree.
type Tree struct {
	Source  Source
	Root    *Frame
	Frames  []*Frame // kept frames in execution order, Frames[0] == Root
	Total   int      // frames of the original trace
	Failed  int      // frames of the original trace with Status Failed
	Markers []*Marker
	HasLogs bool     // the source attached logs to frames
	Loose   []int    // receipt positions of logs that no frame of the source has, although it has those of frames
	Notes   []string // logs that could not be matched, and what was omitted

	joined  bool
	missing int // calls that a flat list announced and did not list
}

// Compressed reports whether frames were omitted.
func (t *Tree) Compressed() bool { return len(t.Markers) > 0 }

// Whole reports whether no call is missing, all ran on the state of the block, and it is told which
// failed. A nil tree is not whole.
func (t *Tree) Whole() bool {
	if t == nil || t.Compressed() {
		return false
	}
	switch t.Source {
	case SourceReceipt, SourceReplayQuick, SourceOtterscan: // the last does not say what failed
		return false
	}
	return true
}

// Marker stands for sibling subtrees omitted from Parent. Its moves keep the balances
// complete; below a reverted frame it has no moves, creations or logs.
type Marker struct {
	Parent  *Frame
	After   int              // number of kept children of Parent before the gap
	Period  int              // sibling subtrees in one repetition
	Repeats int              // repetitions omitted
	Removed int              // frames omitted
	Failed  int              // omitted frames with an error of their own
	Logs    int              // omitted logs that took effect, so that the receipt has them
	Elided  bool             // not repetitive, omitted because the bound was reached
	Moves   []Move           // value moved by live frames inside, summed per (Kind, From, To)
	Creates []common.Address // by live frames inside, in execution order

	sums map[moveKey]int // position in Moves, while the tree is built
}

// Move is native value moved inside omitted frames.
type Move struct {
	Kind     Kind
	From, To common.Address
	Value    uint256.Int
	Count    int
}

// Limits bound a parse.
type Limits struct {
	CompressAbove int // frames above which repeated siblings collapse; 0 means 10,000
	MaxKept       int // hard bound of kept frames; 0 means 2 x CompressAbove
	MaxDepth      int // 0 means 1,100 (the EVM allows 1,024)
}
