package analysis

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"txlens/engine/api"
	"txlens/engine/assemble"
)

// Outcome is how an analysis ended, as one word for logs and metrics.
type Outcome string

const (
	OutcomeComplete    Outcome = "complete"
	OutcomePartial     Outcome = "partial"
	OutcomeNotFound    Outcome = "not_found"
	OutcomeUnavailable Outcome = "unavailable" // a chain that may have the transaction did not answer
	OutcomeUnpaid      Outcome = "unpaid"      // cancelled by the caller before there was any evidence
	OutcomePending     Outcome = "pending"
	OutcomeDeadline    Outcome = "deadline"  // the deadline passed before the chain was known
	OutcomeStopped     Outcome = "stopped"   // the service stopped before the chain was known
	OutcomeCancelled   Outcome = "cancelled" // cancelled by the caller
	OutcomeFailed      Outcome = "failed"
)

// Summary describes how one analysis went, without its findings.
type Summary struct {
	ID      string
	Chain   string // slug of the chain; empty if none was found
	Outcome Outcome
	Failed  []string // failed phases that make the result partial, in the order of the work
	Took    time.Duration
	Phases  []PhaseTime // in the order of their start
}

// PhaseTime is the duration of a phase and its time limit.
type PhaseTime struct {
	Phase string
	Took  time.Duration
}

// journal records the events of one analysis. It is safe for concurrent use.
type journal struct {
	now   func() time.Time
	began time.Time

	mu      sync.Mutex
	summary Summary
	start   map[string]time.Time // start times of the running phases
	used    []string             // playbooks, in the order in which the model used them
}

func newJournal(id string, now func() time.Time) *journal {
	return &journal{now: now, began: now(), summary: Summary{ID: id}, start: make(map[string]time.Time)}
}

// hear records one event.
func (j *journal) hear(e api.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Chain != "" {
		j.summary.Chain = e.Chain
	}
	switch e.Type {
	case api.EventSkillCall:
		j.used = append(j.used, e.Skill)
	case api.EventPreflightStatus:
		switch e.State {
		case api.StateStarted:
			j.begin(e.Phase)
		case api.StateDone, api.StateFailed:
			j.end(e.Phase)
		}
	case api.EventPreflightDone:
		j.endAll()
		j.begin(phaseAssemble)
	case api.EventComplete:
		j.end(phaseAssemble)
		j.end(phaseAgent)
	}
}

// fail records the failed phases that make the result partial.
func (j *journal) fail(failed []assemble.Failure) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.summary.Failed = phaseNames(failed)
}

// modelBegins records that the rules are done and the model is asked.
func (j *journal) modelBegins() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end(phaseAssemble)
	j.begin(phaseAgent)
}

// skills returns the playbooks that the model has used so far, even if it failed later.
func (j *journal) skills() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.used)
}

func (j *journal) begin(phase string) {
	j.start[phase] = j.now()
	j.summary.Phases = append(j.summary.Phases, PhaseTime{Phase: phase})
}

func (j *journal) end(phase string) {
	began, ok := j.start[phase]
	if !ok {
		return
	}
	delete(j.start, phase)
	for i := range j.summary.Phases {
		if j.summary.Phases[i].Phase == phase {
			j.summary.Phases[i].Took = j.now().Sub(began)
		}
	}
}

// endAll ends the phases that are still running when the analysis ends.
func (j *journal) endAll() {
	for _, p := range j.summary.Phases {
		j.end(p.Phase)
	}
}

// close returns the summary of the analysis.
func (j *journal) close(res *api.Result, err error) Summary {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.endAll()
	j.summary.Took = j.now().Sub(j.began)
	j.summary.Outcome = outcomeOf(res, err)
	if j.summary.Outcome == OutcomePartial && len(j.summary.Failed) == 0 {
		j.summary.Failed = []string{j.last()} // there are no events for these
	}
	return j.summary
}

// last is the phase after the last piece of evidence.
func (j *journal) last() string {
	if n := len(j.summary.Phases); n > 0 && j.summary.Phases[n-1].Phase == phaseAgent {
		return phaseAgent
	}
	return phaseAssemble
}

func outcomeOf(res *api.Result, err error) Outcome {
	switch {
	case err == nil && res.Partial():
		return OutcomePartial
	case err == nil:
		return OutcomeComplete
	case errors.Is(err, api.ErrNotFound):
		return OutcomeNotFound
	case errors.Is(err, api.ErrUnavailable):
		return OutcomeUnavailable
	case errors.Is(err, api.ErrUnpaid):
		return OutcomeUnpaid
	case errors.Is(err, api.ErrPending):
		return OutcomePending
	case errors.Is(err, api.ErrDeadline):
		return OutcomeDeadline
	case errors.Is(err, api.ErrStopping):
		return OutcomeStopped
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return OutcomeCancelled
	}
	return OutcomeFailed
}

// reportEnd writes the log line of an analysis and calls OnEnd.
func (x *Explainer) reportEnd(a Summary) {
	if x.options.OnAnalysis != nil {
		x.options.OnAnalysis(a)
	}
	attrs := []slog.Attr{
		slog.String("request", a.ID),
		slog.String("chain", a.Chain),
		slog.String("outcome", string(a.Outcome)),
		slog.Duration("took", a.Took),
	}
	if len(a.Failed) > 0 {
		attrs = append(attrs, slog.Any("failed", a.Failed))
	}
	var phases []any
	for _, p := range a.Phases {
		phases = append(phases, slog.Duration(p.Phase, p.Took))
	}
	x.options.Log.LogAttrs(context.Background(), slog.LevelInfo, "analysis", append(attrs, slog.Group("phases", phases...))...)
}
