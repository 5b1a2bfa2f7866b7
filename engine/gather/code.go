package gather

import (
	"context"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	txfacts "txlens/engine/facts"
)

// Codeless asks whether the receiver of a transaction has no code, where its input may be a
// message: it left no log, and calls no function that is known. nil: not asked, or the node
// could not say.
func Codeless(ctx context.Context, w StateReader, ch *chain.Chain, tx *ethrpc.Transaction, rc *ethrpc.Receipt) *bool {
	if tx.To == nil || len(tx.Input) == 0 || tx.BlockNumber == nil || rc.Status != nil && *rc.Status != 1 || !txfacts.Unlogged(rc) ||
		txfacts.Tables().Call(tx.Input) != nil {
		return nil
	}
	code, err := w.Code(ctx, ch, *tx.To, *tx.BlockNumber)
	if err != nil {
		return nil
	}
	none := len(code) == 0
	return &none
}
