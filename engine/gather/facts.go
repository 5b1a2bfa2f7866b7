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

// Facts are transaction, receipt and block, each nil if it is not available.
type Facts struct {
	Tx      *ethrpc.Transaction
	Receipt *ethrpc.Receipt
	Block   *ethrpc.Block
	NoBlock error // why Block is nil although its number is known; the result is not partial because of it
}

// ContradictionError means that two answers of a node contradict each other, so that the
// later one is not used. The node is faulty, or the chain was reorganised between the
// requests.
type ContradictionError struct{ What string }

func (e *ContradictionError) Error() string { return e.What }

// ReadFacts reads transaction, receipt and block. A missing transaction or receipt is
// returned as an error together with the other Facts. Facts is nil only if the hash is
// unknown or pending.
func ReadFacts(ctx context.Context, w ChainReader, ch *chain.Chain, hash common.Hash) (*Facts, error) {
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
	if createsByReceipt(tx, rc) {
		created := *tx
		created.To, f.Tx = nil, &created
	}
	return f, nil
}

// createsByReceipt reports whether a transaction to the zero address created a contract: some nodes
// write that address as the recipient of a creation.
func createsByReceipt(tx *ethrpc.Transaction, rc *ethrpc.Receipt) bool {
	zero := func(a *common.Address) bool { return a != nil && *a == common.Address{} }
	return zero(tx.To) && rc.ContractAddress != nil && !zero(rc.ContractAddress) && (rc.To == nil || zero(rc.To))
}

// factsWithoutTx reads receipt and block when the transaction itself is not available.
func factsWithoutTx(ctx context.Context, w ChainReader, ch *chain.Chain, hash common.Hash) *Facts {
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

func (f *Facts) readBlock(ctx context.Context, w ChainReader, ch *chain.Chain, number uint64) {
	f.NoBlock = guard(func() (err error) {
		f.Block, err = w.Block(ctx, ch, number, false)
		return err
	})
	if f.NoBlock != nil {
		f.Block, f.NoBlock = nil, fmt.Errorf("read block: %w", f.NoBlock)
	}
}

// TransactionOf reconstructs a transaction from its trace, for use when no node returned
// the transaction itself. rc may be nil. Type, nonce and signature stay unknown.
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

// sameBlock reports whether an answer names the block of the transaction. A member that one
// of them lacks is not compared.
func sameBlock(what string, hash *common.Hash, number *uint64, tx *ethrpc.Transaction) error {
	switch {
	case number != nil && *number != *tx.BlockNumber:
		return &ContradictionError{fmt.Sprintf("%s is of block %d, the transaction of block %d", what, *number, *tx.BlockNumber)}
	case hash != nil && tx.BlockHash != nil && *hash != *tx.BlockHash:
		return &ContradictionError{fmt.Sprintf("%s is of block %s, the transaction of block %s", what, hash, tx.BlockHash)}
	}
	return nil
}
