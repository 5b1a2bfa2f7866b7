// Package gather fetches the evidence of one transaction. There is one function for each
// phase: finding the chain, reading the transaction with its receipt and block, the trace,
// token metadata, contract sources and signatures, prices.
//
// All requests go through World, so that a recorded bundle serves as well as live nodes. A
// function that fails returns what it obtained together with the error.
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

// World is every request that the phases make to the outside. *upstream.Session implements
// it.
type World interface {
	ChainFinder
	ChainReader
	Tracer
	StateReader
	MetadataSource
	LocalWork
}

// ChainFinder finds the chain of a transaction hash.
type ChainFinder interface {
	// Probe races all chains for the hash.
	Probe(ctx context.Context, chains []*chain.Chain, hash common.Hash) (*upstream.ProbeResult, error)
}

// ChainReader reads transactions, receipts and blocks.
type ChainReader interface {
	// Transaction returns upstream.ErrNotFound when the node does not know the hash.
	Transaction(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Transaction, error)
	// Receipt returns upstream.ErrNotFound while the transaction is in no block.
	Receipt(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.Receipt, error)
	// Block returns the header, with full transactions when asked.
	Block(ctx context.Context, ch *chain.Chain, number uint64, full bool) (*ethrpc.Block, error)
}

// Tracer requests traces from a node or an explorer, and state diffs from a node.
type Tracer interface {
	// DebugTrace is callTracer with logs.
	DebugTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// ParityTrace is the flat trace of Erigon, Nethermind and reth.
	ParityTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// ReplayTrace is the same list by another method, made anew by the node.
	ReplayTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// OtterscanTrace is the list of the Otterscan API, without gas and failures.
	OtterscanTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// ExplorerTrace is what a block explorer has, upstream.ErrNoEndpoint where none is known.
	ExplorerTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error)
	// StateDiff is prestateTracer in diff mode.
	StateDiff(ctx context.Context, ch *chain.Chain, hash common.Hash) (*ethrpc.StateDiff, error)
}

// StateReader reads accounts at the end of a block.
type StateReader interface {
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

// MetadataSource provides contract sources, signatures and prices.
type MetadataSource interface {
	// Source returns the verified ABI, upstream.ErrNotFound when nobody has it.
	Source(ctx context.Context, ch *chain.Chain, a common.Address) (*upstream.Source, error)
	// SourceText returns what the contract was compiled from, with the errors of Source.
	SourceText(ctx context.Context, ch *chain.Chain, a common.Address) (*upstream.SourceText, error)
	// Signatures asks a signature database.
	Signatures(ctx context.Context, selectors [][4]byte, topics []common.Hash) (*upstream.SignatureSet, error)
	// Prices are per whole token at the given Unix second.
	Prices(ctx context.Context, ch *chain.Chain, at uint64, tokens []common.Address) (map[common.Address]upstream.Price, error)
}

// LocalWork meters work that this process does itself.
type LocalWork interface {
	// Local runs work and books its time and price under the name of a tool.
	Local(ctx context.Context, tool, key string, work func(context.Context) error) error
}
