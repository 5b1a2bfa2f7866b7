package gather

import (
	"context"
	"errors"
	"fmt"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/engine/upstream"

	"github.com/ethereum/go-ethereum/common"
)

// Facts are transaction, receipt and block, each nil when it could not be had.
type Facts struct {
	Tx      *ethrpc.Transaction
	Receipt *ethrpc.Receipt
	Block   *ethrpc.Block
	NoBlock error // why Block is nil although its number is known: the result stands without it
}

// ContradictionError: two answers cannot both be true, so the later one is not
// used. The node lies, is out of order, or the chain was reorganised in between.
type ContradictionError struct{ What string }

func (e *ContradictionError) Error() string { return e.What }

// ReadFacts asks for the three. A missing transaction or receipt comes as an error
// beside the Facts, which are nil only where the hash is not known or not mined.
func ReadFacts(ctx context.Context, w Ledger, ch *chain.Chain, hash common.Hash) (*Facts, error) {
	tx, err := w.Transaction(ctx, ch, hash)
	switch {
	case errors.Is(err, upstream.ErrNotFound):
		return nil, &api.NotFoundError{TxHash: hash.Hex(), Asked: 1}
	case err != nil:
		return factsWithoutTx(ctx, w, ch, hash), fmt.Errorf("read transaction: %w", err)
	case tx.Pending():
		return nil, &api.PendingError{TxHash: hash.Hex(), Chain: ch.Slug}
	}
	f := &Facts{Tx: tx}
	block := make(chan struct{})
	go func() {
		defer close(block)
		f.readBlock(ctx, w, ch, *tx.BlockNumber)
	}()
	rc, err := w.Receipt(ctx, ch, hash)
	<-block
	if f.Block != nil {
		if f.NoBlock = sameBlock("the header", &f.Block.Hash, &f.Block.Number, tx); f.NoBlock != nil {
			f.Block = nil
		}
	}
	if err == nil {
		err = sameBlock("the receipt", rc.BlockHash, rc.BlockNumber, tx)
	}
	if err != nil {
		return f, fmt.Errorf("read receipt: %w", err)
	}
	f.Receipt = rc
	return f, nil
}

// factsWithoutTx is what can be had beside a transaction that could not.
func factsWithoutTx(ctx context.Context, w Ledger, ch *chain.Chain, hash common.Hash) *Facts {
	f := &Facts{}
	rc, err := w.Receipt(ctx, ch, hash)
	if err != nil {
		return f
	}
	f.Receipt = rc
	if rc.BlockNumber != nil {
		f.readBlock(ctx, w, ch, *rc.BlockNumber)
	}
	return f
}

func (f *Facts) readBlock(ctx context.Context, w Ledger, ch *chain.Chain, number uint64) {
	f.NoBlock = guard(func() (err error) {
		f.Block, err = w.Block(ctx, ch, number, false)
		return err
	})
	if f.NoBlock != nil {
		f.Block, f.NoBlock = nil, fmt.Errorf("read block: %w", f.NoBlock)
	}
}

// TransactionOf is the transaction as a trace of it shows it, for where nobody gave the
// transaction itself. rc may be nil. Its type, nonce and signature stay unknown.
func TransactionOf(hash common.Hash, tree *trace.Tree, rc *ethrpc.Receipt) *ethrpc.Transaction {
	root := tree.Root
	tx := &ethrpc.Transaction{Hash: hash, From: root.From, Gas: root.Gas, Value: root.Value.ToBig(), Input: root.Input}
	if root.HasTo && !root.Kind.Creates() {
		to := root.To
		tx.To = &to
	}
	if rc != nil {
		tx.BlockHash, tx.BlockNumber, tx.GasPrice = rc.BlockHash, rc.BlockNumber, rc.EffectiveGasPrice
	}
	return tx
}

// sameBlock holds a block as an answer names it against the transaction's; what
// either leaves out cannot differ.
func sameBlock(what string, hash *common.Hash, number *uint64, tx *ethrpc.Transaction) error {
	switch {
	case number != nil && *number != *tx.BlockNumber:
		return &ContradictionError{fmt.Sprintf("%s is of block %d, the transaction of block %d", what, *number, *tx.BlockNumber)}
	case hash != nil && tx.BlockHash != nil && *hash != *tx.BlockHash:
		return &ContradictionError{fmt.Sprintf("%s is of block %s, the transaction of block %s", what, hash, tx.BlockHash)}
	}
	return nil
}
