package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"txlens/app"
	"txlens/app/settings"
)

type serveCmd struct {
	Config string `name:"config" placeholder:"FILE" type:"path" env:"TXLENS_CONFIG" help:"TOML file of settings; its keys are the names of the flags. Flags override the environment, and the environment overrides the file."`
	Check  bool   `name:"check"                                                     help:"Validate the settings, show each value and its origin, and exit; listens nowhere and changes nothing. With --settle-rpc it asks the settlement chain for its id, its time and the gas of the settling key."`

	settings.Server `embed:""`
}

// BeforeResolve adds the file of settings, which flags and environment override.
func (cmd *serveCmd) BeforeResolve(k *kong.Context) error { return addSettings(k, k.Selected()) }

// Run serves until the context ends, then lets running analyses finish.
func (cmd *serveCmd) Run(ctx context.Context, c console, k *kong.Context) error {
	if cmd.Check {
		return cmd.report(ctx, c, k)
	}
	if err := settings.InOneLine(cmd.Faults()); err != nil {
		return err
	}
	ignoreBrokenPipe()
	o, err := cmd.Options(cmd.Logger(c.err))
	if err != nil {
		return err
	}
	defer onHangup(func() { reload(o) })()
	settings.LimitMemory(o.MemoryMax)
	o.Sample, o.Examples = sampleResult, demoExamples()
	srv, err := app.New(ctx, o)
	switch {
	case err == app.ErrStopped:
		return nil
	case err != nil:
		return settings.FlagError(err)
	}
	return errors.Join(srv.Serve(ctx), srv.Close())
}

// reload reads again what may change while the server runs: the file of callers and the folder of
// the user's data. What has a fault stays as it was.
func reload(o app.Options) {
	own := o.Analysis.Overlay
	if o.Keys == nil && own == nil {
		o.Log.Info("SIGHUP: there is nothing to reload without --keys and --data-dir")
		return
	}
	if o.Keys != nil {
		if err := o.Keys.Reload(); err != nil {
			o.Log.Error("SIGHUP: the callers stay as they were", "error", err)
		} else {
			o.Log.Info("SIGHUP: callers reloaded", "callers", o.Keys.Len())
		}
	}
	if own != nil {
		if err := own.Reload(); err != nil {
			o.Log.Error("SIGHUP: the data of --data-dir stays as it was", "error", err)
		} else {
			o.Log.Info("SIGHUP: data of --data-dir reloaded", "files", len(own.Current().Files()))
		}
	}
}
