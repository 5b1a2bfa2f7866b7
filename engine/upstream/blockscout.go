package upstream

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"txlens/engine/chain"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// blockscoutFor returns the instance for a chain, nil when there is none.
func (c *Client) blockscoutFor(ch *chain.Chain) *endpoint {
	if c.hosted != nil {
		return c.hosted
	}
	if ch.Blockscout == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.blockscout[ch.Blockscout]
	if e == nil {
		u, err := parseURL("Blockscout", ch.Blockscout)
		if err != nil {
			return nil
		}
		e = newEndpoint(u, &c.cfg)
		c.blockscout[ch.Blockscout] = e
	}
	return e
}

// blockscoutLive requests GET /api/v2/smart-contracts/{address}.
func blockscoutLive(ch *chain.Chain, a common.Address) func(context.Context, *Client, bool) (reply, int, *Error) {
	return func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		e, u := c.blockscoutURL(ch, a)
		out, err := c.fetch(ctx, e, ToolBlockscout, ch.Slug, u, decodeSource(ToolBlockscout), keep, readBlockscout)
		return out, 1, err
	}
}

func (c *Client) blockscoutURL(ch *chain.Chain, a common.Address) (*endpoint, *url.URL) {
	return c.blockscoutPath(ch, "smart-contracts", hexAddress(a))
}

// blockscoutPath is an address of its API version 2, in the hosted form below the chain id.
func (c *Client) blockscoutPath(ch *chain.Chain, rest ...string) (*endpoint, *url.URL) {
	e := c.blockscoutFor(ch)
	base := e.url
	if e == c.hosted {
		base = base.JoinPath(strconv.FormatUint(ch.ID, 10))
	}
	return e, base.JoinPath("api", "v2").JoinPath(rest...)
}

// ExplorerTrace gives the call tree that Blockscout has of a transaction, from GET
// /api/v2/transactions/{hash}/raw-trace. The error is ErrNotFound if the explorer has none,
// and ErrNoEndpoint if none covers the chain.
func (s *Session) ExplorerTrace(ctx context.Context, ch *chain.Chain, hash common.Hash, lim trace.Limits) (*trace.Tree, error) {
	decode := func(dec *jsontext.Decoder) (any, error) { return trace.ParseExplorer(dec, lim) }
	c := call{tool: ToolBlockscout, key: joinKey(ToolBlockscout+"-trace", ch.ID, hash.Hex()), chain: ch.Slug, decode: decode}
	switch {
	case s.sourcesOff:
		return nil, newError(KindSourcesOff, ErrSourcesOff.Error()).at(c.tool, "", ch.Slug)
	case s.client != nil && s.client.blockscoutFor(ch) == nil:
		return nil, newError(KindNoEndpoint, "no explorer is known").at(c.tool, "", ch.Slug)
	}
	c.live = func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		// The trace can be had in other ways: one slow explorer must not eat the analysis.
		within, cancel := context.WithTimeout(ctx, c.cfg.SourceTimeout*3/2)
		defer cancel()
		e, u := c.blockscoutPath(ch, "transactions", hash.Hex(), "raw-trace")
		out, err := c.fetch(within, e, ToolBlockscout, ch.Slug, u, decode, keep, readRawTrace)
		if err != nil && err.local && ctx.Err() == nil && within.Err() != nil {
			err = newError(KindTimeout, "no answer in time").at(ToolBlockscout, e.host, ch.Slug)
		}
		return out, 1, err
	}
	return get[*trace.Tree](ctx, s, c)
}

// readRawTrace accepts a list. It is empty for a transaction that was not traced yet.
func readRawTrace(status int, raw []byte) (any, error) {
	if status == http.StatusNotFound {
		return nil, newError(KindNotFound, "the explorer does not have it")
	}
	if status != http.StatusOK {
		return nil, newError(KindRejected, "HTTP status "+strconv.Itoa(status))
	}
	list := jsontext.Value(raw)
	if !list.IsValid(jsonOptions...) || list.Kind() != '[' {
		return nil, protocolError("it is no list")
	}
	var any []jsontext.Value
	if err := readJSON(raw, &any); err != nil {
		return nil, err
	}
	if len(any) == 0 {
		return nil, newError(KindNotFound, "the explorer has not traced it")
	}
	return list, nil
}

// readBlockscout accepts status 200 and 404. A known contract without verified source also
// has status 200, but no abi.
func readBlockscout(status int, raw []byte) (any, error) {
	var a struct {
		ABI             jsontext.Value `json:"abi"`
		Name            *string        `json:"name"`
		Fully           *bool          `json:"is_fully_verified"`
		Partially       *bool          `json:"is_partially_verified"`
		ProxyType       *string        `json:"proxy_type"`
		Implementations []struct {
			Address string `json:"address_hash"`
			Older   string `json:"address"` // before version 7
		} `json:"implementations"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if status == http.StatusNotFound {
		return nil, errNotVerified
	}
	if status != http.StatusOK {
		return nil, newError(KindRejected, "HTTP status "+strconv.Itoa(status))
	}
	r := sourceRecord{ABI: a.ABI}
	if a.Name != nil {
		r.Name = *a.Name
	}
	switch {
	case a.Fully != nil && *a.Fully:
		r.Match = "exact_match"
	case a.Partially != nil && *a.Partially:
		r.Match = "match"
	}
	if a.ProxyType != nil {
		r.ProxyKind = *a.ProxyType
	}
	if len(a.Implementations) == 1 {
		r.Impl = or(a.Implementations[0].Address, a.Implementations[0].Older)
	}
	return &r, r.validate()
}
