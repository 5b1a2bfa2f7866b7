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
	system  *runtime.System
	options *Options
	id      string
	req     api.Request
	hash    common.Hash
	world   gather.World
	sink    func(api.Event)

	journal         *journal        // gets the events
	ctx             context.Context // context of the request
	work            context.Context // context of all work for the request
	stop            context.CancelFunc
	fetching        context.Context // context of the fetching: ends with work or at the deadline
	stopFetch       context.CancelFunc
	timer           *time.Timer
	outstanding     map[string]runtime.Ref // running children by phase
	begun           map[string]bool        // phases that were started
	evidence        *assemble.Evidence
	factsIn         bool
	traceIn         bool
	logsCompleted   bool  // see completeLogs
	unfetched       error // why the transaction or the receipt is missing
	unpaidError     error // those of unfetched that the service could not pay for
	assembling      bool
	model           *assemble.Analysis // the case that the model examines; nil: the model is not asked
	modelEnded      chan struct{}      // closed when the run of the model has ended; nil: no run was started
	meter           *meter.Meter
	answered        bool
	expired         []string // phases that the deadline cut off
	cutOff          []string // in a replay: phases that the deadline cut off in the recorded run
	replayedCutOffs int      // those of cutOff that would have started by now
	finished        bool     // Finish, not the deadline, ended the fetching
	unpaid          bool     // Finish means that the caller stopped paying

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
		made *assemble.Analysis
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
			s.handleModel(ac, m)
		case s.assembling: // too late: the evidence is complete
			if e, ok := m.(expired); ok && e.finish {
				s.finished = true // the model need not start
			}
		default:
			s.handleResult(ac, m)
		}
	}
}

// handleResult handles the result of one child and starts the phases that waited for it.
func (s *supervisor) handleResult(ac runtime.Context, m any) {
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
		s.evidence.Tokens, s.evidence.Neighbours, s.evidence.Codeless = m.tokens, m.neighbours, m.codeless
		s.failOptional(phaseLabel, m.err)
		s.failOptional(assemble.LostNeighbours, m.aroundErr)
	case sourced:
		s.settle(ac, phaseSource, m.err)
		s.evidence.Contracts, s.evidence.Functions, s.evidence.Events = m.sourced.Contracts, m.sourced.Functions, m.sourced.Events
		s.failOptional(phaseSource, m.err)
	case priced:
		s.settle(ac, phasePrice, m.err)
		s.evidence.Prices = m.prices
		s.failOptional(phasePrice, m.err)
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
	s.timer = time.AfterFunc(s.options.Deadline, func() { s.system.Send(self, expired{}) })
	s.sink(api.Event{Type: api.EventPreflightStart, TxHash: s.req.TxHash})
	if ch := s.evidence.Chain; ch != nil {
		s.startChain(ac, ch)
		return
	}
	s.spawn(ac, phaseProbe, probe(s.world, s.options.Chains, s.hash))
}

func (s *supervisor) spawn(ac runtime.Context, phase string, fetch func(context.Context) any) {
	s.begun[phase] = true
	if slices.Contains(s.cutOff, phase) {
		s.outstanding[phase] = runtime.Ref{} // never answers
		s.replayedCutOffs++
		return
	}
	s.sink(api.Event{Type: api.EventPreflightStatus, Phase: phase, State: api.StateStarted})
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
		ev.State, ev.Message, ev.Detail, ev.Hint = api.StateFailed, gather.Reason(err), oneLine(err), adviceFor(err)
		s.options.Log.Warn("phase failed", "request", s.id, "phase", phase, "error", ev.Detail)
	}
	s.sink(ev)
}

// failRequired marks a required phase as failed: the result becomes partial.
func (s *supervisor) failRequired(phase, what string, err error) {
	if err != nil {
		s.evidence.Failed = append(s.evidence.Failed, assemble.Failure{Phase: phase, Reason: what + gather.Reason(err)})
	}
}

// failOptional records the failure of an optional phase.
func (s *supervisor) failOptional(piece string, err error) {
	if err != nil {
		s.evidence.Lost = append(s.evidence.Lost, assemble.Failure{Phase: piece, Reason: gather.Reason(err)})
	}
}

// optional are the phases that a result does not require.
var optional = map[string]bool{phaseLabel: true, phaseSource: true, phasePrice: true}

func (s *supervisor) chainFound(ac runtime.Context, m probed) {
	switch {
	case errors.Is(m.err, upstream.ErrUnpaid):
		s.sendAnswer(ac, outcome{err: api.ErrUnpaid})
	case m.err != nil && (gather.Unpaid(m.err) || api.FaultOf(m.err).Code == api.CodePayment):
		s.answerUnpaid(ac, phaseProbe, m.err)
	case m.err != nil:
		s.sendAnswer(ac, outcome{err: publicError(s.req.TxHash, m.err)})
	case m.found.Pending:
		s.sendAnswer(ac, outcome{err: &api.PendingError{TxHash: s.req.TxHash, Chain: m.found.Chain.Slug}})
	default:
		s.startChain(ac, m.found.Chain)
	}
}

// answerUnpaid answers when the service could not pay for the first pieces of evidence: with the
// error, and a partial result for clients that do not read errors.
func (s *supervisor) answerUnpaid(ac runtime.Context, phase string, err error) {
	if len(s.evidence.Failed) == 0 {
		s.evidence.Failed = []assemble.Failure{{Phase: phase, Reason: unpaidReason}}
	}
	sortFailures(s.evidence.Failed)
	s.journal.fail(s.evidence.Failed)
	s.sink(api.Event{Type: api.EventComplete})
	s.sendAnswer(ac, outcome{result: assemble.Result(s.evidence), unpaid: err})
}

// unpaidReason is the text for callers when the service could not pay an upstream.
var unpaidReason = gather.Reason(&upstream.Error{Kind: upstream.KindPayment})

// publicError returns the error that callers see when an upstream failed, so that it does not
// look like an internal error.
func publicError(hash string, err error, silent ...string) error {
	if _, ok := errors.AsType[*upstream.Error](err); !ok {
		return err
	}
	if len(silent) == 0 {
		return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
	}
	return fmt.Errorf("%w (%w)", &api.UnavailableError{TxHash: hash, Silent: silent}, err)
}

func (s *supervisor) startChain(ac runtime.Context, ch *chain.Chain) {
	s.evidence.Chain = ch
	s.sink(api.Event{Type: api.EventPreflightStatus, Phase: phaseProbe, State: api.StateFound, Chain: ch.Slug, Message: "chain is " + ch.Name})
	s.spawn(ac, phaseTransaction, readFacts(s.world, ch, s.hash))
	s.spawn(ac, phaseTrace, fetchTrace(s.world, ch, s.hash, gather.TraceOptions{Limits: s.options.Limits, Quick: s.options.Quick}))
}

func (s *supervisor) takeFacts(ac runtime.Context, m factsRead) {
	s.factsIn = true
	if errors.Is(m.err, api.ErrNotFound) || errors.Is(m.err, api.ErrPending) {
		s.sendAnswer(ac, outcome{err: m.err})
		return
	}
	if m.facts != nil {
		s.evidence.Tx, s.evidence.Receipt, s.evidence.Block = m.facts.Tx, m.facts.Receipt, m.facts.Block
		if doubt, ok := errors.AsType[*gather.ContradictionError](m.facts.NoBlock); ok {
			s.evidence.Doubts = append(s.evidence.Doubts, doubt.What)
		}
		s.failOptional(assemble.LostBlock, m.facts.NoBlock)
	}
	if s.unfetched = m.err; m.err == nil {
		return
	}
	what := "the transaction could not be fetched: "
	if s.evidence.Tx != nil {
		what = "the receipt could not be fetched: "
	}
	s.failRequired(phaseTransaction, what, m.err)
	if gather.Unpaid(m.err) {
		s.unpaidError = m.err
	}
}

func (s *supervisor) takeTrace(m traced) {
	s.traceIn = true
	if m.traced != nil {
		s.evidence.Tree, s.evidence.Diff = m.traced.Tree, m.traced.Diff
		s.evidence.Notes = append(s.evidence.Notes, m.traced.Notes...)
		for _, err := range m.traced.Errors {
			s.options.Log.Info("source of a trace left", "request", s.id, "error", oneLine(err))
		}
	}
	s.failRequired(phaseTrace, "", m.err)
}

// fault handles a phase whose work panicked or whose actor ended without a result.
func (s *supervisor) fault(ac runtime.Context, phase string, err error) {
	s.options.Log.Error("phase broke", "request", s.id, "phase", phase, "error", err)
	s.settle(ac, phase, err)
	switch phase {
	case phaseProbe:
		s.sendAnswer(ac, outcome{err: fmt.Errorf("find the chain: %w", err)})
		return
	case phaseTransaction:
		s.factsIn = true
	case phaseTrace:
		s.traceIn = true
	}
	if optional[phase] {
		s.failOptional(phase, err)
		return
	}
	s.failRequired(phase, "", err)
}

func (s *supervisor) childGone(ac runtime.Context, who runtime.Ref) {
	for phase, pid := range s.outstanding {
		gone := errors.New("internal fault: its actor ended without an answer")
		switch {
		case !pid.Equal(who) || s.answered:
		case s.model != nil:
			s.handleModel(ac, failed{phase: phase, err: gone})
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
	if s.factsIn && s.traceIn && s.servesOtherChain() {
		s.evidence.Receipt, s.evidence.Block, s.evidence.Tree, s.evidence.Diff = nil, nil, nil, nil
	}
	if s.factsIn && s.traceIn && s.evidence.Tx == nil && s.evidence.Tree != nil {
		s.evidence.Tx = gather.TransactionOf(s.hash, s.evidence.Tree, s.evidence.Receipt)
		s.evidence.Notes = append(s.evidence.Notes, "sender, recipient, value and calldata are those of the call trace")
	}
	if s.factsIn && s.traceIn {
		s.completeLogs()
	}
	if s.evidence.Tx != nil && !s.evidence.Tx.Pending() {
		s.nextPhases(ac)
	}
	switch {
	case len(s.outstanding) > s.replayedCutOffs:
	case s.replayedCutOffs > 0:
		s.expire(ac)
	case s.evidence.Tx == nil && s.evidence.Receipt == nil && s.unpaidError != nil:
		s.answerUnpaid(ac, phaseTransaction, s.unpaidError)
	case s.evidence.Tx == nil && s.evidence.Receipt == nil && s.unfetched != nil:
		s.sendAnswer(ac, outcome{err: s.noResultError(s.unfetched)})
	default:
		s.assemble(ac)
	}
}

// servesOtherChain reports whether the endpoint serves another chain than it should. Its answers are
// then not used.
func (s *supervisor) servesOtherChain() bool {
	e, ok := errors.AsType[*upstream.Error](s.unfetched)
	return ok && e.Kind == upstream.KindWrongChain
}

// noResultError returns why there is no result: the transaction, its receipt and every source of
// a trace failed.
func (s *supervisor) noResultError(err error) error {
	if errors.Is(err, upstream.ErrUnpaid) {
		return api.ErrUnpaid
	}
	return publicError(s.req.TxHash, err, s.evidence.Chain.Slug)
}

// completeLogs takes the logs of the call trace where every node's receipt lacks some.
func (s *supervisor) completeLogs() {
	rc := s.evidence.Receipt
	if rc == nil || !rc.LacksLogs() || s.logsCompleted {
		return
	}
	s.logsCompleted = true
	if s.evidence.Tree != nil {
		if live := s.evidence.Tree.LogsAsReceipt(); live != nil {
			if whole := rc.WithLogs(live.Logs); whole != nil {
				s.evidence.Receipt = whole
				s.evidence.Notes = append(s.evidence.Notes, "the receipt lacks logs; those of the call trace are used, which match its bloom filter")
				return
			}
		}
	}
	doubt := "the receipt lacks logs that its bloom filter announces, so movements of tokens may be missing"
	s.evidence.Doubts = append(s.evidence.Doubts, doubt)
	s.evidence.Notes = append(s.evidence.Notes, doubt)
}

func (s *supervisor) nextPhases(ac runtime.Context) {
	rc := s.evidence.Receipt
	if rc != nil && !s.traceIn && rc.LacksLogs() {
		return // the trace may have them
	}
	if rc == nil && s.factsIn && s.traceIn && s.evidence.Tree != nil {
		rc = s.evidence.Tree.LogsAsReceipt()
	}
	if rc != nil && !s.begun[phaseLabel] {
		s.spawn(ac, phaseLabel, labelTokens(s.world, s.evidence.Chain, s.evidence.Tx, rc, s.evidence.Block))
	}
	if rc != nil && s.evidence.Block != nil && !s.options.SourcesOff && !s.begun[phasePrice] {
		s.spawn(ac, phasePrice, askPrices(s.world, s.evidence.Chain, s.evidence.Block, rc))
	}
	if s.factsIn && s.traceIn && !s.options.SourcesOff && !s.begun[phaseSource] {
		ev := s.evidence
		s.spawn(ac, phaseSource, lookUpSources(s.world, ev.Chain, ev.Tx, s.treeForNames(), receiptOrNone(ev.Receipt), ev.Diff))
	}
}

func (s *supervisor) treeForNames() *trace.Tree {
	if s.evidence.Tree != nil {
		return s.evidence.Tree
	}
	return trace.FromReceipt(s.evidence.Tx, receiptOrNone(s.evidence.Receipt), true)
}

func receiptOrNone(rc *ethrpc.Receipt) *ethrpc.Receipt {
	if rc == nil {
		return &ethrpc.Receipt{}
	}
	return rc
}

// expire ends the fetching. Phases that are still running count as failed.
func (s *supervisor) expire(ac runtime.Context) {
	over := fmt.Errorf("the deadline of %s passed", s.options.Deadline)
	if s.finished {
		over = s.finishedBy()
	}
	switch {
	case s.evidence.Chain == nil && s.finished:
		s.sendAnswer(ac, outcome{err: fmt.Errorf("%w, and the chain was not known yet", over)})
		return
	case s.evidence.Chain == nil:
		s.sendAnswer(ac, outcome{err: fmt.Errorf("%w (%s)", api.ErrDeadline, s.options.Deadline)})
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
			s.evidence.Lost = append(s.evidence.Lost, cut)
		} else {
			s.evidence.Failed = append(s.evidence.Failed, cut)
		}
	}
	s.stopFetch()
	if !s.finished && s.evidence.Tx == nil && s.evidence.Receipt == nil && s.evidence.Tree == nil {
		if s.unpaidError != nil {
			s.answerUnpaid(ac, phaseTransaction, s.unpaidError)
			return
		}
		s.sendAnswer(ac, outcome{err: &api.UnavailableError{TxHash: s.req.TxHash, Silent: []string{s.evidence.Chain.Slug}}, expired: s.expired})
		return
	}
	s.assemble(ac)
}

// assemble runs the pure part beside the actor, which does not access the evidence until it
// is done.
func (s *supervisor) assemble(ac runtime.Context) {
	s.assembling = true
	sortFailures(s.evidence.Failed)
	sortFailures(s.evidence.Lost)
	s.journal.fail(s.evidence.Failed)
	failed := append(phaseNames(s.evidence.Failed), s.lostPhases()...)
	s.sink(api.Event{Type: api.EventPreflightDone, Chain: s.evidence.Chain.Slug, Failed: failed})
	s.system.Run(ac.Self(), func() any { return assembled{made: s.judge()} }, func(err error) any { return assembled{err: err} })
}

// lostPhases returns the optional phases that failed.
func (s *supervisor) lostPhases() (names []string) {
	for _, f := range s.evidence.Lost {
		if optional[f.Phase] {
			names = append(names, f.Phase)
		}
	}
	return names
}

// judge runs the rules on the evidence. Evidence that only the rules need is released
// afterwards, because it is most of the memory of a request.
func (s *supervisor) judge() *assemble.Analysis {
	c := s.options.assemble(s.evidence)
	for range maxStateRounds {
		if c.Triage == nil || len(c.Triage.Questions) == 0 {
			break
		}
		views, err := s.readState(c)
		unanswered := err != nil && s.evidence.Triage
		if unanswered {
			s.failOptional(assemble.LostViews, err)
		}
		if len(views) == 0 && !unanswered {
			break
		}
		s.evidence.Views = append(s.evidence.Views, views...)
		if c = s.options.assemble(s.evidence); len(views) == 0 {
			break
		}
	}
	if !s.wantsModel(c) {
		return &assemble.Analysis{Evidence: c.Evidence, Result: c.Result}
	}
	return c
}

// maxStateRounds limits how often rules may ask further questions about state, and viewTime how
// long the answers may take. Without answers the rules still give a result.
const (
	maxStateRounds = 2
	stateTimeout   = 15 * time.Second
)

// readState reads the state that the rules asked for.
func (s *supervisor) readState(c *assemble.Analysis) ([]check.View, error) {
	ctx, cancel := context.WithTimeout(s.fetching, stateTimeout)
	defer cancel()
	return gather.Views(ctx, s.world, s.evidence.Chain, s.evidence.Tx, c.Triage.Questions)
}

func (s *supervisor) answer(ac runtime.Context, m assembled) {
	var result *api.Result
	switch {
	case m.err != nil:
		result = bareResult(s.evidence, m.err)
	case !s.finished && s.wantsModel(m.made):
		s.consult(ac, m.made)
		return
	default:
		result = m.made.Result
	}
	s.sink(api.Event{Type: api.EventComplete})
	s.sendAnswer(ac, outcome{result: result, expired: s.expired, finished: s.finished, unpaid: s.unpaidError})
}

// sendAnswer sends the answer once and stops the actor.
func (s *supervisor) sendAnswer(ac runtime.Context, o outcome) {
	if s.answered {
		return
	}
	s.answered = true
	s.reply <- o
	ac.Stop(ac.Self())
}
