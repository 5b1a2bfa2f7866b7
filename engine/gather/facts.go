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

// ContradictionError: two answers cannot both be true, so the later one is not
// used. The node lies, is out of order, or the chain was reorganised in between.
type ContradictionError struct{ What string }

func (e *ContradictionError) Error() string { return e.What }

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
		block <- guard(func() (err error) {
			f.Block, err = w.Block(ctx, ch, *tx.BlockNumber, false)
			return err
		})
	}()
	rc, err := w.Receipt(ctx, ch, hash)
	blockErr := <-block
	if err != nil {
		return f, fmt.Errorf("read receipt: %w", err)
	}
	if err := sameBlock("the receipt", rc.BlockHash, rc.BlockNumber, tx); err != nil {
		return f, fmt.Errorf("read receipt: %w", err)
	}
	f.Receipt = rc
	if blockErr == nil {
		blockErr = sameBlock("the header", &f.Block.Hash, &f.Block.Number, tx)
	}
	if blockErr != nil {
		f.Block = nil
		return f, fmt.Errorf("read block: %w", blockErr)
	}
	return f, nil
}

// sameBlock holds a block as an answer names it against the transaction's; what
// either leaves out cannot differ.
func sameBlock(what string, hash *common.Hash, number *uint64, tx *evidence.Transaction) error {
	switch {
	case number != nil && *number != *tx.BlockNumber:
		return &ContradictionError{fmt.Sprintf("%s is of block %d, the transaction of block %d", what, *number, *tx.BlockNumber)}
	case hash != nil && tx.BlockHash != nil && *hash != *tx.BlockHash:
		return &ContradictionError{fmt.Sprintf("%s is of block %s, the transaction of block %s", what, hash, tx.BlockHash)}
	}
	return nil
}
