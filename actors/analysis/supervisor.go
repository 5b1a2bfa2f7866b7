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

// supervisor owns one request: its deadline, its children and its evidence. Its fields are
// accessed in Receive only. It closes closed when it ends.
type supervisor struct {
	e    *runtime.System
	o    *Options
	id   string
	req  api.Request
	hash common.Hash
	w    gather.World
	tell func(api.Event)

	journal     *journal        // gets the events
	ctx         context.Context // context of the request
	work        context.Context // context of all work for the request
	stop        context.CancelFunc
	fetching    context.Context // context of the fetching: ends with work or at the deadline
	stopFetch   context.CancelFunc
	timer       *time.Timer
	outstanding map[string]runtime.Ref // running children by phase
	begun       map[string]bool        // phases that were started
	ev          *assemble.Evidence
	factsIn     bool
	traceIn     bool
	unfetched   error // why the transaction or the receipt is missing
	ownBill     error // those of unfetched that the service could not pay for
	assembling  bool
	model       *assemble.Case // the case that the model examines; nil: the model is not asked
	silent      chan struct{}  // closed when the run of the model has ended; nil: no run was started
	meter       *meter.Meter
	answered    bool
	expired     []string // phases that the deadline cut off
	cutOff      []string // in a replay: phases that the deadline cut off in the recorded run
	lapsed      int      // those of cutOff that would have started by now
	finished    bool     // Finish, not the deadline, ended the fetching
	unpaid      bool     // Finish means that the caller stopped paying

	reply  chan outcome  // capacity 1
	closed chan struct{} // closed when the actor has stopped
}

// outcome is the answer that Explain waits for.
type outcome struct {
	result *api.Result
	err    error

	expired  []string // phases that were cut off
	finished bool     // because the service stops
	unpaid   error    // the service could not pay for the model or for required evidence
}

type (
	expired struct {
		runtime.MayBeLate
		finish    bool // true: the service stops; false: the deadline has passed
		impatient bool // error of the model
	}
	assembled struct {
		runtime.MayBeLate
		made *assemble.Case
		err  error
	}
)

// Receive is called by the runtime.
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
		case s.assembling: // too late: the evidence is complete
			if e, ok := m.(expired); ok && e.finish {
				s.finished = true // the model need not start
			}
		default:
			s.piece(ac, m)
		}
	}
}

// piece handles the result of one child and starts the phases that waited for it.
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
		s.outstanding[phase] = runtime.Ref{} // never answers
		s.lapsed++
		return
	}
	s.tell(api.Event{Type: api.EventPreflightStatus, Phase: phase, State: api.StateStarted})
	s.outstanding[phase] = ac.SpawnWork(s.fetching, fetch, func(err error) any { return failed{phase: phase, err: err} })
}

// settle ends the child whose result arrived, and sends the event. Error texts of upstreams
// go to the log only.
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

// miss marks a required phase as failed: the result becomes partial.
func (s *supervisor) miss(phase, what string, err error) {
	if err != nil {
		s.ev.Failed = append(s.ev.Failed, assemble.Failure{Phase: phase, Reason: what + gather.Reason(err)})
	}
}

// lose records the failure of an optional phase.
func (s *supervisor) lose(piece string, err error) {
	if err != nil {
		s.ev.Lost = append(s.ev.Lost, assemble.Failure{Phase: piece, Reason: gather.Reason(err)})
	}
}

// optional are the phases that a result does not require.
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

// giveBare answers when the service could not pay for the first pieces of evidence: with the
// error, and a partial result for clients that do not read errors.
func (s *supervisor) giveBare(ac runtime.Context, phase string, err error) {
	if len(s.ev.Failed) == 0 {
		s.ev.Failed = []assemble.Failure{{Phase: phase, Reason: unpaidReason}}
	}
	sortFailures(s.ev.Failed)
	s.journal.fail(s.ev.Failed)
	s.tell(api.Event{Type: api.EventComplete})
	s.give(ac, outcome{result: assemble.Result(s.ev), unpaid: err})
}

// unpaidReason is the text for callers when the service could not pay an upstream.
var unpaidReason = gather.Reason(&upstream.Error{Kind: upstream.KindPayment})

// unreachable returns the error that callers see when an upstream failed, so that it does not
// look like an internal error.
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

// fault handles a phase whose work panicked or whose actor ended without a result.
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

// next starts the phases whose input is complete, and the assembly when no more evidence can
// arrive.
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

// foreign reports whether the endpoint serves another chain than it should. Its answers are
// then not used.
func (s *supervisor) foreign() bool {
	e, ok := errors.AsType[*upstream.Error](s.unfetched)
	return ok && e.Kind == upstream.KindWrongChain
}

// nothing returns why there is no result: the transaction, its receipt and every source of
// a trace failed.
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

// expire ends the fetching. Phases that are still running count as failed.
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

// assemble runs the pure part beside the actor, which does not access the evidence until it
// is done.
func (s *supervisor) assemble(ac runtime.Context) {
	s.assembling = true
	sortFailures(s.ev.Failed)
	sortFailures(s.ev.Lost)
	s.journal.fail(s.ev.Failed)
	s.tell(api.Event{Type: api.EventPreflightDone, Chain: s.ev.Chain.Slug, Failed: append(phases(s.ev.Failed), s.lostPhases()...)})
	s.e.Run(ac.Self(), func() any { return assembled{made: s.judge()} }, func(err error) any { return assembled{err: err} })
}

// lostPhases returns the optional phases that failed.
func (s *supervisor) lostPhases() (names []string) {
	for _, f := range s.ev.Lost {
		if optional[f.Phase] {
			names = append(names, f.Phase)
		}
	}
	return names
}

// judge runs the rules on the evidence. Evidence that only the rules need is released
// afterwards, because it is most of the memory of a request.
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

// maxRounds limits how often rules may ask further questions about state, and viewTime how
// long the answers may take. Without answers the rules still give a result.
const (
	maxRounds = 2
	viewTime  = 15 * time.Second
)

// look reads the state that the rules asked for.
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

// give sends the answer once and stops the actor.
func (s *supervisor) give(ac runtime.Context, o outcome) {
	if s.answered {
		return
	}
	s.answered = true
	s.reply <- o
	ac.Stop(ac.Self())
}
