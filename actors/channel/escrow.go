package channel

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// Escrow is the contract on the settlement chain that holds the deposits, and the means
// to call it. It is safe for concurrent use. If the chain does not answer the error is
// settle.ErrUnreachable.
type Escrow struct {
	EscrowReader
	ChainReader
	Sender
	PayoutSigner
}

// EscrowOf returns the Escrow whose parts are all e.
func EscrowOf[E interface {
	EscrowReader
	ChainReader
	Sender
	PayoutSigner
}](e E) Escrow {
	return Escrow{e, e, e, e}
}

// EscrowReader reads the state of channels.
type EscrowReader interface {
	// States returns the state of channels on the chain now, in the order of ids.
	States(ctx context.Context, ids ...common.Hash) ([]session.State, error)
	// Closed looks for the end of a channel in the events of the newest blocks: what was
	// paid out in all, and by which transaction. found is false if no end is seen. The
	// error is settle.ErrNoLogs if no endpoint serves events.
	Closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error)
}

// ChainReader reads the chain itself.
type ChainReader interface {
	// Receipt returns that of a transaction, nil if the chain has none yet, or
	// *settle.Reverted.
	Receipt(ctx context.Context, hash common.Hash) (*tempo.Receipt, error)
	// Now is the time on chain: that of the newest block.
	Now(ctx context.Context) (time.Time, error)
	// Health says whether the chain lets the payee settle.
	Health(ctx context.Context) (settle.Health, error)
}

// Sender sends transactions and waits for their receipts. The error of both methods is
// *settle.Reverted, or settle.ErrUnknownOutcome if the transaction may still land.
type Sender interface {
	// Send simulates and sends a payer's transaction.
	Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error)
	// Broadcast sends a transaction that a PayoutSigner signed.
	Broadcast(ctx context.Context, s settle.Signed) (*tempo.Receipt, error)
}

// PayoutSigner makes the transactions of the payee.
type PayoutSigner interface {
	// SignClose makes the transaction that closes a channel in Closing: it pays out
	// Capture and refunds the rest.
	SignClose(ctx context.Context, c session.Channel) (settle.Signed, error)
	// SignSettle makes one transaction that pays out the Settleable voucher of each
	// channel, of all or of none.
	SignSettle(ctx context.Context, rows ...session.Channel) (settle.Signed, error)
}
