package discovery

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Config says what is true of one deployment. The documents repeat it.
type Config struct {
	BaseURL BaseURL // zero: that of each request
	Metered bool    // analyses are paid for
	Terms   Terms   // zero: DefaultTerms
	Limits  Limits
	Chains  []Chain // in the order they are listed; none: the list is left out
	Model   string  // that answers where a request names none; empty: explain.DefaultModel
}

// Limits are the settings of the server that a caller meets.
type Limits struct {
	Body      int           // bytes of a request body
	Head      int           // bytes of a request header
	Deadline  time.Duration // of one analysis
	Heartbeat time.Duration // silence of a stream before a heartbeat
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

// Chain is one supported chain. Full is set where labels, USD values and risk
// flags are complete.
type Chain struct {
	ID         uint64
	Slug, Name string
	Full       bool
}

// Terms are those of payment, in base units of the currency: 1 USD is 1,000,000.
type Terms struct {
	Currency         string // token contract on the settlement chain
	CurrencyName     string
	Unit             uint64 // of a voucher, of the submit of a job, of the deposit probe
	SuggestedDeposit uint64
	MinimumDeposit   uint64
	RecommendedMax   uint64 // the client's own ceiling; must be above SuggestedDeposit
}

// DefaultTerms are those of the interface.
var DefaultTerms = Terms{
	Currency: "0x20C000000000000000000000b9537d11c60E8b50", CurrencyName: "USDC.e",
	Unit: 10_000, SuggestedDeposit: 16_000_000, MinimumDeposit: 2_000_000, RecommendedMax: 32_000_000,
}

// dollars writes base units as people write USD: $16, $2.00 as $2, $0.01.
func dollars(base uint64) string {
	s := fmt.Sprintf("$%d.%02d", base/1_000_000, base%1_000_000/10_000)
	return strings.TrimSuffix(s, ".00")
}

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
