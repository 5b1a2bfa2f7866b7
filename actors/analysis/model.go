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

// phaseAgent is the phase of the model, after the evidence is complete and the rules ran.
const phaseAgent = "agent"

// Agent is the language model that examines a transaction after the rules.
type Agent struct {
	Provider llm.Provider
	Models   map[string]AgentModel // all models, by their names in the interface
	Default  string                // one of Models, for requests that name none; empty: api.DefaultModel
	Limits   agent.Limits
	Budget   *agent.Budget     // of all runs together; nil: no limit
	Library  *playbook.Library // nil: the embedded playbooks
	Patience time.Duration     // time limit of one run of the model, after all evidence is fetched; 0: DefaultPatience
	OnRun    func(AgentRun)    // called at the end of each run; may be nil, must not block
}

// Close closes the idle connections to the provider. a may be nil.
func (a *Agent) Close() {
	if a == nil {
		return
	}
	if c, ok := a.Provider.(io.Closer); ok {
		c.Close() // never returns an error
	}
}

// AgentModel is one model with its name and prices at its vendor.
type AgentModel struct {
	ID    string
	Price llm.Price
}

// AgentRun describes how a run of the agent went, without its findings.
type AgentRun struct {
	Model   string // name in the interface
	Turns   int
	Usage   llm.Usage
	Dropped claim.Dropped // claims that the evidence does not support
	Err     error         // nil: the model answered
}

// Outcome is how the run ended, as one word of a short list.
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

// runOutcomes are matched in this order, because an overloaded provider also matches the
// error of an unavailable one.
var runOutcomes = []struct {
	err  error
	word string
}{
	{llm.ErrRefused, "refused"}, {llm.ErrMalformed, "malformed"}, {llm.ErrCut, "cut"}, {llm.ErrUnpaid, "account"},
	{llm.ErrTooLong, "too_long"}, {llm.ErrRejected, "rejected"}, {llm.ErrDown, "down"},
	{agent.ErrTurns, "turns"}, {agent.ErrBudget, "budget"}, {agent.ErrNoAnswer, "no_answer"},
	{api.ErrUnpaid, "unpaid"}, {context.Canceled, "stopped"}, {context.DeadlineExceeded, "stopped"},
}

// DefaultPatience is the default time limit of one run of the agent.
const DefaultPatience = 4 * time.Minute

// agentExitTimeout limits the wait for a cancelled run. Its cost is unknown until it has
// ended. Providers must end within 100 ms.
const agentExitTimeout = 250 * time.Millisecond

// modelDone is sent when the model has answered and its claims are checked against the
// evidence. err says why there is no answer.
type modelDone struct {
	runtime.MayBeLate
	result *api.Result
	err    error
}

// errPatience means that the model exceeded its time limit.
var errPatience = errors.New("the time for the model is over")

// errPanic means that the model loop panicked. The log has the text and stack.
var errPanic = errors.New("internal fault")

// consult is the work of the LLM actor, run outside Receive.
func (g *Agent) consult(
	c *assemble.Analysis,
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
			defer func() { g.OnRun(run) }() // set even if the run panicked
		}
		out, err := agent.Run(ctx, agent.Options{
			Provider: g.Provider, Model: model.ID, Name: name, Price: model.Price, Limits: g.Limits, Budget: g.Budget, Library: g.Library,
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
		return modelDone{result: res, err: err}
	}
}

// wantsModel reports whether the model is asked. It is not asked if the transaction itself is
// missing, or if the caller gets an error instead of a result.
func (s *supervisor) wantsModel(c *assemble.Analysis) bool {
	return s.options.Agent != nil && s.unpaidError == nil && c.Evidence.Tx != nil && !c.Evidence.Tx.Pending()
}

// consult starts the LLM actor.
func (s *supervisor) consult(ac runtime.Context, c *assemble.Analysis) {
	self, g := ac.Self(), s.options.Agent
	s.timer.Stop()
	s.model = c
	s.journal.modelBegins()
	s.timer = time.AfterFunc(g.Patience, func() { s.system.Send(self, expired{impatient: true}) })
	work, silent := g.consult(c, &tool.Env{Case: c, World: s.world}, s.req, s.meter, s.sink), make(chan struct{})
	s.modelEnded = silent
	s.outstanding[phaseAgent] = ac.SpawnWork(s.work, func(ctx context.Context) any {
		defer close(silent)
		return work(ctx)
	}, func(err error) any { return failed{phase: phaseAgent, err: err} })
}

// handleModel handles the messages of the agent.
func (s *supervisor) handleModel(ac runtime.Context, m any) {
	switch m := m.(type) {
	case modelDone:
		s.conclude(ac, m)
	case failed:
		s.options.Log.Error("phase broke", "request", s.id, "phase", m.phase, "error", m.err)
		s.conclude(ac, modelDone{err: errPanic})
	case expired:
		switch {
		case m.finish:
			s.finished = true
			s.conclude(ac, modelDone{err: s.finishedBy()})
		case m.impatient:
			s.conclude(ac, modelDone{err: fmt.Errorf("%w (%s)", errPatience, s.options.Agent.Patience)})
		}
	}
}

// conclude answers with the result of the model, or of the rules if the model gave none.
func (s *supervisor) conclude(ac runtime.Context, m modelDone) {
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
	s.sink(api.Event{Type: api.EventComplete})
	out := outcome{result: m.result, finished: s.finished}
	if errors.Is(m.err, llm.ErrUnpaid) {
		out.unpaid = m.err
	}
	s.sendAnswer(ac, out)
}

// logModel logs the provider's error text, which the caller must not see.
func (s *supervisor) logModel(err error) {
	attrs := []any{"request", s.id, "model", s.req.ModelOr(s.options.Agent.Default), "error", oneLine(err)}
	if f, ok := errors.AsType[*llm.Fault](err); ok && f.Detail != "" {
		attrs = append(attrs, "detail", f.Detail)
	}
	s.options.Log.Warn("the model gave no answer", attrs...)
}

// awaitAgentExit waits for a cancelled run of the model, so that its full cost is booked. It
// is called when the supervisor has ended.
func (s *supervisor) awaitAgentExit() {
	if s.modelEnded == nil {
		return
	}
	late := time.NewTimer(agentExitTimeout)
	defer late.Stop()
	select {
	case <-s.modelEnded:
	case <-late.C:
	}
}

func (s *supervisor) finishedBy() error {
	if s.unpaid {
		return api.ErrUnpaid
	}
	return api.ErrStopping
}
