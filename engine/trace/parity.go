package trace

import (
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc/rpcjson"
)

// ParseParity reads the result of trace_transaction as the next value of dec: a
// flat list in execution order, each entry with its place in the tree. Errors are
// put into geth's words. Entries of block rewards are passed over. It gives
// ErrNull for null, ErrNoFrame for an empty list, ErrTraceAddress where the
// entries make no tree, ErrDepth, or an error that names the field.
//
// The gas of the root excludes the intrinsic gas here, other than callTracer's.
func ParseParity(dec *jsontext.Decoder, lim Limits) (*Tree, error) {
	return parseParity(rpcjson.New(dec), lim)
}

func parseParity(r *rpcjson.Reader, lim Limits) (*Tree, error) {
	p := parity{r: r, b: newBuilder(lim)}
	if p.r.Null() {
		return nil, fmt.Errorf("read trace: %w", ErrNull)
	}
	if p.r.Array() {
		for p.r.More() {
			p.entry()
		}
	}
	if err := p.r.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if p.depth == 0 {
		return nil, fmt.Errorf("read trace: %w", ErrNoFrame)
	}
	root := p.closeTo(0)
	t := p.b.tree(SourceParity, root)
	if p.missing > 0 {
		t.missing = p.missing
		t.Notes = append(t.Notes, fmt.Sprintf("The node announced %d calls that it did not list.", p.missing))
	}
	return t, nil
}

// ParseReplayed reads the result of trace_replayTransaction, whose member trace is
// the list of ParseParity.
func ParseReplayed(dec *jsontext.Decoder, lim Limits) (t *Tree, err error) {
	r := rpcjson.New(dec)
	if r.Null() {
		return nil, fmt.Errorf("read trace: %w", ErrNull)
	}
	if r.Object() {
		for name := r.Field(); name != nil; name = r.Field() {
			if string(name) != "trace" {
				r.Skip()
				continue
			}
			if t != nil {
				r.Fail(errTwice)
			} else if t, err = parseParity(r, lim); err != nil {
				return nil, err
			}
		}
	}
	switch err := r.Err(); {
	case err != nil:
		return nil, fmt.Errorf("read trace: %w", err)
	case t == nil:
		return nil, fmt.Errorf("read trace: %w", ErrNoFrame)
	}
	t.Source = SourceReplayed
	return t, nil
}

// ParseExplorer reads the raw trace of Blockscout, a list as in ParseParity. An explorer
// keeps calls in a database: a list with gaps is none.
func ParseExplorer(dec *jsontext.Decoder, lim Limits) (*Tree, error) {
	t, err := ParseParity(dec, lim)
	switch {
	case err != nil:
		return nil, err
	case t.missing > 0:
		return nil, fmt.Errorf("read trace: %w: %d are missing", ErrGaps, t.missing)
	}
	t.Source = SourceExplorer
	return t, nil
}

type parity struct {
	r       *rpcjson.Reader
	b       *builder
	path    []int // address of the deepest open frame
	depth   int   // number of open frames
	expect  []int // announced number of children of each open frame, -1 if unknown
	missing int
}

// parityEntry is one element of the list; its parts may come in any order.
type parityEntry struct {
	kind      string
	callType  Kind
	hasCall   bool
	create2   bool
	frame     Frame
	init      []byte
	code      []byte
	address   common.Address // created, or destroyed
	hasAddr   bool
	refund    common.Address
	balance   uint256.Int
	path      []int
	hasPath   bool
	subtraces int
}

// entry reads one element and opens its frame. The address of a later element, or the end
// of the list, closes it.
func (p *parity) entry() {
	r := p.r
	r.Pack = !p.b.compressing
	e := parityEntry{subtraces: -1}
	entered := r.Object()
	r.Require(entered, "entry")
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "type":
			e.kind = r.Text(32)
		case "action":
			e.action(r)
		case "result":
			e.result(r)
		case "error":
			e.frame.Err = gethError(r.Text(maxWords))
		case "traceAddress":
			e.path, e.hasPath = p.address()
		case "subtraces":
			if n := r.Uint64Ptr(); n != nil {
				e.subtraces = int(min(*n, 1<<31))
			}
		default:
			r.Skip()
		}
	}
	if r.Err() != nil || e.kind == "reward" {
		return
	}
	r.Require(e.kind != "", "type")
	r.Require(e.hasPath, "traceAddress")
	e.finish()
	p.place(&e)
}

// address reads a traceAddress, which may not be deeper than the limit.
func (p *parity) address() (path []int, ok bool) {
	if !p.r.Array() {
		return nil, false
	}
	for p.r.More() {
		if len(path) >= p.b.lim.MaxDepth {
			p.r.Fail(fmt.Errorf("%w (limit %d)", ErrDepth, p.b.lim.MaxDepth))
			return nil, false
		}
		path = append(path, int(min(p.r.Uint64(), 1<<31)))
	}
	return path, true
}

// place opens the entry's frame at its address: below an open frame, as its next child.
func (p *parity) place(e *parityEntry) {
	if p.r.Err() != nil {
		return
	}
	depth := len(e.path)
	ok := depth <= p.depth
	if depth == 0 {
		ok = p.depth == 0
	}
	for i := 0; ok && i < depth-1; i++ {
		ok = e.path[i] == p.path[i]
	}
	if !ok {
		p.r.Fail(fmt.Errorf("%w: %v does not follow %v", ErrTraceAddress, e.path, p.path))
		return
	}
	p.closeTo(depth)
	if depth > 0 {
		if next := p.b.levels[depth-1].made; e.path[depth-1] != next {
			p.r.Fail(fmt.Errorf("%w: %v where child %d follows", ErrTraceAddress, e.path, next))
			return
		}
	}
	lv, err := p.b.open(depth)
	if err != nil {
		p.r.Fail(err)
		return
	}
	*lv.frame = e.frame
	p.path, p.expect, p.depth = e.path, append(p.expect[:depth], e.subtraces), depth+1
}

// closeTo completes the open frames of that depth and below, deepest first, and returns the
// last one.
func (p *parity) closeTo(depth int) (f *Frame) {
	for ; p.depth > depth; p.depth-- {
		d := p.depth - 1
		p.missing += max(0, p.expect[d]-p.b.levels[d].made)
		f = p.b.close(d)
	}
	return f
}

func (e *parityEntry) action(r *rpcjson.Reader) {
	if !r.Object() {
		return
	}
	f := &e.frame
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "callType":
			e.callType, e.hasCall = kindOf(r.Word()), true
		case "creationMethod":
			e.create2 = kindOf(r.Word()) == Create2
		case "from":
			r.Address(&f.From)
		case "to":
			f.HasTo = r.Address(&f.To)
		case "gas":
			f.Gas = r.Uint64()
		case "value":
			r.Uint256(&f.Value)
		case "input":
			f.Input = r.Bytes()
		case "init":
			e.init = r.Bytes()
		case "address":
			e.hasAddr = r.Address(&e.address)
		case "refundAddress":
			r.Address(&e.refund)
		case "balance":
			r.Uint256(&e.balance)
		default:
			r.Skip()
		}
	}
}

func (e *parityEntry) result(r *rpcjson.Reader) {
	if !r.Object() {
		return
	}
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "gasUsed":
			e.frame.GasUsed = r.Uint64()
		case "output":
			e.frame.Output = r.Bytes()
		case "code":
			e.code = r.Bytes()
		case "address":
			e.hasAddr = r.Address(&e.address)
		default:
			r.Skip()
		}
	}
}

// finish assembles a frame, as callTracer would return it.
func (e *parityEntry) finish() {
	f := &e.frame
	switch e.kind {
	case "call":
		if e.hasCall {
			f.Kind = e.callType
		}
	case "create", "create2": // the second of an explorer
		f.Kind, f.Input, f.Output = Create, e.init, e.code
		if e.create2 || e.kind == "create2" {
			f.Kind = Create2
		}
		f.To, f.HasTo = e.address, e.hasAddr
	case "suicide", "selfdestruct":
		f.Kind, f.From, f.Value = SelfDestruct, e.address, e.balance
		f.To, f.HasTo = e.refund, true
	default:
		f.Kind = Unknown
	}
	if f.Err != "" && f.GasUsed == 0 && takesAllGas(f.Err) {
		f.GasUsed = f.Gas
	}
}

// gethErrors maps the error texts of Parity (ethcore/vm errors, kept by its successors) to
// those of geth.
var gethErrors = []struct{ parity, geth string }{
	{"reverted", "execution reverted"},
	{"out of gas", "out of gas"},
	{"bad jump destination", "invalid jump destination"},
	{"bad instruction", "invalid opcode"},
	{"stack underflow", "stack underflow"},
	{"out of stack", "stack limit reached"},
	{"mutable call in static context", "write protection"},
	{"out of bounds", "return data out of bounds"},
	{"subroutine stack underflow", "return stack underflow"},
	{"built-in failed", "precompile failed"},
}

// takesAllGas reports whether an error leaves the caller none of the gas it gave.
// Entries that failed have no result, and so no gasUsed; of a revert it stays unknown.
func takesAllGas(err string) bool {
	switch err {
	case "out of gas", "invalid jump destination", "invalid opcode", "stack underflow",
		"stack limit reached", "write protection", "return data out of bounds":
		return true
	}
	return false
}

// gethError converts an error text of a parity trace to geth's. An unknown text is kept.
func gethError(s string) string {
	lower := strings.ToLower(s)
	for _, e := range gethErrors {
		if lower == e.parity {
			return e.geth
		}
	}
	return s
}
