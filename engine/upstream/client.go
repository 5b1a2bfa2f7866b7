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

// Client holds what all analyses share: connections, and the load limit and
// health of every endpoint. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http *http.Client
	ids  atomic.Uint64

	maxToken int // see the constant; smaller in tests

	sourcify, etherscan, fourByte, llama, hosted *endpoint // hosted Blockscout may be nil

	mu         sync.Mutex
	nodes      map[uint64][]*endpoint
	blockscout map[string]*endpoint
}

// New checks the configuration. Its errors say which URL is wrong without
// repeating it.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	c := &Client{cfg: cfg, http: newHTTPClient(&cfg), maxToken: maxToken, nodes: map[uint64][]*endpoint{}, blockscout: map[string]*endpoint{}}
	for id, urls := range cfg.Endpoints {
		for i, raw := range urls {
			u, err := parseURL(fmt.Sprintf("endpoint %d of chain %d", i+1, id), raw)
			if err != nil {
				return nil, err
			}
			c.nodes[id] = append(c.nodes[id], newEndpoint(u, &cfg))
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

// endpoints lists whom to ask for a chain: those given first, then the table's.
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
			list = append(list, newEndpoint(u, &c.cfg))
		}
	}
	c.nodes[ch.ID] = list
	return list
}

// retry repeats an attempt at one endpoint while its faults may pass. more
// says that another endpoint is left: then a fault that costs time, waiting out a
// timeout or a long Retry-After, is not paid twice.
func (c *Client) retry(ctx context.Context, more bool, attempt func() *Error) *Error {
	for n := 0; ; n++ {
		err := attempt()
		if err == nil || !err.Retryable || err.Kind == KindBusy || err.local || n >= c.cfg.Retries {
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

// failover asks one endpoint after the other until one gives a value. A reverted
// call is a value in this sense: the EVM is the same everywhere. After a definite
// "none" one more endpoint is asked, once, because nodes drop old transactions
// and lag behind; when that one has nothing either, or fails, the no stands.
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
