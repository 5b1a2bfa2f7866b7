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
	// ErrUnknownOutcome: a transaction was sent and its outcome is unknown.
	ErrUnknownOutcome = errors.New("it is not known what became of the transaction")
	// ErrWrongChain: an endpoint serves another chain than that of the payments.
	ErrWrongChain = errors.New("the endpoint serves another chain")
	// ErrNoLogs: no endpoint returns the events of the requested blocks.
	ErrNoLogs = errors.New("no endpoint tells the events of the channel reserve")
	// ErrNoKey: this process has no key of the payee, so it cannot settle.
	ErrNoKey = errors.New("no settlement key is configured")
)

// Reverted: the chain rejected a transaction, or executed and reverted it.
type Reverted struct {
	Reason string      // name of the reserve's error, or what the node says
	Hash   common.Hash // zero where it was refused before it was sent
}

func (r *Reverted) Error() string {
	return fmt.Sprintf("the chain refuses the transaction: %s", r.Reason)
}

// Signed is a signed transaction of the payee. Sending it twice has no further effect, and
// after ValidBefore (Unix seconds) it has no effect at all.
type Signed struct {
	Raw         []byte
	Hash        common.Hash
	ValidBefore uint64
}
