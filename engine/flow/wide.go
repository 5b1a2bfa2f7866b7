package flow

import (
	"math/big"
	"math/bits"

	"github.com/holiman/uint256"
)

// uint384 is an unsigned sum, little endian. Its 384 bits hold 2^128 amounts of 256 bits: a
// hostile token may emit any number of transfers of 2^256-1.
type uint384 [6]uint64

func (w *uint384) add(v *uint256.Int) {
	var c uint64
	w[0], c = bits.Add64(w[0], v[0], 0)
	w[1], c = bits.Add64(w[1], v[1], c)
	w[2], c = bits.Add64(w[2], v[2], c)
	w[3], c = bits.Add64(w[3], v[3], c)
	w[4], c = bits.Add64(w[4], 0, c)
	w[5] += c
}

func (w *uint384) addWide(v *uint384) {
	var c uint64
	for i := range w {
		w[i], c = bits.Add64(w[i], v[i], c)
	}
}

// addBig adds a non-negative integer; fees are products and may pass 256 bits.
func (w *uint384) addBig(n *big.Int) {
	var v uint384
	var buf [48]byte
	if n.Sign() < 0 || n.BitLen() > 8*len(buf) {
		return
	}
	n.FillBytes(buf[:])
	for i, b := range buf {
		bit := 8 * (len(buf) - 1 - i)
		v[bit/64] |= uint64(b) << (bit % 64)
	}
	w.addWide(&v)
}

// sub returns w - v modulo 2^384 and whether that is below zero.
func (w *uint384) sub(v *uint384) (d uint384, negative bool) {
	var b uint64
	for i := range w {
		d[i], b = bits.Sub64(w[i], v[i], b)
	}
	return d, b != 0
}

func (w *uint384) isZero() bool { return *w == uint384{} }

func (w *uint384) big() *big.Int {
	var buf [48]byte
	for i := range buf {
		bit := 8 * (len(buf) - 1 - i)
		buf[i] = byte(w[bit/64] >> (bit % 64))
	}
	return new(big.Int).SetBytes(buf[:])
}

// net returns in - out, nil when they are equal.
func net(in, out *uint384) *big.Int {
	if *in == *out {
		return nil
	}
	d, negative := in.sub(out)
	if !negative {
		return d.big()
	}
	d, _ = out.sub(in)
	n := d.big()
	return n.Neg(n)
}

// slab allocates big integers from shared arrays: two allocations per chunk instead of two
// per amount. Each integer owns its four words; growing one copies it, so a caller may
// change its value.
type slab struct {
	ints  []big.Int
	words []big.Word
}

const slabChunk = 32

// reserve makes room for n more integers in one go.
func (s *slab) reserve(n int) {
	if n > len(s.ints) {
		s.ints, s.words = make([]big.Int, n), make([]big.Word, 4*n)
	}
}

func (s *slab) of(v *uint256.Int) *big.Int {
	if bits.UintSize != 64 {
		return v.ToBig()
	}
	if len(s.ints) == 0 {
		s.reserve(slabChunk)
	}
	n, w := &s.ints[0], s.words[:4:4]
	s.ints, s.words = s.ints[1:], s.words[4:]
	w[0], w[1], w[2], w[3] = big.Word(v[0]), big.Word(v[1]), big.Word(v[2]), big.Word(v[3])
	return n.SetBits(w)
}
