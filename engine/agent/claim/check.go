package claim

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The check language: comparisons over the evidence, in integers.
//
//	check      = comparison { "and" comparison }
//	comparison = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum
//	sum        = product { ( "+" | "-" ) product }
//	product    = factor { ( "*" | "/" ) factor }
//	factor     = integer | address | reference | "bits" "(" sum "," integer "," integer ")" | "(" sum ")" | "-" factor
//	reference  = name "(" word { "," word } ")"
//
// Integers are decimal, with _ between digits if you like, 1e18 for a power of ten,
// or 0x hex. An address is a number of 160 bits. "/" cuts towards zero. Numbers are
// bounded to maxBits; what goes beyond, and a division by zero, makes the check fail
// to compute, which is not the same as being false.
//
// References are those of values.go. There are no variables, no functions of one's own,
// no loops: evaluation visits each piece once.
const (
	maxBits   = 1024 // of any intermediate value
	maxPieces = 200  // of a check
	maxNested = 24   // parentheses in each other
)

// op is the operation of a node of a parsed check.
type op string

const (
	opConst op = "const"
	opRef   op = "ref"
	opNeg   op = "neg"
	opBits  op = "bits"
)

// expr is a node: a value, or an operation on other nodes.
type expr struct {
	op    op
	a, b  *expr
	value *big.Int
	ref   reference
	bits  [2]uint // offset and width
}

// reference is a parsed reference of the check language.
type reference struct {
	name string
	args []string
}

// comparison compares two expressions.
type comparison struct {
	op   string
	a, b *expr
}

// condition is a parsed check: all comparisons must hold.
type condition []comparison

var errUnreadableCheck = errors.New("the check cannot be read")

// parseCheck reads a check.
func parseCheck(s string) (condition, error) {
	if len(s) > maxCheck {
		return nil, fmt.Errorf("%w: it is too long", errUnreadableCheck)
	}
	p := &parser{}
	if err := p.scan(s); err != nil {
		return nil, err
	}
	var out condition
	for {
		c, err := p.comparison()
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if !p.take("and") && !p.take("&&") {
			break
		}
	}
	if p.at < len(p.tokens) {
		return nil, fmt.Errorf("%w: %d pieces are left over", errUnreadableCheck, len(p.tokens)-p.at)
	}
	return out, nil
}

type parser struct {
	tokens []string
	at     int
}

const symbols = "+-*/(),"

// scan splits the text into operators and words of letters, digits, dots and underscores.
func (p *parser) scan(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		n := 1
		switch {
		case c == ' ' || c == '\n' || c == '\t':
			i++
			continue
		case strings.IndexByte(symbols, c) >= 0:
		case strings.IndexByte("=!<>&", c) >= 0:
			if i+1 < len(s) && (s[i+1] == '=' || c == '&' && s[i+1] == '&') {
				n = 2
			}
		case wordByte(c):
			for i+n < len(s) && wordByte(s[i+n]) {
				n++
			}
		default:
			return fmt.Errorf("%w: there is a character that it may not have", errUnreadableCheck)
		}
		p.tokens = append(p.tokens, s[i:i+n])
		if i += n; len(p.tokens) > maxPieces {
			return fmt.Errorf("%w: it has more than %d pieces", errUnreadableCheck, maxPieces)
		}
	}
	return nil
}

func wordByte(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

func (p *parser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *parser) take(token string) bool {
	if p.peek() == token {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(token string) error {
	if !p.take(token) {
		return fmt.Errorf("%w: want %s after %d pieces", errUnreadableCheck, token, p.at)
	}
	return nil
}

func (p *parser) comparison() (comparison, error) {
	a, err := p.sum(0)
	if err != nil {
		return comparison{}, err
	}
	o := p.peek()
	switch o {
	case "==", "!=", "<", "<=", ">", ">=":
		p.at++
	default:
		return comparison{}, fmt.Errorf("%w: want a comparison after %d pieces", errUnreadableCheck, p.at)
	}
	b, err := p.sum(0)
	return comparison{o, a, b}, err
}

func (p *parser) sum(depth int) (*expr, error) {
	return p.chain(depth, "+", "-", (*parser).product)
}

func (p *parser) product(depth int) (*expr, error) {
	return p.chain(depth, "*", "/", (*parser).factor)
}

// chain parses left-associative operators of one precedence.
func (p *parser) chain(depth int, one, other string, operand func(*parser, int) (*expr, error)) (*expr, error) {
	a, err := operand(p, depth)
	for err == nil {
		o := p.peek()
		if o != one && o != other {
			return a, nil
		}
		p.at++
		var b *expr
		if b, err = operand(p, depth); err == nil {
			a = &expr{op: op(o), a: a, b: b}
		}
	}
	return nil, err
}

func (p *parser) factor(depth int) (*expr, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("%w: it is nested too deep", errUnreadableCheck)
	}
	t := p.peek()
	switch {
	case p.take("-"):
		a, err := p.factor(depth + 1)
		return &expr{op: opNeg, a: a}, err
	case p.take("("):
		a, err := p.sum(depth + 1)
		if err == nil {
			err = p.want(")")
		}
		return a, err
	case t == "" || !wordByte(t[0]):
		return nil, fmt.Errorf("%w: want a value after %d pieces", errUnreadableCheck, p.at)
	}
	p.at++
	if t[0] >= '0' && t[0] <= '9' {
		n, err := integerLiteral(t)
		return &expr{op: opConst, value: n}, err
	}
	if err := p.want("("); err != nil {
		return nil, err
	}
	if t == "bits" {
		return p.slice(depth)
	}
	return p.reference(t)
}

// slice reads the rest of bits(word, offset, width).
func (p *parser) slice(depth int) (*expr, error) {
	e := &expr{op: opBits}
	var err error
	if e.a, err = p.sum(depth + 1); err != nil {
		return nil, err
	}
	for i := range e.bits {
		if err := p.want(","); err != nil {
			return nil, err
		}
		n, err := integerLiteral(p.peek())
		if err != nil || !n.IsUint64() || n.Uint64() > 256 {
			return nil, fmt.Errorf("%w: bits takes two integers up to 256", errUnreadableCheck)
		}
		p.at++
		e.bits[i] = uint(n.Uint64())
	}
	return e, p.want(")")
}

func (p *parser) reference(name string) (*expr, error) {
	r := reference{name: name}
	if len(references[name].args) == 0 {
		return nil, fmt.Errorf("%w: there is a reference that the language does not have", errUnreadableCheck)
	}
	for {
		w := p.peek()
		if w == "" || !wordByte(w[0]) {
			return nil, fmt.Errorf("%w: want an argument after %d pieces", errUnreadableCheck, p.at)
		}
		p.at++
		if r.args = append(r.args, w); !p.take(",") {
			break
		}
	}
	if want := len(references[name].args); len(r.args) != want {
		return nil, fmt.Errorf("%w: %s takes %d arguments", errUnreadableCheck, name, want)
	}
	return &expr{op: opRef, ref: r}, p.want(")")
}

// integerLiteral reads a decimal, 1e18 or 0x hex integer of at most 256 bits.
func integerLiteral(s string) (*big.Int, error) {
	digits, base, exp := strings.ReplaceAll(s, "_", ""), 10, ""
	if d, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = d, 16
	} else if d, e, ok := strings.Cut(digits, "e"); ok {
		digits, exp = d, e
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok || n.Sign() < 0 || len(digits) > 78 {
		return nil, fmt.Errorf("%w: an integer is none", errUnreadableCheck)
	}
	if exp != "" {
		e, ok := new(big.Int).SetString(exp, 10)
		if !ok || e.Sign() < 0 || len(exp) > 2 || e.Int64() > 77 {
			return nil, fmt.Errorf("%w: an exponent is none", errUnreadableCheck)
		}
		n = times10(n, int(e.Int64()))
	}
	if n.BitLen() > 256 {
		return nil, fmt.Errorf("%w: an integer is longer than 256 bits", errUnreadableCheck)
	}
	return n, nil
}

var (
	errValue    = errors.New("the check cannot be computed")
	errTooLarge = fmt.Errorf("%w: a value goes beyond %d bits", errValue, maxBits)
)

// eval computes a value; look returns the values of references.
func (e *expr) eval(look func(reference) (*big.Int, error)) (*big.Int, error) {
	switch e.op {
	case opConst:
		return e.value, nil
	case opRef:
		return look(e.ref)
	}
	a, err := e.a.eval(look)
	if err != nil {
		return nil, err
	}
	out := new(big.Int)
	switch e.op {
	case opNeg:
		return out.Neg(a), nil
	case opBits:
		if a.Sign() < 0 {
			return nil, fmt.Errorf("%w: bits of a negative number", errValue)
		}
		mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), e.bits[1]), big.NewInt(1))
		return out.And(out.Rsh(a, e.bits[0]), mask), nil
	}
	b, err := e.b.eval(look)
	if err != nil {
		return nil, err
	}
	switch e.op {
	case "+":
		out.Add(a, b)
	case "-":
		out.Sub(a, b)
	case "*":
		if a.BitLen()+b.BitLen() > maxBits {
			return nil, errTooLarge
		}
		out.Mul(a, b)
	case "/":
		if b.Sign() == 0 {
			return nil, fmt.Errorf("%w: division by zero", errValue)
		}
		out.Quo(a, b)
	}
	if out.BitLen() > maxBits {
		return nil, errTooLarge
	}
	return out, nil
}

// holds evaluates all comparisons.
func (c condition) holds(look func(reference) (*big.Int, error)) (bool, error) {
	all := true
	for _, x := range c {
		ok, err := x.holds(look)
		if err != nil {
			return false, err
		}
		all = all && ok
	}
	return all, nil
}

func (x comparison) holds(look func(reference) (*big.Int, error)) (bool, error) {
	a, err := x.a.eval(look)
	if err != nil {
		return false, err
	}
	b, err := x.b.eval(look)
	if err != nil {
		return false, err
	}
	n := a.Cmp(b)
	switch x.op {
	case "==":
		return n == 0, nil
	case "!=":
		return n != 0, nil
	case "<":
		return n < 0, nil
	case "<=":
		return n <= 0, nil
	case ">":
		return n > 0, nil
	}
	return n >= 0, nil
}

// walk visits all nodes.
func (e *expr) walk(visit func(*expr)) {
	visit(e)
	if e.a != nil {
		e.a.walk(visit)
	}
	if e.b != nil {
		e.b.walk(visit)
	}
}

func (c condition) walk(visit func(*expr)) {
	for _, x := range c {
		x.a.walk(visit)
		x.b.walk(visit)
	}
}
