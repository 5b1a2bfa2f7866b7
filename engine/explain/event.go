package explain

import (
	"errors"
	"fmt"
	"strings"
)

// EventType names what an Event tells. The values are those of the interface.
type EventType string

const (
	EventPreflightStart  EventType = "preflight_start"
	EventPreflightStatus EventType = "preflight_status"
	EventPreflightDone   EventType = "preflight_done"
	EventToolCall        EventType = "tool_call"
	EventToolResult      EventType = "tool_result"
	EventComplete        EventType = "complete"
	EventResult          EventType = "result"
	EventError           EventType = "error"
)

// Event is one piece of progress of one request.
type Event struct {
	Type       EventType `json:"type"`
	RequestID  string    `json:"requestId,omitempty"`
	Phase      string    `json:"phase,omitempty"` // probe, transaction, trace, label, source, price, assemble
	Message    string    `json:"message,omitempty"`
	Hint       string    `json:"hint,omitempty"` // what the operator can do about a phase that failed
	Chain      string    `json:"chain,omitempty"`
	Tool       string    `json:"tool,omitempty"`
	OK         *bool     `json:"ok,omitempty"`
	DurationMs int64     `json:"durationMs,omitzero"`
}

// Errors that end a request without a Result.
var (
	// ErrNotFound: every chain asked answered, none knows the hash.
	ErrNotFound = errors.New("transaction not found")
	// ErrPending: a chain knows the transaction, no block has it yet.
	ErrPending = errors.New("transaction is pending")
	// ErrUnknownChain: the request names a chain id that is not in the table.
	ErrUnknownChain = errors.New("chain is not supported")
)

// NotFoundError says where a hash was looked for. It is ErrNotFound.
type NotFoundError struct {
	TxHash string
	Asked  int      // chains that answered: not here
	Silent []string // slugs of chains that did not answer
}

func (e *NotFoundError) Error() string {
	s := fmt.Sprintf("transaction %s not found on %s", e.TxHash, Count(e.Asked, "chain"))
	if len(e.Silent) > 0 {
		s += fmt.Sprintf("; %s did not answer: %s", Count(len(e.Silent), "chain"), strings.Join(e.Silent, ", "))
	}
	return s
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// PendingError names the chain that knows a pending transaction. It is ErrPending.
type PendingError struct {
	TxHash, Chain string
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("transaction %s is pending on %s: it is in no block yet", e.TxHash, e.Chain)
}

// Is makes errors.Is(err, ErrPending) true.
func (e *PendingError) Is(target error) bool { return target == ErrPending }
