package replay

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

var (
	// ErrUnsupported says that the chain, block or transaction type cannot be
	// re-executed faithfully here. The wrapping text names the reason.
	ErrUnsupported = errors.New("local re-execution is not supported")

	// ErrReadLimit says that the run asked for more state than it is allowed to.
	ErrReadLimit = errors.New("local re-execution reads too much state")

	// ErrTraceTooLarge says that the trace outgrew Options.MaxTraceBytes.
	ErrTraceTooLarge = errors.New("trace of the local re-execution is too large")
)

// State reads the state at the END of the parent block. It is called from several
// goroutines, never twice for the same value unless it failed, and must return soon after
// ctx ends. Any error ends the run: no missing value is read as zero.
type State interface {
	Balance(ctx context.Context, addr common.Address) (*big.Int, error)
	Nonce(ctx context.Context, addr common.Address) (uint64, error)
	Code(ctx context.Context, addr common.Address) ([]byte, error)
	Storage(ctx context.Context, addr common.Address, slot common.Hash) (common.Hash, error)
}

// BlockHasher is an optional interface of a State: it returns the hash of an ancestor for
// the BLOCKHASH opcode. Without it only the parent's hash is known.
type BlockHasher interface {
	BlockHash(ctx context.Context, number uint64) (common.Hash, error)
}

// Options of a run; the zero value is ready.
type Options struct {
	Limits        trace.Limits
	Config        *params.ChainConfig // rules to use instead of the chain's own
	MaxReads      int                 // State calls; 0 means 20,000
	MaxTraceBytes int                 // inputs, outputs and log data seen; 0 means 128 MiB
	Parallel      int                 // concurrent warm-up runs of earlier transactions; 0 means 8, negative none
	Changes       *Changes            // nil: run the original transaction
}

// Result of a run.
type Result struct {
	Tree          *trace.Tree
	Status        uint64 // 1 or 0, as a receipt has it
	GasUsed       uint64
	Logs          []ethrpc.Log // Index counts from the first replayed transaction
	StateDiff     *ethrpc.StateDiff
	Reads         int      // State calls
	Approximate   bool     // the chain may differ in more than is known here; see Notes
	AppliedFrames []bool   // which of Changes.Frames took place, in their order
	Notes         []string // what the reader of the trace should know; see AllNotes
}

// Run re-executes tx in blk over st. earlier are the transactions of the block
// before tx, in order; empty skips them. The tree's source is RungReplay when
// nothing before tx was skipped, else RungReplayQuick.
func Run(ctx context.Context, ch *chain.Chain, blk *ethrpc.Block, tx *ethrpc.Transaction,
	earlier []*ethrpc.Transaction, st State, lim trace.Limits) (*Result, error) {
	return RunWith(ctx, ch, blk, tx, earlier, st, Options{Limits: lim})
}

// RunWith is Run with all options. A panic below, of the EVM or of st, comes back
// as an error.
func RunWith(ctx context.Context, ch *chain.Chain, blk *ethrpc.Block, tx *ethrpc.Transaction,
	earlier []*ethrpc.Transaction, st State, opt Options) (*Result, error) {
	from, err := sourceOf(tx, earlier)
	if err != nil {
		return nil, err
	}
	env, err := newEnvironment(ch, blk, append(earlier[:len(earlier):len(earlier)], tx), opt)
	if err != nil {
		return nil, err
	}
	src := newSource(st, env, opt)
	if opt.Changes != nil {
		if err := opt.Changes.check(); err != nil {
			return nil, err
		}
		src.none(len(opt.Changes.Frames))
	}
	if len(earlier) > 0 {
		if err := warm(ctx, env, src, append(earlier[:len(earlier):len(earlier)], tx), opt.Parallel); err != nil {
			return nil, err
		}
	}
	var res *Result
	err = guard(func() error {
		var err error
		res, err = execute(ctx, env, src, tx, earlier, opt)
		return err
	})
	if err != nil {
		return nil, err
	}
	res.Tree.Source = from
	res.Reads = src.count()
	return res, nil
}

// AllNotes returns the Notes, and what is missing in the state of the run.
func (r *Result) AllNotes() []string {
	notes := slices.Clone(r.Notes)
	if r.Tree.Source == trace.SourceReplayQuick {
		notes = append(notes, "earlier transactions of the block were not replayed: state they changed is not seen")
	}
	return notes
}

// sourceOf returns the trace source of a run after these earlier transactions.
func sourceOf(tx *ethrpc.Transaction, earlier []*ethrpc.Transaction) (trace.Source, error) {
	if len(earlier) == 0 {
		if tx.Index != nil && *tx.Index == 0 {
			return trace.SourceReplay, nil
		}
		return trace.SourceReplayQuick, nil
	}
	if tx.Index != nil && *tx.Index != uint64(len(earlier)) {
		return "", fmt.Errorf("replay block: %d earlier transactions given, the transaction is at index %d", len(earlier), *tx.Index)
	}
	return trace.SourceReplay, nil
}

// guard turns a panic of f into an error. The EVM panics on state that no real
// chain has, and a node may answer with such state.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("re-execute transaction: panic: %v", r)
		}
	}()
	return f()
}
