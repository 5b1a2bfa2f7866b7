package tempo

import (
	"sync"

	"github.com/consensys/gnark-crypto/ecc/secp256k1"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fp"
	"github.com/consensys/gnark-crypto/ecc/secp256k1/fr"
	"github.com/ethereum/go-ethereum/common"
)

// comb holds multiples of one point of secp256k1, so that any multiple of it is a
// sum of few of them, without a doubling. A scalar is read in windows of width bits
// as signed digits; the multiple for digit d of window i is ±|d|·2^(width·i) times
// the point. Nothing here is secret, and nothing takes the same time for all.
type comb struct {
	width  uint
	points []secp256k1.G1Affine // per window, the digits 1 to half
}

// Widths of the windows. The generator's table is made once, and has 264 KiB; that of
// a key has 52 KiB.
const (
	generatorWidth = 8
	keyWidth       = 5
)

// half is the greatest digit.
func (c *comb) half() int { return 1 << (c.width - 1) }

func newComb(q *secp256k1.G1Affine, width uint) *comb {
	c := &comb{width: width}
	windows := 256/int(width) + 1 // the last has room for the carry
	multiples := make([]secp256k1.G1Jac, 0, windows*c.half())
	var base secp256k1.G1Jac
	base.FromAffine(q)
	for range windows {
		p := base
		for range c.half() {
			multiples = append(multiples, p)
			p.AddAssign(&base)
		}
		base.Double(&multiples[len(multiples)-1])
	}
	c.points = secp256k1.BatchJacobianToAffineG1(multiples)
	return c
}

// addTo adds k times the point to sum. It is false where the formulas do not hold,
// which nobody meets but by intent.
func (c *comb) addTo(sum *accumulator, k *fr.Element) bool {
	words := k.Bits() // little-endian, no longer in Montgomery form
	half := c.half()
	carry := 0
	for from, row := uint(0), c.points; len(row) > 0; from, row = from+c.width, row[half:] {
		d := bitsAt(&words, from, c.width) + carry
		carry = 0
		if d > half {
			d, carry = d-2*half, 1
		}
		switch {
		case d > 0 && !sum.add(&row[d-1], false), d < 0 && !sum.add(&row[-d-1], true):
			return false
		}
	}
	return true
}

// accumulator is a sum of points in the coordinates XYZZ: x = X/ZZ and y = Y/ZZZ, where
// ZZ³ = ZZZ². The zero value is the point at infinity.
type accumulator struct{ x, y, zz, zzz fp.Element }

// add adds p, or takes it away (formulas madd-2008-s of the EFD). It is false where p is
// the sum itself, or its opposite.
func (a *accumulator) add(p *secp256k1.G1Affine, minus bool) bool {
	y := p.Y
	if minus {
		y.Neg(&y)
	}
	if a.zz.IsZero() {
		a.x, a.y = p.X, y
		a.zz.SetOne()
		a.zzz.SetOne()
		return true
	}
	var u, r, pp, ppp, q fp.Element
	u.Mul(&p.X, &a.zz).Sub(&u, &a.x)
	r.Mul(&y, &a.zzz).Sub(&r, &a.y)
	if u.IsZero() {
		return false
	}
	pp.Square(&u)
	ppp.Mul(&u, &pp)
	q.Mul(&a.x, &pp)
	a.x.Square(&r).Sub(&a.x, &ppp).Sub(&a.x, &q).Sub(&a.x, &q)
	q.Sub(&q, &a.x).Mul(&q, &r)
	a.y.Mul(&a.y, &ppp).Sub(&q, &a.y)
	a.zz.Mul(&a.zz, &pp)
	a.zzz.Mul(&a.zzz, &ppp)
	return true
}

// bitsAt is n bits of a number from a place on; beyond its end they are 0.
func bitsAt(words *[4]uint64, from, n uint) int {
	at, shift := from/64, from%64
	if at >= 4 {
		return 0
	}
	v := words[at] >> shift
	if shift+n > 64 && at < 3 {
		v |= words[at+1] << (64 - shift)
	}
	return int(v & (1<<n - 1))
}

// generator is the comb of the curve's own point.
var generator = sync.OnceValue(func() *comb {
	_, g := secp256k1.Generators()
	return newComb(&g, generatorWidth)
})

// signedBy reports whether recovering the signer of a secp256k1 signature would give
// the comb's key: with r, s and the parity of R taken from it,
//
//	Q = r⁻¹(sR - zG)  just where  R = s⁻¹(zG + rQ)
//
// and a recovery id of 27 or 28 says that R's x is r itself. So R is computed from
// the known key, and compared in both coordinates; to leave y out, as ECDSA's own
// verification does, would accept a signature whose recovery id is wrong, which the
// chain refuses. s was checked to be low when it was read.
func (c *comb) signedBy(digest common.Hash, sig *Signature) bool {
	var z, r, s fr.Element
	z.SetBytes(digest[:])
	var raw [32]byte
	copy(raw[:], sig.b[32:64])
	s.SetBytes(raw[:])
	copy(raw[:], sig.b[:32])
	r.SetBytes(raw[:])
	s.Inverse(&s)
	z.Mul(&z, &s)
	r.Mul(&r, &s)

	var point accumulator
	if !generator().addTo(&point, &z) || !c.addTo(&point, &r) || point.zz.IsZero() {
		return false
	}
	var x, y fp.Element
	x.SetBytes(raw[:])
	if x.Mul(&x, &point.zz); !x.Equal(&point.x) {
		return false
	}
	y.Inverse(&point.zzz).Mul(&y, &point.y)
	return byte(y.Bits()[0]&1) == sig.b[64]-27
}
