package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/runtime"
	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/ethrpc"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/trace"
	"txlens/engine/upstream"
)

// supervisor owns one request: its deadline, its children, its evidence. All
// fields are touched in Receive only; closed tells others that it has ended.
type supervisor struct {
	e    *runtime.System
	o    *Options
	id   string
	req  api.Request
	hash common.Hash
	w    gather.World
	tell func(api.Event)

	journal     *journal        // hears what is told
	ctx         context.Context // of the request
	work        context.Context // of all that is done for it
	stop        context.CancelFunc
	fetching    context.Context // of the fetching: ends with work, or at the deadline
	stopFetch   context.CancelFunc
	timer       *time.Timer
	outstanding map[string]runtime.Ref // phase to child
	begun       map[string]bool        // phases that were started
	ev          *assemble.Evidence
	factsIn     bool
	traceIn     bool
	unfetched   error // why transaction or receipt could not be had
	ownBill     error // of unfetched, where the service could not pay for it
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
	result *api.Result
	err    error

	expired  []string // phases that were cut off
	finished bool     // because the service stops
	unpaid   error    // the service could not pay for the model, or for what the result needs
}

type (
	expired struct {
		runtime.MayBeLate
		finish    bool // the service stops; else the deadline has passed
		impatient bool // that of the model
	}
	assembled struct {
		runtime.MayBeLate
		made *assemble.Case
		err  error
	}
)

// Receive is owned by the runtime.
func (s *supervisor) Receive(ac runtime.Context) {
	switch m := ac.Message().(type) {
	case runtime.Started:
		s.begin(ac)
	case runtime.Stopping:
		s.stop()
		s.timer.Stop()
	case runtime.Stopped:
		close(s.closed)
	case runtime.Terminated:
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
func (s *supervisor) piece(ac runtime.Context, m any) {
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
		s.lose(phaseLabel, m.err)
		s.lose(assemble.LostNeighbours, m.aroundErr)
	case sourced:
		s.settle(ac, phaseSource, m.err)
		s.ev.Contracts, s.ev.Functions, s.ev.Events = m.sourced.Contracts, m.sourced.Functions, m.sourced.Events
		s.lose(phaseSource, m.err)
	case priced:
		s.settle(ac, phasePrice, m.err)
		s.ev.Prices = m.prices
		s.lose(phasePrice, m.err)
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

func (s *supervisor) begin(ac runtime.Context) {
	self := ac.Self()
	s.timer = time.AfterFunc(s.o.Deadline, func() { s.e.Send(self, expired{}) })
	s.tell(api.Event{Type: api.EventPreflightStart, TxHash: s.req.TxHash})
	if ch := s.ev.Chain; ch != nil {
		s.startChain(ac, ch)
		return
	}
	s.spawn(ac, phaseProbe, probe(s.w, s.o.Chains, s.hash))
}

func (s *supervisor) spawn(ac runtime.Context, phase string, fetch func(context.Context) any) {
	s.begun[phase] = true
	if slices.Contains(s.cutOff, phase) {
		s.outstanding[phase] = runtime.Ref{} // never to answer
		s.lapsed++
		return
	}
	s.tell(api.Event{Type: api.EventPreflightStatus, Phase: phase, State: api.StateStarted})
	s.outstanding[phase] = ac.SpawnWork(s.fetching, fetch, func(err error) any { return failed{phase: phase, err: err} })
}

// settle ends the child whose outcome came, and tells the listener. What went wrong in
// the words of an upstream is for the log and the operator.
func (s *supervisor) settle(ac runtime.Context, phase string, err error) {
	if ref, ok := s.outstanding[phase]; ok {
		delete(s.outstanding, phase)
		ac.Stop(ref)
	}
	ev := api.Event{Type: api.EventPreflightStatus, Phase: phase, State: api.StateDone}
	if err != nil {
		ev.State, ev.Message, ev.Detail, ev.Hint = api.StateFailed, gather.Reason(err), oneLine(err), hint(err)
		s.o.Log.Warn("phase failed", "request", s.id, "phase", phase, "error", ev.Detail)
	}
	s.tell(ev)
}

// miss marks the phase as failed: the result will be partial.
func (s *supervisor) miss(phase, what string, err error) {
	if err != nil {
		s.ev.Failed = append(s.ev.Failed, assemble.Failure{Phase: phase, Reason: what + gather.Reason(err)})
	}
}

// lose notes a piece of evidence that the result stands without.
func (s *supervisor) lose(piece string, err error) {
	if err != nil {
		s.ev.Lost = append(s.ev.Lost, assemble.Failure{Phase: piece, Reason: gather.Reason(err)})
	}
}

// optional are the phases that a result stands without.
var optional = map[string]bool{phaseLabel: true, phaseSource: true, phasePrice: true}

func (s *supervisor) chainFound(ac runtime.Context, m probed) {
	switch {
	case errors.Is(m.err, upstream.ErrUnpaid):
		s.give(ac, outcome{err: api.ErrUnpaid})
	case m.err != nil && (gather.Unpaid(m.err) || api.FaultOf(m.err).Code == api.CodePayment):
		s.giveBare(ac, phaseProbe, m.err)
	case m.err != nil:
		s.give(ac, outcome{err: unreachable(s.req.TxHash, m.err)})
	case m.found.Pending:
		s.give(ac, outcome{err: &api.PendingError{TxHash: s.req.TxHash, Chain: m.found.Chain.Slug}})
	default:
		s.startChain(ac, m.found.Chain)
	}
}

// giveBare answers that the service could not pay for what the analysis needs first:
// with the error, and with a partial result for those who are not to read it.
func (s *supervisor) giveBare(ac runtime.Context, phase string, err error) {
	if len(s.ev.Failed) == 0 {
		s.ev.Failed = []assemble.Failure{{Phase: phase, Reason: unpaidReason}}
	}
	sortFailures(s.ev.Failed)
	s.journal.fail(s.ev.Failed)
	s.tell(api.Event{Type: api.EventComplete})
	s.give(ac, outcome{result: assemble.Result(s.ev), unpaid: err})
}

// unpaidReason is what the one who asked may read where the service could not pay.
var unpaidReason = gather.Reason(&upstream.Error{Kind: upstream.KindPayment})

// unreachable is err as the one who asked may read it: an upstream that failed is no
// fault inside the service.
func unreachable(hash string, err error, silent ...string) error {
	if _, ok := errors.AsType[*upstream.Error](err); !ok {
		return err
	}
	if len(silent) == 0 {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return fmt.Errorf("%w (%w)", &api.UnavailableError{TxHash: hash, Silent: silent}, err)
}

func (s *supervisor) startChain(ac runtime.Context, ch *chain.Chain) {
	s.ev.Chain = ch
	s.tell(api.Event{Type: api.EventPreflightStatus, Phase: phaseProbe, State: api.StateFound, Chain: ch.Slug, Message: "chain is " + ch.Name})
	s.spawn(ac, phaseTransaction, readFacts(s.w, ch, s.hash))
	s.spawn(ac, phaseTrace, fetchTrace(s.w, ch, s.hash, gather.TraceOptions{Limits: s.o.Limits, Quick: s.o.Quick}))
}

func (s *supervisor) takeFacts(ac runtime.Context, m factsRead) {
	s.factsIn = true
	if errors.Is(m.err, api.ErrNotFound) || errors.Is(m.err, api.ErrPending) {
		s.give(ac, outcome{err: m.err})
		return
	}
	if m.facts != nil {
		s.ev.Tx, s.ev.Receipt, s.ev.Block = m.facts.Tx, m.facts.Receipt, m.facts.Block
		if doubt, ok := errors.AsType[*gather.ContradictionError](m.facts.NoBlock); ok {
			s.ev.Doubts = append(s.ev.Doubts, doubt.What)
		}
		s.lose(assemble.LostBlock, m.facts.NoBlock)
	}
	if s.unfetched = m.err; m.err == nil {
		return
	}
	what := "the transaction could not be fetched: "
	if s.ev.Tx != nil {
		what = "the receipt could not be fetched: "
	}
	s.miss(phaseTransaction, what, m.err)
	if gather.Unpaid(m.err) {
		s.ownBill = m.err
	}
}

func (s *supervisor) takeTrace(m traced) {
	s.traceIn = true
	if m.traced != nil {
		s.ev.Tree, s.ev.Diff = m.traced.Tree, m.traced.Diff
		s.ev.Notes = append(s.ev.Notes, m.traced.Notes...)
		for _, err := range m.traced.Errors {
			s.o.Log.Info("source of a trace left", "request", s.id, "error", oneLine(err))
		}
	}
	s.miss(phaseTrace, "", m.err)
}

// fault is a phase whose work panicked, or whose actor is gone without a word.
func (s *supervisor) fault(ac runtime.Context, phase string, err error) {
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
	if optional[phase] {
		s.lose(phase, err)
		return
	}
	s.miss(phase, "", err)
}

func (s *supervisor) childGone(ac runtime.Context, who runtime.Ref) {
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

// next starts the phases whose evidence is in, and the assembly once nothing is
// outstanding that could still come.
func (s *supervisor) next(ac runtime.Context) {
	if s.answered || s.assembling {
		return
	}
	if s.factsIn && s.traceIn && s.foreign() {
		s.ev.Receipt, s.ev.Block, s.ev.Tree, s.ev.Diff = nil, nil, nil, nil
	}
	if s.factsIn && s.traceIn && s.ev.Tx == nil && s.ev.Tree != nil {
		s.ev.Tx = gather.TransactionOf(s.hash, s.ev.Tree, s.ev.Receipt)
		s.ev.Notes = append(s.ev.Notes, "sender, recipient, value and calldata are those of the call trace")
	}
	if s.ev.Tx != nil && !s.ev.Tx.Pending() {
		s.nextPhases(ac)
	}
	switch {
	case len(s.outstanding) > s.lapsed:
	case s.lapsed > 0:
		s.expire(ac)
	case s.ev.Tx == nil && s.ev.Receipt == nil && s.ownBill != nil:
		s.giveBare(ac, phaseTransaction, s.ownBill)
	case s.ev.Tx == nil && s.ev.Receipt == nil && s.unfetched != nil:
		s.give(ac, outcome{err: s.nothing(s.unfetched)})
	default:
		s.assemble(ac)
	}
}

// foreign reports whether the chain's endpoint serves another chain: then nothing that
// it gave is of the transaction.
func (s *supervisor) foreign() bool {
	e, ok := errors.AsType[*upstream.Error](s.unfetched)
	return ok && e.Kind == upstream.KindWrongChain
}

// nothing is why there is no result at all: the transaction, its receipt and every
// source of a trace failed.
func (s *supervisor) nothing(err error) error {
	if errors.Is(err, upstream.ErrUnpaid) {
		return api.ErrUnpaid
	}
	return unreachable(s.req.TxHash, err, s.ev.Chain.Slug)
}

func (s *supervisor) nextPhases(ac runtime.Context) {
	rc := s.ev.Receipt
	if rc == nil && s.factsIn && s.traceIn && s.ev.Tree != nil {
		rc = s.ev.Tree.LogsAsReceipt()
	}
	if rc != nil && !s.begun[phaseLabel] {
		s.spawn(ac, phaseLabel, labelTokens(s.w, s.ev.Chain, s.ev.Tx, rc, s.ev.Block))
	}
	if rc != nil && s.ev.Block != nil && !s.o.SourcesOff && !s.begun[phasePrice] {
		s.spawn(ac, phasePrice, askPrices(s.w, s.ev.Chain, s.ev.Block, rc))
	}
	if s.factsIn && s.traceIn && !s.o.SourcesOff && !s.begun[phaseSource] {
		s.spawn(ac, phaseSource, lookUpSources(s.w, s.ev.Chain, s.ev.Tx, s.treeForNames(), receiptOrNone(s.ev.Receipt), s.ev.Diff))
	}
}

func (s *supervisor) treeForNames() *trace.Tree {
	if s.ev.Tree != nil {
		return s.ev.Tree
	}
	return trace.FromReceipt(s.ev.Tx, receiptOrNone(s.ev.Receipt), true)
}

func receiptOrNone(rc *ethrpc.Receipt) *ethrpc.Receipt {
	if rc == nil {
		return &ethrpc.Receipt{}
	}
	return rc
}

// expire ends the fetching: what is still outstanding has failed.
func (s *supervisor) expire(ac runtime.Context) {
	over := fmt.Errorf("the deadline of %s passed", s.o.Deadline)
	if s.finished {
		over = s.finishedBy()
	}
	switch {
	case s.ev.Chain == nil && s.finished:
		s.give(ac, outcome{err: fmt.Errorf("%w, and the chain was not known yet", over)})
		return
	case s.ev.Chain == nil:
		s.give(ac, outcome{err: fmt.Errorf("%w (%s)", api.ErrDeadline, s.o.Deadline)})
		return
	}
	for _, phase := range []string{phaseTransaction, phaseTrace, phaseLabel, phaseSource, phasePrice} {
		if _, ok := s.outstanding[phase]; !ok {
			continue
		}
		delete(s.outstanding, phase)
		s.expired = append(s.expired, phase)
		cut := assemble.Failure{Phase: phase, Reason: oneLine(over)}
		if optional[phase] && !s.finished {
			s.ev.Lost = append(s.ev.Lost, cut)
		} else {
			s.ev.Failed = append(s.ev.Failed, cut)
		}
	}
	s.stopFetch()
	if !s.finished && s.ev.Tx == nil && s.ev.Receipt == nil && s.ev.Tree == nil {
		if s.ownBill != nil {
			s.giveBare(ac, phaseTransaction, s.ownBill)
			return
		}
		s.give(ac, outcome{err: &api.UnavailableError{TxHash: s.req.TxHash, Silent: []string{s.ev.Chain.Slug}}, expired: s.expired})
		return
	}
	s.assemble(ac)
}

// assemble runs the pure part beside the actor. From here on the evidence is
// read by that work alone.
func (s *supervisor) assemble(ac runtime.Context) {
	s.assembling = true
	sortFailures(s.ev.Failed)
	sortFailures(s.ev.Lost)
	s.journal.fail(s.ev.Failed)
	s.tell(api.Event{Type: api.EventPreflightDone, Chain: s.ev.Chain.Slug, Failed: append(phases(s.ev.Failed), s.lostPhases()...)})
	s.e.Run(ac.Self(), func() any { return assembled{made: s.judge()} }, func(err error) any { return assembled{err: err} })
}

// lostPhases are the phases that failed and that the result stands without.
func (s *supervisor) lostPhases() (names []string) {
	for _, f := range s.ev.Lost {
		if optional[f.Phase] {
			names = append(names, f.Phase)
		}
	}
	return names
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
		unanswered := err != nil && s.ev.Triage
		if unanswered {
			s.lose(assemble.LostViews, err)
		}
		if len(views) == 0 && !unanswered {
			break
		}
		s.ev.Views = append(s.ev.Views, views...)
		if c = s.o.assemble(s.ev); len(views) == 0 {
			break
		}
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
func (s *supervisor) look(c *assemble.Case) ([]check.View, error) {
	ctx, cancel := context.WithTimeout(s.fetching, viewTime)
	defer cancel()
	return gather.Views(ctx, s.w, s.ev.Chain, s.ev.Tx, c.Triage.Questions)
}

func (s *supervisor) answer(ac runtime.Context, m assembled) {
	var result *api.Result
	switch {
	case m.err != nil:
		result = bare(s.ev, m.err)
	case !s.finished && s.asks(m.made):
		s.consult(ac, m.made)
		return
	default:
		result = m.made.Result
	}
	s.tell(api.Event{Type: api.EventComplete})
	s.give(ac, outcome{result: result, expired: s.expired, finished: s.finished, unpaid: s.ownBill})
}

// give answers once and ends the actor.
func (s *supervisor) give(ac runtime.Context, o outcome) {
	if s.answered {
		return
	}
	s.answered = true
	s.reply <- o
	ac.Stop(ac.Self())
}
