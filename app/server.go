package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"txlens/actors/job"
	"txlens/actors/slots"
	"txlens/actors/webhook"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/storage"
	"txlens/transport"
	"txlens/transport/admin"
	"txlens/transport/discovery"
)

// Server is the whole service. Fields are nil until New has opened them.
type Server struct {
	o Options

	public, private net.Listener
	analyst         *Analyst
	explainer       transport.Explainer
	store           *storage.Store
	sales           *Sales // nil: nothing is sold
	jobs            *job.Jobs
	callbacks       *webhook.Sender // nil: nobody is called
	web             *transport.Server
	admin           *admin.Server // nil: there is none
	adminEnded      chan error
}

// New opens everything that a server needs, its ports first: a server that cannot
// listen must not take up jobs. An option with which it cannot start is an *OptionError.
func New(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o.withDefaults()}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) (err error) {
	if err = s.o.CheckStore(); err != nil {
		return err
	}
	metrics := admin.NewMetrics(s.gauges())
	if s.analyst, err = newAnalyst(s.o.Analysis, &recorder{metrics}); err != nil {
		return err
	}
	s.explainer = s.analyst
	if s.o.Explain != nil {
		s.explainer = replaced{s.analyst, s.o.Explain}
	}
	if err = s.listen(); err != nil {
		return err
	}
	if s.store, err = storage.Open(s.o.DataDir, storage.Options{Log: s.o.Log, MaxBytes: s.o.dataMax()}); err != nil {
		return &OptionError{"DataDir", err}
	}
	if err = writeAdminURL(s.o.DataDir, s.private); err != nil {
		return err
	}
	if s.o.Sale != nil {
		if s.sales, err = OpenSales(ctx, *s.o.Sale, SaleSite{
			System: s.analyst.explainer.System(), Store: s.store, DataDir: s.o.DataDir, BaseURL: s.o.BaseURL,
			Jobs: s.o.MaxJobs + s.o.JobQueue, Log: s.o.Log,
		}); err != nil {
			return err
		}
	}
	if s.o.Callbacks != nil {
		callbacks := *s.o.Callbacks
		callbacks.Log = s.o.Log
		s.callbacks = webhook.New(callbacks)
	}
	s.jobs, err = job.New(
		s.analyst.explainer.System(),
		job.Options{Store: s.store, Analyst: jobRunner{s}, Running: s.o.MaxJobs, Queue: s.o.JobQueue,
			OnEnd: s.sales.jobEnded, OnStored: s.callBack, Deadline: s.analyst.explainer.Longest() + job.Grace, Log: s.o.Log},
	)
	if err != nil {
		return fmt.Errorf("take up jobs: %w", err)
	}
	s.web = transport.New(s.transportConfig(metrics))
	s.startAdmin(metrics)
	return nil
}

// gauges are what the metrics read from the parts of the server, with its version.
func (s *Server) gauges() (version, commit string, g admin.Gauges) {
	version, commit = Version()
	g = admin.Gauges{
		Analyses: func() int { return s.analyst.explainer.Running() },
		Jobs:     func() (queued, running int) { return s.jobs.Load() },
		Store:    s.storeUsage,
	}
	if s.o.Sale != nil {
		g.Channels = func() admin.ChannelTotals { return s.sales.totals() }
	}
	return version, commit, g
}

// storeUsage is what the metrics tell of the database.
func (s *Server) storeUsage() (out admin.StoreUsage) {
	out.File, out.Live = s.store.Size()
	u := s.store.Usage()
	out.Max, out.Promised, out.Evicted = u.Max, u.Promised, u.Evicted
	return out
}

// storeWarning is nil unless records that must be kept fill most of the database.
func (s *Server) storeWarning() error {
	if u := s.store.Usage(); u.Tight() {
		return fmt.Errorf(
			"records that must be kept take %d of %d MB; give the server more with --data-max before it refuses requests",
			u.Promised/1_000_000, u.Max/1_000_000,
		)
	}
	return nil
}

func (s *Server) listen() (err error) {
	if s.public, err = net.Listen("tcp", s.o.Listen); err != nil {
		return &OptionError{"Listen", err}
	}
	if s.o.AdminListen == "" {
		return nil
	}
	if s.private, err = net.Listen("tcp", s.o.AdminListen); err != nil {
		return &OptionError{"AdminListen", err}
	}
	return nil
}

func (s *Server) transportConfig(metrics *admin.Metrics) transport.Config {
	_, commit := Version()
	c := transport.Config{
		Explainer: s.explainer, Jobs: s.jobs, Runs: job.NewRuns(s.store, s.o.KeepRuns), Commit: commit, Log: s.o.Log, Observer: metrics, Room: s.store.Room,
		Deadline: s.analyst.explainer.Longest(), Model: s.o.DefaultModel, MaxAnalyses: s.o.MaxAnalyses, MaxConns: s.o.MaxConns,
		MaxConnsPerIP: s.o.MaxConnsPerIP, BaseURL: s.o.BaseURL, Chains: describedChains(), Sample: s.o.Sample, Examples: s.o.Examples,
		Shares: slots.Limits{PerOrigin: s.o.MaxAnalysesPerIP}, Keys: s.o.Keys,
	}
	if a := s.o.Analysis.Agent; a != nil {
		c.ModelBudget = a.Limits.Nano
	}
	if s.callbacks != nil {
		c.CheckCallback = s.callbacks.Check
	}
	if s.sales != nil {
		c.Payments = s.sales.Payments
		c.Shares = s.o.Sale.withDefaults().analysisShares(s.o.MaxAnalyses)
		c.Shares.PerOrigin = s.o.MaxAnalysesPerIP
	}
	return c
}

// startAdmin starts the admin listener, after all that it reads.
func (s *Server) startAdmin(metrics *admin.Metrics) {
	if s.private == nil {
		return
	}
	loopback, _ := admin.Loopback(s.private.Addr().String())
	var channels admin.ChannelOperator
	checks := []admin.Check{{Name: "store", Err: s.store.Ping}, {Name: "jobs", Err: s.jobsAlive}}
	warnings := []admin.Check{{Name: "store", Err: s.storeWarning}}
	if s.sales != nil {
		channels = operatorView{s.store, s.sales}
		checks = append(checks, admin.Check{Name: "settlement", Err: s.sales.ready})
		warnings = append(warnings, admin.Check{Name: "settlement", Err: s.sales.warnings})
	}
	s.admin = admin.New(admin.Config{
		Checks: checks, Warnings: warnings,
		Metrics: metrics.Handler(s.o.Log), Backup: func(w io.Writer) (int64, error) { return s.store.Backup(w) },
		Channels: channels, Loopback: loopback, Log: s.o.Log,
	})
	s.adminEnded = make(chan error, 1)
	go func() { s.adminEnded <- s.admin.Serve(s.private) }()
}

func (s *Server) jobsAlive() error {
	if !s.jobs.Alive() {
		return errors.New("no owner takes them; the log says why")
	}
	return nil
}

// Address is where the public server listens.
func (s *Server) Address() net.Addr { return s.public.Addr() }

// AdminAddress is where the admin listener listens; nil: there is none.
func (s *Server) AdminAddress() net.Addr {
	if s.private == nil {
		return nil
	}
	return s.private.Addr()
}

// Serve answers requests until the context ends. Then it lets running analyses finish
// within the grace time, and returns when all jobs have ended or are stored for the next
// start. Call it once, and Close after it.
func (s *Server) Serve(ctx context.Context) error {
	attrs := []any{"address", s.public.Addr().String(), "version", versionText(), "data", s.o.DataDir}
	if s.private != nil {
		attrs = append(attrs, "admin", s.private.Addr().String())
	}
	s.o.Log.Info("serving", attrs...)
	ended := make(chan error, 1)
	go func() { ended <- s.web.Serve(s.public) }()
	select {
	case err := <-ended:
		none, cancel := context.WithCancel(ctx)
		cancel()
		return errors.Join(err, s.jobs.Close(none))
	case <-ctx.Done():
	}
	if s.admin != nil {
		s.admin.Drain()
	}
	s.o.Log.Info("stopping", "grace", s.o.Grace.String())
	end, cancel := context.WithTimeout(context.Background(), s.o.Grace)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.jobs.Close(end) }()
	err := s.web.Shutdown(end)
	if err == nil {
		err = <-ended
	} else {
		err = fmt.Errorf("stop the server: %w", err)
	}
	return errors.Join(err, <-closed)
}

// Close releases what New opened, in the reverse order.
func (s *Server) Close() (err error) {
	if s.admin != nil {
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = errors.Join(s.admin.Close(soon), <-s.adminEnded)
	}
	if s.jobs != nil {
		none, cancel := context.WithCancel(context.Background())
		cancel()
		err = errors.Join(err, s.jobs.Close(none)) // without effect after Serve
	}
	if s.callbacks != nil {
		s.callbacks.Close()
	}
	for _, ln := range []net.Listener{s.public, s.private} {
		if ln != nil {
			ln.Close()
		}
	}
	if s.sales != nil {
		s.sales.Close()
	}
	if s.store != nil {
		err = errors.Join(err, writeAdminURL(s.o.DataDir, nil), s.store.Close())
	}
	if s.analyst != nil {
		s.analyst.Close()
	}
	return err
}

// replaced is an Analyst whose analyses are made by explain.
type replaced struct {
	*Analyst
	explain func(context.Context, transport.RunSpec) (*api.Result, error)
}

// Explain implements transport.Explainer.
func (r replaced) Explain(ctx context.Context, spec transport.RunSpec) (*api.Result, error) {
	return r.explain(ctx, spec)
}

// jobRunner runs the analyses of async jobs; they are sold if the server sells.
type jobRunner struct{ s *Server }

var _ job.Analyst = jobRunner{}

// Explain runs the analysis of a job, whose id takes the place of a request id.
func (r jobRunner) Explain(ctx context.Context, w job.Work) (*api.Result, error) {
	return r.s.sales.RunJob(ctx, w, r.s.explainer.Explain)
}

// describedChains lists the table of chains for the documents of the server.
func describedChains() []discovery.Chain {
	var out []discovery.Chain
	for _, ch := range chain.All() {
		out = append(out, discovery.Chain{ID: ch.ID, Slug: ch.Slug, Name: ch.Name, Full: ch.FullEnrichment})
	}
	return out
}
