package upstream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"txlens/engine/chain"
)

// Client is shared by all analyses: connections, and load limit and health of every
// endpoint. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
	ids  atomic.Uint64

	answered atomic.Bool // an endpoint of a chain has answered

	maxToken int // see the constant; smaller in tests

	sourcify, etherscan, fourByte, llama, hosted *endpoint // hosted Blockscout may be nil

	mu         sync.Mutex
	nodes      map[uint64][]*endpoint
	chains     map[uint64]*health
	blockscout map[string]*endpoint
}

// New validates the configuration. Its errors identify a wrong URL without quoting it.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	c := &Client{
		cfg: cfg, http: newHTTPClient(&cfg), maxToken: maxToken,
		nodes: map[uint64][]*endpoint{}, chains: map[uint64]*health{}, blockscout: map[string]*endpoint{},
	}
	for id, urls := range cfg.Endpoints {
		for i, raw := range urls {
			u, err := parseURL(fmt.Sprintf("endpoint %d of chain %d", i+1, id), raw)
			if err != nil {
				return nil, err
			}
			c.nodes[id] = append(c.nodes[id], c.newNode(id, newEndpoint(u, &cfg)))
		}
	}
	for _, s := range []struct {
		name, raw string
		into      **endpoint
	}{
		{"Sourcify", cfg.SourcifyURL, &c.sourcify}, {"Etherscan", cfg.EtherscanURL, &c.etherscan},
		{"the signature database", cfg.FourByteURL, &c.fourByte}, {"DefiLlama", cfg.LlamaURL, &c.llama},
		{"Blockscout", cfg.BlockscoutURL, &c.hosted},
	} {
		if s.raw == "" {
			continue
		}
		u, err := parseURL(s.name, s.raw)
		if err != nil {
			return nil, err
		}
		*s.into = newEndpoint(u, &cfg)
	}
	if cfg.EtherscanKey != "" {
		c.etherscan.secrets = append(secrets{cfg.EtherscanKey}, c.etherscan.secrets...)
	}
	return c, nil
}

// Close drops idle connections. Calls in flight are ended by their contexts.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Reaches reports whether any endpoint is known for the chain.
func (c *Client) Reaches(ch *chain.Chain) bool { return len(c.endpoints(ch)) > 0 }

// endpoints returns the endpoints for a chain: the configured ones first, then those of the
// chain table.
func (c *Client) endpoints(ch *chain.Chain) []*endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	given := len(c.cfg.Endpoints[ch.ID])
	list := c.nodes[ch.ID]
	if c.cfg.RPCOnly || len(list) > given || len(ch.RPC) == 0 {
		return list
	}
	for _, raw := range ch.RPC {
		if u, err := parseURL(ch.Slug, raw); err == nil {
			list = append(list, c.newNode(ch.ID, newEndpoint(u, &c.cfg)))
		}
	}
	c.nodes[ch.ID] = list
	return list
}

// retry repeats an attempt at one endpoint while its errors may be temporary. more says
// that another endpoint is left: then a slow failure, a timeout or a long Retry-After, is
// not repeated.
func (c *Client) retry(ctx context.Context, more bool, attempt func() *Error) *Error {
	for n := 0; ; n++ {
		err := attempt()
		if err == nil || !err.Retryable || err.Kind == KindBusy || err.local || n >= c.cfg.Retries {
			return err
		}
		if more && (err.Kind == KindNotFound || err.Kind == KindIncomplete) {
			return err
		}
		if err.Kind == KindTimeout && (more || n > 0) {
			return err
		}
		if more && err.retryAfter > c.cfg.MaxRetryAfter {
			return err
		}
		wait := time.Duration(rand.Int64N(int64(c.cfg.Backoff<<min(n, 10)) + 1))
		wait = max(wait, min(err.retryAfter, c.cfg.MaxRetryAfter))
		if s := sleep(ctx, wait); s != nil {
			return s
		}
	}
}

func sleep(ctx context.Context, d time.Duration) *Error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return stopped(ctx)
	}
}

// failover tries one endpoint after the other until one returns a value. A reverted call
// counts as a value, because the EVM is the same everywhere. After "not found" one more
// endpoint is tried, once, because nodes drop old transactions and lag behind; if that one
// has nothing either, or fails, the result is "not found".
func (c *Client) failover(ctx context.Context, list []*endpoint, ask func(e *endpoint) *Error) *Error {
	var all, no *Error
	for i, e := range list {
		var err *Error
		if no != nil {
			err = ask(e)
		} else {
			err = c.retry(ctx, i < len(list)-1, func() *Error { return ask(e) })
		}
		if err == nil || err.Kind == KindReverted {
			return err
		}
		err.Source = or(err.Source, e.host)
		switch {
		case ctx.Err() != nil:
			return worst(err, all)
		case no != nil:
			return no
		case err.Kind == KindNotFound:
			no = err
		default:
			all = worst(all, err)
		}
	}
	if no != nil {
		return no
	}
	return all
}
