package upstream

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strings"
	"time"
)

// Config lists the services and limits of a Client. A zero field has the default in its
// comment.
type Config struct {
	// Endpoints are JSON-RPC URLs by chain id, asked in order and before those of
	// the chain table. They may carry keys in user info, path or query.
	Endpoints map[uint64][]string
	// RPCOnly disables the endpoints of the chain table.
	RPCOnly bool
	// SourcesOff makes Source, Signatures and Prices fail with ErrSourcesOff.
	SourcesOff bool

	SourcifyURL  string // https://sourcify.dev/server
	EtherscanURL string // https://api.etherscan.io
	EtherscanKey string // empty: Etherscan is not used
	// BlockscoutURL, if set, is used as {url}/{chainId}/api/v2/... for every chain (the
	// hosted form); empty: the instance of the chain table is used.
	BlockscoutURL string
	FourByteURL   string // https://api.4byte.sourcify.dev
	LlamaURL      string // https://coins.llama.fi

	Timeout       time.Duration // of one attempt of a plain call: 10 s; the call as a whole may take 1.5 times that
	TraceTimeout  time.Duration // of one attempt of a trace: 40 s; likewise
	SourceTimeout time.Duration // of one attempt at a source: 8 s
	MaxAnswer     int64         // bytes, decompressed: 8 MiB
	MaxTrace      int64         // bytes, decompressed: 256 MiB

	Retries       int           // further attempts at one endpoint: 2; negative: none
	Backoff       time.Duration // upper bound of the first wait, doubled each time: 250 ms
	MaxRetryAfter time.Duration // longest wait that a server can request: 5 s
	MaxConcurrent int           // requests in flight per endpoint: 8
	BreakerFaults int           // consecutive failures that open the circuit breaker: 5
	BreakerRest   time.Duration // how long it stays open: 15 s

	ProbeWaves   []int         // sizes of the first waves: 8, 24; the rest is the last wave
	ProbeDelay   time.Duration // between waves: 350 ms
	ProbeTimeout time.Duration // per chain: 6 s
	ProbeGrace   time.Duration // how long to wait for a better match than a pending or ambiguous one: 1 s

	// Prices overrides DefaultPrices by tool, in nano-dollars per call.
	Prices map[string]int64
	// ProxyFromEnv honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	ProxyFromEnv bool
	UserAgent    string // txlens
	// Dial, if set, makes the connections in place of a net.Dialer: to servers in memory,
	// for example.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// OnCall, if set, is called at the end of each metered logical call of every session.
	// The outcome is OutcomeOK, OutcomeBad or a Kind. It is called from several goroutines
	// and must not block.
	OnCall func(tool, outcome string, took time.Duration)
}

// Outcomes of a call without a Kind.
const (
	OutcomeOK  = "ok"
	OutcomeBad = "bad_answer" // the call succeeded, but its answer is unusable
)

// DefaultPrices are nano-dollars per answered logical call. Node calls follow the list
// price of a common paid plan, 49 USD for 80 million credits at 20 credits a call and 40 a
// trace; the actual plan may be cheaper. The public services are free. An unlisted tool has
// the price of "rpc"; so have traces if a configuration sets only that price.
func DefaultPrices() map[string]int64 { return maps.Clone(defaultPrices) }

var defaultPrices = map[string]int64{
	"rpc":             12_250,
	methodDebugTrace:  24_500,
	methodParityTrace: 24_500,
	methodReplayTrace: 24_500,
	methodOtterscan:   24_500,
	ToolProbe:         12_250, // per chain asked
	ToolSourcify:      0,
	ToolEtherscan:     0,
	ToolBlockscout:    0,
	ToolFourByte:      0,
	ToolLlama:         0,
	ToolReplay:        14_000, // about a second of a rented core at 0.05 USD an hour
	ToolSimulate:      14_000, // likewise
}

// Names under which calls that are not JSON-RPC methods are metered.
const (
	ToolProbe      = "probe"
	ToolSourcify   = "sourcify"
	ToolEtherscan  = "etherscan"
	ToolBlockscout = "blockscout"
	ToolFourByte   = "fourbyte"
	ToolLlama      = "defillama"
)

func or[T comparable](v, byDefault T) T {
	var zero T
	if v == zero {
		return byDefault
	}
	return v
}

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	c.SourcifyURL = or(c.SourcifyURL, "https://sourcify.dev/server")
	c.EtherscanURL = or(c.EtherscanURL, "https://api.etherscan.io")
	c.FourByteURL = or(c.FourByteURL, "https://api.4byte.sourcify.dev")
	c.LlamaURL = or(c.LlamaURL, "https://coins.llama.fi")
	c.Timeout = or(c.Timeout, 10*time.Second)
	c.TraceTimeout = or(c.TraceTimeout, 40*time.Second)
	c.SourceTimeout = or(c.SourceTimeout, 8*time.Second)
	c.MaxAnswer = or(c.MaxAnswer, 8<<20)
	c.MaxTrace = or(c.MaxTrace, 256<<20)
	c.Retries = max(or(c.Retries, 2), 0)
	c.Backoff = or(c.Backoff, 250*time.Millisecond)
	c.MaxRetryAfter = or(c.MaxRetryAfter, 5*time.Second)
	c.MaxConcurrent = max(or(c.MaxConcurrent, 8), 1)
	c.BreakerFaults = max(or(c.BreakerFaults, 5), 1)
	c.BreakerRest = or(c.BreakerRest, 15*time.Second)
	if c.ProbeWaves == nil {
		c.ProbeWaves = []int{8, 24}
	}
	c.ProbeDelay = or(c.ProbeDelay, 350*time.Millisecond)
	c.ProbeTimeout = or(c.ProbeTimeout, 6*time.Second)
	c.ProbeGrace = or(c.ProbeGrace, time.Second)
	c.UserAgent = or(c.UserAgent, "txlens")
	prices := DefaultPrices()
	if all, ok := c.Prices["rpc"]; ok { // somebody's own node charges no more for traces
		for _, method := range traceMethods {
			prices[method] = all
		}
	}
	maps.Copy(prices, c.Prices)
	c.Prices = prices
	return c
}

// price is the cost of one call of a tool.
// price returns the price of one request, in nano-dollars.
func (c *Config) price(tool string) int64 {
	if p, ok := c.Prices[tool]; ok {
		return p
	}
	return c.Prices["rpc"]
}

// charge returns the price of an answered call, in nano-dollars. A call that failed has none,
// also if the provider rejected it for good: the service bears that cost. A negative answer,
// such as that of an unverified contract, is an answer.
func (c *Config) charge(tool string, units int, err *Error) int64 {
	if err != nil && !err.Kind.answered() {
		return 0
	}
	return c.price(tool) * int64(max(units, 1))
}

// parseURL accepts an absolute http or https URL. Its errors do not quote the URL, which
// may contain a key.
func parseURL(what, raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil:
		return nil, fmt.Errorf("parse URL of %s: not a URL", what)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("parse URL of %s: scheme must be http or https", what)
	case u.Hostname() == "":
		return nil, fmt.Errorf("parse URL of %s: host is missing", what)
	}
	u.Fragment = ""
	return u, nil
}
