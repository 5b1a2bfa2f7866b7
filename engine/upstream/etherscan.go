package upstream

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// etherscanLive requests getsourcecode of the Etherscan API v2, which every plan offers on
// every chain.
func etherscanLive(ch *chain.Chain, a common.Address) func(context.Context, *Client, bool) (reply, int, *Error) {
	return func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		e, u := c.etherscanURL(ch, a)
		out, err := c.fetch(ctx, e, ToolEtherscan, ch.Slug, u, decodeSource(ToolEtherscan), keep, readEtherscan)
		return out, 1, err
	}
}

func (c *Client) etherscanURL(ch *chain.Chain, a common.Address) (*endpoint, *url.URL) {
	u := c.etherscan.url.JoinPath("v2", "api")
	q := u.Query()
	q.Set("chainid", strconv.FormatUint(ch.ID, 10))
	q.Set("module", "contract")
	q.Set("action", "getsourcecode")
	q.Set("address", hexAddress(a))
	q.Set("apikey", c.cfg.EtherscanKey)
	u.RawQuery = q.Encode()
	return c.etherscan, u
}

// etherscanItem is the one item of its answer.
type etherscanItem struct {
	SourceCode     string `json:"SourceCode"`
	ABI            string `json:"ABI"`
	ContractName   string `json:"ContractName"`
	Proxy          string `json:"Proxy"`
	Implementation string `json:"Implementation"`
}

func readEtherscan(status int, raw []byte) (any, error) {
	item, err := readEtherscanItem(status, raw)
	if err != nil {
		return nil, err
	}
	r := sourceRecord{Name: item.ContractName, ABI: jsontext.Value(item.ABI)}
	if item.Proxy == "1" {
		r.Impl = item.Implementation
	}
	return &r, r.validate()
}

// readEtherscanItem handles errors, which have status 200 and a text instead of a result.
// An unverified contract is returned as an error.
func readEtherscanItem(status int, raw []byte) (*etherscanItem, error) {
	var a struct {
		Status string         `json:"status"`
		Result jsontext.Value `json:"result"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if a.Result.Kind() == '"' {
		var words string
		if err := readJSON(a.Result, &words); err != nil {
			return nil, err
		}
		return nil, etherscanRefusal(words)
	}
	if status != http.StatusOK {
		return nil, newError(KindRejected, "HTTP status "+strconv.Itoa(status))
	}
	var list []etherscanItem
	if err := readJSON(a.Result, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 || a.Status != "1" || !strings.HasPrefix(strings.TrimSpace(list[0].ABI), "[") {
		return nil, errNotVerified
	}
	return &list[0], nil
}

// etherscanRefusal converts a NOTOK answer. Its text may contain the key, so it is not
// quoted.
func etherscanRefusal(words string) *Error {
	text := strings.ToLower(words)
	switch {
	case strings.Contains(text, "rate limit"), strings.Contains(text, "too many"):
		return newError(KindRateLimited, "rate limit reached")
	case strings.Contains(text, "api key"), strings.Contains(text, "apikey"):
		return newError(KindPayment, "API key refused")
	case strings.Contains(text, "chainid"), strings.Contains(text, "not supported for this chain"), strings.Contains(text, "free api access"):
		return newError(KindUnsupported, "chain is not covered by this plan")
	case strings.Contains(text, "not verified"):
		return newError(KindNotFound, errNotVerified.Error())
	}
	return newError(KindRejected, "request refused")
}
