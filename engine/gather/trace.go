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

// TraceResult is the best trace that could be obtained, and why better sources failed.
type TraceResult struct {
	Tree   *trace.Tree       // nil: no trace is available, only the receipt
	Diff   *ethrpc.StateDiff // nil when the node provides none
	Notes  []string          // why better sources failed, for the reader of the result
	Errors []error           // the same with all details, for the operator's log
}

// TraceOptions are the limits and options of Trace.
type TraceOptions struct {
	Limits trace.Limits
	Quick  bool // re-execute without the earlier transactions of the block
}

// Trace tries the sources of a trace in order: the node's callTracer, its flat traces, a
// block explorer, local re-execution. If all fail, Tree is nil and the receipt must do. An
// error means that a node failed while it was asked, so a later attempt may return a better
// trace. It is no error if a node lacks the method, or if the explorer fails.
func Trace(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, o TraceOptions) (*TraceResult, error) {
	t := &TraceResult{}
	var faults []error
	leave := func(source trace.Source, err error) {
		t.Notes = append(t.Notes, "no call trace by "+sourceText[source]+": "+Reason(err))
		t.Errors = append(t.Errors, fmt.Errorf("%s: %w", source, err))
		if !definite(err) {
			faults = append(faults, err)
		}
	}
	tree, err := checkedTrace(ctx, w, ch, hash, o.Limits, w.DebugTrace)
	if err == nil {
		t.Tree = tree
		t.Diff = t.stateDiff(ctx, w, ch, hash)
		return t, nil
	}
	leave(trace.SourceDebug, err)
	if tree, err = checkedTrace(ctx, w, ch, hash, o.Limits, w.ParityTrace); err == nil {
		t.Tree = tree
		return t, nil
	}
	leave(trace.SourceParity, err)
	if t.Tree = t.substitute(ctx, w, ch, hash, o.Limits, leave); t.Tree != nil {
		return t, nil
	}
	res, err := reexecute(ctx, w, ch, hash, o)
	if err == nil {
		t.Tree, t.Diff = res.Tree, res.StateDiff
		t.Notes = append(t.Notes, res.AllNotes()...)
		return t, nil
	}
	leave(trace.SourceReplay, err)
	return t, errors.Join(faults...)
}

// substitute asks the sources that few endpoints offer and an explorer, nil if none has the
// trace. Those that are not there leave no note: nobody expects them.
func (t *TraceResult) substitute(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, lim trace.Limits,
	leave func(trace.Source, error)) *trace.Tree {
	for _, s := range []struct {
		source trace.Source
		ask    traceFunc
	}{
		{trace.SourceReplayed, w.ReplayTrace}, {trace.SourceOtterscan, w.OtterscanTrace}, {trace.SourceExplorer, w.ExplorerTrace},
	} {
		tree, err := confirmedTrace(ctx, w, ch, hash, lim, s.ask)
		switch {
		case err == nil:
			if note := substituteNotes[s.source]; note != "" {
				t.Notes = append(t.Notes, note)
			}
			return tree
		case s.source == trace.SourceExplorer && !absent(err):
			t.Notes = append(t.Notes, "no call trace by "+sourceText[s.source]+": "+Reason(err))
			t.Errors = append(t.Errors, fmt.Errorf("%s: %w", s.source, err))
		case !absent(err):
			leave(s.source, err)
		}
	}
	return nil
}

// absent reports whether a source does not exist, is switched off, or was not there yet when
// the analysis was recorded.
func absent(err error) bool {
	switch kindOf(err) {
	case upstream.KindUnsupported, upstream.KindNoEndpoint, upstream.KindSourcesOff, upstream.KindNotRecorded:
		return true
	}
	return errors.Is(err, upstream.ErrUnsupported) || errors.Is(err, upstream.ErrNoEndpoint)
}

// sourceText names the sources of a trace in notes.
var sourceText = map[trace.Source]string{
	trace.SourceDebug: "the node's call tracer", trace.SourceParity: "the node's flat traces", trace.SourceReplay: "local re-execution",
	trace.SourceReplayed: "the node's own re-execution", trace.SourceOtterscan: "the node's Otterscan interface",
	trace.SourceExplorer: "the block explorer",
}

// substituteNotes say what a reader must know of a trace.
var substituteNotes = map[trace.Source]string{
	trace.SourceOtterscan: "the call trace is the node's Otterscan list, which has no gas and does not say which calls failed",
	trace.SourceExplorer:  "the call trace is what a block explorer (Blockscout) says, not a node",
}

type traceFunc = func(context.Context, *chain.Chain, common.Hash, trace.Limits) (*trace.Tree, error)

// confirmedTrace is checkedTrace for a source that another one can stand in for: its tree
// must agree with the receipt as well, and hide no failure that matters.
func confirmedTrace(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, lim trace.Limits, ask traceFunc) (*trace.Tree, error) {
	tree, err := checkedTrace(ctx, w, ch, hash, lim, ask)
	if err != nil {
		return nil, err
	}
	rc, err := w.Receipt(ctx, ch, hash)
	known := err == nil && rc.Status != nil
	if known && *rc.Status == 1 && tree.Root.Err != "" {
		return nil, &ContradictionError{"the trace ends in a failure, the receipt in success"}
	}
	if tree.HidesFailures() && !(known && *rc.Status == 0) {
		return nil, &ContradictionError{"it does not say which calls failed, and some would have moved coins or made contracts"}
	}
	return tree, nil
}

// checkedTrace requests a trace and rejects one that contradicts the transaction. If the
// transaction is not available, it is not compared.
func checkedTrace(ctx context.Context, w World, ch *chain.Chain, hash common.Hash, lim trace.Limits, ask traceFunc) (*trace.Tree, error) {
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

// definite reports whether a repeated request would fail again: the method or the state is
// missing, or this chain cannot be re-executed. A rejected payment is not definite, because
// the operator can resolve it.
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

func (t *TraceResult) stateDiff(ctx context.Context, w Tracer, ch *chain.Chain, hash common.Hash) *ethrpc.StateDiff {
	diff, err := w.StateDiff(ctx, ch, hash)
	if err != nil {
		t.Notes = append(t.Notes, "balances are not held against the changes of state: "+Reason(err))
		t.Errors = append(t.Errors, fmt.Errorf("state diff: %w", err))
		return nil
	}
	return diff
}

// errDiffers means that local re-execution does not reproduce the receipt. Its trace is not
// used.
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

// EarlierThan returns the transactions that precede tx in its block.
func EarlierThan(block *ethrpc.Block, tx *ethrpc.Transaction) []*ethrpc.Transaction {
	for i, other := range block.Transactions {
		if other.Hash == tx.Hash {
			return block.Transactions[:i]
		}
	}
	return nil
}

// StateAt returns the state at the end of a block, as the parent state of a re-execution.
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

// BlockHash returns the value of the BLOCKHASH opcode.
func (p stateAt) BlockHash(ctx context.Context, number uint64) (common.Hash, error) {
	b, err := p.w.Block(ctx, p.ch, number, false)
	if err != nil {
		return common.Hash{}, err
	}
	return b.Hash, nil
}
