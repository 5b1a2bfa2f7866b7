package mpp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

var (
	errDepth   = fmt.Errorf("nested deeper than %d", maxDepth)
	errRange   = errors.New("number out of range")
	errUnknown = errors.New("unknown member")
)

// maxSafeInteger is the largest integer that a JavaScript peer reads exactly.
const maxSafeInteger = 1<<53 - 1

// reader reads one JSON document off its tokens. The first error stays and every
// later read does nothing, so a parser checks once, at its end. It tries to read it
// as plain first.
type reader struct {
	plain
	isPlain bool

	dec  jsontext.Decoder
	buf  bytes.Buffer
	name []byte // of the member last met
	err  error
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// readObject has f read the members of the one object that doc is. The slice
// members holds the names that must be there. Where the document is not plain f
// reads it twice from its beginning.
func readObject(doc []byte, members []string, f func(r *reader, name []byte) bool) error {
	r := readers.Get().(*reader)
	if r.readPlain(doc, members, f) {
		readers.Put(r)
		return nil
	}
	err := r.readStrict(doc, members, f)
	readers.Put(r)
	return err
}

// readStrict has jsontext read the document.
func (r *reader) readStrict(doc []byte, members []string, f func(r *reader, name []byte) bool) error {
	r.buf, r.err = *bytes.NewBuffer(doc), nil
	r.dec.Reset(&r.buf)
	r.object(members, f)
	if r.err == nil {
		if _, err := r.dec.ReadToken(); err != io.EOF {
			r.fail(errors.New("text after the object"))
		}
	}
	// Nothing of a request may live on in the pool.
	r.buf = bytes.Buffer{}
	r.dec.Reset(&r.buf)
	return r.err
}

// readPlain reports whether the whole document was read.
func (r *reader) readPlain(doc []byte, members []string, f func(r *reader, name []byte) bool) bool {
	r.plain, r.isPlain, r.err = plain{doc: doc}, true, nil
	r.object(members, f)
	r.peek()
	whole := r.err == nil && r.i == len(doc)
	r.plain, r.isPlain = plain{}, false
	return whole
}

// fail records err at the place of the last value read, unless an earlier error
// stands.
func (r *reader) fail(err error) {
	if r.err != nil || err == nil {
		return
	}
	r.err = err
	if r.isPlain {
		return // it is found again
	}
	// The syntax error of jsontext names its place itself.
	var syntax *jsontext.SyntacticError
	if at := r.dec.StackPointer(); at != "" && !errors.As(err, &syntax) {
		r.err = fmt.Errorf("%s: %w", clip(string(at)), err)
	}
}

// object reads an object whose required members are members; f reads the value of
// one it knows and returns false for others, which are skipped. A null is absent.
// The name is valid until f reads.
func (r *reader) object(members []string, f func(r *reader, name []byte) bool) {
	seen := 0
	if r.isPlain {
		if r.err == nil && !r.plain.object(func(name []byte) bool { r.meet(name, members, &seen, f); return r.err == nil }) {
			r.fail(errPlain)
		}
		r.missing(members, seen)
		return
	}
	r.token('{')
	for r.err == nil && r.dec.PeekKind() != '}' {
		name := r.memberName()
		if r.err == nil && r.dec.PeekKind() == 'n' {
			r.token('n')
			continue
		}
		r.meet(name, members, &seen, f)
	}
	r.token('}')
	r.missing(members, seen)
}

// meet has f read the value of a member, or skips it.
func (r *reader) meet(name []byte, members []string, seen *int, f func(r *reader, name []byte) bool) {
	for i, m := range members {
		if string(name) == m {
			*seen |= 1 << i
		}
	}
	if r.err == nil && !f(r, name) {
		r.raw()
	}
}

// missing fails for the first member that was not seen.
func (r *reader) missing(members []string, seen int) {
	for i, m := range members {
		if seen&(1<<i) == 0 {
			r.fail(fmt.Errorf("%s is missing", m))
		}
	}
}

// kind is that of the next value.
func (r *reader) kind() jsontext.Kind {
	if r.isPlain {
		return r.peek()
	}
	return r.dec.PeekKind()
}

// memberName reads the name of the next member into the reader's own memory.
func (r *reader) memberName() []byte {
	v, err := r.dec.ReadValue()
	if err == nil {
		v, err = unquote(v)
	}
	r.fail(err)
	r.name = append(r.name[:0], v...)
	return r.name
}

// token consumes a delimiter or a null.
func (r *reader) token(want jsontext.Kind) {
	if r.err != nil {
		return
	}
	t, err := r.dec.ReadToken()
	switch {
	case err != nil:
		r.fail(err)
	case t.Kind() != want:
		r.fail(fmt.Errorf("want %v, have %v", want, t.Kind()))
	}
}

// raw reads any value, valid until the next read.
func (r *reader) raw() jsontext.Value {
	if r.err != nil {
		return nil
	}
	if r.isPlain {
		v, ok := r.value()
		if !ok {
			r.fail(errPlain)
		}
		return v
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		r.fail(err)
		return nil
	}
	if nesting(v)+r.dec.StackDepth() > maxDepth {
		r.fail(errDepth)
		return nil
	}
	return v
}

// scalar reads a value of one kind: the inside of a string, or a number.
func (r *reader) scalar(kind jsontext.Kind) []byte {
	if r.err != nil {
		return nil
	}
	if r.isPlain {
		return r.plainScalar(kind)
	}
	if have := r.dec.PeekKind(); have != kind {
		r.fail(fmt.Errorf("want %v, have %v", kind, have))
		return nil
	}
	v, err := r.dec.ReadValue()
	if err == nil && kind == '"' {
		v, err = unquote(v)
	}
	r.fail(err)
	return v
}

func (r *reader) plainScalar(kind jsontext.Kind) (v []byte) {
	ok := r.peek() == kind
	switch {
	case ok && kind == '"':
		v, ok = r.plain.text()
	case ok:
		v, ok = r.number()
	}
	if !ok {
		r.fail(errPlain)
	}
	return v
}

// unquote is the text inside a JSON string; it shares v's memory where it can.
func unquote(v jsontext.Value) ([]byte, error) {
	if len(v) >= 2 && v[0] == '"' && bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1], nil
	}
	return jsontext.AppendUnquote(nil, v)
}

func (r *reader) text() string { return string(r.scalar('"')) }

// hex reads 0x and an even number of digits: at most limit bytes, or exactly n
// where n is not negative.
func (r *reader) hex(dst []byte, n, limit int) []byte {
	v := r.scalar('"')
	if r.err != nil {
		return nil
	}
	if len(v) < 2 || v[0] != '0' || v[1] != 'x' {
		r.fail(errors.New("does not begin with 0x"))
		return nil
	}
	v = v[2:]
	switch {
	case n >= 0 && len(v) != 2*n:
		r.fail(fmt.Errorf("is not %d bytes of hex", n))
		return nil
	case len(v) > 2*limit:
		r.fail(fmt.Errorf("is longer than %d bytes", limit))
		return nil
	}
	dst, err := hex.AppendDecode(dst, v)
	if err != nil {
		r.fail(errors.New("is not hex"))
		return nil
	}
	return dst
}

func (r *reader) bytes(limit int) []byte {
	b := r.hex(nil, -1, limit)
	if b == nil {
		b = []byte{} // present and empty
	}
	return b
}

func (r *reader) address() (a common.Address) {
	r.hex(a[:0], len(a), len(a))
	return a
}

func (r *reader) hash() (h common.Hash) {
	r.hex(h[:0], len(h), len(h))
	return h
}

// amount reads a decimal string; a JSON number is refused, since a JavaScript
// peer would have rounded it.
func (r *reader) amount() tempo.Amount {
	v := r.scalar('"')
	if r.err != nil {
		return tempo.Amount{}
	}
	a, err := tempo.ParseAmount(string(v))
	r.fail(err)
	return a
}

// expect reads a string that must be want.
func (r *reader) expect(want string) {
	if v := r.scalar('"'); r.err == nil && string(v) != want {
		r.fail(fmt.Errorf("is not %q", want))
	}
}

// integer reads a JSON number without sign, fraction and exponent.
func (r *reader) integer() uint64 {
	v := r.scalar('0')
	if r.err != nil {
		return 0
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil || n > maxSafeInteger {
		r.fail(errRange)
		return 0
	}
	return n
}

func (r *reader) boolean() bool {
	if r.err != nil {
		return false
	}
	if r.isPlain {
		r.peek()
		v, ok := r.word()
		if !ok {
			r.fail(errPlain)
		}
		return v
	}
	t, err := r.dec.ReadToken()
	if err != nil {
		r.fail(err)
		return false
	}
	if t.Kind() != 't' && t.Kind() != 'f' {
		r.fail(fmt.Errorf("want a boolean, have %v", t.Kind()))
		return false
	}
	return t.Bool()
}

// nesting is how deep the valid JSON value v nests: 0 for a scalar.
func nesting(v []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			for i++; i < len(v) && v[i] != '"'; i++ {
				if v[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > deepest {
				deepest = depth
			}
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// clip shortens foreign text for an error and keeps it in one line of ASCII.
func clip(s string) string {
	if len(s) > 80 {
		s = s[:80]
	}
	q := strconv.QuoteToASCII(s)
	return q[1 : len(q)-1]
}
