package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"txlens/actors/job"
	"txlens/app"
	"txlens/transport/callers"
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
	Keys        string            `name:"keys"                                         env:"TXLENS_KEYS"                help:"File of callers, made with txlens key: only who sends one of its keys may ask, within the rate of its line. Not for servers that sell."                                    placeholder:"FILE" type:"path" secret:"no"`
	Grace       time.Duration     `name:"grace"               default:"30s"            env:"TXLENS_GRACE"               help:"Time that running analyses get when the server stops; jobs that need more continue at the next start."`

	adminFlags    `embed:"" group:"Operating:"`
	logFlags      `embed:"" group:"Operating:"`
	dataFlag      `embed:""`
	storeFlags    `embed:"" group:"Operating:"`
	callbackFlags `embed:"" group:"Operating:"`
	payFlags      `embed:"" group:"Selling analyses:"`
	worldFlags    `embed:"" group:"Where the evidence comes from:"`
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

// storeFlags say what the database keeps.
type storeFlags struct {
	DataMax  byteSize     `name:"data-max"  placeholder:"SIZE" env:"TXLENS_DATA_MAX" help:"Size of the database, such as 20GB. Above four fifths of it, run records of unmetered requests are deleted before their time, the oldest first; when records of payers and jobs fill it, requests that need to be stored are answered 503. 0: no bound; default 20GB, or a tenth of the disk if that is less."`
	KeepRuns job.KeepRuns `name:"keep-runs" default:"all" enum:"all,paid,streams,none" env:"TXLENS_KEEP_RUNS" help:"Runs of POST /explain that GET /explain/run returns later: all; paid, those that were sold; streams, those and unmetered streams; none, which only a server that sells nothing may have."`
}

// dataMax is the option of app.Options.
func (f storeFlags) dataMax() int64 {
	return int64(f.DataMax)
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

// Run serves until the context ends, then lets running analyses finish.
func (cmd *serveCmd) Run(ctx context.Context, c console, k *kong.Context) error {
	if cmd.Check {
		return cmd.report(ctx, c, k)
	}
	if err := inOneLine(cmd.faults()); err != nil {
		return err
	}
	o, err := cmd.options(cmd.logger(c.err))
	if err != nil {
		return err
	}
	srv, err := app.New(ctx, o)
	if err != nil {
		return flagError(err)
	}
	return errors.Join(srv.Serve(ctx), srv.Close())
}

// options converts the flags.
func (cmd *serveCmd) options(log *slog.Logger) (o app.Options, err error) {
	o = app.Options{
		Listen: cmd.Listen, AdminListen: cmd.AdminListen, BaseURL: cmd.BaseURL, Grace: cmd.Grace,
		MaxAnalyses: cmd.MaxAnalyses, MaxAnalysesPerIP: cmd.PerIP, MaxJobs: cmd.MaxJobs, JobQueue: cmd.JobQueue,
		MaxConns: cmd.MaxConns, MaxConnsPerIP: cmd.MaxPerIP, DefaultModel: cmd.modelFlags.Default, Sample: sampleResult, Examples: demoExamples(), Log: log,
		DataMax: cmd.dataMax(), KeepRuns: cmd.KeepRuns,
	}
	if o.AdminListen == adminOff {
		o.AdminListen = ""
	}
	if o.DataDir, err = cmd.dir(); err != nil {
		return o, err
	}
	if cmd.Keys != "" {
		if o.Keys, err = callers.Read(cmd.Keys); err != nil {
			return o, badInput{fmt.Errorf("--keys: %w", err)}
		}
	}
	if o.Callbacks, err = cmd.callbackFlags.options(); err != nil {
		return o, err
	}
	if o.Sale, err = cmd.payFlags.options(); err != nil {
		return o, err
	}
	o.Analysis, err = cmd.worldFlags.options()
	return o, err
}

// flagError names the flag of an option with which a server cannot start.
func flagError(err error) error {
	option, ok := errors.AsType[*app.OptionError](err)
	if !ok {
		return err
	}
	switch option.Option {
	case "Listen":
		return badInput{fmt.Errorf("--listen: %w", option.Err)}
	case "AdminListen":
		return badInput{fmt.Errorf("--admin-listen: %w; name another address, or off", option.Err)}
	case "DataMax":
		return badInput{fmt.Errorf("--data-max: %w", option.Err)}
	case "KeepRuns":
		return badInput{fmt.Errorf("--keep-runs: %w", option.Err)}
	case "Sale.RPC":
		return badInput{fmt.Errorf("--settle-rpc: %w", option.Err)}
	}
	return badInput{option.Err}
}
