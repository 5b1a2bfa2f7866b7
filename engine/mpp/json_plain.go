package mpp

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// errPlain: the document is not plain. It is read again by jsontext, which knows
// whether it is JSON, and says what is wrong with it.
var errPlain = errors.New("not plain JSON")

// plain reads the documents that clients really send, in a fraction of the time that
// jsontext takes: objects of few members, strings of printable ASCII without a
// backslash, integers, true and false. It says yes to nothing that jsontext refuses,
// and makes the same of it; to all else it says errPlain.
type plain struct {
	doc   []byte
	i     int
	depth int // objects that are open
}

// maxPlainMembers is the most that an object may have; their names are compared with
// each other.
const maxPlainMembers = 16

// peek is the kind of the next value, or of the end of an object.
func (p *plain) peek() jsontext.Kind {
	for ; p.i < len(p.doc); p.i++ {
		switch b := p.doc[p.i]; b {
		case ' ', '\t', '\n', '\r':
		case '"', '{', '}', 't', 'f':
			return jsontext.Kind(b)
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			return '0'
		default:
			return 0
		}
	}
	return 0
}

// byte takes one byte behind blanks.
func (p *plain) byte(want byte) bool {
	for ; p.i < len(p.doc); p.i++ {
		switch b := p.doc[p.i]; b {
		case want:
			p.i++
			return true
		case ' ', '\t', '\n', '\r':
		default:
			return false
		}
	}
	return false
}

// unplain has a 1 for each byte that a plain string does not hold.
var unplain = func() (t [256]uint8) {
	for b := range t {
		if b < ' ' || b > '~' || b == '"' || b == '\\' {
			t[b] = 1
		}
	}
	return t
}()

// text takes a string, and returns what is between its quotes.
func (p *plain) text() ([]byte, bool) {
	if !p.byte('"') {
		return nil, false
	}
	rest := p.doc[p.i:]
	for n, b := range rest {
		if unplain[b] == 1 {
			p.i += n + 1
			return rest[:n:n], b == '"'
		}
	}
	return nil, false
}

// number takes an integer that is not negative.
func (p *plain) number() ([]byte, bool) {
	from := p.i
	for p.i < len(p.doc) && p.doc[p.i]-'0' <= 9 {
		p.i++
	}
	n := p.doc[from:p.i:p.i]
	if len(n) == 0 || n[0] == '0' && len(n) > 1 || p.i == len(p.doc) {
		return nil, false
	}
	switch p.doc[p.i] {
	case ',', '}', ' ', '\t', '\n', '\r':
		return n, true
	}
	return nil, false // a fraction or an exponent
}

// word takes true or false.
func (p *plain) word() (v, ok bool) {
	switch rest := p.doc[p.i:]; {
	case bytes.HasPrefix(rest, []byte("true")):
		p.i += 4
		return true, true
	case bytes.HasPrefix(rest, []byte("false")):
		p.i += 5
		return false, true
	}
	return false, false
}

// object takes an object and has member take each value.
func (p *plain) object(member func(name []byte) bool) bool {
	var names [maxPlainMembers][]byte
	p.depth++
	if !p.byte('{') || p.depth > maxDepth {
		return false
	}
	if p.peek() == '}' {
		p.i++
		p.depth--
		return true
	}
	for n := range names {
		name, ok := p.text()
		if !ok || !p.byte(':') {
			return false
		}
		for _, before := range names[:n] {
			if string(before) == string(name) {
				return false
			}
		}
		names[n] = name
		if p.peek() == 0 || !member(name) {
			return false
		}
		if p.byte('}') {
			p.depth--
			return true
		}
		if !p.byte(',') {
			return false
		}
	}
	return false
}

// value takes any value, and returns its text.
func (p *plain) value() (text []byte, ok bool) {
	kind := p.peek()
	from := p.i
	switch kind {
	case '"':
		_, ok = p.text()
	case '0':
		_, ok = p.number()
	case 't', 'f':
		_, ok = p.word()
	case '{':
		ok = p.object(func([]byte) bool { _, ok := p.value(); return ok })
	}
	return p.doc[from:p.i:p.i], ok
}
