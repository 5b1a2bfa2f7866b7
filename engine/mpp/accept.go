package mpp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// AcceptPayment is a parsed Accept-Payment header: which methods and intents a
// client takes, and how gladly. The nil value takes anything.
type AcceptPayment []PaymentRange

// PaymentRange is one element. Method and Intent may be "*".
type PaymentRange struct {
	Method, Intent string
	// Quality is q in thousandths, 0 to 1000.
	Quality int
}

const (
	maxAccept = 4 << 10
	maxRanges = 32
)

var errAccept = errors.New("malformed Accept-Payment")

// ParseAcceptPayment reads the header. A server treats an error as if the header
// were absent.
func ParseAcceptPayment(value string) (AcceptPayment, error) {
	if len(value) > maxAccept {
		return nil, fmt.Errorf("%w: longer than %d bytes", errAccept, maxAccept)
	}
	var a AcceptPayment
	c := cursor{s: value}
	for c.separators(); !c.end(); c.separators() {
		p, err := c.paymentRange()
		if err != nil {
			return nil, err
		}
		if a = append(a, p); len(a) > maxRanges {
			return nil, fmt.Errorf("%w: more than %d elements", errAccept, maxRanges)
		}
	}
	if a == nil {
		return nil, fmt.Errorf("%w: empty", errAccept)
	}
	return a, nil
}

// paymentRange reads method/intent and its optional weight.
func (c *cursor) paymentRange() (p PaymentRange, err error) {
	method := c.token()
	if method == "" || !c.at('/') {
		return p, errAccept
	}
	c.i++
	p = PaymentRange{Method: strings.ToLower(method), Intent: strings.ToLower(c.token()), Quality: 1000}
	if p.Intent == "" {
		return p, errAccept
	}
	c.blanks()
	if c.at(';') {
		c.i++
		c.blanks()
		// RFC 9110, section 12.4.2, allows no blanks around "=".
		if !strings.EqualFold(c.token(), "q") || !c.at('=') {
			return p, errAccept
		}
		c.i++
		var ok bool
		if p.Quality, ok = thousandths(c.token()); !ok {
			return p, errAccept
		}
		c.blanks()
	}
	if !c.end() && !c.at(',') {
		return p, errAccept
	}
	return p, nil
}

// thousandths reads a weight: 0 to 1 with at most three digits after the point.
func thousandths(s string) (q int, ok bool) {
	if s == "" || len(s) > 5 || s[0] != '0' && s[0] != '1' || len(s) > 1 && s[1] != '.' {
		return 0, false
	}
	q = int(s[0]-'0') * 1000
	for i, unit := 2, 100; i < len(s); i, unit = i+1, unit/10 {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		q += int(s[i]-'0') * unit
	}
	return q, q <= 1000
}

// String is a as a client sends it.
func (a AcceptPayment) String() string {
	var b strings.Builder
	for i, p := range a {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Method + "/" + p.Intent)
		if p.Quality != 1000 {
			fmt.Fprintf(&b, ";q=0.%03d", p.Quality)
		}
	}
	return b.String()
}

// Quality is how gladly method/intent is taken: the weight of the most specific
// element that matches, the higher one of two equally specific, 0 if none does.
func (a AcceptPayment) Quality(method, intent string) int {
	quality, best := 0, -1
	for _, p := range a {
		specific := 0
		switch {
		case p.Method == method:
			specific++
		case p.Method != "*":
			continue
		}
		switch {
		case p.Intent == intent:
			specific++
		case p.Intent != "*":
			continue
		}
		if specific > best || specific == best && p.Quality > quality {
			quality, best = p.Quality, specific
		}
	}
	return quality
}

// Select orders offers by a, the most welcome first and equal ones as they were,
// without those that a excludes. Where a is nil or excludes all, it returns all:
// a 402 must offer something. A client selects among challenges the same way.
func Select[T any](a AcceptPayment, offers []T, pair func(T) (method, intent string)) []T {
	type weighed struct {
		offer   T
		quality int
	}
	var taken []weighed
	for _, o := range offers {
		if q := a.Quality(pair(o)); q > 0 {
			taken = append(taken, weighed{o, q})
		}
	}
	if len(taken) == 0 {
		return slices.Clone(offers)
	}
	slices.SortStableFunc(taken, func(x, y weighed) int { return y.quality - x.quality })
	out := make([]T, len(taken))
	for i, w := range taken {
		out[i] = w.offer
	}
	return out
}
