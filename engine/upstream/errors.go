package upstream

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Kind is the class of an Error. Values are stored in bundles and must not change.
type Kind string

const (
	KindNotFound    Kind = "not_found"    // a definite "not found"
	KindUnsupported Kind = "unsupported"  // the endpoint or its plan lacks the method
	KindNoState     Kind = "no_state"     // the node keeps no state of that block
	KindReverted    Kind = "reverted"     // eth_call: the EVM ran and failed, see Error.Data
	KindRejected    Kind = "rejected"     // another definite refusal of the request
	KindRefused     Kind = "refused"      // HTTP 4xx or a redirect: plan or URL is wrong
	KindPayment     Kind = "payment"      // HTTP 401 or 402, or a used-up quota: the service's account does not pay for the call
	KindRateLimited Kind = "rate_limited" // HTTP 429 or an equivalent JSON-RPC error
	KindTimeout     Kind = "timeout"
	KindUnreachable Kind = "unreachable" // no connection, or it broke
	KindServer      Kind = "server"      // HTTP 5xx
	KindGarbage     Kind = "garbage"     // the answer violates the protocol, or belongs to another request
	KindWrongChain  Kind = "wrong_chain" // the endpoint serves another chain
	KindTooLarge    Kind = "too_large"
	KindNoMemory    Kind = "no_memory"   // the server has none for the answer
	KindIncomplete  Kind = "incomplete"  // the answer lacks a part that it announces
	KindBusy        Kind = "busy"        // the circuit breaker is open
	KindNoEndpoint  Kind = "no_endpoint" // no URL is known for the chain
	KindNotRecorded Kind = "not_recorded"
	KindSourcesOff  Kind = "sources_off"
	KindCanceled    Kind = "canceled"
	KindInternal    Kind = "internal" // a decoder panicked
	KindUnpaid      Kind = "unpaid"   // the caller of the analysis has not paid for more of it
)

// Sentinels for errors.Is; each matches the Errors of its kind.
var (
	// ErrNotFound: all sources that could know answered "not found".
	ErrNotFound = errors.New("not found")
	// ErrUnsupported: no endpoint offers the method.
	ErrUnsupported = errors.New("method is not available")
	// ErrNoState: no endpoint keeps the state of that block.
	ErrNoState = errors.New("state is not available")
	// ErrReverted: the call ran and reverted.
	ErrReverted = errors.New("execution reverted")
	// ErrTooLarge: the answer was larger than the limit.
	ErrTooLarge = errors.New("answer is too large")
	// ErrNotRecorded: the replayed bundle does not contain the call.
	ErrNotRecorded = errors.New("call is not in the bundle")
	// ErrUnpaid: the meter's gate rejected a further purchase.
	ErrUnpaid = errors.New("the caller has not paid for more")
	// ErrNoEndpoint: no URL is known for the chain.
	ErrNoEndpoint = errors.New("no endpoint is known")
	// ErrSourcesOff: the configuration allows requests to nodes only.
	ErrSourcesOff = errors.New("sources are switched off")
)

var sentinels = map[Kind]error{
	KindNotFound: ErrNotFound, KindUnsupported: ErrUnsupported, KindNoState: ErrNoState, KindReverted: ErrReverted,
	KindTooLarge: ErrTooLarge, KindNotRecorded: ErrNotRecorded, KindSourcesOff: ErrSourcesOff, KindUnpaid: ErrUnpaid,
	KindNoEndpoint: ErrNoEndpoint, KindCanceled: context.Canceled, KindTimeout: context.DeadlineExceeded,
}

// Error is every error of this package that concerns a call. No field contains a path,
// query, user name or password of a URL.
type Error struct {
	Op        string // JSON-RPC method or tool
	Source    string // host of the request, empty if none was sent
	Chain     string // slug, empty if the call concerns no chain
	Hint      string // what the operator can do
	Retryable bool   // the same call may succeed later
	Kind      Kind
	Data      []byte // KindReverted: the returned bytes
	Err       error  // what happened

	retryAfter time.Duration // the Retry-After header
	local      bool          // the caller's own deadline passed, which says nothing about the endpoint
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("ask " + e.Op)
	if e.Source != "" {
		b.WriteString(" of " + e.Source)
	}
	if e.Chain != "" {
		b.WriteString(" for " + e.Chain)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	} else {
		b.WriteString(": " + string(e.Kind))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinel of the kind, and context.Canceled and
// context.DeadlineExceeded, which a replayed error could not wrap.
func (e *Error) Is(target error) bool { return target != nil && sentinels[e.Kind] == target }

// definite reports whether the question was answered, even if negatively.
func (k Kind) definite() bool {
	switch k {
	case "", KindNotFound, KindUnsupported, KindNoState, KindReverted, KindRejected:
		return true
	}
	return false
}

// answered reports whether an outcome counts as a successful call: an unverified contract
// or a reverted call is a valid answer.
func (k Kind) answered() bool { return k == "" || k == KindNotFound || k == KindReverted }

// fault reports whether the outcome counts against the health of an endpoint.
func (e *Error) fault() bool {
	if e == nil || e.local {
		return false
	}
	switch e.Kind {
	case KindTimeout, KindUnreachable, KindServer, KindGarbage:
		return true
	}
	return false
}

func (k Kind) retryable() bool {
	switch k {
	case KindRateLimited, KindTimeout, KindUnreachable, KindServer, KindIncomplete, KindBusy:
		return true
	}
	return false
}

var hints = map[Kind]string{
	KindUnsupported: "give an endpoint that offers this method; traces need a node with the debug or trace API",
	KindNoState:     "give an archive endpoint: this node keeps only recent state",
	KindRefused:     "check the URL, the API key and the plan of this endpoint",
	KindPayment:     "check the API key, the plan and the balance of your account at this endpoint",
	KindRateLimited: "give an endpoint with a higher limit, or run fewer analyses at once",
	KindTimeout:     "the endpoint is slow or does not answer; give another one or raise the timeout",
	KindUnreachable: "check the URL of the endpoint and the network",
	KindServer:      "the service has trouble of its own; try later or give another endpoint",
	KindGarbage:     "the endpoint does not answer as its protocol demands; check that the URL is the right one",
	KindWrongChain:  "the URL serves another chain than the one it is given for",
	KindTooLarge:    "raise the size limit if the answer is expected to be so large",
	KindNoMemory:    "raise --memory-max, or allow fewer analyses at a time",
	KindIncomplete:  "give another endpoint: this one leaves out a part of its answers",
	KindBusy:        "the endpoint failed several times in a row and is left alone for a while; give another one or try later",
	KindNoEndpoint:  "give an endpoint for this chain",
	KindNotRecorded: "the bundle was recorded with other options or by another version; record it again",
	KindSourcesOff:  "switch sources on to ask for ABIs, signatures and prices",
}

// newError creates an Error of a kind with its default hint.
func newError(kind Kind, text string) *Error {
	return &Error{Kind: kind, Hint: hints[kind], Retryable: kind.retryable(), Err: errors.New(text)}
}

// at sets operation, source and chain.
func (e *Error) at(op, source, chain string) *Error {
	if e == nil {
		return nil
	}
	if e.Op == "" {
		e.Op = op
	}
	if e.Source == "" {
		e.Source = source
	}
	if e.Chain == "" {
		e.Chain = chain
	}
	return e
}

// stopped converts the error of an ended context, nil if it has not ended.
func stopped(ctx context.Context) *Error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e := newError(KindTimeout, "the time for the analysis is over")
		e.local, e.Retryable = true, true
		return e
	}
	return newError(KindCanceled, "stopped")
}

// worst selects the error that represents several endpoints: a definite "not found" only
// counts if no endpoint failed, and a payment error takes precedence, because neither the
// caller nor time resolves it.
func worst(a, b *Error) *Error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case rank(b.Kind) > rank(a.Kind):
		return b
	}
	return a
}

func rank(k Kind) int {
	switch k {
	case KindUnsupported:
		return 0
	case KindNotFound:
		return 1
	case KindNoState:
		return 2
	case KindBusy:
		return 3
	case KindPayment:
		return 5
	}
	return 4
}
