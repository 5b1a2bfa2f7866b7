package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
)

// prefetching is how many accounts are requested at once.
const prefetching = 16

// execute runs the earlier transactions and then tx under the tracer.
func execute(ctx context.Context, env *environment, src *source, tx *ethrpc.Transaction,
	earlier []*ethrpc.Transaction, opt Options) (*Result, error) {
	db, v, err := newState(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("open parent state: %w", err)
	}
	if err := openBlock(env, db, v); err != nil {
		return nil, err
	}
	for i, e := range earlier {
		if _, err := apply(env, db, v, e, i, runMode{}); err != nil {
			return nil, fmt.Errorf("replay transaction %d of the block: %w", i, err)
		}
	}
	res := &Result{Approximate: env.approximate}
	if env.guessed {
		res.Notes = append(res.Notes, "fork rules were read off the header")
	} else if env.approximate {
		res.Notes = append(res.Notes, "fork rules are those of the chain's published schedule; what it changed beside them is not known")
	}
	if len(earlier) == 0 && alignNonce(env, db, tx) {
		res.Notes = append(res.Notes, "the sender's nonce was advanced past skipped transactions")
	}
	if c := opt.Changes; c != nil {
		c.applyState(env, db)
		if c.SkipSenderChecks {
			if note := c.fund(env, db, tx); note != "" {
				res.Notes = append(res.Notes, note)
			}
		}
	}
	if err := v.fault(); err != nil {
		return nil, err
	}
	return res, traced(env, db, v, tx, len(earlier), opt, res)
}

// openBlock applies the changes at the start of a block that the parent state does not
// already contain.
func openBlock(env *environment, db *state.StateDB, v *view) error {
	if !env.daoFork() {
		return nil
	}
	prefetch(v, daoAccounts())
	misc.ApplyDAOHardFork(db)
	db.Finalise(env.rules())
	return v.fault()
}

// prefetch requests accounts concurrently. The run requests again what failed.
func prefetch(v *view, addrs []common.Address) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, prefetching)
	for _, a := range addrs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			_, _ = v.src.account(v.ctx, a)
		})
	}
	wg.Wait()
}

// alignNonce sets the sender's nonce to that of the transaction, which determines the
// addresses of created contracts.
func alignNonce(env *environment, db *state.StateDB, tx *ethrpc.Transaction) bool {
	if db.GetNonce(tx.From) >= tx.Nonce {
		return false
	}
	db.SetNonce(tx.From, tx.Nonce, tracing.NonceChangeUnspecified)
	db.Finalise(env.rules())
	return true
}

// runMode says how a transaction is run.
type runMode struct {
	hooks *tracing.Hooks // may be nil
	free  bool           // see Changes.SkipSenderChecks
}

// apply runs one transaction on db and finalises it.
func apply(env *environment, db *state.StateDB, v *view, tx *ethrpc.Transaction, index int, how runMode) (*core.ExecutionResult, error) {
	blockCtx, hooks := env.blockContext(v), how.hooks
	msg, err := message(tx, blockCtx.BaseFee)
	if err != nil {
		return nil, err
	}
	if how.free {
		msg.SkipNonceCheck().SkipEOACheck()
	}
	var target vm.StateDB = db
	if hooks != nil {
		target = state.NewHookedState(db, hooks)
	}
	evm := vm.NewEVM(blockCtx, target, env.config, vm.Config{Tracer: hooks})
	defer evm.Release()
	v.onFault(evm.Cancel)
	defer v.onFault(nil)
	defer context.AfterFunc(v.ctx, evm.Cancel)()

	db.SetTxContext(tx.Hash, index, uint32(index+1))
	res, err := core.ApplyMessage(evm, msg, nil)
	// A fault goes first: after it the outcome, error or not, is made of zeros.
	if fault := v.fault(); fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, fmt.Errorf("apply transaction: %w", err)
	}
	target.Finalise(env.rules())
	return res, v.fault()
}

// traced runs tx with the frame and diff recorders and fills res.
func traced(env *environment, db *state.StateDB, v *view, tx *ethrpc.Transaction, index int, opt Options, res *Result) error {
	frames := newFrames(v, tx.Gas, opt)
	diff := newDiff(db)
	hooks := frames.hooks()
	diff.attach(hooks)
	how := runMode{hooks: hooks}
	if c := opt.Changes; c != nil {
		how.free = c.SkipSenderChecks
		if len(c.Frames) > 0 {
			ch := newChanger(c.Frames)
			ch.attach(hooks)
			res.AppliedFrames = ch.applied
		}
	}
	out, err := apply(env, db, v, tx, index, how)
	if err != nil {
		return err
	}
	if res.Tree, err = frames.live.Tree(trace.SourceReplay); err != nil {
		return err
	}
	res.Tree.Root.GasUsed = out.UsedGas // with the intrinsic gas and the refund
	if !out.Failed() {
		res.Status = types.ReceiptStatusSuccessful
	}
	res.GasUsed = out.UsedGas
	res.StateDiff = diff.result()
	for _, l := range db.GetLogs(tx.Hash, env.block.Number, env.block.Hash, env.block.Timestamp) {
		res.Logs = append(res.Logs, ethrpc.Log{Address: l.Address, Topics: l.Topics, Data: l.Data, Index: uint64(l.Index)})
	}
	return v.fault()
}
