// Package transport is how the outside reaches Txlens: HTTP on fasthttp. It
// parses, bounds and answers; what is true is decided behind the Explainer.
//
// # Answers of POST /explain in blocking mode
//
//	200  the ExplanationResult, complete or partial; text/html when report is true
//	400  {error}: the request is wrong; error names the field
//	404  {error, code: transaction_not_found}: every chain answered, and none knows it
//	409  {error, code: transaction_pending}: known, but in no block: ask again later
//	413  {error}: the body is over 64 KiB
//	415  {error}: the body does not say it is application/json
//	500  {error, code: internal_error}
//	502  {error, code: upstream_payment_unavailable}: the service could not pay its upstream
//	502  {error, code: upstream_unavailable}, Retry-After: a chain that may have the
//	     transaction did not answer; error names those chains
//	503  {error, code: busy or stopping}, Retry-After: too many analyses at once, or the server ends
//
// An Accept that names text/event-stream, at no lower quality than the other form,
// gets a stream instead. Whatever is wrong with the request itself is told by the
// statuses above, as JSON, before a stream begins.
//
// # The stream
//
// Each event is one object of JSON after "data: ", with its type and the requestId,
// which is also the header X-Request-Id; there are no event, id or retry lines.
// api.Layouts says what else each has. First comes what happens on the way, then
// complete, then result or report, and the connection closes. An error ends the
// stream in place of all that: its code is internal_error where the service failed,
// and transaction_not_found, transaction_pending or stopping where the caller can
// do something about it. A stream that ends without result, report or error broke
// off.
//
// # Jobs and runs
//
//	POST /explain/async  202 {jobId, status: pending} with Location and Retry-After; 400, 413, 415 as
//	                     above; 503 {error, code: busy, stopping or jobs_off};
//	                     500 {error: 'Internal server error', requestId: 'err-...'}
//	GET /result/{jobId}  200 the Job, whatever its status, with Retry-After while it is unfinished;
//	                     404 {error}: unknown, no UUID, or an hour old
//	GET /explain/run/{requestId}
//	                     200 {requestId, finishedAt, frames}: the final frames in their order;
//	                     404 {error, code: run_not_found, requestId};
//	                     409 {error, code: run_errored or run_too_large, requestId};
//	                     409 {error, code: run_in_progress, requestId}, Retry-After
//
// The request id of a run stands in X-Request-Id, and in each frame of a stream.
//
// What each code means and what the caller can do is in api.ErrorCodes. All of
// this is described for callers by package discovery; an answer that is not as
// described there fails the tests.
//
// POST /session/deposit is for metered services; here it answers {ok: true}, so that
// a client that opens a payment channel first need not know that nothing is charged.
//
// Beyond the interface's list are 404, 409 and the second 502: a caller who gets no
// result wants to know from status and code whether to look at the hash again (404),
// to wait for a block (409), or to ask again because a chain was not reached (502).
// None is a fault inside the service, which a 500 would claim.
package transport

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"txlens/actors/slots"
	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/transport/discovery"
)

// Explainer runs analyses.
type Explainer interface {
	// Check says what is wrong with a request, as far as nobody need be asked.
	Check(req api.Request) error
	// Explain returns a result, complete or partial, or the error that left none.
	// It stops soon after ctx ends.
	Explain(ctx context.Context, job RunSpec) (*api.Result, error)
}

// Job is one analysis as the Explainer gets it.
type RunSpec struct {
	ID      string // of the request, as the caller knows it
	Request api.Request
	// Sink is told what happens on the way. It never blocks, and may be called from
	// several goroutines at once and after the end, when it does nothing.
	Sink func(api.Event)
	// Gate and OnCost, when set, are the meter's: who pays is asked before each
	// purchase and told what the analysis has cost.
	Gate   func(context.Context) error
	OnCost func(totalNano int64)
	// Finish is closed when the server has no more time: what is known by then is to
	// be returned as a partial result, within moments. nil: never.
	Finish <-chan struct{}
	// Unpaid says that Finish means a caller who does not pay for more.
	Unpaid bool

	// streams: a result that stands beside an error is sent, and the error is not.
	streams bool
	// priced is called when the analysis has ended, before its run is kept; may be nil.
	priced func(*api.Result, error)
	free   func() // gives the slot back when all is done; nil: somebody else does
}

// Config of a Server. Zero values mean the defaults named at each field.
type Config struct {
	Explainer Explainer
	Jobs      Jobs   // nil: the async endpoints take and know none
	Runs      Runs   // nil: no run is kept
	Commit    string // build identifier told by /health; empty: null
	// What the front page and the documents say of this server.
	BaseURL discovery.BaseURL // where callers reach it; zero: taken from each request
	Metered bool              // analyses are paid for
	// Payments are how; Payments.Payer nil with Metered false: they are not.
	Payments Payments
	Model    string // that answers where a request names none; empty: api.DefaultModel
	// ModelBudget is what the language model may cost in one analysis, in
	// nano-dollars; 0: none takes part.
	ModelBudget int64
	Chains      []discovery.Chain // that can be analysed, in the order they are listed
	// Sample makes the result that the front page shows. It is called once, when it
	// is first looked at. nil: none is shown.
	Sample   func() (*api.Result, error)
	Log      *slog.Logger // nil: silent
	Observer Observer     // nil: nobody counts

	Deadline      time.Duration // of one analysis, default 120 s; the Explainer may keep a shorter one of its own
	MaxAnalyses   int           // at once, default 64; more are answered 503
	Shares        slots.Limits  // of one party in them; Total is MaxAnalyses
	ReadTimeout   time.Duration // head and body of a request together, default 10 s
	WriteTimeout  time.Duration // from the end of the analysis to the last byte of the answer; of a stream, for each 32 KiB; default 60 s
	IdleTimeout   time.Duration // between two requests of a connection, default 60 s
	MaxConns      int           // connections at once, default 4,096
	MaxConnsPerIP int           // of one IPv4 address or one IPv6 /64; default 0, no bound: behind a proxy all come from one

	Heartbeat  time.Duration // silence of a stream before it gets a heartbeat, default 15 s
	MaxBacklog int           // bytes of events that may wait for a client that reads slowly, default 4 MiB; the result comes on top

	// KeepRunning, when set, is asked when the client of a stream has gone or is cut
	// off because it does not read: true lets its analysis go on, which makes sense
	// where what it finds is kept. nil: it goes on where Runs is set, and is
	// cancelled elsewhere.
	KeepRunning func(requestID string) bool
	// Recoverable, when set, is asked when a stream ends in an error: true where GET
	// /explain/run/{requestId} has the run or will have it, so that the error says
	// so. nil: Runs is asked.
	Recoverable func(requestID string) bool
}

// Bounds that are no settings: the interface names them or nothing needs more.
const (
	maxBody = 64 << 10
	maxHead = 16 << 10
	// grace is what a supervisor gets beyond its own deadline to hand over a
	// partial result, and what cancelled analyses get to end when the server stops.
	grace = 5 * time.Second
)

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	set(&c.Deadline, 120*time.Second)
	set(&c.ReadTimeout, 10*time.Second)
	set(&c.WriteTimeout, 60*time.Second)
	set(&c.IdleTimeout, 60*time.Second)
	set(&c.Heartbeat, 15*time.Second)
	c.Payments = c.Payments.withDefaults()
	c.Metered = c.Metered || c.Payments.Payer != nil
	if c.MaxAnalyses <= 0 {
		c.MaxAnalyses = 64
	}
	c.Shares.Total = c.MaxAnalyses
	if c.MaxBacklog <= 0 {
		c.MaxBacklog = 4 << 20
	}
	if c.KeepRunning == nil {
		// Where runs are kept, one that has begun is worth finishing.
		c.KeepRunning = func(string) bool { return c.Runs != nil }
	}
	if c.Recoverable == nil {
		runs := c.Runs
		c.Recoverable = func(id string) bool {
			if runs == nil {
				return false
			}
			_, err := runs.Recover(id)
			return err == nil
		}
	}
	if c.Sample == nil {
		c.Sample = noSample
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.MaxConns <= 0 {
		c.MaxConns = 4096
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server answers HTTP. It is safe for concurrent use.
type Server struct {
	cfg    Config
	http   *fasthttp.Server
	slots  *slots.Pool     // of the analyses that run
	base   context.Context // of all analyses
	cancel context.CancelCauseFunc

	draining atomic.Bool   // no request is taken any more
	entry    sync.Mutex    // guards listener
	listener net.Listener  // nil: Serve has not begun
	finish   chan struct{} // closed when analyses are to end with what they know
	live     live          // runs that are sold
	atWork   idSet         // synchronous runs that have no record yet

	routeNames map[[2]string]string // by method and pattern

	offers map[string]*mpp.Route // by path, of what costs a cent; nil: nothing is sold

	patience time.Duration // with each step of a stop beyond the grace period

	conns     connections
	rejecting chan struct{} // one per connection that was refused and is waited for
	alive     []byte        // the body of GET /health
	sample    func() (*api.Result, error)

	documents func() (*discovery.Set, error) // made when the first is asked for
	mcp       func() *mcpEndpoint            // made at the first request
}

// errClientGone: why an analysis was cancelled. api.ErrStopping is the other
// reason.
var errClientGone = errors.New("the client closed the connection")

// New makes a server; Serve starts it.
func New(cfg Config) *Server {
	cfg = cfg.withDefaults()
	s := &Server{
		cfg: cfg, routeNames: namesOfRoutes(), slots: slots.New(cfg.Shares), patience: grace, finish: make(chan struct{}),
		rejecting: make(chan struct{}, 64), alive: healthBody(cfg.Commit),
		sample:    sync.OnceValues(cfg.Sample),
		documents: sync.OnceValues(func() (*discovery.Set, error) { return discovery.New(cfg.described()) }),
	}
	s.mcp = sync.OnceValue(s.newMCP)
	if s.sold() {
		s.fixOffers()
	}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	s.http = &fasthttp.Server{
		Handler:      s.guarded,
		ErrorHandler: s.unreadable,
		Logger:       quietLogger{cfg.Log},
		ReadTimeout:  cfg.ReadTimeout,
		// fasthttp arms it when the handler has returned, so it does not have to
		// cover the analysis.
		WriteTimeout:          cfg.WriteTimeout,
		IdleTimeout:           cfg.IdleTimeout,
		ReadBufferSize:        maxHead,
		MaxRequestBodySize:    maxBody,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		CloseOnShutdown:       true,
		// A stream takes its connection with it, and leaves here the buffer that its
		// head was read with.
		KeepHijackedConns: true,
		// A form is no request of ours, so nothing may be parsed before the handler.
		DisablePreParseMultipartForm: true,
	}
	return s
}

// Serve answers connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	s.entry.Lock()
	s.listener = ln
	stopped := s.draining.Load()
	s.entry.Unlock()
	if stopped {
		return ln.Close()
	}
	if err := s.http.Serve(&limitListener{ln, s}); err != nil {
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown takes no more connections and lets running requests end; requests on
// open connections are answered 503. What still runs when ctx ends gets five
// seconds to hand over what it knows, and is then cancelled; after as much again
// connections are cut. ctx's error is returned in that case. A stream whose partial
// result was kept ends in an error that names where it can be had.
func (s *Server) Shutdown(ctx context.Context) error {
	if s.draining.Swap(true) {
		return nil
	}
	if s.sold() {
		s.cfg.Payments.Seller.Close()
	}
	err := s.http.ShutdownWithContext(ctx)
	s.entry.Lock()
	if s.listener != nil {
		s.listener.Close() // fasthttp does not know it yet where Serve has only just begun
	}
	s.entry.Unlock()
	for err == nil && s.busy() { // fasthttp knows neither the streams nor the runs without client
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err == nil {
		s.cancel(api.ErrStopping)
		return nil
	}
	close(s.finish)
	s.waitWhile(s.analysing)
	s.cancel(api.ErrStopping)
	s.waitWhile(s.busy)
	s.conns.closeAll()
	return fmt.Errorf("stop server: %w", err)
}

// waitWhile waits as long as cond holds, and no longer than the server's patience.
func (s *Server) waitWhile(cond func() bool) {
	for end := time.Now().Add(s.patience); cond() && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// finishing reports whether running analyses were told to end.
func (s *Server) finishing() bool {
	select {
	case <-s.finish:
		return true
	default:
		return false
	}
}

// busy reports whether a connection is open or an analysis runs.
func (s *Server) busy() bool {
	return s.conns.count() > 0 || s.analysing()
}

// analysing reports whether an analysis runs, or waits to be paid.
func (s *Server) analysing() bool {
	c := s.slots.Counts()
	return c.Running+c.Parked+c.Waiting > 0
}

// quietLogger takes what fasthttp says about single connections.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Printf(format string, args ...any) {
	l.log.Debug("connection", "event", fmt.Sprintf(format, args...))
}
