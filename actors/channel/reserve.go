package channel

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/mpp/session"
	"txlens/engine/mpp/settle"
	"txlens/engine/mpp/tempo"
)

// Reserve is the channel reserve of the settlement chain. It is safe for concurrent
// use. Where the chain does not answer the error is settle.ErrUnreachable.
type Reserve interface {
	// States returns what the chain says of channels now, in the order of ids.
	States(ctx context.Context, ids ...common.Hash) ([]session.State, error)
	// Receipt returns that of a transaction, nil where the chain has none yet, or
	// *settle.Reverted.
	Receipt(ctx context.Context, hash common.Hash) (*tempo.Receipt, error)
	// Send simulates and sends a payer's transaction and waits for its receipt. The
	// error is *settle.Reverted, or settle.ErrUnknownOutcome when it may still land.
	Send(ctx context.Context, tx *tempo.Transaction) (*tempo.Receipt, error)
	// SignClose makes our transaction that closes a channel in Closing: it pays out
	// Capture and refunds the rest.
	SignClose(ctx context.Context, c session.Channel) (settle.Signed, error)
	// SignSettle makes our one transaction that pays out each channel's Settleable
	// voucher; all or none.
	SignSettle(ctx context.Context, rows ...session.Channel) (settle.Signed, error)
	// Broadcast sends what was signed and waits for its receipt, as Send does.
	Broadcast(ctx context.Context, s settle.Signed) (*tempo.Receipt, error)
	// Closed looks for the end of a channel in the events of the newest blocks: what was
	// paid out in all, and by which transaction. found is false where no end is seen;
	// settle.ErrNoLogs says that nobody tells events.
	Closed(ctx context.Context, id common.Hash) (captured tempo.Amount, tx common.Hash, found bool, err error)
	// Now is the time on chain: that of the newest block.
	Now(ctx context.Context) (time.Time, error)
	// Health is what the chain says of the payee's ability to settle.
	Health(ctx context.Context) (settle.Health, error)
}
