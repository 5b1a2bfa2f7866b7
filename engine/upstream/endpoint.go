package upstream

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"txlens/engine/api"
)

// endpoint is one base URL with its load limit and health. All sessions of a Client share
// it. It is safe for concurrent use.
type endpoint struct {
	url     *url.URL
	host    string
	secrets secrets
	slots   chan struct{}
	// breaker is for all calls but those for traces, which have their own: a node that
	// cannot trace a large transaction in time answers all else.
	breaker, traces breaker
	noBatch         atomic.Bool // it takes no batches
	batch           batchSize
	fault           atomic.Pointer[string] // what its last fault was; nil: none so far
	health          *health                // of its chain; nil: it is no node
	condition       atomic.Int32
}

func newEndpoint(u *url.URL, c *Config) *endpoint {
	return &endpoint{
		url: u, host: u.Hostname(), secrets: secretsOf(u),
		slots:   make(chan struct{}, c.MaxConcurrent),
		breaker: breaker{limit: c.BreakerFaults, rest: c.BreakerRest},
		traces:  breaker{limit: c.BreakerFaults, rest: c.BreakerRest},
	}
}

// traces reports whether a method re-executes a transaction, which can take long.
func traces(method string) bool { return slices.Contains(traceMethods, method) }

var traceMethods = []string{methodDebugTrace, methodParityTrace, methodReplayTrace, methodOtterscan}

// breakerOf is the circuit breaker of a method.
func (e *endpoint) breakerOf(method string) *breaker {
	if traces(method) {
		return &e.traces
	}
	return &e.breaker
}

// do runs one attempt as soon as a slot is free, if the circuit breaker of the method
// allows it. method is empty for what is not JSON-RPC, and for batches.
func (e *endpoint) do(ctx context.Context, method string, attempt func() *Error) *Error {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return stopped(ctx)
	}
	if err := stopped(ctx); err != nil {
		return err
	}
	breaker := e.breakerOf(method)
	if !breaker.allow(time.Now()) {
		return newError(KindBusy, e.resting())
	}
	result := judgeNeutral
	// A panic below leaves as it came; it must not keep the trial of a half-open
	// breaker with it.
	defer func() { breaker.report(time.Now(), result) }()
	err := attempt()
	e.note(method, err)
	switch {
	case err.fault():
		result = judgeFault
		if err.Err != nil {
			text := api.Clean(err.Err.Error(), maxFault)
			e.fault.Store(&text)
		}
	case err == nil || err.Kind.definite():
		result = judgeGood
	}
	return err
}

// maxFault bounds what is kept of a fault, in characters.
const maxFault = 160

// resting says why the endpoint is not asked.
func (e *endpoint) resting() string {
	text := "not asked again yet, after repeated faults"
	if last := e.fault.Load(); last != nil {
		text += ": " + *last
	}
	return text
}

// judgement is what the outcome of an attempt says about the health of an endpoint.
type judgement uint8

const (
	judgeNeutral judgement = iota // nothing: canceled, rate limited, refused
	judgeGood
	judgeFault
)

// breaker is a circuit breaker: closed until limit consecutive faults, then open for a
// rest, then half open: one trial call is allowed, whose outcome closes the breaker or
// opens it again.
type breaker struct {
	limit int
	rest  time.Duration

	mu     sync.Mutex
	faults int
	until  time.Time
	trial  bool
}

func (b *breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.faults < b.limit {
		return true
	}
	if b.trial || now.Before(b.until) {
		return false
	}
	b.trial = true
	return true
}

func (b *breaker) report(now time.Time, j judgement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trial = false
	switch j {
	case judgeGood:
		b.faults = 0
	case judgeFault:
		if b.faults++; b.faults >= b.limit {
			b.until = now.Add(b.rest)
		}
	}
}
