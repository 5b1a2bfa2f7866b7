package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"txlens/engine/explain"
	"txlens/transport"
)

type serveCmd struct {
	Listen      string        `name:"listen" default:"127.0.0.1:8402" env:"TXLENS_LISTEN" help:"Address and port."`
	MaxAnalyses int           `name:"max-analyses" default:"64" help:"Analyses at a time; beyond it the answer is 503."`
	Grace       time.Duration `name:"grace" default:"30s" help:"Time that running analyses get when the server stops."`

	worldFlags `embed:""`
}

// served is an analyst behind the server.
type served struct{ *analyst }

var _ transport.Explainer = served{}

// Check says what is wrong with a request as such.
func (s served) Check(req explain.Request) error { return s.explainer.Check(req) }

// Explain runs one analysis of the server.
func (s served) Explain(ctx context.Context, job transport.Job) (*explain.Result, error) {
	return s.run(ctx, job)
}

// Run serves until the context ends, then lets running analyses finish.
func (cmd *serveCmd) Run(ctx context.Context, c console) error {
	if cmd.MaxAnalyses < 1 {
		return badInput{errors.New("--max-analyses: must be at least 1")}
	}
	a, err := newAnalyst(cmd.worldFlags)
	if err != nil {
		return err
	}
	defer a.close()
	log := slog.New(slog.NewTextHandler(c.err, nil))
	_, commit := build()
	srv := transport.New(transport.Config{Explainer: served{a}, Commit: commit, Log: log, Deadline: cmd.Deadline, MaxAnalyses: cmd.MaxAnalyses})
	ln, err := net.Listen("tcp", cmd.Listen)
	if err != nil {
		return badInput{fmt.Errorf("--listen: %w", err)}
	}
	log.Info("serving", "address", ln.Addr().String(), "version", a.version)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	log.Info("stopping", "grace", cmd.Grace.String())
	end, cancel := context.WithTimeout(context.Background(), cmd.Grace)
	defer cancel()
	if err := srv.Shutdown(end); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	return <-served
}
