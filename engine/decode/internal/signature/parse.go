package signature

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse compiles a declaration: transfer(address,uint256), or with what is known
// beyond the types: swap(address indexed sender, int24[2] ticks) returns (bool ok).
func Parse(what What, text string) (*Signature, error) {
	if len(text) > MaxText {
		return nil, ErrBounds
	}
	p := &parser{text: text}
	name := p.word()
	in, err := p.list(0)
	if err != nil || !Identifier(name) {
		return nil, fmt.Errorf("parse %.80q: %w", text, orSyntax(err))
	}
	var out []Param
	p.space()
	if what == Func && strings.HasPrefix(p.rest(), "returns") {
		p.pos += len("returns")
		p.space()
		if out, err = p.list(0); err != nil {
			return nil, fmt.Errorf("parse results of %.80q: %w", text, err)
		}
		p.space()
	}
	if p.rest() != "" {
		return nil, fmt.Errorf("parse %.80q: %w", text, ErrSyntax)
	}
	return New(what, name, in, out)
}

func orSyntax(err error) error {
	if err != nil {
		return err
	}
	return ErrSyntax
}

// Identifier reports whether s is a Solidity identifier of sane length.
func Identifier(s string) bool {
	if s == "" || len(s) > 256 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if !identByte(s[i]) {
			return false
		}
	}
	return true
}

func identByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$'
}

type parser struct {
	text  string
	pos   int
	types int
}

func (p *parser) rest() string { return p.text[p.pos:] }

func (p *parser) space() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

func (p *parser) peek() byte {
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

func (p *parser) take(c byte) bool {
	if p.peek() != c {
		return false
	}
	p.pos++
	return true
}

func (p *parser) word() string {
	start := p.pos
	for p.pos < len(p.text) && identByte(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

// list reads (param, param ...).
func (p *parser) list(depth int) ([]Param, error) {
	if depth > MaxDepth {
		return nil, ErrBounds
	}
	if !p.take('(') {
		return nil, ErrSyntax
	}
	p.space()
	if p.take(')') {
		return nil, nil
	}
	var out []Param
	for {
		param, err := p.param(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, param)
		p.space()
		if p.take(')') {
			return out, nil
		}
		if !p.take(',') {
			return nil, ErrSyntax
		}
		p.space()
	}
}

// param reads: type [indexed] [name].
func (p *parser) param(depth int) (Param, error) {
	t, err := p.typ(depth)
	if err != nil {
		return Param{}, err
	}
	out := Param{Type: t}
	p.space()
	w := p.word()
	if w == "indexed" {
		out.Indexed = true
		p.space()
		w = p.word()
	}
	if w != "" && !Identifier(w) {
		return Param{}, ErrSyntax
	}
	out.Name = w
	return out, nil
}

func (p *parser) typ(depth int) (*Type, error) {
	if p.types++; p.types > MaxTypes {
		return nil, ErrBounds
	}
	t, err := p.base(depth)
	for err == nil && p.take('[') {
		digits := p.word()
		if !p.take(']') {
			return nil, ErrSyntax
		}
		if digits == "" {
			t, err = NewSlice(t)
			continue
		}
		n, bad := strconv.Atoi(digits)
		if bad != nil || digits[0] == '0' {
			return nil, ErrSyntax
		}
		t, err = NewArray(t, n)
	}
	return t, err
}

func (p *parser) base(depth int) (*Type, error) {
	if p.peek() != '(' {
		w := p.word()
		switch w { // aliases are legal in declarations, never in hashed text
		case "uint", "int":
			w += "256"
		case "byte":
			w = "bytes1"
		}
		if t, ok := Elementary(w); ok {
			return t, nil
		}
		return nil, ErrSyntax
	}
	fields, err := p.list(depth + 1)
	if err != nil {
		return nil, err
	}
	return NewTuple(fields)
}
