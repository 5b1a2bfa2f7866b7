package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"txlens/actors"
	"txlens/engine/explain"
	"txlens/transport"
	"txlens/transport/discovery"
)

type serveCmd struct {
	Listen      string            `name:"listen" default:"127.0.0.1:8402" env:"TXLENS_LISTEN" help:"Address and port."`
	MaxAnalyses int               `name:"max-analyses" default:"64" help:"Blocking analyses at a time; beyond it the answer is 503."`
	MaxJobs     int               `name:"max-jobs" default:"16" help:"Analyses of async jobs at a time; others wait."`
	JobQueue    int               `name:"job-queue" default:"256" help:"Async jobs that may wait; beyond it the answer is 503."`
	MaxConns    int               `name:"max-conns" default:"4096" help:"Connections at a time; beyond it the answer is 503."`
	MaxPerIP    int               `name:"max-conns-per-ip" default:"0" help:"Connections at a time from one IPv4 address or IPv6 /64; beyond it the answer is 429. 0: no bound, for a server behind a proxy, where all come from one address."`
	BaseURL     discovery.BaseURL `name:"base-url" env:"TXLENS_BASE_URL" placeholder:"URL" help:"Where callers reach the service, as its pages and documents say; without it the Host of each request."`
	Grace       time.Duration     `name:"grace" default:"30s" help:"Time that running analyses get when the server stops; jobs that need more go on at the next start."`

	dataFlag   `embed:""`
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

// jobAnalyst is an analyst behind the async jobs.
type jobAnalyst struct{ *analyst }

var _ actors.Analyst = jobAnalyst{}

// Explain runs the analysis of a job, whose id stands for that of a request.
func (a jobAnalyst) Explain(ctx context.Context, id string, req explain.Request, sink func(explain.Event)) (*explain.Result, error) {
	return a.run(ctx, transport.Job{ID: id, Request: req, Sink: sink})
}

func (cmd *serveCmd) check() error {
	for flag, n := range map[string]int{"--max-analyses": cmd.MaxAnalyses, "--max-jobs": cmd.MaxJobs, "--job-queue": cmd.JobQueue, "--max-conns": cmd.MaxConns, "--max-conns-per-ip": cmd.MaxPerIP + 1} {
		if n < 1 {
			return badInput{errors.New(flag + ": must be at least 1")}
		}
	}
	return nil
}

// Run serves until the context ends, then lets running analyses finish.
func (cmd *serveCmd) Run(ctx context.Context, c console) (err error) {
	if err := cmd.check(); err != nil {
		return err
	}
	dir, err := cmd.dir()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.err, nil))
	cmd.log = log
	a, err := newAnalyst(cmd.worldFlags)
	if err != nil {
		return err
	}
	defer a.close()
	// The port first: a server that cannot listen must not take up jobs.
	ln, err := net.Listen("tcp", cmd.Listen)
	if err != nil {
		return badInput{fmt.Errorf("--listen: %w", err)}
	}
	defer ln.Close()
	store, err := openStore(dir, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	jobs, err := a.explainer.NewJobs(actors.JobOptions{Store: store, Analyst: jobAnalyst{a}, Running: cmd.MaxJobs, Queue: cmd.JobQueue, Log: log})
	if err != nil {
		return fmt.Errorf("take up jobs: %w", err)
	}
	_, commit := build()
	srv := transport.New(transport.Config{
		Explainer: served{a}, Jobs: jobs, Runs: actors.NewRuns(store), Commit: commit, Log: log,
		Deadline: cmd.Deadline, MaxAnalyses: cmd.MaxAnalyses, MaxConns: cmd.MaxConns, MaxConnsPerIP: cmd.MaxPerIP,
		BaseURL: cmd.BaseURL, Chains: describedChains(), Sample: sampleResult,
	})
	log.Info("serving", "address", ln.Addr().String(), "version", a.version, "data", dir)
	return cmd.serve(ctx, log, srv, jobs, ln)
}

// serve returns when the server has ended and the jobs are done or given back.
func (cmd *serveCmd) serve(ctx context.Context, log *slog.Logger, srv *transport.Server, jobs *actors.Jobs, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	select {
	case err := <-served:
		none, cancel := context.WithCancel(ctx)
		cancel()
		return errors.Join(err, jobs.Close(none))
	case <-ctx.Done():
	}
	log.Info("stopping", "grace", cmd.Grace.String())
	end, cancel := context.WithTimeout(context.Background(), cmd.Grace)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- jobs.Close(end) }()
	err := srv.Shutdown(end)
	if err == nil {
		err = <-served
	} else {
		err = fmt.Errorf("stop the server: %w", err)
	}
	return errors.Join(err, <-closed)
}
