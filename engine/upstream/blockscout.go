package upstream

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"txlens/engine/chain"

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
	e := c.blockscoutFor(ch)
	if e == c.hosted {
		return e, e.url.JoinPath(strconv.FormatUint(ch.ID, 10), "api", "v2", "smart-contracts", hexAddress(a))
	}
	return e, e.url.JoinPath("api", "v2", "smart-contracts", hexAddress(a))
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
