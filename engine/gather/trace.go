package gather

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/replay"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Traced is what the ladder reached.
type Traced struct {
	Tree  *trace.Tree       // nil: only the receipt is left
	Diff  *ethrpc.StateDiff // nil when the node gives none
	Notes []string          // why upper rungs were left, for a reader
	Left  []error           // the same for the operator
}

// TraceOptions bound and shape the ladder.
type TraceOptions struct {
	Limits trace.Limits
	Quick  bool // re-execute without the earlier transactions of the block
}

// Trace climbs down the ladder: the node's callTracer, its flat trace, local
// re-execution, and at the end nothing, so that the receipt alone must do. An
// error says that a node was asked for a trace and fell over: the answer could
// be better later. A node that has no such method is no error.
func Trace(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, o TraceOptions) (*Traced, error) {
	t := &Traced{}
	var faults []error
	leave := func(rung trace.Rung, err error) {
		t.Notes = append(t.Notes, "no call trace by "+rungWords[rung]+": "+Reason(err))
		t.Left = append(t.Left, fmt.Errorf("%s: %w", rung, err))
		if !definite(err) {
			faults = append(faults, err)
		}
	}
	tree, err := agreeing(ctx, w, ch, hash, o.Limits, w.DebugTrace)
	if err == nil {
		t.Tree = tree
		t.Diff = t.stateDiff(ctx, w, ch, hash)
		return t, nil
	}
	leave(trace.RungDebug, err)
	if tree, err = agreeing(ctx, w, ch, hash, o.Limits, w.ParityTrace); err == nil {
		t.Tree = tree
		return t, nil
	}
	leave(trace.RungParity, err)
	res, err := reexecute(ctx, w, ch, hash, o)
	if err == nil {
		t.Tree, t.Diff = res.Tree, res.StateDiff
		t.Notes = append(t.Notes, res.AllNotes()...)
		return t, nil
	}
	leave(trace.RungReplay, err)
	return t, errors.Join(faults...)
}

// rungWords name the sources of a trace for a reader.
var rungWords = map[trace.Rung]string{
	trace.RungDebug: "the node's call tracer", trace.RungParity: "the node's flat traces", trace.RungReplay: "local re-execution",
}

// agreeing asks for a trace and refuses one that is not of the transaction. Where
// the transaction cannot be had there is nothing to compare.
func agreeing(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, lim trace.Limits,
	ask func(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error)) (*trace.Tree, error) {
	tree, err := ask(ctx, ch, hash, lim)
	if err != nil {
		return nil, err
	}
	tx, err := w.Transaction(ctx, ch, hash)
	if err != nil || !assemble.Comparable(ch, tx) {
		return tree, nil
	}
	if why := assemble.Disagrees(tree, tx, nil); why != "" {
		return nil, &ContradictionError{"the trace is not of this transaction: " + why}
	}
	return tree, nil
}

// definite reports whether the answer would be the same tomorrow: the method or
// the state is not there, or this chain cannot be re-executed. The endpoint did serve
// the transaction, so a refusal is not about the endpoint as a whole. One for want of
// payment is not definite: it is for the service to mend.
func definite(err error) bool {
	return errors.Is(err, upstream.ErrUnsupported) || errors.Is(err, upstream.ErrNoState) || errors.Is(err, replay.ErrUnsupported) ||
		errors.Is(err, errDiffers) || kindOf(err) == upstream.KindRefused
}

func kindOf(err error) upstream.Kind {
	var e *upstream.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func (t *Traced) stateDiff(ctx context.Context, w Tracer, ch *chain.Chain, hash common.Hash) *ethrpc.StateDiff {
	diff, err := w.StateDiff(ctx, ch, hash)
	if err != nil {
		t.Notes = append(t.Notes, "balances are not held against the changes of state: "+Reason(err))
		t.Left = append(t.Left, fmt.Errorf("state diff: %w", err))
		return nil
	}
	return diff
}

// errDiffers: the re-execution does not reproduce the receipt, so it is not shown.
var errDiffers = errors.New("local re-execution does not reproduce the receipt")

func reexecute(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, o TraceOptions) (*replay.Result, error) {
	tx, err := w.Transaction(ctx, ch, hash)
	if err != nil {
		return nil, err
	}
	if tx.Pending() || *tx.BlockNumber == 0 {
		return nil, fmt.Errorf("%w: the transaction is in no block after genesis", replay.ErrUnsupported)
	}
	receipt, err := w.Receipt(ctx, ch, hash)
	if err != nil {
		return nil, err
	}
	block, err := w.Block(ctx, ch, *tx.BlockNumber, false)
	if err != nil {
		return nil, err
	}
	if err := replay.Supported(ch, block, tx); err != nil {
		return nil, err
	}
	if !o.Quick {
		if block, err = w.Block(ctx, ch, *tx.BlockNumber, true); err != nil {
			return nil, err
		}
	}
	var res *replay.Result
	err = w.Local(ctx, upstream.ToolReplay, tx.Hash.Hex(), func(ctx context.Context) error {
		var err error
		res, err = replay.Run(ctx, ch, block, tx, EarlierThan(block, tx), StateAt(w, ch, *tx.BlockNumber-1), o.Limits)
		if err != nil {
			return err
		}
		if diffs := replay.Verify(res, receipt); len(diffs) > 0 {
			return fmt.Errorf("%w: %s", errDiffers, strings.Join(diffs, "; "))
		}
		return nil
	})
	return res, err
}

// EarlierThan are the transactions that ran before tx in its block.
func EarlierThan(block *ethrpc.Block, tx *ethrpc.Transaction) []*ethrpc.Transaction {
	for i, other := range block.Transactions {
		if other.Hash == tx.Hash {
			return block.Transactions[:i]
		}
	}
	return nil
}

// StateAt reads the state at the end of a block, for a run on top of it.
func StateAt(w World, ch *chain.Chain, block uint64) replay.State { return stateAt{w, ch, block} }

type stateAt struct {
	w     World
	ch    *chain.Chain
	block uint64
}

var (
	_ replay.State       = stateAt{}
	_ replay.BlockHasher = stateAt{}
)

func (p stateAt) Balance(ctx context.Context, a common.Address) (*big.Int, error) {
	return p.w.Balance(ctx, p.ch, a, p.block)
}

func (p stateAt) Nonce(ctx context.Context, a common.Address) (uint64, error) {
	return p.w.Nonce(ctx, p.ch, a, p.block)
}

func (p stateAt) Code(ctx context.Context, a common.Address) ([]byte, error) {
	return p.w.Code(ctx, p.ch, a, p.block)
}

func (p stateAt) Storage(ctx context.Context, a common.Address, slot common.Hash) (common.Hash, error) {
	return p.w.Storage(ctx, p.ch, a, slot, p.block)
}

// BlockHash is what the BLOCKHASH opcode asks for.
func (p stateAt) BlockHash(ctx context.Context, number uint64) (common.Hash, error) {
	b, err := p.w.Block(ctx, p.ch, number, false)
	if err != nil {
		return common.Hash{}, err
	}
	return b.Hash, nil
}
