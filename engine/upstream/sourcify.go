package upstream

import (
	"context"
	"net/http"
	"strconv"

	"txlens/engine/api"
	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// sourcifyLive asks GET /v2/contract/{chainId}/{address} of the Sourcify API v2.
func sourcifyLive(ch *chain.Chain, a common.Address) func(context.Context, *Client, bool) (reply, int, *Error) {
	return func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		u := c.sourcify.url.JoinPath("v2", "contract", strconv.FormatUint(ch.ID, 10), hexAddress(a))
		q := u.Query()
		q.Set("fields", "abi,compilation.name,proxyResolution")
		u.RawQuery = q.Encode()
		out, err := c.fetch(ctx, c.sourcify, ToolSourcify, ch.Slug, u, decodeSource(ToolSourcify), keep, readSourcify)
		return out, 1, err
	}
}

// sourcifyStatus understands 200, 404 (not verified) and 400 (chain not supported,
// which is a definite no as well).
func sourcifyStatus(status int, customCode string, match bool) error {
	switch {
	case status == http.StatusBadRequest && customCode == "unsupported_chain", status == http.StatusNotFound && !match:
		return errNotVerified
	case status != http.StatusOK:
		return newError(KindRejected, "HTTP status "+strconv.Itoa(status)+": "+api.Clean(customCode, 60))
	}
	return nil
}

func readSourcify(status int, raw []byte) (any, error) {
	var a struct {
		ABI         jsontext.Value `json:"abi"`
		Match       *string        `json:"match"`
		CustomCode  string         `json:"customCode"`
		Compilation struct {
			Name string `json:"name"`
		} `json:"compilation"`
		Proxy struct {
			IsProxy         bool    `json:"isProxy"`
			Type            *string `json:"proxyType"`
			Implementations []struct {
				Address string `json:"address"`
			} `json:"implementations"`
		} `json:"proxyResolution"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if err := sourcifyStatus(status, a.CustomCode, a.Match != nil); err != nil {
		return nil, err
	}
	r := sourceRecord{Name: a.Compilation.Name, ABI: a.ABI}
	if a.Match != nil {
		r.Match = *a.Match
	}
	if a.Proxy.IsProxy {
		if a.Proxy.Type != nil {
			r.ProxyKind = *a.Proxy.Type
		}
		// A diamond has one implementation per facet: none stands for all.
		if len(a.Proxy.Implementations) == 1 {
			r.Impl = a.Proxy.Implementations[0].Address
		}
	}
	return &r, r.validate()
}
