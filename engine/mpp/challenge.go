package mpp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ChallengeLifetime is how long a challenge is worth answering by default.
const ChallengeLifetime = 5 * time.Minute

// timeLayout is RFC 3339 as JavaScript's toISOString writes it.
const timeLayout = "2006-01-02T15:04:05.000Z"

// FormatTime writes t as the protocol's peers do: UTC, milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// parseTime reads RFC 3339 strictly.
func parseTime(s string) (t time.Time, err error) {
	if len(s) > 40 {
		return t, errors.New("not a time of RFC 3339")
	}
	if err = t.UnmarshalText([]byte(s)); err != nil {
		return time.Time{}, errors.New("not a time of RFC 3339")
	}
	return t, nil
}

// Challenge is what a 402 asks for. All but ID and Description is bound by the ID,
// which is a MAC of the server over the other fields as they stand here.
type Challenge struct {
	ID      string
	Realm   string
	Method  string
	Intent  string
	Request string // base64url of canonical JSON
	// Expires is RFC 3339. Empty means absent, as with the fields below.
	Expires string
	Digest  string // of the body (RFC 9530); never set for sessions
	// Header names the header that must carry the credential: empty for
	// Authorization, or HeaderPaymentAuthorization.
	Header      string
	Opaque      string // base64url of canonical JSON; the client echoes it
	Description string // for people; not bound
}

// HeaderValue is c as a value of WWW-Authenticate. A line end in any field, and a
// missing field, is an error.
func (c *Challenge) HeaderValue() (string, error) {
	if err := c.check(); err != nil {
		return "", fmt.Errorf("write challenge: %w", err)
	}
	dst := make([]byte, 0, 192+len(c.Request)+len(c.Opaque)+len(c.Description))
	dst = append(dst, scheme...)
	sep := byte(' ')
	for _, p := range [...]param{
		{"id", c.ID}, {"realm", c.Realm}, {"method", c.Method}, {"intent", c.Intent}, {"request", c.Request},
		{"description", c.Description}, {"digest", c.Digest}, {"expires", c.Expires}, {"header", c.Header}, {"opaque", c.Opaque},
	} {
		if p.value == "" && p.name != "realm" {
			continue
		}
		if sep == ',' {
			dst = append(dst, ',', ' ')
		} else {
			dst = append(dst, sep)
		}
		sep = ','
		var err error
		if dst, err = appendParam(dst, p.name, p.value); err != nil {
			return "", fmt.Errorf("write challenge: %w", err)
		}
	}
	return string(dst), nil
}

// check holds for every challenge read or written.
func (c *Challenge) check() error {
	switch {
	case c.ID == "":
		return errors.New("id is empty")
	case !isMethodName(c.Method):
		return errors.New("method is no method name")
	case c.Intent == "":
		return errors.New("intent is empty")
	case c.Request == "":
		return errors.New("request is empty")
	case len(c.Request) > maxRequest:
		return fmt.Errorf("request is longer than %d characters", maxRequest)
	case c.Header != "" && c.Header != HeaderPaymentAuthorization:
		return errors.New("header names no header of the protocol")
	}
	return nil
}

// isMethodName reports whether s is a payment method as clients accept it:
// ^[a-z][a-z0-9:_-]*$.
func isMethodName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch b := s[i]; {
		case b >= 'a' && b <= 'z':
		case i > 0 && (b >= '0' && b <= '9' || b == ':' || b == '_' || b == '-'):
		default:
			return false
		}
	}
	return s != ""
}

// ParseChallenges reads the Payment challenges of all values of WWW-Authenticate,
// in order. Challenges of other schemes are passed over; a malformed one of ours
// is an error, since what a server meant cannot be guessed where money is due.
func ParseChallenges(values ...string) ([]Challenge, error) {
	var found []Challenge
	size := 0
	for _, v := range values {
		if size += len(v); size > maxHeader {
			return nil, fmt.Errorf("read challenges: longer than %d bytes", maxHeader)
		}
		var err error
		if found, err = appendChallenges(found, v); err != nil {
			return nil, fmt.Errorf("read challenges: %w", err)
		}
	}
	return found, nil
}

func appendChallenges(found []Challenge, value string) ([]Challenge, error) {
	c := cursor{s: value}
	for {
		c.separators()
		if c.end() {
			return found, nil
		}
		from := c.i
		if !strings.EqualFold(c.token(), scheme) || !c.blanks() {
			c.i = from
			if err := c.skipScheme(); err != nil {
				return nil, err
			}
			continue
		}
		ps, err := c.params()
		if err != nil {
			return nil, err
		}
		ch, err := challengeOf(ps)
		if err != nil {
			return nil, err
		}
		if found = append(found, ch); len(found) > maxChallenges {
			return nil, fmt.Errorf("%w: more than %d challenges", errSyntax, maxChallenges)
		}
	}
}

// challengeOf fills a challenge from its parameters; unknown ones are ignored.
func challengeOf(ps []param) (c Challenge, err error) {
	realm := false
	for _, p := range ps {
		switch p.name {
		case "id":
			c.ID = p.value
		case "realm":
			c.Realm, realm = p.value, true
		case "method":
			c.Method = p.value
		case "intent":
			c.Intent = p.value
		case "request":
			c.Request = p.value
		case "expires":
			c.Expires = p.value
		case "digest":
			c.Digest = p.value
		case "header":
			c.Header = p.value
		case "opaque":
			c.Opaque = p.value
		case "description":
			c.Description = p.value
		}
	}
	if !realm {
		return c, errors.New("realm is missing")
	}
	return c, c.check()
}

// CheckExpires refuses c once its time has passed: payment-expired. A challenge
// without a readable time never was ours: invalid-challenge.
func (c *Challenge) CheckExpires(now time.Time) error {
	if c.Expires == "" {
		return problemf(InvalidChallenge, "The challenge does not say when it expires.")
	}
	t, err := parseTime(c.Expires)
	if err != nil {
		return problemf(InvalidChallenge, "The challenge's expires is %v.", err)
	}
	if !now.Before(t) {
		return problemf(PaymentExpired, "The challenge expired at %s.", FormatTime(t))
	}
	return nil
}
