package mpp

import (
	"encoding/hex"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/mpp/tempo"
)

// writer appends one JSON object, member by member in the order of the calls: the
// protocol's documents have an order, and a challenge and a receipt are made for
// each paid request. Strings have the minimal form of RFC 8785, so an object whose
// members are written in the order of that standard is canonical.
type writer struct {
	b   []byte
	err error // the first string that was not UTF-8
}

// name begins a member.
func (w *writer) name(n string) {
	if last := w.b[len(w.b)-1]; last != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, n...)
	w.b = append(w.b, '"', ':')
}

// begin starts the document's object, object one inside it; end ends either.
func (w *writer) begin(size int) {
	w.b = append(make([]byte, 0, size), '{')
}

func (w *writer) object(n string) {
	w.name(n)
	w.b = append(w.b, '{')
}

func (w *writer) end() { w.b = append(w.b, '}') }

func (w *writer) text(n, s string) {
	w.name(n)
	w.quote(s)
}

// optional writes a string unless it is empty.
func (w *writer) optional(n, s string) {
	if s != "" {
		w.text(n, s)
	}
}

// quote writes a string. What is no UTF-8 becomes U+FFFD, and is an error for
// callers that must not change it.
func (w *writer) quote(s string) {
	var err error
	if w.b, err = jsontext.AppendQuote(w.b, s); err != nil && w.err == nil {
		w.err = err
	}
}

// hex writes bytes, addresses and hashes.
func (w *writer) hex(n string, v []byte) {
	w.name(n)
	w.b = append(w.b, `"0x`...)
	w.b = hex.AppendEncode(w.b, v)
	w.b = append(w.b, '"')
}

func (w *writer) amount(n string, a tempo.Amount) {
	w.name(n)
	w.b = append(w.b, '"')
	if v, ok := a.Uint64(); ok {
		w.b = strconv.AppendUint(w.b, v, 10)
	} else {
		w.b = append(w.b, a.String()...)
	}
	w.b = append(w.b, '"')
}

func (w *writer) integer(n string, v uint64) {
	w.name(n)
	w.b = strconv.AppendUint(w.b, v, 10)
}

// raw writes a value that is JSON already.
func (w *writer) raw(n string, v []byte) {
	w.name(n)
	w.b = append(w.b, v...)
}

// descriptor writes the seven fields in canonical order.
func (w *writer) descriptor(d *tempo.Descriptor) {
	w.object("descriptor")
	w.hex("authorizedSigner", d.AuthorizedSigner[:])
	w.hex("expiringNonceHash", d.ExpiringNonceHash[:])
	w.hex("operator", d.Operator[:])
	w.hex("payee", d.Payee[:])
	w.hex("payer", d.Payer[:])
	w.hex("salt", d.Salt[:])
	w.hex("token", d.Token[:])
	w.end()
}
