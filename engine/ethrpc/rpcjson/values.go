package rpcjson

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"
)

// Address reads 20 bytes into a; null leaves it and gives false.
func (r *Reader) Address(a *common.Address) bool { return r.fixed(a[:], "address") }

// Hash reads 32 bytes into h; null leaves it and gives false.
func (r *Reader) Hash(h *common.Hash) bool { return r.fixed(h[:], "hash") }

// AddressPtr reads an address or null. Some nodes write "" or "0x" where there is none, such as
// the recipient of a creation.
func (r *Reader) AddressPtr() *common.Address {
	if r.Null() {
		return nil
	}
	digits, ok := r.hex()
	if ok && len(digits) == 0 {
		return nil
	}
	a := new(common.Address)
	if ok {
		r.decodeFixed(a[:], digits, "address")
	}
	return a
}

// HashPtr reads a hash or null.
func (r *Reader) HashPtr() *common.Hash {
	if r.Null() {
		return nil
	}
	h := new(common.Hash)
	r.Hash(h)
	return h
}

func (r *Reader) fixed(dst []byte, what string) bool {
	digits, ok := r.hex()
	return ok && r.decodeFixed(dst, digits, what)
}

func (r *Reader) decodeFixed(dst []byte, digits []byte, what string) bool {
	if len(digits) != 2*len(dst) {
		r.Fail(fmt.Errorf("want %d hex digits (%s), have %d", 2*len(dst), what, len(digits)))
		return false
	}
	return r.decode(dst, digits)
}

// Bytes reads data of any length: null is nil, "0x" is empty and not nil.
func (r *Reader) Bytes() []byte {
	digits, ok := r.hex()
	if !ok {
		return nil
	}
	if len(digits)%2 != 0 {
		r.Fail(fmt.Errorf("odd number of hex digits (%d)", len(digits)))
		return nil
	}
	b := r.room(len(digits) / 2)
	if !r.decode(b, digits) {
		return nil
	}
	return b
}

// Data above ownSize bytes is allocated alone; chunks grow to chunkSize, so that
// a small object does not pay for a large one's chunk.
const (
	ownSize   = 1024
	chunkSize = 8192
)

func (r *Reader) room(n int) []byte {
	if n == 0 {
		return []byte{}
	}
	if !r.Pack || n > ownSize {
		return make([]byte, n)
	}
	if n > len(r.space) {
		r.chunk = min(max(2*r.chunk, 256, n), chunkSize)
		r.space = make([]byte, r.chunk)
	}
	b := r.space[:n:n]
	r.space = r.space[n:]
	return b
}

// Uint64 reads a quantity of at most 64 bits; null is 0.
func (r *Reader) Uint64() uint64 {
	n, _ := r.uint64()
	return n
}

// Uint64Ptr reads a quantity of at most 64 bits, or null.
func (r *Reader) Uint64Ptr() *uint64 {
	n, ok := r.uint64()
	if !ok {
		return nil
	}
	return &n
}

// uint64 reads "0x1f" or, where nodes write plain numbers, 31 or "31".
func (r *Reader) uint64() (uint64, bool) {
	digits, base := r.quantity()
	if digits == nil {
		return 0, false
	}
	if base == 10 {
		n, err := strconv.ParseUint(string(digits), 10, 64)
		if err != nil {
			r.Fail(fmt.Errorf("want a quantity of 64 bits, have %q", clip(string(digits), 80)))
			return 0, false
		}
		return n, true
	}
	if len(digits) > 16 {
		r.Fail(fmt.Errorf("quantity above 64 bits (%d hex digits)", len(digits)))
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		d := nibble(c)
		if d > 15 {
			r.Fail(fmt.Errorf("%q is no hex digit", c))
			return 0, false
		}
		n = n<<4 | uint64(d)
	}
	return n, true
}

// Uint256 reads a quantity of at most 32 bytes; null is 0.
func (r *Reader) Uint256(z *uint256.Int) {
	var b [32]byte
	if n, ok := r.word(&b); ok {
		z.SetBytes(b[32-n:])
	}
}

// Big reads a quantity of at most 32 bytes; null is nil.
func (r *Reader) Big() *big.Int {
	var b [32]byte
	n, ok := r.word(&b)
	if !ok {
		return nil
	}
	return new(big.Int).SetBytes(b[32-n:])
}

// word reads a quantity right-aligned into b and gives the number of bytes used.
func (r *Reader) word(b *[32]byte) (int, bool) {
	digits, base := r.quantity()
	if digits == nil {
		return 0, false
	}
	if base == 10 {
		return r.decimalWord(b, digits)
	}
	if len(digits) > 64 {
		r.Fail(fmt.Errorf("quantity above 32 bytes (%d hex digits)", len(digits)))
		return 0, false
	}
	for i := range digits {
		d := nibble(digits[len(digits)-1-i])
		if d > 15 {
			r.Fail(fmt.Errorf("%q is no hex digit", digits[len(digits)-1-i]))
			return 0, false
		}
		b[31-i/2] |= d << (4 * (i % 2))
	}
	return (len(digits) + 1) / 2, true
}

func (r *Reader) decimalWord(b *[32]byte, digits []byte) (int, bool) {
	n, ok := new(big.Int), len(digits) <= 78 // 2^256 has 78 digits
	if ok {
		n, ok = n.SetString(string(digits), 10)
	}
	if !ok || n.Sign() < 0 || n.BitLen() > 256 {
		r.Fail(fmt.Errorf("want a quantity of 32 bytes, have %q", clip(string(digits), 80)))
		return 0, false
	}
	n.FillBytes(b[:])
	return 32, true
}

// quantity gives the digits and base of the next value. Nil digits: null or error.
// "0x" without digits is read as zero, as some nodes mean it.
func (r *Reader) quantity() ([]byte, int) {
	v := r.value()
	if v == nil {
		return nil, 0
	}
	switch v.Kind() {
	case 'n':
		return nil, 0
	case '0':
		return v, 10
	case '"':
		s := v[1 : len(v)-1]
		if len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
			return s[2:], 16
		}
		if len(s) > 0 && s[0] >= '0' && s[0] <= '9' {
			return s, 10
		}
	}
	r.Fail(fmt.Errorf("want a quantity, have %s", clip(string(v[:min(len(v), 80)]), 80)))
	return nil, 0
}

// hex gives the digits of the next string after its 0x; false for null and errors.
func (r *Reader) hex() (jsontext.Value, bool) {
	v := r.value()
	if v == nil || v.Kind() == 'n' {
		return nil, false
	}
	if v.Kind() != '"' {
		r.Fail(fmt.Errorf("want a hex string, have %v", v.Kind()))
		return nil, false
	}
	s := v[1 : len(v)-1]
	if len(s) >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') {
		return s[2:], true
	}
	if len(s) == 0 {
		return s, true
	}
	r.Fail(fmt.Errorf("want a hex string with 0x, have %q", clip(string(s[:min(len(s), 80)]), 80)))
	return nil, false
}

func (r *Reader) decode(dst, digits []byte) bool {
	if _, err := hex.Decode(dst, digits); err != nil {
		r.Fail(err)
		return false
	}
	return true
}

func nibble(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// Name reads a member's name, as Field gave it, as exactly len(dst) bytes of hex.
func (r *Reader) Name(name, dst []byte) bool {
	if len(name) != 2+2*len(dst) || name[0] != '0' || name[1] != 'x' {
		r.Fail(fmt.Errorf("want a name of %d hex digits with 0x, have %q", 2*len(dst), clip(string(name[:min(len(name), 80)]), 80)))
		return false
	}
	return r.decode(dst, name[2:])
}
