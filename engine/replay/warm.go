package replay

import (
	"context"
	"fmt"
	"sync"

	"txlens/engine/ethrpc"
)

const defaultParallel = 8

// warm runs the transactions concurrently, each alone on the parent state, to load the
// state that they read: run one after the other, a block of two hundred transactions waits
// minutes for thousands of answers. The results are discarded. Each run is deterministic,
// so the values read do not depend on the scheduling.
func warm(ctx context.Context, env *environment, src *source, txs []*ethrpc.Transaction, parallel int) error {
	if parallel == 0 {
		parallel = defaultParallel
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, max(parallel, 1))
	for i, tx := range txs {
		if parallel < 0 || ctx.Err() != nil || src.overLimit() {
			break
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			// What goes wrong here goes wrong again, or not, in the real run.
			_ = guard(func() error { return speculate(ctx, env, src, tx, i) })
		})
	}
	wg.Wait()
	if src.overLimit() {
		return fmt.Errorf("%w: bound of %d reads", ErrReadLimit, src.max)
	}
	return ctx.Err()
}

// speculate runs one transaction as if it were the first of the block.
func speculate(ctx context.Context, env *environment, src *source, tx *ethrpc.Transaction, index int) error {
	db, v, err := newState(ctx, src)
	if err != nil {
		return err
	}
	alignNonce(env, db, tx)
	_, err = apply(env, db, v, tx, index, runMode{})
	return err
}
