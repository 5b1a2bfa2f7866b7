// Package llm is what the agent needs of a language model, in the words of no
// vendor: one turn takes the conversation so far and the tools, streams text while
// the model talks, and ends in text and tool calls with what they have used. The
// packages below it speak the wire formats of vendors.
package llm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Provider runs turns. It is safe for concurrent use.
type Provider interface {
	// Turn sends the conversation and reads the answer to its end. Hear is told what
	// streams in, on the calling goroutine, and must not block. The reply of a turn
	// that failed holds what it has used until then, which is paid for, and no message.
	// Cancelling ctx ends it within 100 ms with the error of ctx.
	Turn(ctx context.Context, r *Request, hear func(Delta)) (Reply, error)
}

// Request is one turn. The conversation begins with the user and alternates.
type Request struct {
	Model     string // as the vendor names it
	System    string // never contains data of a transaction
	Messages  []Message
	Tools     []Tool
	MaxOutput int64 // tokens of the answer, thinking included
	// Thinking is how many tokens the model may think, below MaxOutput; 0: none. Providers
	// treat it as a hint or ignore it.
	Thinking int64
	// MustCall names a tool that the model has to call; empty: the model chooses. It
	// disables thinking and loses the prompt cache of the conversation, so it is a last
	// resort. Models that cannot be forced are only asked.
	MustCall string
	// Counted is the number of leading messages that, with System and Tools, the provider
	// counted as CountedTokens in an earlier turn.
	Counted       int
	CountedTokens int64
	// Repeat, if not nil, is called before the request is sent again after a failed attempt.
	// Its error ends the turn.
	Repeat func(context.Context) error
}

// Upper bounds of the tokens that are not in the text of a request.
const (
	partTokens   = 32   // that mark a part, a call or a tool
	vendorTokens = 2048 // of the vendor's own instructions for tools
)

// MostInput returns the highest number of input tokens that the request can have, and that a
// provider is believed. A token is at least one byte; System and Tools, which are English and
// JSON of this program, have at least two bytes a token.
func (r *Request) MostInput() int64 {
	most, messages := r.CountedTokens, r.Messages[min(r.Counted, len(r.Messages)):]
	if r.Counted == 0 {
		most = vendorTokens + r.ownBytes()/2 + int64(len(r.Tools))*partTokens
	}
	for _, m := range messages {
		most += m.bytes() + int64(len(m.Parts))*partTokens
	}
	return most
}

// GuessInput returns the likely number of input tokens, at four bytes a token.
func (r *Request) GuessInput() int64 {
	n := r.ownBytes()
	for _, m := range r.Messages {
		n += m.bytes()
	}
	return (n + 3) / 4
}

// ownBytes returns the size of System and Tools.
func (r *Request) ownBytes() int64 {
	n := int64(len(r.System))
	for _, t := range r.Tools {
		n += int64(len(t.Name) + len(t.Description) + len(t.Schema))
	}
	return n
}

func (m *Message) bytes() (n int64) {
	for _, p := range m.Parts {
		n += int64(len(p.Text) + len(p.Opaque))
		if p.Call != nil {
			n += int64(len(p.Call.Name) + len(p.Call.Input))
		}
		if p.Outcome != nil {
			n += int64(len(p.Outcome.Content))
		}
	}
	return n
}

// Role is the author of a message.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of the user or the assistant. A user message holds text and tool
// outcomes. An assistant message holds the parts of a Reply, and is sent back unchanged.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is one piece of a message: exactly one member is set.
type Part struct {
	Text    string
	Call    *Call
	Outcome *Outcome
	Opaque  jsontext.Value // provider-specific, such as signed thinking; sent back unread
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string         // [a-z_]{1,64}
	Description string         // for the model
	Schema      jsontext.Value // JSON Schema of an object
}

// Call is a tool call of the model. Input is one JSON value of at most MaxInput bytes,
// otherwise unchecked. If the arguments are no JSON, Broken describes the error for the
// model without quoting it, and Input is an empty object, which is sent back to the
// provider in their place.
type Call struct {
	ID, Name string
	Input    jsontext.Value
	Broken   string
}

// Outcome answers the call of the same ID.
type Outcome struct {
	ID      string
	Content string
	Failed  bool
}

// Delta is a streamed piece of a turn; one member is set. Usage is the total of the turn so
// far: none of its members shrinks from one Delta to the next.
type Delta struct {
	Text    string // a piece of the answer
	Thought string // a piece of its thinking, where the vendor shows it
	Usage   *Usage
	Retry   *Retry
}

// Retry means that an attempt failed and that the request is sent again after Wait. Deltas
// of the failed attempt are void.
type Retry struct {
	Attempt int // that failed, from 1
	Wait    time.Duration
	Err     error // why; its text may go to a caller, as that of the errors below
}

// Usage is in tokens. The four are disjoint: Input holds what was neither read
// from nor written to the vendor's prompt cache.
type Usage struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Plus returns the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Stop is the reason why a turn ended.
type Stop string

const (
	StopEnd   Stop = "end"   // the model finished its text
	StopCalls Stop = "calls" // it waits for tools
	StopLimit Stop = "limit" // MaxOutput was reached: the text is cut
)

// Reply is a turn of the model.
type Reply struct {
	Message Message
	Stop    Stop
	Usage   Usage
	Guessed bool // the provider did not report all: Usage is estimated from the bytes
}

// Bounds of what a model may send in one turn.
const (
	MaxInput = 256 << 10 // bytes of the input of one call
	MaxText  = 1 << 20   // bytes of all text, and of all thinking
	MaxCalls = 64
	MaxParts = 256
)

// Errors of a turn. Their text may go to a caller: no key, no URL, no word of the
// vendor stands in it. Those words are in a Fault.
var (
	// ErrRefused: the model refused to answer.
	ErrRefused = errors.New("the model refused to answer")
	// ErrMalformed: the stream could not be read.
	ErrMalformed = errors.New("the model's answer could not be read")
	// ErrCut: the stream ended before the answer did.
	ErrCut = errors.New("the model's answer was cut off")
	// ErrDown: the provider could not be reached or failed.
	ErrDown = errors.New("the model provider is not available")
	// ErrUnpaid: the provider requires payment, or does not know the key.
	ErrUnpaid = errors.New("the model provider refuses the service's account")
	// ErrTooLong: the conversation does not fit into the model.
	ErrTooLong = errors.New("the conversation is too long for the model")
	// ErrRejected: the provider rejected the request, for example for an unknown model.
	ErrRejected = errors.New("the model provider rejected the request")
)

// Fault is an error of a turn with details for the operator.
type Fault struct {
	Err     error  // one of the above, or an *OverloadedError
	Detail  string // one line for the log, at most 300 characters, without keys and URLs
	Passing bool   // the same request may succeed later
}

func (f *Fault) Error() string { return f.Err.Error() }
func (f *Fault) Unwrap() error { return f.Err }

// OverloadedError: the provider is overloaded. After is how long to wait, if it said so.
type OverloadedError struct {
	After time.Duration // 0: it did not say
}

func (e *OverloadedError) Error() string {
	if e.After > 0 {
		return fmt.Sprintf("the model provider is overloaded for another %s", e.After)
	}
	return "the model provider is overloaded"
}

// Is makes errors.Is(err, ErrDown) true: callers need not tell the two apart.
func (e *OverloadedError) Is(target error) bool { return target == ErrDown }
