package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/chain"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Price is the value of one whole token.
type Price struct {
	USD        api.Decimal
	Time       uint64 // Unix seconds of the quote
	Confidence string // 0 to 1 as the service wrote it; empty if absent
	Source     string // defillama
	Symbol     string // as the service knows the token
	Decimals   *int   // as the service knows the token
}

// PriceSet holds the prices that were accepted, and why the others were not.
type PriceSet struct {
	Prices  map[common.Address]Price
	Dropped map[common.Address]string
}

const (
	maxCoins    = 60       // per request
	priceWindow = 4 * 3600 // seconds a quote may be away from the block
)

// minConfidence is the confidence below which a quote is dropped.
var minConfidence = api.Decimal{Unscaled: big.NewInt(8), Scale: 1}

// Prices returns the prices of tokens at a time (Unix seconds). The zero address is the
// native coin. A token without an accepted price is absent: see PriceSet.
func (s *Session) Prices(ctx context.Context, ch *chain.Chain, at uint64, tokens []common.Address) (map[common.Address]Price, error) {
	set, err := s.PriceSet(ctx, ch, at, tokens)
	return set.Prices, err
}

// PriceSet is Prices with the reasons for rejected prices: unknown, more than four hours
// off, confidence below 0.8, or not a positive number. If some of the requests fail, it
// returns the others together with the error. It never returns nil.
func (s *Session) PriceSet(ctx context.Context, ch *chain.Chain, at uint64, tokens []common.Address) (*PriceSet, error) {
	set := &PriceSet{Prices: map[common.Address]Price{}, Dropped: map[common.Address]string{}}
	if s.sourcesOff {
		return set, newError(KindSourcesOff, ErrSourcesOff.Error()).at(ToolLlama, "", ch.Slug)
	}
	tokens = slices.Clone(tokens)
	slices.SortFunc(tokens, common.Address.Cmp)
	coins, of := []string{}, map[string]common.Address{}
	for _, token := range slices.Compact(tokens) {
		coin := coinKey(ch, at, token)
		if coin == "" {
			set.Dropped[token] = "the price service does not cover the chain"
			continue
		}
		coins, of[coin] = append(coins, coin), token
	}
	var all error
	for len(coins) > 0 {
		n := min(maxCoins, len(coins))
		found, err := get[[]quote](ctx, s, priceCall(ch, at, coins[:n]))
		if err != nil {
			all = errors.Join(all, err)
		}
		known := map[string]quote{}
		for _, q := range found {
			known[q.Coin] = q
		}
		for _, coin := range coins[:n] {
			q, ok := known[coin]
			if err == nil {
				set.judge(of[coin], at, q, ok)
			}
		}
		coins = coins[n:]
	}
	return set, all
}

// coinKey returns DefiLlama's name of a token, empty if it has none.
func coinKey(ch *chain.Chain, at uint64, token common.Address) string {
	if token == (common.Address{}) {
		if id := ch.CoingeckoAt(at); id != "" {
			return "coingecko:" + id
		}
	}
	if ch.LlamaPrefix == "" {
		return ""
	}
	return ch.LlamaPrefix + ":" + hexAddress(token)
}

// judge accepts a quote or records why not.
func (p *PriceSet) judge(token common.Address, at uint64, q quote, known bool) {
	usd, ok := parseDecimal(q.Price)
	confidence, sure := parseDecimal(q.Confidence)
	switch {
	case !known:
		p.Dropped[token] = "no price known"
	case !ok || usd.Unscaled.Sign() <= 0:
		p.Dropped[token] = "price is not a positive number"
	case max(q.Time, at)-min(q.Time, at) > priceWindow:
		p.Dropped[token] = "price is more than 4 hours off"
	case q.Confidence != "" && (!sure || less(confidence, minConfidence)):
		p.Dropped[token] = fmt.Sprintf("price has confidence %s", api.Clean(q.Confidence, 20))
	default:
		price := Price{USD: usd, Time: q.Time, Confidence: q.Confidence, Source: ToolLlama, Symbol: q.Symbol}
		if d, err := strconv.ParseUint(q.Decimals, 10, 8); err == nil {
			n := int(d)
			price.Decimals = &n
		}
		p.Prices[token] = price
	}
}

// quote is one price as it is stored: numbers as the service wrote them.
type quote struct {
	Coin       string `json:"coin"`
	Price      string `json:"price"`
	Time       uint64 `json:"time"`
	Confidence string `json:"confidence,omitzero"`
	Symbol     string `json:"symbol,omitzero"`
	Decimals   string `json:"decimals,omitzero"`
}

func decodeQuotes(dec *jsontext.Decoder) (any, error) {
	var list []quote
	err := json.UnmarshalDecode(dec, &list)
	return list, err
}

func priceCall(ch *chain.Chain, at uint64, coins []string) call {
	when := strconv.FormatUint(at, 10)
	return call{
		tool: ToolLlama, key: joinKey(ToolLlama, ch.ID, when+" "+shorten(strings.Join(coins, ","))), chain: ch.Slug, decode: decodeQuotes,
		live: func(ctx context.Context, c *Client, keep bool) (reply, int, *Error) {
			u := c.llama.url.JoinPath("prices", "historical", when, strings.Join(coins, ","))
			q := u.Query()
			q.Set("searchWidth", "4h")
			u.RawQuery = q.Encode()
			out, err := c.fetch(ctx, c.llama, ToolLlama, ch.Slug, u, decodeQuotes, keep, func(status int, raw []byte) (any, error) {
				return readQuotes(status, raw, coins)
			})
			return out, 1, err
		},
	}
}

// readQuotes extracts the requested tokens from an answer of DefiLlama, which omits unknown
// coins and repeats names in the case of the request.
func readQuotes(status int, raw []byte, coins []string) ([]quote, error) {
	if status != http.StatusOK {
		return nil, newError(KindRejected, "HTTP status "+strconv.Itoa(status))
	}
	var a struct {
		Coins map[string]struct {
			Price      jsontext.Value `json:"price"`
			Symbol     jsontext.Value `json:"symbol"`
			Timestamp  jsontext.Value `json:"timestamp"`
			Confidence jsontext.Value `json:"confidence"`
			Decimals   jsontext.Value `json:"decimals"`
		} `json:"coins"`
	}
	if err := readJSON(raw, &a); err != nil {
		return nil, err
	}
	if a.Coins == nil {
		return nil, protocolError("coins are missing")
	}
	out := []quote{}
	for _, coin := range coins {
		c, ok := a.Coins[coin]
		if !ok {
			continue
		}
		q := quote{Coin: coin, Price: number(c.Price), Confidence: number(c.Confidence), Decimals: number(c.Decimals)}
		q.Time, _ = strconv.ParseUint(number(c.Timestamp), 10, 63)
		var symbol string
		if readJSON(c.Symbol, &symbol) == nil {
			q.Symbol = api.Clean(symbol, 40)
		}
		out = append(out, q)
	}
	return out, nil
}

// number is the text of a JSON number of reasonable length, else empty.
func number(v jsontext.Value) string {
	v = bytes.TrimSpace(v)
	if v.Kind() != '0' || len(v) > 80 {
		return ""
	}
	return string(v)
}

// parseDecimal parses a JSON number without loss. An exponent beyond that of any price is
// rejected, because all digits would be allocated.
func parseDecimal(text string) (api.Decimal, bool) {
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(text[i+1:])
		if err != nil || e < -60 || e > 60 {
			return api.Decimal{}, false
		}
		mantissa, exponent = text[:i], e
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	if len(whole)+len(frac) > 80 {
		return api.Decimal{}, false
	}
	n, ok := new(big.Int).SetString(whole+frac, 10)
	if !ok {
		return api.Decimal{}, false
	}
	d := api.Decimal{Unscaled: n, Scale: len(frac) - exponent}
	if d.Scale < 0 {
		d.Unscaled.Mul(n, api.PowerOfTen(-d.Scale))
		d.Scale = 0
	}
	return d, true
}

func less(a, b api.Decimal) bool {
	scale := max(a.Scale, b.Scale)
	x := new(big.Int).Mul(a.Unscaled, api.PowerOfTen(scale-a.Scale))
	y := new(big.Int).Mul(b.Unscaled, api.PowerOfTen(scale-b.Scale))
	return x.Cmp(y) < 0
}
