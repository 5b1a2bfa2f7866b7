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

// Config describes one deployment for the documents.
type Config struct {
	BaseURL BaseURL // zero: the base URL of each request
	Metered bool    // analyses are paid for
	Keyed   bool    // callers need a key
	Terms   Terms   // zero: DefaultTerms
	// Currencies are further token contracts that are taken at the same price.
	Currencies []string
	Limits     Limits
	Chains     []Chain // in the order of the list; none: the list is omitted
	Model      string  // model of requests that name none; empty: api.DefaultModel
	// ModelBudget is the maximum cost of the language model in one analysis, in nano-dollars;
	// 0: no model is used.
	ModelBudget int64
}

// Limits are the settings of the server that clients notice.
type Limits struct {
	Body      int           // maximum bytes of a request body
	Head      int           // maximum bytes of a request header
	Deadline  time.Duration // time limit of one analysis
	Heartbeat time.Duration // time without events before a stream gets a heartbeat
	RunRecord int           // compressed bytes of a run record; a larger one is not stored
}

// longest returns the time limit of an analysis in words.
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

// formatDuration formats a duration in the largest unit that divides it: 90 seconds, 1 hour.
func formatDuration(d time.Duration) string {
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

// facts maps the names in braces, which the tables and templates of this package use, to
// values of the configuration.
func (c Config) facts() *strings.Replacer {
	cached := "no-store, also for the documents: they repeat the Host of the request"
	if c.BaseURL.s != "" {
		cached = "no-store, but for the documents, which may be kept for five minutes"
	}
	return strings.NewReplacer(
		"{cached}", cached,
		"{defaultModel}", c.Model,
		"{exposure}", dollars(c.Terms.Exposure),
		"{heartbeat}", formatDuration(c.Limits.Heartbeat),
		"{jobKept}", formatDuration(api.JobRetention),
		"{jobPatience}", formatDuration(c.Terms.JobPatience),
		"{longest}", c.Limits.longest(),
		"{maxContext}", strconv.Itoa(api.MaxContext),
		"{runKept}", formatDuration(api.RunRetention),
		"{voucherPatience}", formatDuration(c.Terms.VoucherPatience),
	)
}

// Chain is one supported chain. Full means that labels, USD values and risk flags are
// complete.
type Chain struct {
	ID         uint64
	Slug, Name string
	Full       bool
}

// Terms are the terms of payment. Amounts are base units of the currency: 1 USD is 1,000,000.
type Terms struct {
	ChainID          uint64 // id of the settlement chain
	Currency         string // token contract on the settlement chain
	Unit             uint64 // price of one unit: a voucher, the submission of a job, the deposit probe
	SuggestedDeposit uint64
	MinimumDeposit   uint64
	Exposure         uint64        // maximum debt of a run before its next purchase waits
	VoucherPatience  time.Duration // time that a stream waits for a voucher
	JobPatience      time.Duration // time that a job runs without payment
}

// DefaultTerms are the terms of the interface.
var DefaultTerms = Terms{
	ChainID: 4217, Currency: "0x20C000000000000000000000b9537d11c60E8b50",
	Unit: 10_000, SuggestedDeposit: 16_000_000, MinimumDeposit: 2_000_000, Exposure: 250_000,
	VoucherPatience: 60 * time.Second, JobPatience: 90 * time.Second,
}

// RecommendedMax returns the maximum deposit that a client should configure: a channel that is
// opened with the maximum cannot be topped up.
func (t Terms) RecommendedMax() uint64 { return 2 * t.SuggestedDeposit }

// CurrencyName returns the name of the currency: "USDC.e" for that of the interface, "the
// token" for an unknown one.
func (t Terms) CurrencyName() string {
	if strings.EqualFold(t.Currency, DefaultTerms.Currency) {
		return "USDC.e"
	}
	return "the token"
}

// Elsewhere reports whether payments settle in another token or on another chain than those
// that clients know by default.
func (t Terms) Elsewhere() bool {
	return t.ChainID != DefaultTerms.ChainID || !strings.EqualFold(t.Currency, DefaultTerms.Currency)
}

// dollars formats base units as an exact USD amount: $16, $2.50, $0.01, $0.0025.
func dollars(base uint64) string {
	cents := fmt.Sprintf("%06d", base%1_000_000)
	s := fmt.Sprintf("$%d.%s", base/1_000_000, cents[:2]+strings.TrimRight(cents[2:], "0"))
	return strings.TrimSuffix(s, ".00")
}

// amountOf is dollars without the sign.
func amountOf(base uint64) string { return strings.TrimPrefix(dollars(base), "$") }

// BaseURL is the public address of the service: scheme, host and, behind a proxy, a path,
// without a trailing slash. Its characters need no escaping in JSON, Markdown or a shell.
type BaseURL struct{ s string }

// String returns the URL, empty if none is set.
func (b BaseURL) String() string { return b.s }

// Path returns the path of the URL, without a slash at its end; empty if there is none.
func (b BaseURL) Path() string {
	_, rest, _ := strings.Cut(b.s, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return ""
}

// plain are the characters of URLs without special meaning in these formats.
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

// UnmarshalText parses a base URL of a flag or a file; an empty text means none.
func (b *BaseURL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*b = BaseURL{}
		return nil
	}
	var err error
	*b, err = ParseBaseURL(string(text))
	return err
}
