package client

import (
	"errors"
	"fmt"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/engine/mpp/tempo"
)

var (
	// ErrLocked: another process pays with the same channel file.
	ErrLocked = errors.New("another process pays this server from this account")
	// ErrNoChannel: nothing is open with the server.
	ErrNoChannel = errors.New("no channel is open with this server")
	// ErrProtocol: the server broke the rules of the payment protocol. Nothing more is
	// signed for the request.
	ErrProtocol = errors.New("the server breaks the payment protocol")
	// ErrTerms: the server asks for other terms than the payer agreed to: another chain,
	// token or reserve.
	ErrTerms = errors.New("the server's terms are not the payer's")
	// ErrFunds: the account has too little of the token.
	ErrFunds = errors.New("too little money")
	// ErrKeyFile: the key file cannot be used as it is.
	ErrKeyFile = errors.New("the key file is not usable")
)

// LimitError is a demand of the server above what the payer allows. Nothing was
// signed for it.
type LimitError struct {
	Limit          string // LimitDeposit or LimitRequest
	Asked, Allowed tempo.Amount
	Own            bool // it was the payer who asked
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

// The limits that a LimitError can name.
const (
	LimitDeposit = "deposit"
	LimitRequest = "request"
)

// RunError is an analysis that ended without a result.
type RunError struct {
	RequestID string // or job id
	Code      string // see api.ErrorCodes
	Message   string // one line, bounded
}

func (e *RunError) Error() string { return "the analysis failed: " + e.Message }

// Is maps the codes that a local analysis has errors for.
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

// StatusError is an answer other than the one that was paid for.
type StatusError struct {
	Status  int
	Code    string // of the service, or the type of a problem document; may be empty
	Message string // one line, bounded
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("the server answers %d", e.Status)
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// LostRun is a stream that broke and could not be joined again. The run may have
// gone on; Recover asks for it.
type LostRun struct {
	RequestID string
	Err       error
}

func (e *LostRun) Error() string { return "the stream was lost: " + e.Err.Error() }
func (e *LostRun) Unwrap() error { return e.Err }
