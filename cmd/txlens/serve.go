package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/alecthomas/kong"

	"txlens/actors/job"
	"txlens/engine/api"
	"txlens/storage"
	"txlens/transport"
	"txlens/transport/admin"
	"txlens/transport/discovery"
)

type serveCmd struct {
	Config string `name:"config" placeholder:"FILE" type:"path" env:"TXLENS_CONFIG" help:"TOML file of settings; its keys are the names of the flags. Flags override the environment, and the environment overrides the file."`
	Check  bool   `name:"check"                                                     help:"Validate the settings, show each value and its origin, and exit; listens nowhere and changes nothing. With --settle-rpc it asks the settlement chain for its id, its time and the gas of the settling key."`

	Listen      string            `name:"listen"              default:"127.0.0.1:8402" env:"TXLENS_LISTEN"              help:"Address and port."`
	PerIP       int               `name:"max-analyses-per-ip" default:"0"              env:"TXLENS_MAX_ANALYSES_PER_IP" help:"Analyses at a time for one IPv4 address or IPv6 /64; beyond it the answer is 503. 0: no limit, for a server behind a proxy, where all requests come from one address."`
	MaxAnalyses int               `name:"max-analyses"        default:"64"             env:"TXLENS_MAX_ANALYSES"        help:"Blocking analyses at a time; beyond it the answer is 503."`
	MaxJobs     int               `name:"max-jobs"            default:"16"             env:"TXLENS_MAX_JOBS"            help:"Analyses of async jobs at a time, beside the blocking ones; others wait."`
	JobQueue    int               `name:"job-queue"           default:"256"            env:"TXLENS_JOB_QUEUE"           help:"Async jobs that may wait; beyond it the answer is 503."`
	MaxConns    int               `name:"max-conns"           default:"4096"           env:"TXLENS_MAX_CONNS"           help:"Connections at a time; beyond it the answer is 503."`
	MaxPerIP    int               `name:"max-conns-per-ip"    default:"0"              env:"TXLENS_MAX_CONNS_PER_IP"    help:"Connections at a time from one IPv4 address or IPv6 /64; beyond it the answer is 429. 0: no limit, for a server behind a proxy, where all requests come from one address."`
	BaseURL     discovery.BaseURL `name:"base-url"                                     env:"TXLENS_BASE_URL"            help:"Where callers reach the service, as its pages and documents say; without it they repeat the Host of the request and are not cached."                                       placeholder:"URL" secret:"no"`
	Grace       time.Duration     `name:"grace"               default:"30s"            env:"TXLENS_GRACE"               help:"Time that running analyses get when the server stops; jobs that need more continue at the next start."`

	adminFlags `embed:""`
	logFlags   `embed:""`
	dataFlag   `embed:""`
	payFlags   `embed:""`
	worldFlags `embed:""`
}

// Where the admin listener is when nobody says otherwise, and the word for nowhere.
const (
	defaultAdmin = "127.0.0.1:8403"
	adminOff     = "off"
)

// adminFlags say where the operator reaches the server.
type adminFlags struct {
	AdminListen string `name:"admin-listen" default:"127.0.0.1:8403" placeholder:"ADDRESS" env:"TXLENS_ADMIN_LISTEN" help:"Address and port for metrics, profiles, readiness, backup and settling; off: none. It has no accounts: whoever reaches it may do all of that."`
	AdminRemote bool   `name:"admin-remote"                                                env:"TXLENS_ADMIN_REMOTE" help:"Allow --admin-listen to be an address that other machines reach."`
}

// BeforeResolve puts the file of settings below flags and environment.
func (cmd *serveCmd) BeforeResolve(k *kong.Context) error {
	for _, group := range k.Selected().AllFlags(false) {
		for _, f := range group {
			path, _ := k.FlagValue(f).(string)
			if f.Name != "config" || path == "" {
				continue
			}
			s, err := readSettings(path, k.Selected())
			if err != nil {
				return err
			}
			k.AddResolver(s)
		}
	}
	return nil
}

// served is an analyst behind the server.
type served struct{ *analyst }

var _ transport.Explainer = served{}

// Check says what is wrong with a request as such.
func (s served) Check(req api.Request) error { return s.explainer.Check(req) }

// Explain runs one analysis of the server.
func (s served) Explain(ctx context.Context, job transport.Job) (*api.Result, error) {
	return s.run(ctx, job)
}

// jobAnalyst is an analyst behind the async jobs; with a till they are sold.
type jobAnalyst struct {
	*analyst
	till *till
}

var _ job.Analyst = jobAnalyst{}

// Explain runs the analysis of a job, whose id stands for that of a request.
func (a jobAnalyst) Explain(ctx context.Context, w job.Work) (*api.Result, error) {
	if a.till == nil {
		return a.run(ctx, transport.Job{ID: w.ID, Request: w.Request})
	}
	return a.till.sellJob(ctx, w, a.run)
}

// Run serves until the context ends, then lets running analyses finish.
func (cmd *serveCmd) Run(ctx context.Context, c console, k *kong.Context) error {
	if cmd.Check {
		return cmd.report(ctx, c, k)
	}
	if err := inOneLine(cmd.faults()); err != nil {
		return err
	}
	log := cmd.logger(c.err)
	cmd.log = log
	s := &service{cmd: cmd, log: log}
	err := s.start(ctx)
	if err == nil {
		err = s.serve(ctx)
	}
	return errors.Join(err, s.close())
}

// service is a server and all that it stands on. Fields are nil until started.
type service struct {
	cmd *serveCmd
	log *slog.Logger

	public, private net.Listener
	analyst         *analyst
	store           *storage.Store
	dir             string
	till            *till // nil: nothing is sold
	jobs            *job.Jobs
	web             *transport.Server
	admin           *admin.Server // nil: there is none
	adminEnded      chan error
}

// start opens what the server stands on, in the order in which one needs the
// other. The ports come first: a server that cannot listen must not take up jobs.
func (s *service) start(ctx context.Context) (err error) {
	cmd := s.cmd
	if s.dir, err = cmd.dir(); err != nil {
		return err
	}
	version, commit := build()
	gauges := admin.Gauges{
		Analyses: func() int { return s.analyst.explainer.Running() },
		Jobs:     func() (queued, running int) { return s.jobs.Load() },
		Store:    func() (file, live int64) { return s.store.Size() },
	}
	if cmd.sells() {
		gauges.Till = func() admin.Till { return s.till.totals() }
	}
	metrics := admin.NewMetrics(version, commit, gauges)
	cmd.count = &counting{metrics}
	if s.analyst, err = newAnalyst(cmd.worldFlags); err != nil {
		return err
	}
	if s.public, err = net.Listen("tcp", cmd.Listen); err != nil {
		return badInput{fmt.Errorf("--listen: %w", err)}
	}
	if cmd.AdminListen != adminOff {
		if s.private, err = net.Listen("tcp", cmd.AdminListen); err != nil {
			return badInput{fmt.Errorf("--admin-listen: %w; name another address, or off", err)}
		}
	}
	if s.store, err = openStore(s.dir, s.log); err != nil {
		return err
	}
	if err = tellAdmin(s.dir, s.private); err != nil {
		return err
	}
	var payments transport.Payments
	if cmd.sells() {
		if s.till, err = newTill(ctx, &cmd.payFlags, cmd.tillSite(), s.analyst.explainer, s.store, s.dir, s.log); err != nil {
			return err
		}
		payments = s.till.payments
	}
	s.jobs, err = job.New(
		s.analyst.explainer.System(),
		job.Options{Store: s.store, Analyst: jobAnalyst{s.analyst, s.till}, Running: cmd.MaxJobs, Queue: cmd.JobQueue,
			OnEnd: s.till.jobEnded, Deadline: s.analyst.explainer.Longest() + job.Grace, Log: s.log},
	)
	if err != nil {
		return fmt.Errorf("take up jobs: %w", err)
	}
	shares := cmd.shares(cmd.MaxAnalyses)
	shares.PerOrigin = cmd.PerIP
	s.web = transport.New(transport.Config{
		Shares:    shares,
		Explainer: served{s.analyst}, Jobs: s.jobs, Runs: job.NewRuns(s.store), Commit: commit, Log: s.log, Observer: metrics,
		Deadline: s.analyst.explainer.Longest(), Model: cmd.modelFlags.Default, MaxAnalyses: cmd.MaxAnalyses, MaxConns: cmd.MaxConns, MaxConnsPerIP: cmd.MaxPerIP,
		ModelBudget: s.modelBudget(), Payments: payments, BaseURL: cmd.BaseURL, Chains: describedChains(), Sample: sampleResult,
	})
	s.startAdmin(metrics)
	return nil
}

// modelBudget is what the language model may cost in one analysis, in nano-dollars; 0
// where there is none.
func (s *service) modelBudget() int64 {
	limits, err := s.cmd.modelFlags.limits()
	if err != nil || s.cmd.modelFlags.off() {
		return 0 // newAnalyst has refused what is wrong
	}
	return limits.Nano
}

// startAdmin lets the operator in, now that all is there that can be asked for.
func (s *service) startAdmin(metrics *admin.Metrics) {
	if s.private == nil {
		return
	}
	loopback, _ := admin.Loopback(s.private.Addr().String())
	var till admin.Books
	if s.till != nil {
		till = books{s.store, s.till}
	}
	checks := []admin.Check{{Name: "store", Err: s.store.Ping}, {Name: "jobs", Err: s.jobsAlive}}
	var warnings []admin.Check
	if s.till != nil {
		checks = append(checks, admin.Check{Name: "settlement", Err: s.till.ready})
		warnings = append(warnings, admin.Check{Name: "settlement", Err: s.till.warnings})
	}
	s.admin = admin.New(admin.Config{
		Checks: checks, Warnings: warnings,
		Metrics: metrics.Handler(s.log), Backup: func(w io.Writer) (int64, error) { return s.store.Backup(w) },
		Books: till, Loopback: loopback, Log: s.log,
	})
	s.adminEnded = make(chan error, 1)
	go func() { s.adminEnded <- s.admin.Serve(s.private) }()
}

// tillSite is what of the server's settings its sales depend on.
func (cmd *serveCmd) tillSite() tillSite {
	return tillSite{base: cmd.BaseURL, jobs: cmd.MaxJobs + cmd.JobQueue}
}

func (s *service) jobsAlive() error {
	if !s.jobs.Alive() {
		return errors.New("no owner takes them; the log says why")
	}
	return nil
}

// serve returns when the server has ended and the jobs are done or given back.
func (s *service) serve(ctx context.Context) error {
	attrs := []any{"address", s.public.Addr().String(), "version", s.analyst.version, "data", s.dir}
	if s.private != nil {
		attrs = append(attrs, "admin", s.private.Addr().String())
	}
	s.log.Info("serving", attrs...)
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
	s.log.Info("stopping", "grace", s.cmd.Grace.String())
	end, cancel := context.WithTimeout(context.Background(), s.cmd.Grace)
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

// close gives up what start opened, the other way round.
func (s *service) close() (err error) {
	if s.admin != nil {
		soon, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = errors.Join(s.admin.Close(soon), <-s.adminEnded)
	}
	if s.jobs != nil {
		none, cancel := context.WithCancel(context.Background())
		cancel()
		err = errors.Join(err, s.jobs.Close(none)) // it does nothing when serve did it
	}
	for _, ln := range []net.Listener{s.public, s.private} {
		if ln != nil {
			ln.Close()
		}
	}
	if s.till != nil {
		s.till.close()
	}
	if s.store != nil {
		err = errors.Join(err, tellAdmin(s.dir, nil), s.store.Close())
	}
	if s.analyst != nil {
		s.analyst.close()
	}
	return err
}
