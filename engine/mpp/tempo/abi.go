package tempo

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// ErrABI means bytes that are not the one ABI encoding of what was expected:
// too short, too long, with dirty padding, or with a number that is too wide.
var ErrABI = errors.New("ABI encoding is not canonical")

// wordSize is that of everything in the ABI.
const wordSize = 32

// selector is the first four bytes of a signature's hash.
type selector [4]byte

func selectorOf(signature string) selector {
	return selector(crypto.Keccak256([]byte(signature)))
}

// encoder appends ABI words.
type encoder []byte

func newEncoder(s selector, words int) encoder {
	return append(make(encoder, 0, len(s)+words*wordSize), s[:]...)
}

func (e *encoder) hash(h common.Hash) { *e = append(*e, h[:]...) }

func (e *encoder) address(a common.Address) { e.hash(common.BytesToHash(a[:])) }

func (e *encoder) uint64(v uint64) {
	var w common.Hash
	binary.BigEndian.PutUint64(w[24:], v)
	e.hash(w)
}

func (e *encoder) amount(a Amount) {
	b := a.Bytes()
	e.hash(common.BytesToHash(b[:]))
}

func (e *encoder) uint256(v *uint256.Int) { e.hash(v.Bytes32()) }

func (e *encoder) descriptor(d *Descriptor) {
	n := len(*e)
	*e = append(*e, make([]byte, 7*wordSize)...)
	d.put((*e)[n:])
}

// bytes appends the length and the padded content of a byte string.
func (e *encoder) bytes(b []byte) {
	e.uint64(uint64(len(b)))
	*e = append(*e, b...)
	if rest := len(b) % wordSize; rest != 0 {
		*e = append(*e, make([]byte, wordSize-rest)...)
	}
}

// decoder takes ABI words off the front. After the first error it returns
// zeros, so that a caller checks once, with end.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrABI, what)
	}
}

// end is the first error, or that of bytes left over.
func (d *decoder) end() error {
	if len(d.rest) != 0 {
		d.fail("trailing bytes")
	}
	return d.err
}

func (d *decoder) hash() (w common.Hash) {
	if len(d.rest) < wordSize {
		d.fail("too short")
		d.rest = nil
		return w
	}
	copy(w[:], d.rest)
	d.rest = d.rest[wordSize:]
	return w
}

// narrow takes a word whose first pad bytes are zero.
func (d *decoder) narrow(pad int) (w common.Hash) {
	w = d.hash()
	for _, b := range w[:pad] {
		if b != 0 {
			d.fail("dirty padding")
			return common.Hash{}
		}
	}
	return w
}

func (d *decoder) address() common.Address {
	w := d.narrow(12)
	return common.Address(w[12:])
}

func (d *decoder) amount() Amount {
	w := d.narrow(20)
	return AmountFromBytes([12]byte(w[20:]))
}

func (d *decoder) uint64() uint64 {
	w := d.narrow(24)
	return binary.BigEndian.Uint64(w[24:])
}

func (d *decoder) uint32() uint32 {
	w := d.narrow(28)
	return binary.BigEndian.Uint32(w[28:])
}

func (d *decoder) uint256() (v uint256.Int) {
	w := d.hash()
	v.SetBytes32(w[:])
	return v
}

func (d *decoder) descriptor() Descriptor {
	return Descriptor{
		Payer: d.address(), Payee: d.address(), Operator: d.address(), Token: d.address(),
		Salt: d.hash(), AuthorizedSigner: d.address(), ExpiringNonceHash: d.hash(),
	}
}

// offset takes the head word of the only dynamic argument, which begins right
// after the head.
func (d *decoder) offset(want uint64) {
	if d.uint64() != want {
		d.fail("offset")
	}
}

// bytes takes length and padded content.
func (d *decoder) bytes(limit int) []byte {
	n := d.uint64()
	if n > uint64(limit) {
		d.fail("byte string is too long")
	}
	padded := (int(min(n, uint64(limit))) + wordSize - 1) / wordSize * wordSize
	if d.err != nil || len(d.rest) < padded {
		d.fail("too short")
		d.rest = nil
		return nil
	}
	content, pad := d.rest[:n], d.rest[n:padded]
	for _, b := range pad {
		if b != 0 {
			d.fail("dirty padding")
			return nil
		}
	}
	d.rest = d.rest[padded:]
	return append([]byte(nil), content...)
}
