// Package agent lets a language model look at one transaction and explain it. The
// model gets a digest of the evidence with what the rules made of it, asks tools for
// more, follows playbooks, and ends with one call of the tool that submits its
// explanation. What it submits is a set of claims: package claim holds each against
// the evidence before any of it becomes part of a result.
//
// # What the model may believe
//
// Names, symbols, messages, sources and calldata come from strangers. They reach the
// model only in the digest and in outcomes of tools, cleaned, cut and marked as data;
// the system message is the same for every transaction.
//
// # How it ends
//
// Run returns an Outcome with an answer, or the error that left none: of the provider
// (package llm), of the budget (ErrTurns, ErrBudget), ErrNoAnswer, or of the context.
// Whatever was used until then is booked in both cases.
package agent

import (
	"context"
	_ "embed"
	"errors"
	"time"

	"txlens/engine/agent/claim"
	"txlens/engine/agent/digest"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/playbook"
	"txlens/engine/agent/tool"
	"txlens/engine/api"
	"txlens/engine/meter"
)

// system is the whole of the system message.
//
//go:embed system.md
var system string

// Options of one run. Provider, Model, Env and Meter are required.
type Options struct {
	Provider llm.Provider
	Model    string    // as the vendor names it
	Name     string    // as the interface names it: for events and costs
	Price    llm.Price // of its tokens
	Limits   Limits
	Tools    []tool.Tool       // nil: tool.All()
	Library  *playbook.Library // nil: the embedded one
	Env      *tool.Env
	Context  string // the caller's words
	Meter    *meter.Meter
	Budget   *Budget         // of all runs together; nil: no limit
	Emit     func(api.Event) // may be nil; is called one event at a time, must not block
}

// Limits bound a run. Zero values mean the defaults named at each field.
type Limits struct {
	Turns    int           // of the model, default 16
	Tokens   int64         // of all kinds together, default 600,000
	Nano     int64         // nano-dollars, default 3 USD
	Output   int64         // tokens of one turn, thinking included, default 16,384
	Thinking int64         // of them for thinking, default 4,096; negative: none
	ToolTime time.Duration // of one tool call where its own limit is longer, default none
	Parallel int           // tool calls at once, default 4
	Answers  int           // how often an answer may be sent back for correction, default 2
}

func (l Limits) withDefaults() Limits {
	orDefault(&l.Turns, 16)
	orDefault(&l.Tokens, 600_000)
	orDefault(&l.Nano, 3_000_000_000)
	orDefault(&l.Output, 16_384)
	orDefault(&l.Parallel, 4)
	orDefault(&l.Answers, 2)
	if l.Thinking == 0 {
		l.Thinking = 4096
	}
	l.Thinking = max(l.Thinking, 0)
	return l
}

func orDefault[T int | int64](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Outcome is the result of a run.
type Outcome struct {
	Answer *claim.Answer
	Index  *claim.Index // of the evidence and of what the tools returned
	Skills []string     // names of the playbooks, in the order in which they were used
	Usage  llm.Usage
	Turns  int
}

// Errors of a run that are not the provider's.
var (
	// ErrTurns: the limit of turns is reached without an answer.
	ErrTurns = errors.New("the model came to no answer within its turns")
	// ErrBudget: tokens or money of the run are used up.
	ErrBudget = errors.New("the model came to no answer within its budget")
	// ErrNoAnswer: the model stopped without an answer, or with none that can be read.
	ErrNoAnswer = errors.New("the model gave no answer that can be read")
)

// errAmbiguousName: two tools or playbooks have the same name.
var errAmbiguousName = errors.New("two tools have one name")

// Run asks the model until it answers.
func Run(ctx context.Context, o Options) (Outcome, error) {
	r, err := newRun(o)
	if err != nil {
		return Outcome{}, err
	}
	err = r.converse(ctx)
	return r.out, err
}

func newRun(o Options) (*run, error) {
	o.Limits = o.Limits.withDefaults()
	if o.Tools == nil {
		o.Tools = tool.All()
	}
	if o.Library == nil {
		var err error
		if o.Library, err = Library(""); err != nil {
			return nil, err
		}
	}
	if o.Emit == nil {
		o.Emit = func(api.Event) {}
	}
	o.Emit = oneAtATime(o.Emit)
	r := &run{Options: o, tools: make(map[string]tool.Tool), final: claim.Tool()}
	r.out.Index = claim.NewIndex(o.Env.Case)
	for _, t := range o.Tools {
		r.tools[t.Name] = t
		r.offered = append(r.offered, t.Tool)
	}
	r.offered = append(r.offered, o.Library.Tool(), r.final)
	if len(r.tools) != len(o.Tools) || r.tools[playbook.EngageTool].Run != nil || r.tools[r.final.Name].Run != nil {
		return nil, errAmbiguousName
	}
	first := digest.Of(o.Env.Case, o.Context, proposed(&o)...)
	r.talk = []llm.Message{{Role: llm.User, Parts: []llm.Part{{Text: first}}}}
	return r, nil
}

// Library reads the embedded playbooks, and those of a folder if one is named. A playbook
// may tell the model to use any tool.
func Library(dir string) (*playbook.Library, error) { return playbook.Open(dir, names(tool.All())) }

// names lists the tools by name.
func names(tools []tool.Tool) (list []string) {
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}
