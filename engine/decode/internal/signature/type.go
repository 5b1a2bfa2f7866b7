// Package signature holds the compiled form of ABI signatures: the type tree that
// the reader walks, the parser of signature text, and the embedded table format.
package signature

import (
	"errors"
	"strconv"
	"strings"
)

// Kind is the kind of a Type.
type Kind uint8

const (
	Uint Kind = iota
	Int
	Bool
	Address
	FixedBytes
	Function // 24 bytes: address and selector
	Bytes
	String
	Slice
	Array
	Tuple
)

// Bounds of a signature. Text comes from anybody; the largest one published in
// earnest has 8,000 bytes and 250 types.
const (
	MaxText  = 16 << 10
	MaxDepth = 16
	MaxTypes = 1024
	maxHead  = 1 << 20 // bytes of one head: fixed arrays multiply
)

// Errors of compiling a signature.
var (
	ErrSyntax = errors.New("signature is not well-formed")
	ErrBounds = errors.New("signature is too large")
)

// Type is one node of a type tree. Types are shared and never changed.
type Type struct {
	Kind    Kind
	Size    int     // bits of an integer, bytes of FixedBytes and Function, length of an Array
	Elem    *Type   // of Slice and Array
	Fields  []Param // of Tuple
	Dynamic bool
	Head    int    // bytes the type takes in the head of its parent; 32 when Dynamic
	Inner   int    // of a Tuple: bytes of its own head
	Text    string // canonical
	depth   int
}

// Param is one named position of a tuple, an argument list or a result list.
type Param struct {
	Name    string // empty when unknown
	Type    *Type
	Indexed bool
}

var elementary = func() map[string]*Type {
	m := make(map[string]*Type, 128)
	add := func(text string, k Kind, size int, dynamic bool) {
		m[text] = &Type{Kind: k, Size: size, Dynamic: dynamic, Head: 32, Text: text}
	}
	for bits := 8; bits <= 256; bits += 8 {
		add("uint"+strconv.Itoa(bits), Uint, bits, false)
		add("int"+strconv.Itoa(bits), Int, bits, false)
		add("bytes"+strconv.Itoa(bits/8), FixedBytes, bits/8, false)
	}
	add("bool", Bool, 0, false)
	add("address", Address, 20, false)
	add("function", Function, 24, false)
	add("bytes", Bytes, 0, true)
	add("string", String, 0, true)
	return m
}()

// Elementary returns the elementary type with that canonical name.
func Elementary(text string) (*Type, bool) {
	t, ok := elementary[text]
	return t, ok
}

// NewSlice makes elem[].
func NewSlice(elem *Type) (*Type, error) {
	if elem.depth+1 > MaxDepth {
		return nil, ErrBounds
	}
	return &Type{Kind: Slice, Elem: elem, Dynamic: true, Head: 32, Text: elem.Text + "[]", depth: elem.depth + 1}, nil
}

// NewArray makes elem[n]. n is at least 1: Solidity has no empty arrays, and a
// type without bytes would let a length cost nothing.
func NewArray(elem *Type, n int) (*Type, error) {
	if n < 1 {
		return nil, ErrSyntax
	}
	if n > maxHead/elem.Head || elem.depth+1 > MaxDepth {
		return nil, ErrBounds
	}
	t := &Type{Kind: Array, Size: n, Elem: elem, Dynamic: elem.Dynamic, Head: n * elem.Head,
		Text: elem.Text + "[" + strconv.Itoa(n) + "]", depth: elem.depth + 1}
	if t.Dynamic {
		t.Head = 32
	}
	return t, nil
}

// NewTuple makes (fields...). It has at least one field.
func NewTuple(fields []Param) (*Type, error) {
	if len(fields) == 0 {
		return nil, ErrSyntax
	}
	t := &Type{Kind: Tuple, Fields: fields}
	for _, f := range fields {
		t.Dynamic = t.Dynamic || f.Type.Dynamic
		t.depth = max(t.depth, f.Type.depth+1)
	}
	for i := range fields {
		fields[i].Indexed = false // has no meaning inside a tuple
	}
	head, err := Head(fields)
	if err != nil || t.depth > MaxDepth {
		return nil, ErrBounds
	}
	t.Head, t.Inner = head, head
	if t.Dynamic {
		t.Head = 32
	}
	t.Text = List(fields)
	return t, nil
}

// Head is the number of bytes of the head of the params that are not indexed.
func Head(params []Param) (int, error) {
	n := 0
	for _, p := range params {
		if p.Indexed {
			continue
		}
		if n += p.Type.Head; n > maxHead {
			return 0, ErrBounds
		}
	}
	return n, nil
}

// List is the canonical text of an argument list, with parentheses.
func List(params []Param) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(p.Type.Text)
	}
	b.WriteByte(')')
	return b.String()
}
