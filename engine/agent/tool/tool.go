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

// Env is the case that the tools of one analysis work on. It is safe for concurrent use as
// long as nothing in it is changed.
type Env struct {
	Case  *assemble.Analysis
	World gather.World // makes requests for what the evidence lacks; nil: no requests are made
}

// Tool is a function that the model may call. Tools do not depend on each other and may run
// concurrently.
type Tool struct {
	llm.Tool
	// Limit is the time limit of one call; 0: 30 seconds. Do enforces it.
	Limit time.Duration
	// Run answers a call, and returns soon after ctx ends. Input is unchecked JSON. The
	// answer contains data of a chain: pass it through Mark before a model sees it. An
	// error is a mistake of the caller or a failed request, in words that the model can act
	// on.
	Run func(ctx context.Context, d *Env, input jsontext.Value) (any, error)
	// Hypothetical: the answer describes something that did not happen. It may guide the
	// model, but references to its numbers are not accepted.
	Hypothetical bool
}
