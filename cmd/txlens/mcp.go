package main

import (
	"context"
	"errors"
	"io"

	"txlens/app"
	"txlens/app/settings"
)

type mcpCmd struct {
	settings.Evidence `embed:"" group:"Where the evidence comes from:"`
}

// Run answers one client of the Model Context Protocol on stdin and stdout.
func (cmd *mcpCmd) Run(ctx context.Context, c console) error {
	ignoreBrokenPipe()
	defer onHangup(func() {})() // the end of input ends it
	a, err := settings.NewAnalyst(cmd.Evidence)
	if err != nil {
		return err
	}
	defer a.Close()
	err = app.ServeMCP(ctx, a, c.in, c.out)
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil // the client closed the connection
	}
	return err
}
