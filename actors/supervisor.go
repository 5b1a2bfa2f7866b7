package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/evidence"
	"txlens/engine/explain"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/triage"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/ethereum/go-ethereum/common"
)

// supervisor owns one request: its deadline, its children, its evidence. All
// fields are touched in Receive only; closed tells others that it has ended.
type supervisor struct {
	e    *engine
	o    *Options
	id   string
	req  explain.Request
	hash common.Hash
	w    gather.World
	tell func(explain.Event)

	journal     *journal        // hears what is told
	ctx         context.Context // of the request
	fetching    context.Context // of the children: ends at the deadline
	stopFetch   context.CancelFunc
	timer       *time.Timer
	outstanding map[string]*actor.PID // phase to child
	ev          *assemble.Evidence
	factsIn     bool
	traceIn     bool
	assembling  bool
	model       *assemble.Case // that the model looks at; nil: it does not
	silent      chan struct{}  // closed when the model has ended; nil: none was asked
	meter       *meter.Meter
	answered    bool
	expired     []string // phases that the deadline cut off
	cutOff      []string // of a replay: phases that the deadline cut off when it was recorded
	lapsed      int      // of them, those whose turn has come
	finished    bool     // it was not the deadline that cuts off, but Finish
	unpaid      bool     // Finish means that the caller does not pay for more

	reply  chan outcome  // capacity 1
	closed chan struct{} // closed when the actor has stopped
}

// outcome is what Explain waits for.
type outcome struct {
	result *explain.Result
	err    error

	expired  []string // phases that were cut off
	finished bool     // because the service stops
	unpaid   error    // the service could not pay for the model
}

type (
	expired struct {
		mayBeLate
		finish    bool // the service stops; else the deadline has passed
		impatient bool // that of the model
	}
	assembled struct {
		mayBeLate
		made *assemble.Case
		err  error
	}
)

// Receive is owned by the runtime.
func (s *supervisor) Receive(ac actor.Context) {
	switch m := ac.Message().(type) {
	case *actor.Started:
		s.begin(ac)
	case *actor.Stopping:
		s.stopFetch()
		s.timer.Stop()
	case *actor.Stopped:
		close(s.closed)
	case *actor.Terminated:
		s.childGone(ac, m.Who)
	case assembled:
		s.answer(ac, m)
	default:
		switch {
		case s.answered:
		case s.model != nil:
			s.heardModel(ac, m)
		case s.assembling: // too late: the evidence is closed
			if e, ok := m.(expired); ok && e.finish {
				s.finished = true // the model need not begin
			}
		default:
			s.piece(ac, m)
		}
	}
}

// piece takes one child's outcome and starts what waited for it.
func (s *supervisor) piece(ac actor.Context, m any) {
	switch m := m.(type) {
	case probed:
		s.settle(ac, phaseProbe, m.err)
		s.chainFound(ac, m)
	case factsRead:
		s.settle(ac, phaseTransaction, m.err)
		s.takeFacts(ac, m)
	case traced:
		s.settle(ac, phaseTrace, m.err)
		s.takeTrace(m)
	case labelled:
		s.settle(ac, phaseLabel, m.err)
		s.ev.Tokens, s.ev.Neighbours = m.tokens, m.neighbours
		s.ev.Notes = append(s.ev.Notes, m.notes...)
		s.note(phaseLabel, m.err)
	case sourced:
		s.settle(ac, phaseSource, m.err)
		s.ev.Contracts, s.ev.Functions, s.ev.Events = m.sourced.Contracts, m.sourced.Functions, m.sourced.Events
		s.note(phaseSource, m.err)
	case priced:
		s.settle(ac, phasePrice, m.err)
		s.ev.Prices = m.prices
		s.note(phasePrice, m.err)
	case failed:
		s.fault(ac, m.phase, m.err)
	case expired:
		s.finished = m.finish
		s.expire(ac)
		return
	default:
		return
	}
	s.next(ac)
}

func (s *supervisor) begin(ac actor.Context) {
	self := ac.Self()
	s.timer = time.AfterFunc(s.o.Deadline, func() { s.e.sys.Root.Send(self, expired{}) })
	s.tell(explain.Event{Type: explain.EventPreflightStart, TxHash: s.req.TxHash})
	if ch := s.ev.Chain; ch != nil {
		s.startChain(ac, ch)
		return
	}
	s.spawn(ac, phaseProbe, probe(s.w, s.o.Chains, s.hash))
}

func (s *supervisor) spawn(ac actor.Context, phase string, fetch func(context.Context) any) {
	if slices.Contains(s.cutOff, phase) {
		s.outstanding[phase] = &actor.PID{} // never to answer
		s.lapsed++
		return
	}
	s.tell(explain.Event{Type: explain.EventPreflightStatus, Phase: phase, State: explain.StateStarted})
	s.outstanding[phase] = ac.Spawn(s.e.newChild(s.fetching, phase, fetch))
}

// settle ends the child whose outcome came, and tells the listener.
func (s *supervisor) settle(ac actor.Context, phase string, err error) {
	if pid := s.outstanding[phase]; pid != nil {
		delete(s.outstanding, phase)
		ac.Stop(pid)
	}
	ev := explain.Event{Type: explain.EventPreflightStatus, Phase: phase, State: explain.StateDone}
	if err != nil {
		ev.State, ev.Message, ev.Hint = explain.StateFailed, oneLine(err), hint(err)
	}
	s.tell(ev)
}

// note marks the phase as failed: the result will be partial.
func (s *supervisor) note(phase string, err error) {
	if err != nil {
		s.ev.Failed = append(s.ev.Failed, assemble.Failure{Phase: phase, Reason: oneLine(err)})
	}
}

func (s *supervisor) chainFound(ac actor.Context, m probed) {
	switch {
	case m.err != nil:
		s.give(ac, outcome{err: m.err})
	case m.found.Pending:
		s.give(ac, outcome{err: &explain.PendingError{TxHash: s.req.TxHash, Chain: m.found.Chain.Slug}})
	default:
		s.startChain(ac, m.found.Chain)
	}
}

func (s *supervisor) startChain(ac actor.Context, ch *chain.Chain) {
	s.ev.Chain = ch
	s.tell(explain.Event{Type: explain.EventPreflightStatus, Phase: phaseProbe, State: explain.StateFound, Chain: ch.Slug, Message: "chain is " + ch.Name})
	s.spawn(ac, phaseTransaction, readFacts(s.w, ch, s.hash))
	s.spawn(ac, phaseTrace, climb(s.w, ch, s.hash, gather.TraceOptions{Limits: s.o.Limits, Quick: s.o.Quick}))
}

func (s *supervisor) takeFacts(ac actor.Context, m factsRead) {
	s.factsIn = true
	if errors.Is(m.err, explain.ErrNotFound) || errors.Is(m.err, explain.ErrPending) {
		s.give(ac, outcome{err: m.err})
		return
	}
	s.note(phaseTransaction, m.err)
	if m.facts == nil {
		return
	}
	s.ev.Tx, s.ev.Receipt, s.ev.Block = m.facts.Tx, m.facts.Receipt, m.facts.Block
	if s.ev.Receipt == nil {
		return
	}
	s.spawn(ac, phaseLabel, labelTokens(s.w, s.ev.Chain, s.ev.Tx, s.ev.Receipt, s.ev.Block))
	if s.ev.Block != nil && !s.o.SourcesOff {
		s.spawn(ac, phasePrice, askPrices(s.w, s.ev.Chain, s.ev.Block, s.ev.Receipt))
	}
}

func (s *supervisor) takeTrace(m traced) {
	s.traceIn = true
	if m.traced != nil {
		s.ev.Tree, s.ev.Diff = m.traced.Tree, m.traced.Diff
		s.ev.Notes = append(s.ev.Notes, m.traced.Notes...)
	}
	s.note(phaseTrace, m.err)
}

// fault is a phase whose work panicked, or whose actor is gone without a word.
func (s *supervisor) fault(ac actor.Context, phase string, err error) {
	s.o.Log.Error("phase broke", "request", s.id, "phase", phase, "error", err)
	s.settle(ac, phase, err)
	switch phase {
	case phaseProbe:
		s.give(ac, outcome{err: fmt.Errorf("find the chain: %w", err)})
		return
	case phaseTransaction:
		s.factsIn = true
	case phaseTrace:
		s.traceIn = true
	}
	s.note(phase, err)
}

func (s *supervisor) childGone(ac actor.Context, who *actor.PID) {
	for phase, pid := range s.outstanding {
		gone := errors.New("internal fault: its actor ended without an answer")
		switch {
		case !pid.Equal(who) || s.answered:
		case s.model != nil:
			s.heardModel(ac, failed{phase: phase, err: gone})
			return
		case !s.assembling:
			s.fault(ac, phase, gone)
			s.next(ac)
			return
		}
	}
}

// next starts the sources once trace and facts are in, and the assembly once
// nothing is outstanding that could still come.
func (s *supervisor) next(ac actor.Context) {
	if s.answered || s.assembling {
		return
	}
	if s.factsIn && s.traceIn && s.ev.Tx != nil && !s.o.SourcesOff && s.ev.Contracts == nil && s.outstanding[phaseSource] == nil && !s.hasFailed(phaseSource) {
		s.spawn(ac, phaseSource, lookUpSources(s.w, s.ev.Chain, s.ev.Tx, s.treeForNames(), receiptOrNone(s.ev.Receipt), s.ev.Diff))
	}
	switch {
	case len(s.outstanding) > s.lapsed:
	case s.lapsed > 0:
		s.expire(ac)
	default:
		s.assemble(ac)
	}
}

func (s *supervisor) hasFailed(phase string) bool {
	for _, f := range s.ev.Failed {
		if f.Phase == phase {
			return true
		}
	}
	return false
}

func (s *supervisor) treeForNames() *trace.Tree {
	if s.ev.Tree != nil {
		return s.ev.Tree
	}
	return trace.FromReceipt(s.ev.Tx, receiptOrNone(s.ev.Receipt), true)
}

func receiptOrNone(rc *evidence.Receipt) *evidence.Receipt {
	if rc == nil {
		return &evidence.Receipt{}
	}
	return rc
}

// expire ends the fetching: what is still outstanding has failed.
func (s *supervisor) expire(ac actor.Context) {
	over := fmt.Errorf("the deadline of %s passed", s.o.Deadline)
	if s.finished {
		over = s.finishedBy()
	}
	switch {
	case s.ev.Chain == nil && s.finished:
		s.give(ac, outcome{err: fmt.Errorf("%w, and the chain was not known yet", over)})
		return
	case s.ev.Chain == nil:
		s.give(ac, outcome{err: fmt.Errorf("%w (%s)", explain.ErrDeadline, s.o.Deadline)})
		return
	}
	for _, phase := range []string{phaseTransaction, phaseTrace, phaseLabel, phaseSource, phasePrice} {
		if s.outstanding[phase] != nil {
			delete(s.outstanding, phase)
			s.expired = append(s.expired, phase)
			s.note(phase, over)
		}
	}
	s.stopFetch()
	s.assemble(ac)
}

// assemble runs the pure part beside the actor. From here on the evidence is
// read by that work alone.
func (s *supervisor) assemble(ac actor.Context) {
	s.assembling = true
	sortFailures(s.ev.Failed)
	s.tell(explain.Event{Type: explain.EventPreflightDone, Chain: s.ev.Chain.Slug, Failed: phases(s.ev.Failed)})
	s.e.run(ac.Self(), func() any { return assembled{made: s.judge()} }, func(err error) any { return assembled{err: err} })
}

// judge has the rules look at the evidence. What nobody looks at after them goes: the
// evidence of a large transaction is most of the memory of a request.
func (s *supervisor) judge() *assemble.Case {
	c := s.o.assemble(s.ev)
	for range maxRounds {
		if c.Triage == nil || len(c.Triage.Questions) == 0 {
			break
		}
		views, err := s.look(c)
		if err != nil && s.ev.Triage {
			s.ev.Notes = append(s.ev.Notes, "not all that a triage asks of the state was answered: "+oneLine(err))
		}
		if s.ev.Views = append(s.ev.Views, views...); len(views) == 0 {
			break
		}
		c = s.o.assemble(s.ev)
	}
	if !s.asks(c) {
		return &assemble.Case{Evidence: c.Evidence, Result: c.Result}
	}
	return c
}

// maxRounds bounds how often answers may raise further questions, and viewTime how long
// they are waited for: the rules have an answer without them.
const (
	maxRounds = 2
	viewTime  = 15 * time.Second
)

// look asks the state what a triage wants to know.
func (s *supervisor) look(c *assemble.Case) ([]triage.View, error) {
	ctx, cancel := context.WithTimeout(s.fetching, viewTime)
	defer cancel()
	return gather.Views(ctx, s.w, s.ev.Chain, s.ev.Tx, c.Triage.Questions)
}

func (s *supervisor) answer(ac actor.Context, m assembled) {
	var result *explain.Result
	switch {
	case m.err != nil:
		result = bare(s.ev, m.err)
	case !s.finished && s.asks(m.made):
		s.consult(ac, m.made)
		return
	default:
		result = m.made.Result
	}
	s.tell(explain.Event{Type: explain.EventComplete})
	s.give(ac, outcome{result: result, expired: s.expired, finished: s.finished})
}

// give answers once and ends the actor.
func (s *supervisor) give(ac actor.Context, o outcome) {
	if s.answered {
		return
	}
	s.answered = true
	s.reply <- o
	ac.Stop(ac.Self())
}
