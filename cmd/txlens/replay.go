package main

import (
	"context"

	"txlens/app"
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
	res, err := app.Replay(ctx, b, transport.RunSpec{})
	if err != nil {
		return err
	}
	show := explainCmd{JSON: cmd.JSON, HTML: cmd.HTML}
	return show.show(c, res, "")
}
