package upstream

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
)

// etherscanLive asks getsourcecode of the Etherscan API v2, which every plan has
// on every chain.
func etherscanLive(ch *chain.Chain, a common.Address) func(context.Context, *Client, bool) (reply, int, *Error) {
	return func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
		u := c.etherscan.url.JoinPath("v2", "api")
		q := u.Query()
		q.Set("chainid", strconv.FormatUint(ch.ID, 10))
		q.Set("module", "contract")
		q.Set("action", "getsourcecode")
		q.Set("address", hexAddress(a))
		q.Set("apikey", c.cfg.EtherscanKey)
		u.RawQuery = q.Encode()
		out, err := c.fetch(ctx, c.etherscan, ToolEtherscan, ch.Slug, u, decodeSource(ToolEtherscan), keep, readEtherscan)
		return out, 1, err
	}
}

// readEtherscan understands that errors come with status 200 and words instead
// of a result.
func readEtherscan(status int, raw []byte) (any, error) {
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
	var list []struct {
		ABI            string `json:"ABI"`
		ContractName   string `json:"ContractName"`
		Proxy          string `json:"Proxy"`
		Implementation string `json:"Implementation"`
	}
	if err := readJSON(a.Result, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 || a.Status != "1" || !strings.HasPrefix(strings.TrimSpace(list[0].ABI), "[") {
		return nil, errNotVerified
	}
	r := sourceRecord{Name: list[0].ContractName, ABI: jsontext.Value(list[0].ABI)}
	if list[0].Proxy == "1" {
		r.Impl = list[0].Implementation
	}
	return &r, r.tidy()
}

// etherscanRefusal words a NOTOK. The words may repeat the key, so they are not
// taken over.
func etherscanRefusal(words string) *Error {
	text := strings.ToLower(words)
	switch {
	case strings.Contains(text, "rate limit"), strings.Contains(text, "too many"):
		return newError(KindRateLimited, "rate limit reached")
	case strings.Contains(text, "api key"), strings.Contains(text, "apikey"):
		return newError(KindRefused, "API key refused")
	case strings.Contains(text, "chainid"), strings.Contains(text, "not supported for this chain"), strings.Contains(text, "free api access"):
		return newError(KindUnsupported, "chain is not covered by this plan")
	case strings.Contains(text, "not verified"):
		return newError(KindNotFound, errNotVerified.Error())
	}
	return newError(KindRejected, "request refused")
}
