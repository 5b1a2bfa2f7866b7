// Package tool is what the model may look at: each tool answers one small, typed
// question about one transaction, has a price, and gives back bounded data that is
// marked as such. Nothing that a tool returns is an instruction.
package tool

import (
	"context"
	"time"

	"txlens/engine/agent/llm"
	"txlens/engine/assemble"
	"txlens/engine/gather"

	"github.com/go-json-experiment/json/jsontext"
)

// Desk is what the tools of one analysis work on. It is safe for concurrent use as
// long as nothing in it is changed.
type Desk struct {
	Case  *assemble.Case
	World gather.World // asked for what the evidence does not hold; nil: nothing more is asked
}

// Tool is one question that can be asked. Tools do not depend on each other and may
// run at the same time.
type Tool struct {
	llm.Tool
	// Limit is the time of one call; 0: 30 seconds. Do keeps it.
	Limit time.Duration
	// Run answers, and returns soon after ctx ends. Input is unchecked JSON. The answer is data of a chain: whoever
	// shows it to a model must send it through Mark. An error is the caller's mistake
	// or the world's, in words that the model can act on.
	Run func(ctx context.Context, d *Desk, input jsontext.Value) (any, error)
	// Hypothetical: what it answers did not happen. It may guide the model, but no
	// claim about the transaction can rest on its numbers.
	Hypothetical bool
}
