package tempo

import (
	"encoding/binary"
	"errors"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/holiman/uint256"
)

// Errors of amounts.
var (
	// ErrAmountSyntax means text that is not one or more decimal digits.
	ErrAmountSyntax = errors.New("amount is not a decimal integer")
	// ErrAmountRange means a number above 2^96-1, the most a channel can hold.
	ErrAmountRange = errors.New("amount is above 2^96-1")
)

// maxAmountText bounds what ParseAmount reads: 2^96-1 has 29 digits; the rest is
// room for the leading zeros that clients may write.
const maxAmountText = 78

// Amount is a sum of money in base units of a TIP-20 token (a millionth of a
// dollar), as wide as the channel reserve keeps it: uint96. The zero value is
// nothing. Amounts are compared with == or Cmp.
type Amount struct {
	hi uint32
	lo uint64
}

// MaxAmount is 2^96-1.
var MaxAmount = Amount{hi: 1<<32 - 1, lo: 1<<64 - 1}

// AmountFrom is the amount of v base units.
func AmountFrom(v uint64) Amount { return Amount{lo: v} }

// ParseAmount reads decimal digits and nothing else: no sign, no blank, no
// point. Leading zeros are accepted and vanish. The error is ErrAmountSyntax or
// ErrAmountRange.
func ParseAmount(s string) (Amount, error) {
	if s == "" || len(s) > maxAmountText {
		return Amount{}, ErrAmountSyntax
	}
	var a Amount
	over := false
	for i := 0; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return Amount{}, ErrAmountSyntax
		}
		if !over {
			a, over = a.shift(d)
		}
	}
	if over {
		return Amount{}, ErrAmountRange
	}
	return a, nil
}

// shift appends one decimal digit; over means that it no longer fits.
func (a Amount) shift(digit byte) (_ Amount, over bool) {
	carry, lo := bits.Mul64(a.lo, 10)
	lo, c := bits.Add64(lo, uint64(digit), 0)
	hi := uint64(a.hi)*10 + carry + c
	return Amount{hi: uint32(hi), lo: lo}, hi>>32 != 0
}

// Add is a+b; ok is false, and the sum zero, where it is above MaxAmount.
func (a Amount) Add(b Amount) (sum Amount, ok bool) {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi := uint64(a.hi) + uint64(b.hi) + carry
	if hi>>32 != 0 {
		return Amount{}, false
	}
	return Amount{hi: uint32(hi), lo: lo}, true
}

// Sub is a-b; ok is false, and the difference zero, where b is above a.
func (a Amount) Sub(b Amount) (diff Amount, ok bool) {
	if a.Cmp(b) < 0 {
		return Amount{}, false
	}
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return Amount{hi: a.hi - b.hi - uint32(borrow), lo: lo}, true
}

// Cmp is -1, 0 or 1 as a is below, equal to or above b.
func (a Amount) Cmp(b Amount) int {
	switch {
	case a == b:
		return 0
	case a.hi < b.hi || a.hi == b.hi && a.lo < b.lo:
		return -1
	}
	return 1
}

// IsZero reports whether a is nothing.
func (a Amount) IsZero() bool { return a == Amount{} }

// Uint64 is a as uint64; ok is false, and the number zero, where it does not fit.
func (a Amount) Uint64() (v uint64, ok bool) {
	if a.hi != 0 {
		return 0, false
	}
	return a.lo, true
}

// String is a in decimal digits, without leading zeros.
func (a Amount) String() string {
	if a.hi == 0 {
		return strconv.FormatUint(a.lo, 10)
	}
	return a.Uint256().Dec()
}

// MarshalText writes what String does: the form of amounts on the wire.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what ParseAmount does.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAmount(string(text))
	return err
}

// Uint256 is a as a new word.
func (a Amount) Uint256() *uint256.Int { return &uint256.Int{a.lo, uint64(a.hi), 0, 0} }

// Big is a as a new big integer.
func (a Amount) Big() *big.Int { return a.Uint256().ToBig() }

// Bytes is a as twelve bytes, big-endian: they sort as the amounts do.
func (a Amount) Bytes() (b [12]byte) {
	binary.BigEndian.PutUint32(b[:4], a.hi)
	binary.BigEndian.PutUint64(b[4:], a.lo)
	return b
}

// AmountFromBytes undoes Bytes.
func AmountFromBytes(b [12]byte) Amount {
	return Amount{hi: binary.BigEndian.Uint32(b[:4]), lo: binary.BigEndian.Uint64(b[4:])}
}

// AmountFromUint256 narrows a word; ok is false, and the amount zero, where it
// is above MaxAmount.
func AmountFromUint256(w *uint256.Int) (a Amount, ok bool) {
	if w[3] != 0 || w[2] != 0 || w[1]>>32 != 0 {
		return Amount{}, false
	}
	return Amount{hi: uint32(w[1]), lo: w[0]}, true
}
