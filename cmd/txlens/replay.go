package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/transport"
)

type replayCmd struct {
	File string `arg:"" type:"existingfile" help:"Bundle written with --record."`
	JSON bool   `                           help:"Print the ExplanationResult as one line of JSON." name:"json"`
	HTML string `       type:"path"         help:"Also write a self-contained HTML report."         name:"html" placeholder:"FILE"`
}

// Run explains a recorded transaction from its bundle alone.
func (cmd *replayCmd) Run(ctx context.Context, c console) error {
	b, err := upstream.ReadBundle(cmd.File)
	if err != nil {
		return badInput{err}
	}
	res, err := replayBundle(ctx, b)
	if err != nil {
		return err
	}
	show := explainCmd{JSON: cmd.JSON, HTML: cmd.HTML}
	return show.show(c, res, "")
}

// replayBundle runs the pipeline of a live analysis over recorded answers.
func replayBundle(ctx context.Context, b *upstream.Bundle) (*api.Result, error) {
	return replayFor(ctx, b, transport.Job{})
}

// replayFor replays for a job of a server; its request is that of the bundle.
func replayFor(ctx context.Context, b *upstream.Bundle, job transport.Job) (*api.Result, error) {
	res, err := replayOn(ctx, b, job, &meter.Meter{Gate: job.Gate, OnCost: job.OnCost}, nil)
	if err != nil {
		return nil, fmt.Errorf("replay the bundle: %w", err)
	}
	return res, nil
}

// replayOn has a model, which may be nil, look at what a bundle holds. The model of
// the job's request and its context go before those of the bundle.
func replayOn(ctx context.Context, b *upstream.Bundle, job transport.Job, m *meter.Meter, model *analysis.Agent) (*api.Result, error) {
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
		Context: cmp.Or(job.Request.Context, meta.Context),
		Model:   job.Request.Model,
	}
	world := upstream.ReplaySession(b, m)
	tellCalls(world, job.Sink)
	return x.Explain(ctx, analysis.Input{
		ID: job.ID, Request: req, World: world, Meter: m, Sink: job.Sink, CutOff: meta.Expired, Finished: meta.Finished, Unpaid: meta.Unpaid,
	})
}
