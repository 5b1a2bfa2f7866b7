package app

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/overlay"
	"txlens/engine/upstream"
	"txlens/transport"
)

// Replay runs the pipeline of a live analysis over the recorded answers of a bundle.
// The transaction is that of the bundle; a spec may add context, a sink and a payer.
func Replay(ctx context.Context, b *upstream.Bundle, spec transport.RunSpec) (*api.Result, error) {
	return ReplayOver(ctx, b, spec, nil)
}

// ReplayWith is Replay with a language model, which may be nil; costs are added to m.
// The model and the context of the request of spec go before those of the bundle. A
// partial result may be returned beside an error.
func ReplayWith(
	ctx context.Context,
	b *upstream.Bundle,
	spec transport.RunSpec,
	m *meter.Meter,
	model *analysis.Agent,
) (*api.Result, error) {
	return replay(ctx, b, spec, m, model, nil)
}

// ReplayOver is Replay with data of the user, which may be nil.
func ReplayOver(ctx context.Context, b *upstream.Bundle, spec transport.RunSpec, own *overlay.Data) (*api.Result, error) {
	res, err := replay(ctx, b, spec, &meter.Meter{Gate: spec.Gate, OnCost: spec.OnCost}, nil, own)
	if err != nil {
		return nil, fmt.Errorf("replay the bundle: %w", err)
	}
	return res, nil
}

func replay(
	ctx context.Context,
	b *upstream.Bundle,
	spec transport.RunSpec,
	m *meter.Meter,
	model *analysis.Agent,
	own *overlay.Data,
) (*api.Result, error) {
	meta := b.Meta
	o := analysis.Options{Quick: meta.Quick, SourcesOff: meta.SourcesOff, Version: versionText(), Agent: model}
	if len(meta.Expired) > 0 {
		o.Deadline = time.Duration(meta.DeadlineMs) * time.Millisecond // it stands in the summary
	}
	x := analysis.New(o)
	defer x.Close()
	req := api.Request{
		TxHash:  meta.TxHash,
		ChainID: meta.ChainID,
		Context: cmp.Or(spec.Request.Context, meta.Context),
		Model:   spec.Request.Model,
	}
	world := upstream.ReplaySession(b, m)
	reportCalls(world, spec.Sink)
	return x.Explain(ctx, analysis.Input{
		ID: spec.ID, Request: req, World: world, Meter: m, Sink: spec.Sink, CutOff: meta.Expired, Finished: meta.Finished, Unpaid: meta.Unpaid, Own: own,
	})
}
