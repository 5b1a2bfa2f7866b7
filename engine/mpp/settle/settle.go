// Package settle is the settlement chain as a payee asks and tells it: the state of
// channels, the payers' transactions that it sends for them, and its own. A payer asks
// it for balances and for what a transaction costs.
package settle

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
)

// Errors of the chain.
var (
	// ErrUnreachable: no endpoint answered. Nothing is known, nothing was done.
	ErrUnreachable = errors.New("the settlement chain does not answer")
	// ErrUnknownOutcome: a transaction was sent and it is not known what became of it.
	ErrUnknownOutcome = errors.New("it is not known what became of the transaction")
	// ErrWrongChain: an endpoint serves another chain than the one that is paid on.
	ErrWrongChain = errors.New("the endpoint serves another chain")
	// ErrNoLogs: no endpoint tells the events of the blocks that were asked for.
	ErrNoLogs = errors.New("no endpoint tells the events of the channel reserve")
	// ErrNoKey: the payee has no key here, so it can settle nothing.
	ErrNoKey = errors.New("no settlement key is configured")
)

// Reverted: the chain refuses a transaction, or has undone it.
type Reverted struct {
	Reason string      // name of the reserve's error, or what the node says
	Hash   common.Hash // zero where it was refused before it was sent
}

func (r *Reverted) Error() string {
	return fmt.Sprintf("the chain refuses the transaction: %s", r.Reason)
}

// Signed is a transaction of ours, ready to be sent. Sending it twice does nothing
// twice, and after ValidBefore (Unix seconds) it does nothing at all.
type Signed struct {
	Raw         []byte
	Hash        common.Hash
	ValidBefore uint64
}
