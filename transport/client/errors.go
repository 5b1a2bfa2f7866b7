package client

import (
	"errors"
	"fmt"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

var (
	// ErrLocked means that another process uses the same channel file.
	ErrLocked = errors.New("another process pays this server from this account")
	// ErrNoChannel means that no channel with the server is open.
	ErrNoChannel = errors.New("no channel is open with this server")
	// ErrProtocol means that the server violated the payment protocol. Nothing more is signed
	// for the request.
	ErrProtocol = errors.New("the server breaks the payment protocol")
	// ErrTerms means that the server asks for a chain, token or escrow contract that the payer
	// did not agree to.
	ErrTerms = errors.New("the server's terms are not the payer's")
	// ErrFunds means that the account has too little of the token.
	ErrFunds = errors.New("too little money")
	// ErrNoKey means that the server asks for payment, and that Options.Key is not set.
	ErrNoKey = errors.New("the server asks for payment, and no key pays")
	// ErrKeyFile means that the key file cannot be used in its present state.
	ErrKeyFile = errors.New("the key file is not usable")
)

// LimitError means that the server asks for more than the payer allows. Nothing was signed for
// it.
type LimitError struct {
	Limit          string // LimitDeposit or LimitRequest
	Asked, Allowed tempo.Amount
	Own            bool // the payer itself asked for it
}

func (e *LimitError) Error() string {
	who, what := "the server asks for", "for this request"
	if e.Limit == LimitDeposit {
		what = "in its channel"
	}
	if e.Own {
		who = "that would be"
	}
	return fmt.Sprintf(who+" $%s %s, and $%s are allowed", mpp.FormatTokens(e.Asked), what, mpp.FormatTokens(e.Allowed))
}

// Values of LimitError.Limit.
const (
	LimitDeposit = "deposit"
	LimitRequest = "request"
)

// RunError means that an analysis ended without a result.
type RunError struct {
	RequestID string // request id or job id
	Code      string // see api.ErrorCodes
	Message   string // one line, bounded
}

func (e *RunError) Error() string { return "the analysis failed: " + e.Message }

// Is makes errors.Is match the errors of a local analysis with the same code.
func (e *RunError) Is(target error) bool {
	switch e.Code {
	case api.CodeNotFound:
		return target == api.ErrNotFound
	case api.CodePending:
		return target == api.ErrPending
	case api.CodeUnavailable:
		return target == api.ErrUnavailable
	case api.CodeUnpaid:
		return target == api.ErrUnpaid
	}
	return false
}

// StatusError is an answer other than the paid one.
type StatusError struct {
	Status  int
	Code    string // code of the service, or type of a problem document; may be empty
	Message string // one line, bounded
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d", e.Status)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// LostRun means that a stream broke and could not be joined again. The run may have continued;
// Recover fetches it.
type LostRun struct {
	RequestID string
	Err       error
}

func (e *LostRun) Error() string { return "the stream was lost: " + e.Err.Error() }
func (e *LostRun) Unwrap() error { return e.Err }
