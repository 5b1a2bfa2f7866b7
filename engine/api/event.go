package api

import (
	"errors"
	"fmt"
	"maps"
	"strings"
)

// EventType names what an Event tells. The values are those of the interface.
type EventType string

// What is told on the way, in the order of the work. Layouts says which members
// each has.
const (
	// EventPreflightStart: the evidence is being fetched.
	EventPreflightStart EventType = "preflight_start"
	// EventPreflightStatus: a phase of the fetching started, ended or failed.
	EventPreflightStatus EventType = "preflight_status"
	// EventPreflightDone: nothing more is fetched.
	EventPreflightDone EventType = "preflight_done"
	// EventIteration: the agent begins another turn.
	EventIteration EventType = "iteration"
	// EventAgentText: a piece of the agent's reasoning, to be appended to the last.
	EventAgentText EventType = "agent_text"
	// EventAgentStatus: the provider of the model failed. Retrying: the turn is asked for
	// again, and its text so far is void. Failed: the result will be partial.
	EventAgentStatus EventType = "agent_status"
	// EventToolCall: a call to the world, a piece of local work, or a call of the model
	// starts.
	EventToolCall EventType = "tool_call"
	// EventToolResult: the call with the same id ended. A call to the world that was
	// stopped has no result.
	EventToolResult EventType = "tool_result"
	// EventSkillCall: the agent follows a playbook from here on.
	EventSkillCall EventType = "skill_call"
	// EventTokens: what the model has used so far.
	EventTokens EventType = "tokens"
	// EventComplete: the analysis is over; what it found follows.
	EventComplete EventType = "complete"
	// EventHeartbeat: nothing to tell, but the work goes on.
	EventHeartbeat EventType = "heartbeat"
)

// One of these ends a stream. The first two have a frame of their own.
const (
	// EventResult: the members of the Result stand beside type and requestId.
	EventResult EventType = "result"
	// EventReport: in its place the member html, a self-contained page.
	EventReport EventType = "report"
	// EventError: there will be no result. code is for programs, message for people.
	EventError EventType = "error"
)

// State is how a phase stands.
type State string

const (
	StateStarted State = "started"
	StateDone    State = "done"
	StateFailed  State = "failed" // message says why
	StateFound   State = "found"  // of the phase probe: chain is the transaction's chain

	// StateRetrying is one of the agent alone: message says what failed.
	StateRetrying State = "retrying"
)

// Event is one piece of progress of one request. Layouts says which type has
// which members; every type has type and, on the wire, requestId.
type Event struct {
	Type      EventType `json:"type"`
	RequestID string    `json:"requestId,omitempty"` // set by whoever writes the frame

	TxHash string   `json:"txHash,omitempty"`
	Phase  string   `json:"phase,omitempty"` // probe, transaction, trace, label, source, price
	State  State    `json:"state,omitempty"`
	Chain  string   `json:"chain,omitempty"`  // slug
	Failed []string `json:"failed,omitempty"` // phases that failed, in the order of the work

	Iteration *int64 `json:"iteration,omitempty"` // from 1
	Text      string `json:"text,omitempty"`
	Thinking  bool   `json:"thinking,omitzero"` // the text is of the model's thinking, where the provider shows it
	Attempt   *int64 `json:"attempt,omitempty"` // of a turn, that failed, from 1
	WaitMs    *int64 `json:"waitMs,omitempty"`  // until the next one
	Skill     string `json:"skill,omitempty"`

	ID         string   `json:"id,omitempty"` // of a call: the same at its start and at its end
	Tool       string   `json:"tool,omitempty"`
	Args       string   `json:"args,omitempty"` // what was asked, cut; see ArgsView
	OK         *bool    `json:"ok,omitempty"`
	DurationMs *int64   `json:"durationMs,omitempty"`
	CostUSD    *Decimal `json:"costUsd,omitempty"` // of the call; of all tokens so far

	Model            string `json:"model,omitempty"`
	InputTokens      *int64 `json:"inputTokens,omitempty"`
	OutputTokens     *int64 `json:"outputTokens,omitempty"`
	CacheReadTokens  *int64 `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens *int64 `json:"cacheWriteTokens,omitempty"`

	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Recover string `json:"recover,omitempty"` // the request that replays the run, where a record of it can exist

	Detail string `json:"-"` // what went wrong in a phase that failed, for the operator alone
	Hint   string `json:"-"` // what the operator can do about it; no caller can
}

// Layouts lists the members of each type after type and requestId. A question
// mark follows those that may be missing; the others never are. A reader must
// accept members and types that are not in it.
func Layouts() map[EventType][]string { return maps.Clone(layouts) }

var layouts = map[EventType][]string{
	EventPreflightStart:  {"txHash"},
	EventPreflightStatus: {"phase", "state", "chain?", "message?"},
	EventPreflightDone:   {"chain", "failed?"},
	EventIteration:       {"iteration"},
	EventAgentText:       {"iteration", "text", "thinking?"},
	EventAgentStatus:     {"iteration", "state", "message", "attempt?", "waitMs?"},
	EventToolCall:        {"id", "tool", "args?"},
	EventToolResult:      {"id", "tool", "ok", "durationMs", "costUsd"},
	EventSkillCall:       {"skill"},
	EventTokens:          {"costUsd", "model", "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"},
	EventComplete:        {},
	EventHeartbeat:       {},
	EventReport:          {"html"},
	EventError:           {"code", "message", "recover?"},
}

// ToolStarted tells that the call id starts. Args is cut and cleaned by ArgsView.
func ToolStarted(id, tool, args string) Event {
	return Event{Type: EventToolCall, ID: id, Tool: tool, Args: ArgsView(args)}
}

// ToolEnded tells how the call id went.
func ToolEnded(id string, c ToolCall) Event {
	return Event{Type: EventToolResult, ID: id, Tool: c.Tool, OK: &c.OK, DurationMs: &c.DurationMs, CostUSD: &c.CostUSD}
}

// Errors that end a request without a Result.
var (
	// ErrNotFound: every chain asked answered, none knows the hash.
	ErrNotFound = errors.New("transaction not found")
	// ErrUnavailable: a chain that may have the transaction did not answer.
	ErrUnavailable = errors.New("transaction could not be looked up")
	// ErrPending: a chain knows the transaction, no block has it yet.
	ErrPending = errors.New("transaction is pending")
	// ErrUnknownChain: the request names a chain id that is not in the table.
	ErrUnknownChain = errors.New("chain is not supported")
)

// NotFoundError says that all chains that were asked answered, and none knows the
// hash. It is ErrNotFound.
type NotFoundError struct {
	TxHash string
	Asked  int // chains, all of which answered
}

func (e *NotFoundError) Error() string {
	if e.Asked == 0 {
		return "transaction " + e.TxHash + " not found"
	}
	return fmt.Sprintf("transaction %s not found on %s", e.TxHash, Count(e.Asked, "chain"))
}

// Is makes errors.Is(err, ErrNotFound) true.
func (e *NotFoundError) Is(target error) bool { return target == ErrNotFound }

// UnavailableError says which chains could not be asked, so that nothing is known of
// the hash: it may exist on one of them. It is ErrUnavailable.
type UnavailableError struct {
	TxHash string
	Asked  int      // chains that answered: not here
	Silent []string // slugs of the chains that failed; at least one
	Kinds  []string // of Silent: the kind of each failure; none if unknown
	Unpaid bool     // each of them failed because the service could not pay its data provider
}

func (e *UnavailableError) Error() string {
	s := fmt.Sprintf(
		"transaction %s could not be looked up: %s did not answer: %s",
		e.TxHash,
		Count(len(e.Silent), "chain"),
		strings.Join(e.Silent, ", "),
	)
	if e.Asked > 0 {
		s += fmt.Sprintf("; it is not on the %s that answered", Count(e.Asked, "chain"))
	}
	return s
}

// Is makes errors.Is(err, ErrUnavailable) true.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// UpstreamPayment reports whether paying the data providers would have helped.
func (e *UnavailableError) UpstreamPayment() bool { return e.Unpaid }

// PendingError names the chain that knows a pending transaction. It is ErrPending.
type PendingError struct {
	TxHash, Chain string
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("transaction %s is pending on %s: it is in no block yet", e.TxHash, e.Chain)
}

// Is makes errors.Is(err, ErrPending) true.
func (e *PendingError) Is(target error) bool { return target == ErrPending }
