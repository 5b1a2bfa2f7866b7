package analysis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"txlens/actors/runtime"
	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/check"
	"txlens/engine/gather"
	"txlens/engine/meter"
	"txlens/engine/overlay"
	"txlens/engine/trace"
	"txlens/engine/upstream"
)

// DefaultDeadline is the default time limit of one analysis.
const DefaultDeadline = 120 * time.Second

// Options configure all analyses of one Explainer.
type Options struct {
	Chains     []*chain.Chain // chains to probe, in this order; nil: all, by popularity
	Deadline   time.Duration  // time limit of fetching evidence; 0 means DefaultDeadline
	Limits     trace.Limits
	Quick      bool // re-execute locally without the earlier transactions of the block
	SourcesOff bool // use no source but the RPC endpoints
	Version    string
	Log        *slog.Logger  // nil: nothing is logged
	OnAnalysis func(Summary) // called at the end of each analysis; may be nil, must not block

	Agent *Agent // nil: rules alone

	assemble func(*assemble.Evidence) *assemble.Analysis // tests replace it to simulate errors
}

// Explainer runs analyses. It is safe for concurrent use.
type Explainer struct {
	system  *runtime.System
	options Options

	mu      sync.Mutex
	closed  bool
	runs    sync.WaitGroup
	running atomic.Int64
}

// ErrClosed means that the Explainer was closed.
var ErrClosed = errors.New("explainer is closed")

// New starts the actor system.
func New(o Options) *Explainer {
	if o.Chains == nil {
		o.Chains = chain.All()
	}
	if o.Deadline == 0 {
		o.Deadline = DefaultDeadline
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.assemble == nil {
		o.assemble = assemble.Build
	}
	if o.Agent != nil && o.Agent.Patience <= 0 {
		own := *o.Agent
		own.Patience = DefaultPatience
		o.Agent = &own
	}
	return &Explainer{system: runtime.NewSystem(o.Log), options: o}
}

// Input is one analysis: the request, the endpoints it uses, and the meter of its cost.
type Input struct {
	ID      string // request id, for the log; may be empty
	Request api.Request
	World   gather.World
	Meter   *meter.Meter
	Own     *overlay.Data   // what the user knows; nil: nothing
	Sink    func(api.Event) // called with one event at a time; may be nil, must not block

	// Finish, when closed, ends the fetching like the deadline does: what is known by then
	// becomes a partial result. It is for a service that stops or, with Unpaid, for a caller
	// who stops paying. nil: never.
	Finish <-chan struct{}
	Unpaid bool

	// OnWhole, if not nil, is called before Explain returns a result of a mined transaction that
	// lacks nothing, with the chain and the block.
	OnWhole func(ch *chain.Chain, block common.Hash, mined uint64)

	// OnExpired, if not nil, gets the phases that the deadline cut off; finished is true if
	// Finish ended them instead. CutOff and Finished make a replay omit the same phases.
	OnExpired func(phases []string, finished bool)
	CutOff    []string
	Finished  bool
}

// Check validates a request before any work is done for it. The error is *api.BadRequest
// or api.ErrUnknownChain.
func (x *Explainer) Check(req api.Request) error {
	if err := req.Validate(); err != nil {
		return err
	}
	_, err := chosen(req)
	return err
}

// chosen returns the chain that the request names, nil if it names none.
func chosen(req api.Request) (*chain.Chain, error) {
	if req.ChainID == 0 {
		return nil, nil
	}
	ch, ok := chain.ByID(req.ChainID)
	if !ok {
		return nil, fmt.Errorf("%w: chainId %d", api.ErrUnknownChain, req.ChainID)
	}
	return ch, nil
}

// UnpaidError comes beside a partial result: the service could not pay for the model or for
// evidence that the result needs. It is unrelated to the payment of the caller.
type UnpaidError struct{ err error }

func (e *UnpaidError) Error() string { return e.err.Error() }

func (e *UnpaidError) Unwrap() error { return e.err }

// UpstreamPayment marks the error as upstream_payment_unavailable of the interface.
func (e *UnpaidError) UpstreamPayment() bool { return true }

// Explain runs one analysis. It returns a Result, which may be partial (then possibly with
// an *UnpaidError), or an error: *api.BadRequest, api.ErrUnknownChain, api.ErrNotFound,
// api.ErrPending, api.ErrUnavailable, api.ErrUnpaid, api.ErrDeadline, api.ErrStopping, the
// error of the context, or the error of the probe. If the context ends, all work for the
// request is stopped.
func (x *Explainer) Explain(ctx context.Context, in Input) (*api.Result, error) {
	if err := in.Request.Validate(); err != nil {
		return nil, err
	}
	s, err := x.newSupervisor(ctx, in)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil, ErrClosed
	}
	x.runs.Add(1)
	x.mu.Unlock()
	defer x.runs.Done()
	defer s.stop()
	x.running.Add(1)
	defer x.running.Add(-1)

	pid := x.system.Spawn(s)
	out := x.wait(ctx, s, pid, in.Finish)
	s.stop()
	s.awaitAgentExit()
	x.reportEnd(s.journal.close(out.result, out.err))
	if out.result != nil {
		out.result.SkillsUsed = s.journal.skills()
		out.result.Costs = in.Meter.Costs()
		out.result.ToolCalls = in.Meter.ToolCalls()
	}
	if len(out.expired) > 0 && in.OnExpired != nil {
		in.OnExpired(out.expired, out.finished)
	}
	if in.OnWhole != nil && s.whole(out) {
		ev := s.evidence
		in.OnWhole(ev.Chain, *ev.Tx.BlockHash, ev.Block.Timestamp)
	}
	if out.unpaid != nil {
		return out.result, &UnpaidError{out.unpaid}
	}
	return out.result, out.err
}

// Longest returns the maximum duration of an analysis: the time limit of the evidence plus
// that of the model.
func (x *Explainer) Longest() time.Duration {
	if x.options.Agent == nil {
		return x.options.Deadline
	}
	return x.options.Deadline + x.options.Agent.Patience
}

// Running returns the number of analyses in progress.
func (x *Explainer) Running() int { return int(x.running.Load()) }

// wait returns when the Supervisor answers, the caller's context ends, or the Supervisor
// has stopped. So it never waits for an actor that is gone.
func (x *Explainer) wait(ctx context.Context, s *supervisor, pid runtime.Ref, finish <-chan struct{}) outcome {
	for over := false; !over; {
		select {
		case out := <-s.reply:
			<-s.closed
			return out.unlessGone(ctx)
		case <-ctx.Done():
			x.system.Stop(pid)
			<-s.closed
			return outcome{err: ctx.Err()}
		case <-finish:
			finish = nil
			x.system.Send(pid, expired{finish: true})
		case <-s.closed:
			over = true
		}
	}
	select {
	case out := <-s.reply:
		return out.unlessGone(ctx)
	default:
	}
	// The Supervisor panicked. Nothing else accesses its evidence now.
	x.options.Log.Error("supervisor ended", "request", s.id)
	if s.evidence.Chain == nil {
		return outcome{err: errors.New("internal fault: the request's supervisor ended")}
	}
	return outcome{result: bareResult(s.evidence, errors.New("internal fault: the request's supervisor ended"))}
}

// unlessGone is the outcome, or the error of the caller's context where that ended and so cut the
// work short: such a partial result is nobody's, and a repeat must not be answered with it.
func (o outcome) unlessGone(ctx context.Context) outcome {
	if o.result != nil && o.result.Partial() && ctx.Err() != nil {
		return outcome{err: ctx.Err()}
	}
	return o
}

func (x *Explainer) newSupervisor(ctx context.Context, in Input) (*supervisor, error) {
	s := &supervisor{
		system: x.system, options: &x.options, id: in.ID, req: in.Request, meter: in.Meter, hash: common.HexToHash(in.Request.TxHash), world: in.World, ctx: ctx,
		cutOff: in.CutOff, finished: in.Finished, unpaid: in.Unpaid, outstanding: make(map[string]runtime.Ref), begun: make(map[string]bool), reply: make(chan outcome, 1), closed: make(chan struct{}),
		evidence: &assemble.Evidence{
			TxHash:     in.Request.TxHash,
			Own:        in.Own,
			SourcesOff: x.options.SourcesOff,
			Version:    x.options.Version,
			Triage:     check.Asked(in.Request.Context),
		},
		journal: newJournal(in.ID, time.Now),
	}
	s.sink = serialise(s.journal, in.Sink)
	ch, err := chosen(in.Request)
	if err != nil {
		return nil, err
	}
	s.evidence.Chain = ch
	s.work, s.stop = context.WithCancel(ctx)
	s.fetching, s.stopFetch = context.WithCancel(s.work)
	return s, nil
}

// serialise prevents two actors from calling the sink at the same time.
func serialise(j *journal, sink func(api.Event)) func(api.Event) {
	if sink == nil {
		return j.hear
	}
	var mu sync.Mutex
	return func(e api.Event) {
		j.hear(e)
		mu.Lock()
		defer mu.Unlock()
		sink(e)
	}
}

// System returns the actor system, for other actors of the service. They must end before
// the Explainer is closed.
func (x *Explainer) System() *runtime.System { return x.system }

// Close accepts no more requests and waits for the running ones. End their contexts first
// to shorten the wait.
func (x *Explainer) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.runs.Wait()
	x.system.Wait()
}

// whole reports whether a further analysis would find nothing more. The supervisor has ended.
func (s *supervisor) whole(out outcome) bool {
	ev := s.evidence
	return out.err == nil && out.result != nil && !out.result.Partial() && out.unpaid == nil && len(out.expired) == 0 && !out.finished &&
		len(ev.Failed)+len(ev.Lost)+len(ev.Doubts) == 0 && ev.Tx != nil && ev.Tx.BlockHash != nil && ev.Receipt != nil && ev.Block != nil
}

// bareResult is the partial result when the assembly itself failed: the fields that need no rule.
func bareResult(ev *assemble.Evidence, err error) *api.Result {
	only := &assemble.Evidence{TxHash: ev.TxHash, Chain: ev.Chain, Version: ev.Version, Notes: ev.Notes, Lost: ev.Lost}
	only.Failed = append(append(only.Failed, ev.Failed...), assemble.Failure{Phase: phaseAssemble, Reason: gather.Reason(err)})
	return assemble.Result(only)
}

// phaseNames returns the names of the failed phases.
func phaseNames(failed []assemble.Failure) (names []string) {
	for _, f := range failed {
		names = append(names, f.Phase)
	}
	return names
}

// sortFailures sorts failures by the order of the phases, independent of which ended first.
func sortFailures(failed []assemble.Failure) {
	order := map[string]int{
		phaseTransaction: 1, assemble.LostBlock: 2, phaseTrace: 3, phaseLabel: 4, assemble.LostNeighbours: 5, phaseSource: 6, phasePrice: 7, assemble.LostViews: 8,
	}
	sort.SliceStable(failed, func(i, j int) bool { return order[failed[i].Phase] < order[failed[j].Phase] })
}

// maxReason limits the length of a failure reason, because it becomes part of the summary.
const maxReason = 300

func oneLine(err error) string {
	// Joined errors are separated by line breaks.
	return api.OneLine(strings.ReplaceAll(err.Error(), "\n", "; "), maxReason)
}

// adviceFor tells the operator how to fix the first upstream that failed.
func adviceFor(err error) string {
	var e *upstream.Error
	if errors.As(err, &e) {
		return e.Hint
	}
	return ""
}
