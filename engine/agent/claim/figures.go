package claim

import (
	"math/big"
	"strings"

	"txlens/engine/api"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// derived are the numbers that the figures of an answer come to.
type derived struct {
	of       map[string]*amounts
	usd      amounts
	percents amounts
	ratios   amounts
}

// compute takes the figures that come out as they are shown, and counts the others.
// A figure is made of references alone, without any number of the model's own, so it
// can say no more than the evidence does.
func (ix *Index) compute(list []Figure) (dropped int) {
	ix.derived = derived{of: map[string]*amounts{}}
	for _, f := range list {
		if !ix.figure(f) {
			dropped++
		}
	}
	return dropped
}

func (ix *Index) figure(f Figure) bool {
	shown, usd, ok := ix.shown(f.Shown)
	if !ok || len(f.Of) < 2 {
		return false
	}
	var values []value
	seen := map[string]bool{}
	for _, s := range f.Of {
		e, err := parseReference(s)
		if err != nil || e.op != opRef || seen[s] {
			return false
		}
		seen[s] = true
		v, err := ix.refer(e.ref)
		if err != nil || !sameToken(values, v) {
			return false
		}
		values = append(values, v)
	}
	switch f.Kind {
	case "sum", "difference":
		return ix.total(f.Kind, values, shown, usd)
	}
	return ix.relation(f.Kind, values, shown)
}

// sameToken: only amounts of one token can be set in relation, or numbers of none.
func sameToken(before []value, v value) bool {
	if len(before) == 0 {
		return true
	}
	a, b := before[0].token, v.token
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// shown reads the first number that a figure shows, and whether it is in USD.
func (ix *Index) shown(s string) (r reading, usd, ok bool) {
	list := lex(plainText(s))
	for i := range list {
		if list[i].kind == isNumber {
			r, next := ix.read(list, i)
			return r, ix.unitAt(list, i, next).unit == inUSD, r.value.Unscaled.Sign() != 0
		}
	}
	return reading{}, false, false
}

// total is a sum, or the first less the others.
func (ix *Index) total(kind string, values []value, shown reading, usd bool) bool {
	n := new(big.Int)
	for i, v := range values {
		if kind == "difference" && i > 0 {
			n.Sub(n, v.n)
		} else {
			n.Add(n, v.n)
		}
	}
	d, token, symbol := api.Decimal{Unscaled: n.Abs(n)}, common.Address{}, ""
	if t := values[0].token; t != nil {
		token = *t
		if sym, scale, known := ix.coin(token); known {
			symbol, d.Scale = sym, scale
		}
	}
	worth := api.Decimal{}
	if p, ok := ix.c.Evidence.Prices[token]; ok && symbol != "" {
		worth = flow.Value(d.Unscaled, uint8(d.Scale), p.USD)
	}
	var one amounts
	if usd {
		one.add(worth)
		ix.derived.usd.add(worth)
		return one.between(shown.wide())
	}
	if one.add(d); !one.between(shown.span()) {
		return false
	}
	key := strings.ToLower(symbol)
	if ix.derived.of[key] == nil {
		ix.derived.of[key] = &amounts{}
	}
	ix.derived.of[key].add(d)
	ix.derived.usd.add(worth)
	return true
}

// percentScale is the number of decimals to which percentages and ratios are computed.
const percentScale = 12

// relation is a percentage or a ratio of two values.
func (ix *Index) relation(kind string, values []value, shown reading) bool {
	if len(values) != 2 {
		return false
	}
	a, b := new(big.Int).Abs(values[0].n), new(big.Int).Abs(values[1].n)
	if kind == "percent_change" {
		a, b = new(big.Int).Sub(values[1].n, values[0].n), a
	}
	if a.Sign() == 0 || b.Sign() == 0 {
		return false
	}
	up, into := percentScale, &ix.derived.percents
	if kind == "ratio" {
		into = &ix.derived.ratios
	} else {
		up += 2
	}
	var one amounts
	d := api.Decimal{Unscaled: new(big.Int).Quo(times10(a.Abs(a), up), b), Scale: percentScale}
	if one.add(d); !one.between(shown.span()) {
		return false
	}
	into.add(d)
	return true
}
