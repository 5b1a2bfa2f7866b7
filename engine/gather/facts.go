package gather

import (
	"context"
	"errors"
	"fmt"

	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Facts are transaction, receipt and block.
type Facts struct {
	Tx      *evidence.Transaction
	Receipt *evidence.Receipt // nil when it could not be had
	Block   *evidence.Block   // nil when it could not be had
}

// ReadFacts asks for the three. Without the transaction there is nothing to
// explain: then Facts is nil. A missing receipt or block comes as an error
// beside the Facts.
func ReadFacts(ctx context.Context, w Ledger, ch *chain.Chain, hash common.Hash) (*Facts, error) {
	tx, err := w.Transaction(ctx, ch, hash)
	if errors.Is(err, upstream.ErrNotFound) {
		return nil, &explain.NotFoundError{TxHash: hash.Hex(), Asked: 1}
	}
	if err != nil {
		return nil, err
	}
	if tx.Pending() {
		return nil, &explain.PendingError{TxHash: hash.Hex(), Chain: ch.Slug}
	}
	f := &Facts{Tx: tx}
	block := make(chan error, 1)
	go func() {
		var err error
		f.Block, err = w.Block(ctx, ch, *tx.BlockNumber, false)
		block <- err
	}()
	rc, err := w.Receipt(ctx, ch, hash)
	blockErr := <-block
	if err != nil {
		return f, fmt.Errorf("read receipt: %w", err)
	}
	f.Receipt = rc
	if blockErr != nil {
		return f, fmt.Errorf("read block: %w", blockErr)
	}
	return f, nil
}
