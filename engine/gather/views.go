package gather

import (
	"context"
	"errors"

	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Views runs the questions of the checks against the state around a transaction: the end of
// the parent block, or of its own block. A call that reverts is a valid answer. Answers are
// returned together with the error of those that failed.
func Views(
	ctx context.Context, w StateReader, ch *chain.Chain, tx *ethrpc.Transaction, list []check.Question,
) (views []check.View, err error) {
	if tx == nil || tx.Pending() || *tx.BlockNumber == 0 {
		return nil, nil
	}
	if ahead, ok := w.(warmer); ok {
		asks := make([]upstream.Ask, len(list))
		for i, q := range list {
			if asks[i] = upstream.AskCall(q.To, q.Data, blockOf(tx, q)); q.From != (common.Address{}) {
				asks[i] = upstream.AskCallFrom(q.From, q.To, q.Data, blockOf(tx, q))
			}
		}
		if err := ahead.Warm(ctx, ch, asks...); err != nil {
			return nil, err
		}
	}
	for _, q := range list {
		block := blockOf(tx, q)
		var out []byte
		var fault error
		if q.From == (common.Address{}) {
			out, fault = w.Call(ctx, ch, q.To, q.Data, block)
		} else {
			out, fault = w.CallFrom(ctx, ch, q.From, q.To, q.Data, block)
		}
		reverted := errors.Is(fault, upstream.ErrReverted)
		if fault != nil && !reverted {
			err = fault
			continue
		}
		views = append(views, check.View{Question: q, Output: out, Reverted: reverted})
	}
	return views, err
}

// blockOf returns the block at whose end a question is evaluated.
func blockOf(tx *ethrpc.Transaction, q check.Question) uint64 {
	if q.When == check.Before {
		return *tx.BlockNumber - 1
	}
	return *tx.BlockNumber
}
