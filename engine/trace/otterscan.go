package trace

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/ethrpc/rpcjson"
)

// ParseOtterscan reads the result of ots_traceTransaction (Erigon, reth): a list of calls
// in execution order, each with its depth. The list has no gas and no errors, so all frames
// look as if they succeeded: see Tree.HidesFailures. The errors are those of ParseParity.
func ParseOtterscan(dec *jsontext.Decoder, lim Limits) (*Tree, error) {
	p := parity{r: rpcjson.New(dec), b: newBuilder(lim)}
	if p.r.Null() {
		return nil, fmt.Errorf("read trace: %w", ErrNull)
	}
	if p.r.Array() {
		for p.r.More() {
			p.otterscanEntry()
		}
	}
	if err := p.r.Err(); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if p.depth == 0 {
		return nil, fmt.Errorf("read trace: %w", ErrNoFrame)
	}
	return p.b.tree(SourceOtterscan, p.closeTo(0)), nil
}

// otterscanEntry reads one element and opens its frame.
func (p *parity) otterscanEntry() {
	r := p.r
	r.Pack = !p.b.compressing
	var f Frame
	var depth uint64
	var kind, from, deep bool
	entered := r.Object()
	r.Require(entered, "entry")
	for name := r.Field(); name != nil; name = r.Field() {
		switch string(name) {
		case "type":
			f.Kind, kind = kindOf(r.Word()), true
		case "depth":
			if n := r.Uint64Ptr(); n != nil {
				depth, deep = *n, true
			}
		case "from":
			from = r.Address(&f.From)
		case "to":
			f.HasTo = r.Address(&f.To)
		case "value":
			if !r.Null() { // of calls that carry none
				r.Uint256(&f.Value)
			}
		case "input":
			f.Input = r.Bytes()
		case "output":
			f.Output = r.Bytes()
		default:
			r.Skip()
		}
	}
	r.Require(kind, "type")
	r.Require(deep, "depth")
	r.Require(from, "from")
	p.placeAt(depth, &f)
}

// placeAt opens a frame as the next child of the last one that is less deep by one.
func (p *parity) placeAt(depth uint64, f *Frame) {
	if p.r.Err() != nil {
		return
	}
	if depth > uint64(p.depth) || depth == 0 && p.depth > 0 {
		p.r.Fail(fmt.Errorf("%w: depth %d where at most %d can follow", ErrTraceAddress, depth, p.depth))
		return
	}
	p.closeTo(int(depth))
	lv, err := p.b.open(int(depth))
	if err != nil {
		p.r.Fail(err)
		return
	}
	*lv.frame = *f
	p.expect, p.depth = append(p.expect[:depth], -1), int(depth)+1
}

// HidesFailures reports whether the source does not say which calls failed, and one below
// the outermost would have had an effect of its own: it carries coins, creates or destroys.
func (t *Tree) HidesFailures() bool {
	if t.Source != SourceOtterscan {
		return false
	}
	for _, f := range t.Frames[1:] {
		if f.MovesValue() || f.Kind.Creates() || f.Kind == SelfDestruct {
			return true
		}
	}
	return t.Compressed()
}
