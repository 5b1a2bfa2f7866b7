package main

import (
	"context"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/upstream"
	"txlens/transport"
)

type replayCmd struct {
	File string `arg:"" type:"existingfile" help:"Bundle written with --record."`
	JSON bool   `                           help:"Print the ExplanationResult as one line of JSON." name:"json"`
	HTML string `       type:"path"         help:"Also write a self-contained HTML report."         name:"html" placeholder:"FILE"`

	exportFlags `embed:""`
}

// Run explains a recorded transaction from its bundle alone.
func (cmd *replayCmd) Run(ctx context.Context, c console) error {
	if err := cmd.exportFlags.check(cmd.JSON, false); err != nil {
		return err
	}
	b, err := upstream.ReadBundle(cmd.File)
	if err != nil {
		return settings.InputError{Err: err}
	}
	res, err := app.Replay(ctx, b, transport.RunSpec{})
	if err != nil {
		return err
	}
	show := explainCmd{JSON: cmd.JSON, HTML: cmd.HTML, exportFlags: cmd.exportFlags}
	return show.show(c, res, "")
}
