// Package gather fetches the pieces of evidence of one transaction, one function
// a phase: which chain, the transaction with its receipt and block, the trace by
// the ladder, token facts, contract sources and signatures, prices. A phase asks
// the world only through World, so that a recorded bundle serves as well as live
// nodes. Functions return what they have beside an error: a failed phase costs
// its own piece.
package gather

import (
	"context"
	"math/big"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// World is what the phases ask of the outside. *upstream.Session is one.
type World interface {
	Finder
	Ledger
	Tracer
	State
	Directory
	Worker
}

// Finder knows which chain has a hash.
type Finder interface {
	// Probe races all chains for the hash.
	Probe(ctx context.Context, chains []*chain.Chain, hash common.Hash) (*upstream.ProbeResult, error)
}

// Ledger knows what stands in the chain.
type Ledger interface {
	// Transaction returns upstream.ErrNotFound when the node does not know the hash.
	Transaction(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Transaction, error)
	// Receipt returns upstream.ErrNotFound while the transaction is in no block.
	Receipt(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Receipt, error)
	// Block returns the header, with full transactions when asked.
	Block(ctx context.Context, ch *chain.Chain, number uint64, full bool) (*ethrpc.Block, error)
}

// Tracer re-runs a transaction on the node.
type Tracer interface {
	// DebugTrace is callTracer with logs.
	DebugTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// ParityTrace is the flat trace of Erigon, Nethermind and reth.
	ParityTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// StateDiff is prestateTracer in diff mode.
	StateDiff(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.StateDiff, error)
}

// State reads accounts at the end of a block.
type State interface {
	// Balance is in wei.
	Balance(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) (*big.Int, error)
	// Nonce counts the transactions sent.
	Nonce(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) (uint64, error)
	// Code is empty for an account without code.
	Code(ctx context.Context, ch *chain.Chain, a common.Address, block uint64) ([]byte, error)
	// Storage reads one slot.
	Storage(ctx context.Context, ch *chain.Chain, a common.Address, slot common.Hash, block uint64) (common.Hash, error)
	// Call runs eth_call.
	Call(ctx context.Context, ch *chain.Chain, to common.Address, data []byte, block uint64) ([]byte, error)
	// CallFrom is Call with the caller that the contract sees.
	CallFrom(ctx context.Context, ch *chain.Chain, from, to common.Address, data []byte, block uint64) ([]byte, error)
}

// Directory knows sources, signatures and prices.
type Directory interface {
	// Source returns the verified ABI, upstream.ErrNotFound when nobody has it.
	Source(ctx context.Context, ch *chain.Chain, a common.Address) (*upstream.Source, error)
	// SourceText returns what the contract was compiled from, with the errors of Source.
	SourceText(ctx context.Context, ch *chain.Chain, a common.Address) (*upstream.SourceText, error)
	// Signatures asks a signature database.
	Signatures(ctx context.Context, selectors [][4]byte, topics []common.Hash) (*upstream.SignatureSet, error)
	// Prices are per whole token at the given Unix second.
	Prices(ctx context.Context, ch *chain.Chain, at uint64, tokens []common.Address) (map[common.Address]upstream.Price, error)
}

// Worker books work that is done here.
type Worker interface {
	// Local runs work and books its time and price under the name of a tool.
	Local(ctx context.Context, tool, key string, work func(context.Context) error) error
}
