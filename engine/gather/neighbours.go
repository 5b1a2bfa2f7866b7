package gather

import (
	"context"
	"fmt"
	"slices"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	txfacts "txlens/engine/facts"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// maxNeighbours is the number of transactions read on either side. The legs of a sandwich
// stand right beside the trade. Both sides together fit into one batch.
const maxNeighbours = 4

// warmer sends many calls in one batch.
type warmer interface {
	Warm(ctx context.Context, ch *chain.Chain, asks ...upstream.Ask) error
}

// Neighbours reads the receipts around a transaction that trades, in block order. It
// returns nil if the transaction does not trade, or if the chain's sequencer keeps pending
// transactions private, so that nobody can place transactions around them.
func Neighbours(
	ctx context.Context,
	w ChainReader,
	ch *chain.Chain,
	tx *ethrpc.Transaction,
	rc *ethrpc.Receipt,
	block *ethrpc.Block,
) (*ethrpc.Neighbours, error) {
	if block == nil || !ch.Stack.PublicOrder() || rc.Status != nil && *rc.Status != 1 || !txfacts.Trades(rc) {
		return nil, nil
	}
	at := slices.Index(block.TxHashes, tx.Hash)
	if at < 0 {
		return nil, nil
	}
	before := block.TxHashes[max(0, at-maxNeighbours):at]
	after := block.TxHashes[at+1 : min(len(block.TxHashes), at+1+maxNeighbours)]
	if ahead, ok := w.(warmer); ok {
		var asks []upstream.Ask
		for _, h := range slices.Concat(before, after) {
			asks = append(asks, upstream.AskReceipt(h))
		}
		if err := ahead.Warm(ctx, ch, asks...); err != nil {
			return nil, fmt.Errorf("read neighbours in the block: %w", err)
		}
	}
	n := &ethrpc.Neighbours{}
	var err error
	if n.Before, err = receipts(ctx, w, ch, tx, before); err != nil {
		return nil, err
	}
	if n.After, err = receipts(ctx, w, ch, tx, after); err != nil {
		return nil, err
	}
	return n, nil
}

func receipts(
	ctx context.Context,
	w ChainReader,
	ch *chain.Chain,
	tx *ethrpc.Transaction,
	list []common.Hash,
) (out []*ethrpc.Receipt, err error) {
	for _, h := range list {
		rc, err := w.Receipt(ctx, ch, h)
		if err == nil {
			err = sameBlock("a neighbour's receipt", rc.BlockHash, rc.BlockNumber, tx)
		}
		if err != nil {
			return nil, fmt.Errorf("read neighbours in the block: %w", err)
		}
		if rc.Status == nil || *rc.Status == 1 {
			out = append(out, rc)
		}
	}
	return out, nil
}
