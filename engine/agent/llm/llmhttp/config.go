// Package llmhttp is what both vendors' adapters share below their formats: HTTP with
// bounds on time and size, server-sent events, repeats, the meaning of errors, and the
// putting together of an answer from its pieces.
package llmhttp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Config is whom to ask, and how patiently. Nothing of it is taken from the
// environment but, with ProxyFromEnv, the proxy.
type Config struct {
	BaseURL      string // http or https; empty: the vendor's own
	Key          string // empty: none is sent
	ProxyFromEnv bool
	Limits       Limits
}

// Limits bound a turn. Zero means the value in brackets.
type Limits struct {
	Connect       time.Duration // to a connection, each of TCP and TLS [10 s]
	FirstByte     time.Duration // from the request to the head of the answer [2 min]
	Silence       time.Duration // between two pieces of the answer [1 min]
	Turn          time.Duration // of all of it, repeats included [15 min]
	Retries       int           // repeats of a request that brought no whole answer; below 0: none [3]
	Backoff       time.Duration // before the first repeat, then doubled, plus as much by chance [1 s]
	MaxRetryAfter time.Duration // the longest wait that a provider may ask for [1 min]
}

func (l Limits) orDefaults() Limits {
	for _, d := range []struct {
		value *time.Duration
		other time.Duration
	}{{&l.Connect, 10 * time.Second}, {&l.FirstByte, 2 * time.Minute}, {&l.Silence, time.Minute},
		{&l.Turn, 15 * time.Minute}, {&l.Backoff, time.Second}, {&l.MaxRetryAfter, time.Minute}} {
		if *d.value <= 0 {
			*d.value = d.other
		}
	}
	if l.Retries == 0 {
		l.Retries = 3
	}
	return l
}

// parseBase checks a base URL. Errors do not repeat it: it may hold a key.
func parseBase(raw string, key bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("the base URL cannot be read")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return nil, errors.New("the base URL must be http:// or https:// and a host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the base URL must have no user, query or fragment")
	case u.Scheme == "http" && key && !near(u.Hostname()):
		return nil, fmt.Errorf("the key would go to %s unencrypted: use https", u.Hostname())
	}
	return u, nil
}

// near tells hosts of one's own network: private addresses and names without a dot.
func near(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate()
	}
	return !strings.Contains(host, ".")
}
