package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"txlens/actors/analysis"
	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
	"txlens/transport"
)

// keepsEvidence reports whether what an analysis reads is kept with its result. With a language
// model it is not: its questions are other ones each time.
func (a *Analyst) keepsEvidence(spec transport.RunSpec) bool {
	return a.kept != nil && spec.Whole != nil && a.o.Agent == nil
}

// keepEvidence keeps what an analysis read, unless that is too large.
func (a *Analyst) keepEvidence(spec transport.RunSpec, at job.Mined, began time.Time, rec *upstream.Recorder) {
	file, err := rec.Bundle().Compact(job.MaxEvidenceBytes)
	switch {
	case err == nil:
		a.kept.KeepEvidence(spec.Request, at, began, file)
	case !errors.Is(err, upstream.ErrBundleTooLarge):
		a.o.Log.Error("keep evidence", "request", spec.ID, "error", err)
	}
}

// explainAgain explains a transaction by the rules of now from what an earlier analysis of an equal
// request read, and asks nobody. It returns nil if that is not kept, or does not do for a result
// that lacks nothing.
func (a *Analyst) explainAgain(ctx context.Context, spec transport.RunSpec, own *overlay.Data) *api.Result {
	if !a.keepsEvidence(spec) || spec.Request.Fresh {
		return nil
	}
	ev, err := a.kept.FindEvidence(ctx, spec.Request)
	if err != nil {
		return nil
	}
	b, err := upstream.ParseBundle(ev.Bundle)
	if err != nil {
		a.o.Log.Warn("kept evidence is not used", "request", spec.ID, "error", err)
		return nil
	}
	var heard events
	var whole *job.Mined
	m := &meter.Meter{}
	world := upstream.ReplaySession(b, m)
	reportCalls(world, heard.add)
	again := spec
	again.Whole = func(job.Mined) {} // the caller hears of it below
	res, err := a.explainer.Explain(ctx, analysis.Input{
		ID: spec.ID, Request: spec.Request, World: world, Meter: m, Sink: heard.add, Finish: spec.Finish, OnWhole: onWhole(again, own, &whole), Own: own,
	})
	if err != nil || whole == nil || whole.Block != ev.Block || world.Missed() > 0 {
		a.o.Log.Info("kept evidence does not do for the rules of now", "request", spec.ID, "missed", world.Missed(), "error", err)
		return nil
	}
	heard.pass(spec.Sink)
	spec.Whole(*whole)
	return res
}

// events are those of a replay, which are of no use to anybody if it does not succeed.
type events struct {
	mu  sync.Mutex
	all []api.Event
}

func (e *events) add(one api.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, one)
}

func (e *events) pass(sink func(api.Event)) {
	if sink == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.all {
		sink(one)
	}
}
