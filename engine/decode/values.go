package decode

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"txlens/engine/api"
	"txlens/engine/decode/internal/signature"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// maxText is the length in characters at which text from the chain is cut.
const maxText = 200

// elided stands for a value beyond the bounds.
const elided = "..."

func elidedList(n int) any { return fmt.Sprintf("... (%d elements)", n) }

// values renders words as api.Arg values. Strings are cut from shared chunks
// and addresses are made once: a block repeats few addresses very often. Owned by
// one Decoder.
type values struct {
	chunk strings.Builder
	buf   []byte // scratch of one value
	slab  []api.Arg
	slabN int // size of the latest slab
	seen  map[common.Address]any
}

// little holds the numbers that occur most.
var little = func() (out [256]any) {
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}()

func newValues() *values { return &values{seen: make(map[common.Address]any)} }

// Chunks and slabs begin small, because most transactions hold a call or two, and
// double up to these sizes.
const (
	firstChunk, chunkSize = 256, 8 << 10
	firstSlab, slabSize   = 8, 128
)

// text copies b into the current chunk. A Builder's string stays valid when the
// Builder is replaced.
func (v *values) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if v.chunk.Cap()-v.chunk.Len() < len(b) {
		size := min(max(firstChunk, 2*v.chunk.Cap()), chunkSize)
		v.chunk = strings.Builder{}
		v.chunk.Grow(max(size, len(b)))
	}
	start := v.chunk.Len()
	v.chunk.Write(b)
	return v.chunk.String()[start:]
}

// keep copies what was written into the scratch buffer, and the buffer for the
// next value.
func (v *values) keep(b []byte) string {
	v.buf = b
	return v.text(b)
}

// args cuts n arguments from the slab. It is never nil.
func (v *values) args(n int) []api.Arg {
	if n > slabSize/4 {
		return make([]api.Arg, n)
	}
	if len(v.slab) < n {
		v.slabN = min(max(firstSlab, 2*v.slabN), slabSize)
		v.slab = make([]api.Arg, max(n, v.slabN))
	}
	out := v.slab[:n:n]
	v.slab = v.slab[n:]
	if out == nil {
		out = []api.Arg{}
	}
	return out
}

// leaf renders a word that is in range for t.
func (v *values) leaf(t *signature.Type, w []byte) any {
	switch t.Kind {
	case signature.Uint:
		return v.unsigned(w)
	case signature.Int:
		if w[0]&0x80 != 0 {
			n := new(uint256.Int).SetBytes32(w)
			return "-" + n.Neg(n).Dec()
		}
		return v.unsigned(w)
	case signature.Bool:
		return w[31] == 1
	case signature.Address:
		return v.address(common.Address(w[12:]))
	}
	return v.hex(w[:t.Size])
}

func (v *values) unsigned(w []byte) any {
	if !zero(w[:24]) {
		return new(uint256.Int).SetBytes32(w).Dec()
	}
	n := binary.BigEndian.Uint64(w[24:])
	if n < uint64(len(little)) {
		return little[n]
	}
	return v.keep(strconv.AppendUint(v.buf[:0], n, 10))
}

func (v *values) address(a common.Address) any {
	if s, ok := v.seen[a]; ok {
		return s
	}
	var s any = v.hex(a[:])
	v.seen[a] = s
	return s
}

func (v *values) hex(b []byte) string {
	return v.keep(hex.AppendEncode(append(v.buf[:0], '0', 'x'), b))
}

// bytes renders a bytes value, cut when it is long.
func (v *values) bytes(b []byte) string {
	if len(b) <= maxBytes {
		return v.hex(b)
	}
	return v.hex(b[:maxBytes]) + fmt.Sprintf("... (%d bytes)", len(b))
}

// clean renders text from the chain: control, format and bidirectional characters
// and invalid UTF-8 are dropped, line breaks become blanks, the rest is cut.
func (v *values) clean(b []byte) string {
	if len(b) <= maxText && printable(b) {
		return v.text(b)
	}
	out, n := v.buf[:0], 0
	for len(b) > 0 && n < maxText {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		switch {
		case r == utf8.RuneError && size == 1:
			continue
		case r == '\n' || r == '\t' || r == '\r':
			r = ' '
		case !unicode.IsPrint(r): // of category C, or a separator other than the blank
			continue
		}
		out = utf8.AppendRune(out, r)
		n++
	}
	return v.text(out)
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < 0x20 || c > 0x7e {
			return false
		}
	}
	return true
}

var argNames = [...]string{"arg0", "arg1", "arg2", "arg3", "arg4", "arg5", "arg6", "arg7", "arg8", "arg9"}

func nameOf(p signature.Param, i int) string {
	switch {
	case p.Name != "":
		return p.Name
	case i < len(argNames):
		return argNames[i]
	}
	return "arg" + strconv.Itoa(i)
}
