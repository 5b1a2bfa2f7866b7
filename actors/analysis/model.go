package analysis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"txlens/actors/runtime"
	"txlens/engine/agent"
	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/playbook"
	"txlens/engine/agent/tool"
	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/meter"
	"txlens/engine/report"
)

// phaseAgent is the one after the evidence is closed and the rules have spoken.
const phaseAgent = "agent"

// Agent is the language model that looks at what the rules made of a transaction.
type Agent struct {
	Provider llm.Provider
	Models   map[string]AgentModel // by their names in the interface; all of them
	Default  string                // of Models, for requests that name none; empty: api.DefaultModel
	Limits   agent.Limits
	Library  *playbook.Library // nil: the embedded one
	Patience time.Duration     // with one run, after all evidence is fetched; 0: DefaultPatience
	OnRun    func(AgentRun)    // told of each run at its end; may be nil, and must not block
}

// Close drops the idle connections of the provider. a may be nil.
func (a *Agent) Close() {
	if a == nil {
		return
	}
	if c, ok := a.Provider.(io.Closer); ok {
		c.Close() // it never fails
	}
}

// AgentModel is one model as its vendor knows it.
type AgentModel struct {
	ID    string
	Price llm.Price
}

// AgentRun is how a run of the agent went, and nothing of what it found.
type AgentRun struct {
	Model   string // name in the interface
	Turns   int
	Usage   llm.Usage
	Dropped claim.Dropped // claims that did not hold
	Err     error         // nil: it answered
}

// Outcome is how the run ended, in one word of a short list.
func (r *AgentRun) Outcome() string {
	if r.Err == nil {
		return "answered"
	}
	for _, o := range runOutcomes {
		if errors.Is(r.Err, o.err) {
			return o.word
		}
	}
	return "failed"
}

// runOutcomes are tried in this order: an overloaded provider is one that is down.
var runOutcomes = []struct {
	err  error
	word string
}{
	{llm.ErrRefused, "refused"}, {llm.ErrMalformed, "malformed"}, {llm.ErrCut, "cut"}, {llm.ErrUnpaid, "account"},
	{llm.ErrTooLong, "too_long"}, {llm.ErrRejected, "rejected"}, {llm.ErrDown, "down"},
	{agent.ErrTurns, "turns"}, {agent.ErrBudget, "budget"}, {agent.ErrNoAnswer, "no_answer"},
	{api.ErrUnpaid, "unpaid"}, {context.Canceled, "stopped"}, {context.DeadlineExceeded, "stopped"},
}

// DefaultPatience bounds a run of the agent.
const DefaultPatience = 4 * time.Minute

// agentExitTimeout is how long a run that was stopped is waited for: what it has used is not
// known before it has ended. Providers are bound to end within 100 ms.
const agentExitTimeout = 250 * time.Millisecond

// modelled: the model answered and its claims were held against the evidence, or
// err says why there is no answer.
type modelled struct {
	runtime.MayBeLate
	result *api.Result
	err    error
}

// errPatience: the model took too long.
var errPatience = errors.New("the time for the model is over")

// errPanic: a fault of ours. The log has its text and stack.
var errPanic = errors.New("internal fault")

// consult is the work of the LLM actor, run outside Receive.
func (g *Agent) consult(
	c *assemble.Case,
	desk *tool.Env,
	req api.Request,
	m *meter.Meter,
	tell func(api.Event),
) func(context.Context) any {
	name := req.ModelOr(g.Default)
	model := g.Models[name]
	return func(ctx context.Context) any {
		run := AgentRun{Model: name, Err: errPanic}
		if g.OnRun != nil {
			defer func() { g.OnRun(run) }() // also of one that panics
		}
		out, err := agent.Run(ctx, agent.Options{
			Provider: g.Provider, Model: model.ID, Name: name, Price: model.Price, Limits: g.Limits, Library: g.Library,
			Env: desk, Context: req.Context, Meter: m, Emit: tell,
		})
		run.Turns, run.Usage = out.Turns, out.Usage
		var res *api.Result
		if err == nil {
			res, run.Dropped = claim.Apply(c, out.Answer, out.Index)
			if claim.Contributed(c.Result, res) {
				if res.MermaidDiagram = report.Mermaid(res); !c.Result.Partial() {
					res.AnalysisModel = name
				}
			}
		}
		run.Err = err
		return modelled{result: res, err: err}
	}
}

// asks reports whether a model looks at the case: at what there is of it, unless that
// is not even the transaction, or most callers are told an error in place of a result.
func (s *supervisor) asks(c *assemble.Case) bool {
	return s.o.Agent != nil && s.ownBill == nil && c.Evidence.Tx != nil && !c.Evidence.Tx.Pending()
}

// consult starts the LLM actor.
func (s *supervisor) consult(ac runtime.Context, c *assemble.Case) {
	self, g := ac.Self(), s.o.Agent
	s.timer.Stop()
	s.model = c
	s.journal.modelBegins()
	s.timer = time.AfterFunc(g.Patience, func() { s.e.Send(self, expired{impatient: true}) })
	work, silent := g.consult(c, &tool.Env{Case: c, World: s.w}, s.req, s.meter, s.tell), make(chan struct{})
	s.silent = silent
	s.outstanding[phaseAgent] = ac.SpawnWork(s.work, func(ctx context.Context) any {
		defer close(silent)
		return work(ctx)
	}, func(err error) any { return failed{phase: phaseAgent, err: err} })
}

// heardModel takes what concerns the agent once the rules have spoken.
func (s *supervisor) heardModel(ac runtime.Context, m any) {
	switch m := m.(type) {
	case modelled:
		s.conclude(ac, m)
	case failed:
		s.o.Log.Error("phase broke", "request", s.id, "phase", m.phase, "error", m.err)
		s.conclude(ac, modelled{err: errPanic})
	case expired:
		switch {
		case m.finish:
			s.finished = true
			s.conclude(ac, modelled{err: s.finishedBy()})
		case m.impatient:
			s.conclude(ac, modelled{err: fmt.Errorf("%w (%s)", errPatience, s.o.Agent.Patience)})
		}
	}
}

// conclude answers with what the model left, or with what the rules know.
func (s *supervisor) conclude(ac runtime.Context, m modelled) {
	if ref, ok := s.outstanding[phaseAgent]; ok {
		delete(s.outstanding, phaseAgent)
		ac.Stop(ref)
	}
	s.stop()
	if m.err != nil {
		s.logModel(m.err)
		m.result = assemble.Partial(s.model, assemble.Failure{Phase: phaseAgent, Reason: oneLine(m.err)})
	}
	s.model = nil
	s.tell(api.Event{Type: api.EventComplete})
	out := outcome{result: m.result, finished: s.finished}
	if errors.Is(m.err, llm.ErrUnpaid) {
		out.unpaid = m.err
	}
	s.give(ac, out)
}

// logModel tells the operator what the caller may not read: the provider's own words.
func (s *supervisor) logModel(err error) {
	attrs := []any{"request", s.id, "model", s.req.ModelOr(s.o.Agent.Default), "error", oneLine(err)}
	if f, ok := errors.AsType[*llm.Fault](err); ok && f.Detail != "" {
		attrs = append(attrs, "detail", f.Detail)
	}
	s.o.Log.Warn("the model gave no answer", attrs...)
}

// awaitAgentExit waits for a run of the model that was stopped, so that all it has used is
// booked. It is called when the supervisor has ended.
func (s *supervisor) awaitAgentExit() {
	if s.silent == nil {
		return
	}
	late := time.NewTimer(agentExitTimeout)
	defer late.Stop()
	select {
	case <-s.silent:
	case <-late.C:
	}
}

func (s *supervisor) finishedBy() error {
	if s.unpaid {
		return api.ErrUnpaid
	}
	return api.ErrStopping
}
