package channel

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// Escrow is the escrow contract on the settlement chain, which holds the deposits, and the
// means to call it. It is safe for concurrent use. If the chain does not answer the error is
// settle.ErrUnreachable.
type Escrow struct {
	EscrowReader
	ChainReader
	Sender
	PayoutSigner
}

// EscrowOf returns an Escrow whose parts are all e.
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
	// States returns the state of channels on chain, in the order of ids.
	States(ctx context.Context, ids ...common.Hash) ([]session.State, error)
	// Closed searches the events of the newest blocks for the end of a channel: the total
	// payout and the transaction. found is false if there is no such event. The error is
	// settle.ErrNoLogs if no endpoint serves events.
	Closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error)
}

// ChainReader reads the chain itself.
type ChainReader interface {
	// Receipt returns the receipt of a transaction, nil if there is none yet, or
	// *settle.Reverted.
	Receipt(ctx context.Context, hash common.Hash) (*tempo.Receipt, error)
	// Now returns the time of the newest block.
	Now(ctx context.Context) (time.Time, error)
	// Health reports whether the payee is able to settle.
	Health(ctx context.Context) (settle.Health, error)
}

// Sender sends transactions and waits for their receipts. Both methods return
// *settle.Reverted, or settle.ErrUnknownOutcome if the transaction may still be included.
type Sender interface {
	// Send simulates and sends a payer's transaction.
	Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error)
	// Broadcast sends a transaction that a PayoutSigner signed.
	Broadcast(ctx context.Context, s settle.Signed) (*tempo.Receipt, error)
}

// PayoutSigner signs the transactions of the payee.
type PayoutSigner interface {
	// SignClose signs the transaction that closes a channel in state Closing: it pays out
	// Capture and refunds the rest.
	SignClose(ctx context.Context, c session.Channel) (settle.Signed, error)
	// SignSettle signs one transaction that pays out the Settleable voucher of each channel,
	// of all or of none.
	SignSettle(ctx context.Context, rows ...session.Channel) (settle.Signed, error)
}
