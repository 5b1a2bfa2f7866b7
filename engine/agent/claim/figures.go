package claim

import (
	"math/big"
	"strconv"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/narrate"

	"github.com/ethereum/go-ethereum/common"
)

// figure is the computed value of a Figure. It is made of values of the evidence alone,
// without any number of the model.
type figure struct {
	kind   FigureKind
	n      *big.Int        // of a sum or a difference
	token  *common.Address // the amount is in base units of this token; nil: no token
	rate   api.Decimal     // of the others
	logs   []int
	frames []int
	why    Reason
}

// rateScale is the number of decimals to which percentages and ratios are computed.
const rateScale = 12

// compute evaluates the figures of an answer and counts those that cannot be computed.
func (ix *Index) compute(list []Figure) (dropped int) {
	ix.figures = make([]figure, len(list))
	for i, f := range list {
		if ix.figures[i] = ix.figure(f); ix.figures[i].why != Accepted {
			dropped++
		}
	}
	return dropped
}

func (ix *Index) figure(f Figure) figure {
	out := figure{kind: f.Kind, why: Malformed}
	if len(f.Of) < 2 || f.Kind.relates() && len(f.Of) != 2 {
		return out
	}
	var values []value
	seen := map[string]bool{}
	for _, s := range f.Of {
		r, ok := parseTextReference("amount:" + strings.Trim(s, "{} "))
		if !ok || len(r.args) == 0 {
			return out
		}
		v, places, why := ix.inText(r.args)
		if why == Accepted && (seen[s] || !sameToken(values, v)) {
			why = WrongUnit
		}
		if why != Accepted {
			out.why = why
			return out
		}
		seen[s] = true
		values = append(values, v)
		out.logs, out.frames = append(out.logs, places.logs...), append(out.frames, places.frames...)
	}
	if out.why = Accepted; f.Kind.relates() {
		out.relate(values[0].n, values[1].n)
	} else {
		out.add(values)
	}
	return out
}

// sameToken reports whether two values have the same unit: only amounts of one token can be
// compared, or plain numbers.
func sameToken(before []value, v value) bool {
	if len(v.units) > 0 {
		return false
	}
	if len(before) == 0 {
		return true
	}
	a, b := before[0].token, v.token
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// add computes a sum, or the difference of the first and the others.
func (f *figure) add(values []value) {
	f.n, f.token = new(big.Int), values[0].token
	for i, v := range values {
		if f.kind == Difference && i > 0 {
			f.n.Sub(f.n, v.n)
		} else {
			f.n.Add(f.n, v.n)
		}
	}
}

// relate computes a percentage or a ratio.
func (f *figure) relate(first, second *big.Int) {
	a, b, up := new(big.Int).Abs(first), new(big.Int).Abs(second), rateScale+2
	switch f.kind {
	case PercentChange:
		a, b = new(big.Int).Sub(second, first), a
		a.Abs(a)
	case Ratio:
		up = rateScale
	}
	if a.Sign() == 0 || b.Sign() == 0 {
		f.why = Unresolved
		return
	}
	f.rate = api.Decimal{Unscaled: new(big.Int).Quo(times10(a, up), b), Scale: rateScale}
}

// figureFact renders a figure by its position, from 1, in its own unit or in the unit named
// after a dot.
func (ix *Index) figureFact(args []string, w narrate.Words) (fact, Reason) {
	number, unit, _ := strings.Cut(args[0], ".")
	at, err := strconv.Atoi(number)
	if err != nil || at < 1 || at > len(ix.figures) {
		return fact{}, Unresolved
	}
	f := &ix.figures[at-1]
	if f.why != Accepted {
		return fact{}, f.why
	}
	text, why := ix.figureText(f, unit, w)
	return fact{class: isFact, text: text, logs: f.logs, frames: f.frames}, why
}

func (ix *Index) figureText(f *figure, unit string, w narrate.Words) (string, Reason) {
	switch {
	case f.kind == Ratio && (unit == "" || unit == "times"):
		return api.Thousands(significant(f.rate)) + " times", Accepted
	case f.kind == Ratio:
		return "", WrongUnit
	case f.kind.relates() && (unit == "" || unit == "percent"):
		return api.Thousands(significant(f.rate)) + " %", Accepted
	case f.kind.relates():
		return "", WrongUnit
	case unit == "usd":
		return ix.dollars(f.token, f.n)
	case f.token == nil && (unit == "" || unit == "number"):
		return api.Thousands(f.n.String()), Accepted
	case f.token != nil && (unit == "" || unit == "amount"):
		if ix.byID[*f.token] {
			return "", WrongUnit
		}
		return w.Amount(flow.TokenKey{Token: *f.token}, f.n), Accepted
	}
	return "", WrongUnit
}

// significant formats a rate with two decimals or, below one, with two significant digits.
func significant(d api.Decimal) string {
	scale := 2
	for one := (api.Decimal{Unscaled: big.NewInt(1)}); compare(d, one) < 0 && scale < rateScale; one.Scale++ {
		scale = one.Scale + 2
	}
	return d.Round(scale).String()
}
