package discovery

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"txlens/engine/api"
)

// Config says what is true of one deployment. The documents repeat it.
type Config struct {
	BaseURL BaseURL // zero: that of each request
	Metered bool    // analyses are paid for
	Terms   Terms   // zero: DefaultTerms
	Limits  Limits
	Chains  []Chain // in the order they are listed; none: the list is left out
	Model   string  // that answers where a request names none; empty: api.DefaultModel
	// ModelBudget is what the language model may cost in one analysis, in
	// nano-dollars; 0: no model takes part.
	ModelBudget int64
}

// Limits are the settings of the server that a caller meets.
type Limits struct {
	Body      int           // bytes of a request body
	Head      int           // bytes of a request header
	Deadline  time.Duration // of one analysis
	Heartbeat time.Duration // silence of a stream before a heartbeat
	RunRecord int           // compressed bytes of a run record; a larger one is not kept
}

// longest says in words how long an analysis may take.
func (l Limits) longest() string {
	switch n := int64((l.Deadline + time.Minute - 1) / time.Minute); n {
	case 0, 1:
		return "a minute"
	case 2:
		return "two minutes"
	default:
		return fmt.Sprintf("%d minutes", n)
	}
}

// span writes a duration in the largest unit that divides it: 90 seconds, 1 hour.
func span(d time.Duration) string {
	for _, u := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= u.length && d%u.length == 0 {
			return api.Count(int(d/u.length), u.name)
		}
	}
	return d.String()
}

// facts replaces the names in braces that the tables and templates of this package
// use for values of the configuration, so that no text repeats a value.
func (c Config) facts() *strings.Replacer {
	cached := "no-store, also for the documents: they repeat the Host of the request"
	if c.BaseURL.s != "" {
		cached = "no-store, but for the documents, which may be kept for five minutes"
	}
	return strings.NewReplacer(
		"{cached}", cached,
		"{defaultModel}", c.Model,
		"{exposure}", dollars(c.Terms.Exposure),
		"{heartbeat}", span(c.Limits.Heartbeat),
		"{jobKept}", span(api.JobRetention),
		"{jobPatience}", span(c.Terms.JobPatience),
		"{longest}", c.Limits.longest(),
		"{maxContext}", strconv.Itoa(api.MaxContext),
		"{runKept}", span(api.RunRetention),
		"{voucherPatience}", span(c.Terms.VoucherPatience),
	)
}

// Chain is one supported chain. Full is set where labels, USD values and risk
// flags are complete.
type Chain struct {
	ID         uint64
	Slug, Name string
	Full       bool
}

// Terms are those of payment. Amounts are in base units of the currency: 1 USD is
// 1,000,000.
type Terms struct {
	ChainID          uint64 // of the settlement chain
	Currency         string // token contract on the settlement chain
	Unit             uint64 // of a voucher, of the submit of a job, of the deposit probe
	SuggestedDeposit uint64
	MinimumDeposit   uint64
	Exposure         uint64        // that a run may owe before its next purchase waits
	VoucherPatience  time.Duration // with a stream whose voucher is short
	JobPatience      time.Duration // with a job of which nothing is collected
}

// DefaultTerms are those of the interface.
var DefaultTerms = Terms{
	ChainID: 4217, Currency: "0x20C000000000000000000000b9537d11c60E8b50",
	Unit: 10_000, SuggestedDeposit: 16_000_000, MinimumDeposit: 2_000_000, Exposure: 250_000,
	VoucherPatience: 60 * time.Second, JobPatience: 90 * time.Second,
}

// RecommendedMax is the ceiling that a client should set: a channel that is opened
// at its ceiling cannot be topped up.
func (t Terms) RecommendedMax() uint64 { return 2 * t.SuggestedDeposit }

// CurrencyName names the currency: "USDC.e" for that of the interface, "the token"
// for one whose name is not known here.
func (t Terms) CurrencyName() string {
	if strings.EqualFold(t.Currency, DefaultTerms.Currency) {
		return "USDC.e"
	}
	return "the token"
}

// Elsewhere reports whether payments settle in another token or on another chain
// than the one that clients know without being told.
func (t Terms) Elsewhere() bool {
	return t.ChainID != DefaultTerms.ChainID || !strings.EqualFold(t.Currency, DefaultTerms.Currency)
}

// dollars writes base units as people write USD, exactly: $16, $2.50, $0.01, $0.0025.
func dollars(base uint64) string {
	cents := fmt.Sprintf("%06d", base%1_000_000)
	s := fmt.Sprintf("$%d.%s", base/1_000_000, cents[:2]+strings.TrimRight(cents[2:], "0"))
	return strings.TrimSuffix(s, ".00")
}

// amountOf is dollars without the sign.
func amountOf(base uint64) string { return strings.TrimPrefix(dollars(base), "$") }

// BaseURL is where the service is reached from outside: scheme, host and, behind a
// proxy, a path, without a trailing slash. Its characters need no escaping in
// JSON, Markdown or a shell.
type BaseURL struct{ s string }

// String is the URL, empty when none is set.
func (b BaseURL) String() string { return b.s }

// plain are the characters of URLs that mean nothing anywhere else.
var plain = regexp.MustCompile(`^https?://[A-Za-z0-9.\[\]:-]+(/[A-Za-z0-9._~-]+)*$`)

// ParseBaseURL reads an http or https URL without query, user and fragment.
func ParseBaseURL(s string) (BaseURL, error) {
	s = strings.TrimRight(s, "/")
	u, err := url.Parse(s)
	if err != nil {
		return BaseURL{}, fmt.Errorf("read base URL: %w", err)
	}
	if u.Host == "" || u.Hostname() == "" || len(s) > 512 || !plain.MatchString(s) {
		return BaseURL{}, fmt.Errorf("read base URL: %q must be http or https, a host, and no more than a plain path", s)
	}
	return BaseURL{s}, nil
}

// UnmarshalText reads a base URL of a flag or a file; an empty one is none.
func (b *BaseURL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*b = BaseURL{}
		return nil
	}
	var err error
	*b, err = ParseBaseURL(string(text))
	return err
}
