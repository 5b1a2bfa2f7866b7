package mpp

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of the header grammar (RFC 9110, section 11.3, with the quoting of
// draft-httpauth-payment-00).
var (
	errQuote  = errors.New("unterminated quoted string")
	errSyntax = errors.New("malformed list of challenges")
	errLine   = errors.New("value holds a line end or a control character")
)

// maxParams bounds the parameters of a challenge, maxChallenges those of a header.
const (
	maxParams     = 32
	maxChallenges = 16
)

// cursor walks one header value.
type cursor struct {
	s string
	i int
}

func (c *cursor) end() bool { return c.i >= len(c.s) }

// at reports whether the next byte is b.
func (c *cursor) at(b byte) bool { return c.i < len(c.s) && c.s[c.i] == b }

// blanks passes over spaces and tabs and reports whether there were any.
func (c *cursor) blanks() bool {
	from := c.i
	for c.at(' ') || c.at('\t') {
		c.i++
	}
	return c.i > from
}

// separators passes over blanks and commas: lists may have empty elements.
func (c *cursor) separators() {
	for c.blanks() || c.at(',') {
		if c.at(',') {
			c.i++
		}
	}
}

// token reads a token (RFC 9110, section 5.6.2), empty if there is none.
func (c *cursor) token() string {
	from := c.i
	for c.i < len(c.s) && isTokenByte(c.s[c.i]) {
		c.i++
	}
	return c.s[from:c.i]
}

func isTokenByte(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return b != 0 && strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// paramName reads a token that "=" follows and consumes both; otherwise it
// consumes nothing and returns "".
func (c *cursor) paramName() string {
	from := c.i
	name := c.token()
	c.blanks()
	if name != "" && c.at('=') {
		c.i++
		return name
	}
	c.i = from
	return ""
}

// quoted reads a quoted string, at whose opening quote c stands.
func (c *cursor) quoted() (string, error) {
	c.i++
	from, plain := c.i, true
	for ; !c.end(); c.i++ {
		switch b := c.s[c.i]; {
		case b == '"':
			inside := c.s[from:c.i]
			c.i++
			if plain {
				return inside, nil
			}
			text := unescape(inside)
			if strings.ContainsAny(text, "\r\n") {
				return "", errLine
			}
			return text, nil
		case b == '\\':
			plain = false
			c.i++
		case b < 0x20 && b != '\t' || b == 0x7f:
			return "", errLine
		case b > 0x7f:
			plain = false
		}
	}
	return "", errQuote
}

// unescape undoes the quoting as a JavaScript peer does it: the bytes are Latin-1,
// a backslash with u and four hex digits is a UTF-16 code unit, before any other
// character it stands for that.
func unescape(s string) string {
	var b strings.Builder
	high := rune(0) // a high surrogate that waits for its other half
	put := func(r rune) {
		if high != 0 {
			if whole := utf16.DecodeRune(high, r); whole != utf8.RuneError {
				b.WriteRune(whole)
				high = 0
				return
			}
			b.WriteRune(utf8.RuneError)
			high = 0
		}
		if utf16.IsSurrogate(r) && r < 0xdc00 {
			high = r
			return
		}
		b.WriteRune(r) // a lone low surrogate becomes U+FFFD here
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
			if unit, ok := codeUnit(s[i:]); ok {
				put(unit)
				i += 4
				continue
			}
		}
		put(rune(s[i]))
	}
	if high != 0 {
		b.WriteRune(utf8.RuneError)
	}
	return b.String()
}

// codeUnit reads u and four hex digits.
func codeUnit(s string) (unit rune, ok bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	for _, d := range []byte(s[1:5]) {
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(d)
	}
	return unit, true
}

// appendParam appends name="value". All that is not printable ASCII is escaped,
// so neither Latin-1 nor UTF-8 readers can misread it; a line end is refused.
func appendParam(dst []byte, name, value string) ([]byte, error) {
	if !utf8.ValidString(value) {
		return nil, fmt.Errorf("quote %s: not UTF-8", name)
	}
	dst = append(dst, name...)
	dst = append(dst, '=', '"')
	for _, r := range value {
		switch {
		case r == '\r' || r == '\n':
			return nil, fmt.Errorf("quote %s: %w", name, errLine)
		case r == '\\' || r == '"':
			dst = append(dst, '\\', byte(r))
		case r >= 0x20 && r <= 0x7e:
			dst = append(dst, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, hi, lo)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '"'), nil
}

// param is one parameter, its name in lower case.
type param struct{ name, value string }

// params reads the parameters of a Payment challenge, up to the next challenge.
func (c *cursor) params() ([]param, error) {
	var ps []param
	for {
		c.separators()
		name := strings.ToLower(c.paramName())
		if name == "" {
			if len(ps) == 0 {
				return nil, fmt.Errorf("%w: no parameters", errSyntax)
			}
			return ps, nil
		}
		value, err := c.paramValue()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", clip(name), err)
		}
		for _, p := range ps {
			if p.name == name {
				return nil, fmt.Errorf("%w: parameter %s twice", errSyntax, clip(name))
			}
		}
		if ps = append(ps, param{name, value}); len(ps) > maxParams {
			return nil, fmt.Errorf("%w: more than %d parameters", errSyntax, maxParams)
		}
	}
}

// paramValue reads what stands after "=", up to the comma or the end.
func (c *cursor) paramValue() (value string, err error) {
	c.blanks()
	if c.at('"') {
		if value, err = c.quoted(); err != nil {
			return "", err
		}
	} else if value = c.token(); value == "" {
		return "", errSyntax
	}
	c.blanks()
	if !c.end() && !c.at(',') {
		return "", errSyntax
	}
	return value, nil
}

// skipScheme passes over another scheme with what follows it, up to the start of
// the next one. What stands there is none of our business, but for its quoted
// strings, which may hold commas and the name of our scheme.
func (c *cursor) skipScheme() error {
	for !c.end() {
		switch c.s[c.i] {
		case '"':
			if _, err := c.quoted(); err != nil {
				return err
			}
		case ',':
			c.separators()
			if c.paramName() == "" {
				return nil
			}
		default:
			c.i++
		}
	}
	return nil
}
