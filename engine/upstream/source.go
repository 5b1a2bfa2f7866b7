package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"txlens/engine/api"
	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Source is the verified interface of a contract.
type Source struct {
	Name           string          // of the contract, at most 200 characters
	ABIJSON        []byte          // a JSON array; "[]" when the contract has none
	Origin         string          // sourcify, etherscan, blockscout
	Match          string          // exact_match, match, or empty if the origin does not say
	Implementation *common.Address // what a proxy runs, as the origin knows it today, not at a block
	ProxyKind      string          // eip1967, beacon, eip1167, eip1822, zeppelinos, safe, diamond, eip7702 ...; empty: not a proxy
}

// sourceRecord is a Source as it is stored.
type sourceRecord struct {
	Name      string         `json:"name,omitzero"`
	ABI       jsontext.Value `json:"abi"`
	Match     string         `json:"match,omitzero"`
	Impl      string         `json:"implementation,omitzero"`
	ProxyKind string         `json:"proxyKind,omitzero"`
}

// Source fetches the verified interface of a contract: from Sourcify, then Etherscan if a
// key is configured, then Blockscout. The error is ErrNotFound if all that cover the chain
// answered and none has it; if one of them failed and none has it, that failure.
func (s *Session) Source(ctx context.Context, ch *chain.Chain, a common.Address) (*Source, error) {
	return askServices[*Source](ctx, s, ch, s.serviceCalls(ch, a, "", decodeSource, []sourceService{
		{tool: ToolSourcify, live: sourcifyLive(ch, a)},
		{tool: ToolEtherscan, live: etherscanLive(ch, a)},
		{tool: ToolBlockscout, live: blockscoutLive(ch, a)},
	}))
}

// sourceService is a service that knows verified sources.
type sourceService struct {
	tool string
	live func(context.Context, *Client, bool) (reply, int, *Error)
}

// asks reports whether the service is configured and covers the chain.
func (c *Client) asks(tool string, ch *chain.Chain) bool {
	switch tool {
	case ToolSourcify:
		return ch.Sourcify
	case ToolEtherscan:
		return ch.EtherscanV2 && c.cfg.EtherscanKey != ""
	}
	return c.blockscoutFor(ch) != nil
}

// askServices returns the first answer, or the worst failure.
func askServices[T any](ctx context.Context, s *Session, ch *chain.Chain, calls []call) (T, error) {
	var none T
	if s.sourcesOff {
		return none, newError(KindSourcesOff, ErrSourcesOff.Error()).at("contract source", "", ch.Slug)
	}
	var all *Error
	for _, c := range calls {
		v, err := get[T](ctx, s, c)
		if err == nil {
			return v, nil
		}
		var e *Error
		if errors.As(err, &e) && e.Kind != KindNotRecorded {
			all = worst(all, e)
		}
		if stopped(ctx) != nil {
			break
		}
	}
	if all == nil {
		all = newError(KindNotFound, "no source database covers the chain").at("contract source", "", ch.Slug)
	}
	return none, all
}

// serviceCalls returns the calls to the services; what is "" for the interface of a
// contract. On replay the bundle determines which services were configured.
func (s *Session) serviceCalls(
	ch *chain.Chain,
	a common.Address,
	what string,
	decode func(origin string) decodeFunc,
	all []sourceService,
) []call {
	var out []call
	of := func(d sourceService) call {
		key := d.tool
		if what != "" {
			key += "-" + what
		}
		return call{tool: d.tool, key: joinKey(key, ch.ID, hexAddress(a)), chain: ch.Slug, decode: decode(d.tool), live: d.live}
	}
	for _, d := range all {
		c := of(d)
		on := s.client != nil && s.client.asks(d.tool, ch)
		if s.bundle != nil {
			_, on = s.bundle.entries[c.key]
		}
		if on {
			out = append(out, c)
		}
	}
	if s.bundle != nil && len(out) == 0 {
		// Nothing of it was recorded; let the usual answer say so.
		out = append(out, of(all[0]))
	}
	return out
}

func decodeSource(origin string) decodeFunc {
	return func(dec *jsontext.Decoder) (any, error) {
		var r sourceRecord
		if err := json.UnmarshalDecode(dec, &r); err != nil {
			return nil, err
		}
		src := &Source{Name: r.Name, ABIJSON: r.ABI, Origin: origin, Match: r.Match, ProxyKind: r.ProxyKind}
		if common.IsHexAddress(r.Impl) {
			impl := common.HexToAddress(r.Impl)
			src.Implementation = &impl
		}
		return src, nil
	}
}

// maxABI bounds one ABI; the largest verified ones are below 1 MiB.
const maxABI = 4 << 20

// errNotVerified: the service has no verified source for the address.
var errNotVerified = errors.New("not verified there")

// validate checks and bounds a record of a service.
func (r *sourceRecord) validate() error {
	if len(r.ABI) > maxABI {
		return errAnswerTooLarge
	}
	if r.ABI.Kind() != '[' || !r.ABI.IsValid(jsonOptions...) {
		return errNotVerified
	}
	r.Name = api.Clean(r.Name, 200)
	r.Match = api.Clean(r.Match, 20)
	r.ProxyKind = proxyKind(r.ProxyKind)
	if !common.IsHexAddress(r.Impl) || common.HexToAddress(r.Impl) == (common.Address{}) {
		r.Impl = ""
	}
	r.Impl = strings.ToLower(r.Impl)
	return nil
}

// proxyKinds maps the proxy kinds of Sourcify and Blockscout to ours.
var proxyKinds = map[string]string{
	"EIP1967Proxy": "eip1967", "EIP1167Proxy": "eip1167", "GnosisSafeProxy": "safe", "DiamondProxy": "diamond",
	"PROXIABLEProxy": "eip1822", "ZeppelinOSProxy": "zeppelinos", "SequenceWalletProxy": "sequence", "FixedProxy": "fixed",
	"eip1967_oz": "zeppelinos", "eip1967_beacon": "beacon", "master_copy": "safe", "eip2535": "diamond", "unknown": "",
}

func proxyKind(word string) string {
	if kind, ok := proxyKinds[word]; ok {
		return kind
	}
	return api.Clean(word, 40)
}

// fetch requests one record, with the retries of a plain call. read converts the body of
// any status to a value that is stored as JSON and decoded again at once, so that the same
// code produces live and replayed values.
func (c *Client) fetch(
	ctx context.Context,
	e *endpoint,
	tool, chainSlug string,
	u *url.URL,
	decode decodeFunc,
	keep bool,
	read func(status int, raw []byte) (any, error),
) (out reply, err *Error) {
	r := request{url: u, limit: c.cfg.MaxAnswer, timeout: c.cfg.SourceTimeout}
	err = c.retry(ctx, false, func() *Error {
		return c.exchange(ctx, e, r, func(status int, h http.Header, b *body) *Error {
			raw, fault := e.readService(tool, status, h, b)
			if fault != nil {
				return fault
			}
			record, err := read(status, raw)
			if err != nil {
				return e.serviceError(err)
			}
			out, err = storeRecord(record, decode, keep)
			if err != nil {
				return e.garbage(err)
			}
			return nil
		})
	})
	return out, err.at(tool, e.host, chainSlug)
}

// readService reads a whole body. Of error statuses it accepts only those with which
// services report "not found" in JSON.
func (e *endpoint) readService(tool string, status int, h http.Header, b *body) ([]byte, *Error) {
	raw, err := readExactly(b, maxResult)
	if err != nil && b.broken() != nil {
		if status != http.StatusOK {
			raw = nil
		} else {
			return nil, e.garbage(err)
		}
	}
	switch status {
	case http.StatusOK, http.StatusNotFound, http.StatusBadRequest:
		return raw, nil
	}
	kind, text := statusKind(status)
	fault := newError(kind, text)
	fault.retryAfter = retryAfter(h, time.Now())
	return nil, fault
}

func (e *endpoint) serviceError(err error) *Error {
	switch {
	case errors.Is(err, errNotVerified):
		return newError(KindNotFound, err.Error())
	case errors.Is(err, errAnswerTooLarge):
		return newError(KindTooLarge, "the ABI is larger than "+strconv.Itoa(maxABI>>20)+" MiB")
	}
	return e.garbage(err)
}

func storeRecord(record any, decode decodeFunc, keep bool) (out reply, err error) {
	text, err := json.Marshal(record, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return out, err
	}
	if out.value, err = decodeBytes(text, decode); err != nil {
		return reply{}, err
	}
	if keep {
		out.raw = packBytes(text)
	}
	return out, nil
}

// readJSON reads a whole JSON document into v; unknown members are passed over.
func readJSON(raw []byte, v any) error {
	return json.Unmarshal(raw, v, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}
