package claim

import (
	"math/big"
	"strconv"

	"txlens/engine/api"
)

// amounts is a set of numbers above zero that is asked whether one lies between two
// bounds. They lie in buckets by their exponent and first two digits, so that a
// transaction of thousands of numbers is not gone through for each word of a text.
type amounts struct {
	by   map[int][]api.Decimal
	seen map[string]bool
}

// add takes the absolute value.
func (s *amounts) add(d api.Decimal) {
	if d.Unscaled == nil || d.Unscaled.Sign() == 0 {
		return
	}
	if d.Unscaled.Sign() < 0 {
		d.Unscaled = new(big.Int).Abs(d.Unscaled)
	}
	if s.by == nil {
		s.by, s.seen = map[int][]api.Decimal{}, map[string]bool{}
	}
	if text := d.String(); !s.seen[text] {
		s.seen[text] = true
		b := bucket(d)
		s.by[b] = append(s.by[b], d)
	}
}

// between reports whether a number of the set lies within the bounds, both included.
func (s *amounts) between(lo, hi api.Decimal) bool {
	if s == nil || s.by == nil || hi.Unscaled.Sign() <= 0 {
		return false
	}
	from := bucket(hi) - 180 // two powers of ten are more than any tolerance
	if lo.Unscaled.Sign() > 0 {
		from = bucket(lo)
	}
	for b := from; b <= bucket(hi); b++ {
		for _, d := range s.by[b] {
			if compare(d, lo) >= 0 && compare(d, hi) <= 0 {
				return true
			}
		}
	}
	return false
}

// bucket grows with the number: 90 to each power of ten.
func bucket(d api.Decimal) int {
	text := d.Unscaled.Text(10)
	first := text + "0"
	two, _ := strconv.Atoi(first[:2])
	return (len(text)-d.Scale)*90 + two - 10
}

// compare orders two decimals.
func compare(a, b api.Decimal) int {
	x, y := level(a, b)
	return x.Cmp(y)
}

// level brings two decimals to the same scale.
func level(a, b api.Decimal) (x, y *big.Int) {
	switch {
	case a.Scale < b.Scale:
		return times10(a.Unscaled, b.Scale-a.Scale), b.Unscaled
	case a.Scale > b.Scale:
		return a.Unscaled, times10(b.Unscaled, a.Scale-b.Scale)
	}
	return a.Unscaled, b.Unscaled
}

func times10(n *big.Int, by int) *big.Int {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(by)), nil)
	return p.Mul(p, n)
}

// reading is how a number was written: its value and the worth of its last digit
// that says something.
type reading struct {
	value api.Decimal
	last  int  // the last digit counts 10^last
	about bool // the text says that it is rounded
}

// span is what the number may stand for: nearest rounding; with three digits or more
// also cut off. What is written with one digit and not called rounded must be within
// 5 %.
func (r reading) span() (lo, hi api.Decimal) {
	v := r.value
	if v.Scale < 0 {
		v = api.Decimal{Unscaled: times10(v.Unscaled, -v.Scale)}
	}
	last := r.last
	if r.about {
		last = max(last, min(trailing(v.Unscaled)-v.Scale, digitsOf(v.Unscaled)-v.Scale-2))
	}
	scale := max(v.Scale, -last, 0) + 2
	n := times10(v.Unscaled, scale-v.Scale)
	unit := times10(big.NewInt(1), scale+last)
	half := new(big.Int).Rsh(unit, 1)
	up := half
	if digitsOf(n)-scale-last >= 3 {
		up = unit // cut off, not rounded
	}
	if digitsOf(n)-scale-last < 2 && !r.about {
		small := new(big.Int).Quo(n, big.NewInt(20))
		if half.Cmp(small) > 0 {
			half, up = small, small
		}
	}
	return api.Decimal{Unscaled: new(big.Int).Sub(n, half), Scale: scale}, api.Decimal{Unscaled: new(big.Int).Add(n, up), Scale: scale}
}

// wide is the span of a USD value: within 1 %, by its last digit, or to the cent.
func (r reading) wide() (lo, hi api.Decimal) {
	lo, hi = r.span()
	n, _ := level(r.value, api.Decimal{Unscaled: new(big.Int), Scale: max(r.value.Scale, 0)})
	scale := max(r.value.Scale, 0) + 2
	n = times10(n, 2)
	slack := new(big.Int).Quo(n, big.NewInt(100))
	if cent := times10(big.NewInt(1), scale); r.last == -2 {
		cent.Quo(cent, big.NewInt(200))
		slack = bigger(slack, cent)
	}
	if low := (api.Decimal{Unscaled: new(big.Int).Sub(n, slack), Scale: scale}); compare(low, lo) < 0 {
		lo = low
	}
	if high := (api.Decimal{Unscaled: new(big.Int).Add(n, slack), Scale: scale}); compare(high, hi) > 0 {
		hi = high
	}
	return lo, hi
}

func bigger(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return b
	}
	return a
}

func digitsOf(n *big.Int) int {
	if n.Sign() == 0 {
		return 0
	}
	return len(new(big.Int).Abs(n).Text(10))
}

// trailing counts the zeros at the end.
func trailing(n *big.Int) int {
	text := n.Text(10)
	i := len(text)
	for i > 1 && text[i-1] == '0' {
		i--
	}
	return len(text) - i
}
