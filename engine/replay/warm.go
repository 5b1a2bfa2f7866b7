package replay

import (
	"context"
	"fmt"
	"sync"

	"txlens/engine/ethrpc"
)

const defaultParallel = 8

// warm runs the transactions side by side, each alone on the parent state, for
// the reads they make: a block of two hundred transactions waits for thousands of
// answers, and one after the other that takes minutes. The outcomes are thrown
// away. Each of the runs is deterministic, so which state is read, and whether
// the bound is exceeded, does not depend on how they interleave.
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

// speculate runs one transaction as if nothing preceded it in the block.
func speculate(ctx context.Context, env *environment, src *source, tx *ethrpc.Transaction, index int) error {
	db, v, err := newState(ctx, src)
	if err != nil {
		return err
	}
	alignNonce(env, db, tx)
	_, err = apply(env, db, v, tx, index, manner{})
	return err
}
