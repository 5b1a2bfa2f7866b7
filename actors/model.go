package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"txlens/engine/agent"
	"txlens/engine/agent/claim"
	"txlens/engine/agent/llm"
	"txlens/engine/agent/playbook"
	"txlens/engine/agent/tool"
	"txlens/engine/assemble"
	"txlens/engine/explain"
	"txlens/engine/meter"

	"github.com/asynkron/protoactor-go/actor"
)

// phaseAgent is the one after the evidence is closed and the rules have spoken.
const phaseAgent = "agent"

// Agent is the language model that looks at what the rules made of a transaction.
type Agent struct {
	Provider llm.Provider
	Models   map[string]AgentModel // by their names in the interface; all of them
	Limits   agent.Limits
	Library  *playbook.Library // nil: the embedded one
	Patience time.Duration     // with one run, after all evidence is fetched; 0: DefaultPatience
	OnRun    func(AgentRun)    // told of each run at its end; may be nil, and must not block
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

// DefaultPatience bounds a run of the agent.
const DefaultPatience = 4 * time.Minute

// modelled: the model answered and its claims were held against the evidence, or
// err says why there is no answer.
type modelled struct {
	mayBeLate
	result *explain.Result
	err    error
}

// errPatience: the model took too long.
var errPatience = errors.New("the time for the model is over")

// consult is the work of the LLM actor, run outside Receive.
func (g *Agent) consult(c *assemble.Case, desk *tool.Desk, req explain.Request, m *meter.Meter, tell func(explain.Event)) func(context.Context) any {
	name := req.Model
	if name == "" {
		name = explain.DefaultModel
	}
	model := g.Models[name]
	return func(ctx context.Context) any {
		out, err := agent.Run(ctx, agent.Options{
			Provider: g.Provider, Model: model.ID, Name: name, Price: model.Price, Limits: g.Limits, Library: g.Library,
			Desk: desk, Context: req.Context, Meter: m, Emit: tell,
		})
		run := AgentRun{Model: name, Turns: out.Turns, Usage: out.Usage, Err: err}
		var res *explain.Result
		if err == nil {
			res, run.Dropped = claim.Apply(c, out.Answer, out.Index)
			res.AnalysisModel, res.SkillsUsed = name, out.Skills
		}
		if g.OnRun != nil {
			g.OnRun(run)
		}
		return modelled{result: res, err: err}
	}
}

// asks reports whether a model looks at the case. One whose evidence has holes is
// partial whatever a model says, and better asked for again: nobody should pay for
// words about it.
func (s *supervisor) asks(c *assemble.Case) bool {
	return s.o.Agent != nil && len(c.Evidence.Failed) == 0 && c.Evidence.Tx != nil
}

// consult starts the LLM actor.
func (s *supervisor) consult(ac actor.Context, c *assemble.Case) {
	self := ac.Self()
	s.timer.Stop()
	s.model = c
	s.timer = time.AfterFunc(s.o.Agent.Patience, func() { s.e.sys.Root.Send(self, expired{impatient: true}) })
	desk := &tool.Desk{Case: c, World: s.w}
	s.outstanding[phaseAgent] = ac.Spawn(s.e.newChild(s.fetching, phaseAgent, s.o.Agent.consult(c, desk, s.req, s.meter, s.tell)))
}

// heardModel takes what concerns the agent once the rules have spoken.
func (s *supervisor) heardModel(ac actor.Context, m any) {
	switch m := m.(type) {
	case modelled:
		s.conclude(ac, m)
	case failed:
		s.o.Log.Error("phase broke", "request", s.id, "phase", m.phase, "error", m.err)
		s.conclude(ac, modelled{err: errors.New("internal fault")})
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
func (s *supervisor) conclude(ac actor.Context, m modelled) {
	if pid := s.outstanding[phaseAgent]; pid != nil {
		delete(s.outstanding, phaseAgent)
		ac.Stop(pid)
	}
	s.stopFetch()
	if m.err != nil {
		m.result = assemble.Partial(s.model, assemble.Failure{Phase: phaseAgent, Reason: oneLine(m.err)})
	}
	s.model = nil
	s.tell(explain.Event{Type: explain.EventComplete})
	out := outcome{result: m.result, finished: s.finished}
	if errors.Is(m.err, llm.ErrUnpaid) {
		out.unpaid = m.err
	}
	s.give(ac, out)
}

func (s *supervisor) finishedBy() error {
	if s.unpaid {
		return explain.ErrUnpaid
	}
	return explain.ErrStopping
}
