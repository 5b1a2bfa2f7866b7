package trace

import (
	"encoding/hex"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"
)

// Raw returns the tree as call frames with the keys type, from, to, gas, gasUsed, input,
// output, value, error, revertReason and calls, to be marshalled with encoding/json/v2. It
// returns nil if frames were omitted.
func (t *Tree) Raw() any {
	if t.Root == nil || t.Compressed() {
		return nil
	}
	return rawFrame{t.Root}
}

type rawFrame struct{ f *Frame }

var _ json.MarshalerTo = rawFrame{}

// MarshalJSONTo writes frame by frame, without a second copy of the tree.
func (r rawFrame) MarshalJSONTo(enc *jsontext.Encoder) error {
	w := rawWriter{enc: enc}
	w.frame(r.f)
	return w.err
}

// rawWriter keeps the first error; every later write does nothing.
type rawWriter struct {
	enc *jsontext.Encoder
	buf []byte
	err error
}

func (w *rawWriter) frame(f *Frame) {
	w.token(jsontext.BeginObject)
	w.text("type", f.Kind.String())
	w.data("from", f.From[:])
	if f.HasTo {
		w.data("to", f.To[:])
	}
	w.quantity("gas", uint256.NewInt(f.Gas))
	w.quantity("gasUsed", uint256.NewInt(f.GasUsed))
	w.data("input", f.Input)
	if len(f.Output) > 0 {
		w.data("output", f.Output)
	}
	if f.Kind != StaticCall { // which cannot carry any
		w.quantity("value", &f.Value)
	}
	if f.Err != "" {
		w.text("error", f.Err)
	}
	if f.RevertReason != "" {
		w.text("revertReason", f.RevertReason)
	}
	if len(f.Children) > 0 {
		w.token(jsontext.String("calls"))
		w.token(jsontext.BeginArray)
		for _, c := range f.Children {
			w.frame(c)
		}
		w.token(jsontext.EndArray)
	}
	w.token(jsontext.EndObject)
}

func (w *rawWriter) token(t jsontext.Token) {
	if w.err == nil {
		w.err = w.enc.WriteToken(t)
	}
}

func (w *rawWriter) text(name, s string) {
	w.token(jsontext.String(name))
	w.token(jsontext.String(strings.Map(visible, strings.ToValidUTF8(s, "\uFFFD"))))
}

// visible removes characters that reorder the text around them (bidirectional overrides and
// similar), which JSON, unlike control characters, would not escape.
func visible(r rune) rune {
	if r > unicode.MaxASCII && unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

func (w *rawWriter) data(name string, b []byte) {
	w.token(jsontext.String(name))
	w.buf = hex.AppendEncode(append(w.buf[:0], `"0x`...), b)
	w.value()
}

func (w *rawWriter) quantity(name string, n *uint256.Int) {
	w.token(jsontext.String(name))
	w.buf = append(append(w.buf[:0], '"'), n.Hex()...)
	w.value()
}

// value writes buf, which is open at its end.
func (w *rawWriter) value() {
	if w.err == nil {
		w.buf = append(w.buf, '"')
		w.err = w.enc.WriteValue(w.buf)
	}
}
