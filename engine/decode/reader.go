package decode

import (
	"encoding/binary"

	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"
)

// Bounds of the values shown of one call, log or error. All bytes are checked; values
// beyond a bound are counted and omitted (the node contains the raw bytes).
const (
	maxElements = 256  // per array
	maxValues   = 2048 // leaves per call
	maxBytes    = 1024 // of one bytes value
)

// reader walks encoded data along type trees and checks in the same pass that an
// encoder would have written exactly these bytes: offsets in order and without
// gaps, values in range, padding zero. Each byte is visited at most once, so time
// and memory follow the data, whatever lengths it claims.
//
// In loose mode it accepts what Solidity's decoder accepts, offsets that jump and
// padding that is not zero, with a bound on the work since parts may be read twice. With
// cut it also ignores bits that a type does not have, as compilers before Solidity 0.5 did.
type reader struct {
	data  []byte
	next  int // where the next tail must begin; finally: bytes consumed
	loose bool
	cut   bool
	work  int // words that may still be read
	show  int // values that may still be shown
	out   *values
}

// mode is how strictly the bytes must match, by the trust in a source of signatures.
type mode uint8

const (
	exact    mode = iota // only the strict encoding
	trailing             // bytes may follow a complete encoding
	lenient              // trailing, and loose offsets when the strict read fails
	repaired             // lenient, and missing bytes and extra bits when that fails: calldata only
)

// read decodes data as the params that are not indexed. The note says how the bytes differ
// from the strict encoding.
func (v *values) read(params []signature.Param, head int, data []byte, m mode) (args []api.Arg, note string, ok bool) {
	r := reader{data: data, work: len(data)/32 + 1, show: maxValues, out: v}
	if args, ok = r.args(params, 0, head); ok {
		switch {
		case r.next == len(data):
			return args, "", true
		case m >= trailing:
			return args, NoteTrailing, true
		}
		return nil, "", false
	}
	if m < lenient {
		return nil, "", false
	}
	r = reader{data: data, work: 4 * (len(data)/32 + 1), show: maxValues, out: v, loose: true}
	if args, ok = r.args(params, 0, head); ok {
		return args, NoteOffsets, true
	}
	if m < repaired {
		return nil, "", false
	}
	r = reader{data: padded(data, head), work: 4 * (max(len(data), head)/32 + 1), show: maxValues, out: v, loose: true, cut: true}
	if args, ok = r.args(params, 0, head); ok {
		return args, NotePadded, true
	}
	return nil, "", false
}

// padded appends the zeros that the EVM reads behind the end of calldata: up to the end of
// the head, and of the last word.
func padded(data []byte, head int) []byte {
	size := max((len(data)+31)&^31, head)
	return append(data[:len(data):len(data)], make([]byte, size-len(data))...)
}

// args decodes a list of params whose head begins at base.
func (r *reader) args(params []signature.Param, base, head int) ([]api.Arg, bool) {
	if base > len(r.data)-head {
		return nil, false
	}
	r.next = base + head
	var out []api.Arg
	if r.show > 0 {
		out = r.out.args(len(params))
	}
	h := base
	for i, p := range params {
		if out != nil {
			out[i].Name, out[i].Type, out[i].Indexed = nameOf(p, i), p.Type.Text, p.Indexed
		}
		if p.Indexed {
			continue
		}
		val, ok := r.at(p.Type, h, base)
		if !ok {
			return nil, false
		}
		if out != nil {
			out[i].Value = val
		}
		h += p.Type.Head
	}
	return out, true
}

// at decodes the value whose head is at h; offsets are relative to base.
func (r *reader) at(t *signature.Type, h, base int) (any, bool) {
	if !t.Dynamic {
		return r.value(t, h)
	}
	off, ok := r.length(h)
	if !ok || off > len(r.data)-base {
		return nil, false
	}
	pos := base + off
	if pos != r.next {
		if !r.loose {
			return nil, false
		}
		r.next = pos
	}
	return r.value(t, pos)
}

func (r *reader) value(t *signature.Type, pos int) (any, bool) {
	switch t.Kind {
	case signature.Bytes, signature.String:
		return r.blob(t, pos)
	case signature.Slice:
		n, ok := r.length(pos)
		if !ok {
			return nil, false
		}
		r.next = pos + 32 + n*t.Elem.Head
		return r.list(t.Elem, n, pos+32)
	case signature.Array:
		if t.Dynamic {
			r.next = pos + t.Size*32
		}
		return r.list(t.Elem, t.Size, pos)
	case signature.Tuple:
		next := r.next
		args, ok := r.args(t.Fields, pos, t.Inner)
		if !t.Dynamic {
			r.next = next // a static tuple lies in its parent's head
		}
		if args == nil {
			return elided, ok
		}
		return args, ok
	}
	w, ok := r.word(pos)
	if ok && r.cut {
		w = fit(t, w)
	}
	if !ok || !inRange(t, w) {
		return nil, false
	}
	if r.show <= 0 {
		return elided, true
	}
	r.show--
	return r.out.leaf(t, w), true
}

// list decodes n elements whose heads begin at base. A number of elements that the data
// cannot hold is rejected before any allocation.
func (r *reader) list(elem *signature.Type, n, base int) (any, bool) {
	if base > len(r.data)-n*elem.Head {
		return nil, false
	}
	var out []any
	shown := min(n, maxElements, r.show)
	if shown > 0 {
		out = make([]any, 0, shown+min(1, n-shown))
	}
	budget := r.show
	for i := range n {
		if i == shown {
			budget, r.show = r.show, 0 // the rest is checked, not shown
		}
		val, ok := r.at(elem, base+i*elem.Head, base)
		if !ok {
			return nil, false
		}
		if i < shown {
			out = append(out, val)
		}
	}
	if shown < n {
		r.show = budget
		out = append(out, elidedList(n))
	}
	if out == nil {
		out = []any{}
	}
	return out, true
}

// blob decodes bytes or a string: length, content, zero padding up to a whole word.
func (r *reader) blob(t *signature.Type, pos int) (any, bool) {
	n, ok := r.length(pos)
	pos += 32
	if !ok || n > len(r.data)-pos {
		return nil, false
	}
	content := r.data[pos : pos+n]
	end := pos + (n+31)&^31
	if end > len(r.data) {
		if !r.loose {
			return nil, false
		}
		end = len(r.data)
	}
	if !r.loose && !zero(r.data[pos+n:end]) {
		return nil, false
	}
	r.next = end
	if r.work -= (n + 31) / 32; r.loose && r.work < 0 {
		return nil, false
	}
	if r.show <= 0 {
		return elided, true
	}
	r.show--
	if t.Kind == signature.String {
		return r.out.clean(content), true
	}
	return r.out.bytes(content), true
}

// word returns the 32 bytes at pos.
func (r *reader) word(pos int) ([]byte, bool) {
	if r.work--; r.loose && r.work < 0 || pos > len(r.data)-32 {
		return nil, false
	}
	return r.data[pos : pos+32 : pos+32], true
}

// length decodes an offset or a length. A value larger than the data is rejected here, so
// that sums of two lengths cannot overflow.
func (r *reader) length(pos int) (int, bool) {
	w, ok := r.word(pos)
	if !ok || !zero(w[:24]) {
		return 0, false
	}
	n := binary.BigEndian.Uint64(w[24:])
	if n > uint64(len(r.data)) {
		return 0, false
	}
	return int(n), true
}

// inRange reports whether an encoder would write the word for a value of t.
func inRange(t *signature.Type, w []byte) bool {
	switch t.Kind {
	case signature.Uint:
		return zero(w[:32-t.Size/8])
	case signature.Int:
		pad := w[:32-t.Size/8]
		if w[32-t.Size/8]&0x80 == 0 {
			return zero(pad)
		}
		for _, b := range pad {
			if b != 0xff {
				return false
			}
		}
		return true
	case signature.Bool:
		return zero(w[:31]) && w[31] <= 1
	case signature.Address:
		return zero(w[:12])
	default: // FixedBytes, Function: left-aligned
		return zero(w[t.Size:])
	}
}

// fit returns the word with the bits set as an encoder sets them: those that the type does
// not have follow from the others.
func fit(t *signature.Type, w []byte) []byte {
	if inRange(t, w) {
		return w
	}
	out := make([]byte, 32)
	switch t.Kind {
	case signature.Uint:
		copy(out[32-t.Size/8:], w[32-t.Size/8:])
	case signature.Int:
		copy(out[32-t.Size/8:], w[32-t.Size/8:])
		for i := 0; i < 32-t.Size/8 && out[32-t.Size/8]&0x80 != 0; i++ {
			out[i] = 0xff
		}
	case signature.Bool:
		out[31] = 1 // every value but zero is true
	case signature.Address:
		copy(out[12:], w[12:])
	default:
		copy(out, w[:t.Size])
	}
	return out
}

func zero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
