// Package rpcjson reads the values of Ethereum's JSON-RPC (quantities, data,
// hashes, addresses) straight off a token stream: no map, no intermediate string,
// one allocation per datum. The first error stays; every later read does nothing,
// so that a parser checks once, at its end.
package rpcjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrMissing is wrapped where a field without which the object makes no sense is
// absent or null.
var ErrMissing = errors.New("missing")

// Reader reads one JSON value. It is owned by one goroutine.
type Reader struct {
	dec *jsontext.Decoder
	err error

	// Pack lets the data of one object share larger allocations. It suits objects
	// that live and die as one; a datum kept alone would hold its neighbours.
	Pack  bool
	space []byte
	chunk int
}

// New reads from dec, which may stand before any value.
func New(dec *jsontext.Decoder) *Reader { return &Reader{dec: dec} }

// Reset makes r read from dec as a new Reader would.
func (r *Reader) Reset(dec *jsontext.Decoder) { *r = Reader{dec: dec} }

// Err is the first error met, naming the place in the JSON as a pointer (RFC 6901).
func (r *Reader) Err() error { return r.err }

// Fail records err at the place of the last value read, unless an earlier error
// stands, and returns the error that stands.
func (r *Reader) Fail(err error) error {
	if r.err != nil {
		return r.err
	}
	r.err = err
	// The syntax error of jsontext names its place itself.
	var syntax *jsontext.SyntacticError
	if p := string(r.dec.StackPointer()); p != "" && !errors.As(err, &syntax) {
		r.err = fmt.Errorf("%s: %w", clip(p, 200), err)
	}
	return r.err
}

// Require fails with ErrMissing unless ok; name is the absent field.
func (r *Reader) Require(ok bool, name string) {
	if !ok {
		r.Fail(fmt.Errorf("%s: %w", name, ErrMissing))
	}
}

// Null consumes a null and reports whether there was one.
func (r *Reader) Null() bool {
	if r.err != nil || r.dec.PeekKind() != 'n' {
		return false
	}
	return r.token('n')
}

// Object enters an object. A null reads as absent: false, without an error.
func (r *Reader) Object() bool { return !r.Null() && r.token('{') }

// Array enters an array. A null reads as absent: false, without an error.
func (r *Reader) Array() bool { return !r.Null() && r.token('[') }

// Field gives the next member's name, valid until the next read, or nil after
// the last member (the object is left then) and after an error.
func (r *Reader) Field() []byte {
	if r.err != nil {
		return nil
	}
	if r.dec.PeekKind() == '}' {
		r.token('}')
		return nil
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.Fail(err)
		return nil
	}
	name := v[1 : len(v)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		if name, err = jsontext.AppendUnquote(nil, v); err != nil {
			r.Fail(err)
			return nil
		}
	}
	return name
}

// More reports whether the array has another element, and leaves it when not.
func (r *Reader) More() bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() == ']' {
		r.token(']')
		return false
	}
	return true
}

// Skip passes over one value.
func (r *Reader) Skip() {
	if r.err == nil {
		if err := r.dec.SkipValue(); err != nil {
			r.Fail(err)
		}
	}
}

// Kind is the kind of the next value, 0 after an error.
func (r *Reader) Kind() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	return r.dec.PeekKind()
}

// Text reads a string (null: empty), cut to limit bytes at a rune's edge.
func (r *Reader) Text(limit int) string {
	v := r.value()
	if v == nil || v.Kind() == 'n' {
		return ""
	}
	if v.Kind() != '"' {
		r.Fail(fmt.Errorf("want a string, have %v", v.Kind()))
		return ""
	}
	if s := known(v[1 : len(v)-1]); s != "" {
		return s
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		r.Fail(err)
		return ""
	}
	return clip(string(s), limit)
}

// Word reads a string for comparison: its raw text between the quotes, valid
// until the next read. Null is nil.
func (r *Reader) Word() []byte {
	v := r.value()
	if v == nil || v.Kind() == 'n' {
		return nil
	}
	if v.Kind() != '"' {
		r.Fail(fmt.Errorf("want a string, have %v", v.Kind()))
		return nil
	}
	return v[1 : len(v)-1]
}

// Bool reads true or false; null is false.
func (r *Reader) Bool() bool {
	v := r.value()
	if v == nil {
		return false
	}
	switch v.Kind() {
	case 't':
		return true
	case 'f', 'n':
		return false
	}
	r.Fail(fmt.Errorf("want a boolean, have %v", v.Kind()))
	return false
}

// known saves an allocation for the words that nearly every failed frame carries.
func known(s []byte) string {
	switch string(s) {
	case "execution reverted":
		return "execution reverted"
	case "out of gas":
		return "out of gas"
	}
	return ""
}

// clip cuts s to limit bytes at a rune's edge and repairs invalid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
		for len(s) > 0 {
			if c, n := utf8.DecodeLastRuneInString(s); c != utf8.RuneError || n != 1 {
				break
			}
			s = s[:len(s)-1]
		}
		s = strings.Clone(s) // the rest must not stay with it
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// value reads a scalar. An object or array here is refused before it is buffered.
func (r *Reader) value() jsontext.Value {
	if r.err != nil {
		return nil
	}
	if k := r.dec.PeekKind(); k == '{' || k == '[' {
		r.dec.ReadToken() // so that the error names this value, not its parent
		r.Fail(fmt.Errorf("want a scalar, have %v", k))
		return nil
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.Fail(truncated(err))
		return nil
	}
	return v
}

func (r *Reader) token(want jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	t, err := r.dec.ReadToken()
	if err != nil {
		r.Fail(truncated(err))
		return false
	}
	if t.Kind() != want {
		r.Fail(fmt.Errorf("want %v, have %v", want, t.Kind()))
		return false
	}
	return true
}

// truncated says of an input that ends before its value that it was cut short.
func truncated(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

var decoders = sync.Pool{New: func() any { return new(pooled) }}

type pooled struct {
	dec jsontext.Decoder
	buf bytes.Buffer
	r   Reader
}

// Parse has f read the JSON value of b, and refuses what follows it. The Reader
// is valid inside f only; b must not change meanwhile.
func Parse(b []byte, f func(*Reader) error) error {
	p := decoders.Get().(*pooled)
	defer decoders.Put(p)
	p.buf = *bytes.NewBuffer(b)
	p.dec.Reset(&p.buf)
	p.r.Reset(&p.dec)
	err := f(&p.r)
	if err == nil {
		if _, end := p.dec.ReadToken(); end != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	// The pool must not hold the caller's bytes.
	p.buf = bytes.Buffer{}
	p.dec.Reset(&p.buf)
	p.r = Reader{}
	return err
}
