package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"txlens/actors/analysis"
	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/transport"
)

type evalCmd struct {
	Dir              string `arg:"" type:"existingdir" help:"Folder of cases: for each a NAME.toml, and the bundle that it names."`
	ModelName        string `                          help:"Language model, as the service names them; default the one of --default-model."     name:"model"              placeholder:"MODEL"`
	JSON             bool   `                          help:"Print one object of JSON."                                                          name:"json"`
	Parallel         int    `                          help:"Cases at a time."                                                                   name:"parallel"                                 default:"4"`
	MinAccuracy      int    `                          help:"Fail when fewer of the expectations are met."                                       name:"min-accuracy"       placeholder:"PERCENT"`
	MaxFalseExploits int    `                          help:"Fail when more transactions are called an exploit that are none; default no limit." name:"max-false-exploits" placeholder:"N"       default:"-1"`

	settings.Model `embed:""`
}

// Run judges all cases of a folder. Exit code 1 says that a threshold is missed.
func (cmd *evalCmd) Run(ctx context.Context, c console) error {
	switch {
	case cmd.Parallel < 1 || cmd.Parallel > 256:
		return settings.InputError{Err: errors.New("--parallel: must be between 1 and 256")}
	case cmd.MinAccuracy < 0 || cmd.MinAccuracy > 100:
		return settings.InputError{Err: errors.New("--min-accuracy: must be between 0 and 100")}
	case cmd.ModelName != "" && !slices.Contains(api.ModelNames(), cmd.ModelName):
		return settings.InputError{Err: fmt.Errorf("--model: %w", settings.NoModel(cmd.ModelName))}
	}
	model, err := cmd.Agent()
	if err != nil {
		return err
	}
	defer model.Close()
	cases, err := readCases(cmd.Dir)
	if err != nil {
		return settings.InputError{Err: err}
	}
	sheet, err := cmd.judge(ctx, cases, model)
	if err != nil {
		return err
	}
	if err := sheet.print(c.out, cmd.JSON); err != nil {
		return fmt.Errorf("write the evaluation: %w", err)
	}
	return sheet.Totals.missed(cmd.MinAccuracy, cmd.MaxFalseExploits)
}

// judge runs the cases side by side; the sheet has them in their order.
func (cmd *evalCmd) judge(ctx context.Context, cases []*evalCase, model *analysis.Agent) (*evalSheet, error) {
	sheet := &evalSheet{Model: api.ModelRules, Cases: make([]evalRow, len(cases))}
	if model != nil {
		sheet.Model = api.Request{Model: cmd.ModelName}.ModelOr(model.Default)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(cmd.Parallel)
	for i, c := range cases {
		g.Go(func() error {
			sheet.Cases[i] = c.run(ctx, cmd.ModelName, model)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range sheet.Cases {
		sheet.Totals.add(&sheet.Cases[i])
	}
	return sheet, nil
}

// run analyses one case and judges what came out.
func (c *evalCase) run(ctx context.Context, name string, model *analysis.Agent) evalRow {
	row := evalRow{Name: c.name, Outcome: evalFailed}
	m := new(meter.Meter)
	spec := transport.RunSpec{ID: c.name, Request: api.Request{Context: c.Context, Model: name}, Sink: row.hear}
	res, err := app.ReplayWith(ctx, c.bundle, spec, m, model)
	row.CostUSD, row.nano = api.NanoDollars(m.Nano(meter.LLMs)), m.Nano(meter.LLMs)
	switch {
	case res == nil:
		row.Error = oneLine(err.Error())
		res = new(api.Result)
	case res.Partial():
		row.Outcome = evalPartial
		row.Error = oneLine(partialError(res, "").Error())
	default:
		row.Outcome = evalComplete
	}
	row.judge(&c.Expect, res)
	return row
}
