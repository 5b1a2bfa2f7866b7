package api

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Addr is an address that writes itself as 0x and 40 lower-case digits.
type Addr [20]byte

// MarshalJSONTo writes the quoted address without an intermediate string.
func (a Addr) MarshalJSONTo(enc *jsontext.Encoder) error { return writeHex(enc, a[:]) }

// MarshalText writes the address for maps and other encoders.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a Addr) String() string {
	text := [42]byte{'0', 'x'}
	hex.Encode(text[2:], a[:])
	return string(text[:])
}

// UnmarshalText reads what MarshalText writes.
func (a *Addr) UnmarshalText(text []byte) error {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) != 2*len(a) {
		return errHex
	}
	if _, err := hex.Decode(a[:], digits); err != nil {
		return errHex
	}
	return nil
}

// Hex is a byte string that writes itself as 0x hex. It aliases the evidence it
// was cut from and must not be changed.
type Hex []byte

// MarshalJSONTo writes the quoted bytes without an intermediate string.
func (h Hex) MarshalJSONTo(enc *jsontext.Encoder) error { return writeHex(enc, h) }

// UnmarshalJSONFrom reads the quoted bytes.
func (h *Hex) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var text string
	if err := json.UnmarshalDecode(dec, &text); err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(text, "0x")
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil {
		return errHex
	}
	*h = raw
	return nil
}

var errHex = errors.New("want 0x and hex digits")

func (h Hex) String() string { return "0x" + hex.EncodeToString(h) }

func writeHex(enc *jsontext.Encoder, b []byte) error {
	buf := append(enc.AvailableBuffer(), '"', '0', 'x')
	buf = hex.AppendEncode(buf, b)
	return enc.WriteValue(append(buf, '"'))
}

// Decimal is an exact decimal number: Unscaled x 10^-Scale. The zero Decimal is 0.
type Decimal struct {
	Unscaled *big.Int
	Scale    int
}

// NanoDollars makes the Decimal of an amount in 10^-9 USD.
func NanoDollars(n int64) Decimal { return Decimal{big.NewInt(n), 9} }

// String writes the number without exponent and without trailing zeros.
func (d Decimal) String() string {
	if d.Unscaled == nil || d.Unscaled.Sign() == 0 {
		return "0"
	}
	digits, sign := d.Unscaled.Text(10), ""
	if digits[0] == '-' {
		digits, sign = digits[1:], "-"
	}
	if d.Scale <= 0 {
		return sign + digits + strings.Repeat("0", -d.Scale)
	}
	if len(digits) <= d.Scale {
		digits = strings.Repeat("0", d.Scale-len(digits)+1) + digits
	}
	whole, frac := digits[:len(digits)-d.Scale], strings.TrimRight(digits[len(digits)-d.Scale:], "0")
	if frac == "" {
		return sign + whole
	}
	return sign + whole + "." + frac
}

// Round returns d with at most scale decimals, half away from zero.
func (d Decimal) Round(scale int) Decimal {
	if d.Unscaled == nil || d.Scale <= scale {
		return d
	}
	div := PowerOfTen(d.Scale - scale)
	half := new(big.Int).Rsh(div, 1)
	n := new(big.Int).Abs(d.Unscaled)
	n.Quo(n.Add(n, half), div)
	if d.Unscaled.Sign() < 0 {
		n.Neg(n)
	}
	return Decimal{n, scale}
}

// MarshalJSONTo writes a JSON number with every digit.
func (d Decimal) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(d.String()))
}

// maxDigits bounds a number that is read: more than any amount on a chain has.
const maxDigits = 200

// UnmarshalJSONFrom reads a JSON number without an exponent, exactly.
func (d *Decimal) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	whole, frac, _ := strings.Cut(string(v), ".")
	n, ok := new(big.Int), false
	if v.Kind() == '0' && len(v) <= maxDigits {
		n, ok = n.SetString(whole+frac, 10)
	}
	if !ok {
		return errors.New("want a decimal number without an exponent")
	}
	*d = Decimal{n, len(frac)}
	return nil
}
