package scripted

import (
	"time"

	"txlens/engine/agent/llm"
)

// Turn is what the model answers to one request, in this order: thinking, text,
// calls. Each piece travels as one event.
type Turn struct {
	Think    []string  // one block of thinking, signed where the vendor signs
	Redacted string    // a block of thinking that only the vendor can read; Anthropic only
	Text     []string  // one block of text
	Calls    []Call    // tool calls
	Usage    llm.Usage // as Anthropic counts; the other format is made from it
	Stop     string    // the vendor's reason; empty: what follows from Calls
	// Bare leaves out what some OpenAI-compatible servers leave out: usage, ids and
	// indices of calls, the role.
	Bare  bool
	Fault Fault
}

// Call is a tool call. Input need not be JSON.
type Call struct {
	ID    string // empty: one is made
	Name  string
	Input []string // pieces of the JSON, as they are split on the wire
}

// Split cuts s into pieces of n bytes.
func Split(s string, n int) (pieces []string) {
	for len(s) > n {
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return append(pieces, s)
}

// Fault is how a turn fails. With Status or Mute there is no stream; all else happens
// in the stream, after the first After events of the turn.
type Fault struct {
	Status     int    // such as 401, 402, 429, 500, 529, 302
	Kind       string // the vendor's type of the error; empty: what goes with Status
	Message    string
	Body       string // all of the body, instead of an error of Kind and Message
	RetryAfter string // header
	Location   string // header

	Mute bool // no status and no header, until the client goes

	After   int
	Error   string        // an event that says there is an error of this type
	Garbage string        // these bytes, and then the rest of the turn
	Cut     bool          // half of the next event, and the connection breaks
	End     bool          // the stream ends in good order, too early
	Silent  bool          // nothing more, until the client goes
	Endless bool          // one piece of text after the other, until the client goes
	Flood   bool          // one line that does not end, until the client goes
	Pause   time.Duration // before each event of the turn
}
