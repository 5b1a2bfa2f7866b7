package claim

import (
	"math/big"
	"strings"

	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// What a number in a text must be, by what stands around it:
//
//	place     frame 0.2, log 61, block 19,000,000 ...: the place must exist
//	USD       $1,250, 1.2 million dollars: some value of the evidence within 1 %
//	amount    1,204.5 WETH: an amount of a token of that symbol, to the digits shown
//	wei, gwei likewise, of any integer
//	percent   100 or 0, a fee that an argument names, or a figure of the answer
//	ratio     a figure of the answer
//	other     an integer of the evidence exactly, a count of things in it, or an
//	          amount of some token shown with three digits or more
//
// Counts are held against the set of all counts: that five pools were used passes if
// anything at all was there five times. A wrong small count can so get through; a
// wrong amount cannot.

// integerOf reads 0x hex; nil when it is none or longer than 32 bytes.
func integerOf(s string) *big.Int {
	if len(s) < 3 || len(s) > 66 {
		return nil
	}
	n, ok := new(big.Int).SetString(s[2:], 16)
	if !ok || n.Sign() < 0 {
		return nil
	}
	return n
}

// has32 reports whether 32 bytes in hex exist.
func (ix *Index) has32(s string) bool {
	return ix.words[common.HexToHash(s)] || s == "0x"+strings.Repeat("0", 64)
}

// number reports whether the number at i stands.
func (ix *Index) number(list []lexeme, i int) bool {
	l := list[i]
	if u := strings.ToLower(l.unit); u != "" {
		if ix.vocab[strings.ToLower(l.text)] || ix.ordinal(l) {
			return true // a name that begins with a digit, such as 1inch; 2nd
		}
		if ix.of[u] == nil && powers[u] == 0 && units[u] == plainUnit {
			return false
		}
	}
	if i > 0 && strings.Contains("€£¥₿₩₹", list[i-1].text) {
		return false // no value is in these
	}
	if place := ix.place(list, i); place != nil {
		return *place
	}
	if width(list, i) {
		return true
	}
	r, next := ix.read(list, i)
	if r.value.Unscaled.Sign() == 0 {
		return r.value.Scale <= 0 // nothing is written 0, and not 0.000, which may be little
	}
	return ix.holds(r, ix.unitAt(list, i, next))
}

// width: 256-bit, 32 bytes and the like are of the machine, not of the transaction.
func width(list []lexeme, i int) bool {
	next := i + 1
	if next < len(list) && list[next].text == "-" {
		next++
	}
	if next >= len(list) {
		return false
	}
	switch list[next].text {
	case "bit", "bits", "byte", "bytes":
		n := list[i].number.String()
		return n == "4" || n == "8" || n == "16" || n == "20" || n == "32" || n == "64" || n == "112" || n == "128" || n == "160" || n == "256"
	}
	return false
}

// ordinal: 1st to 20th, and the 2nd of things that are counted.
func (ix *Index) ordinal(l lexeme) bool {
	switch strings.ToLower(l.unit) {
	case "st", "nd", "rd", "th":
		n := l.number.Unscaled
		return l.number.Scale == 0 && n.IsInt64() && (n.Int64() <= 3 || ix.counts[int(n.Int64())] || ix.below(int(min(n.Int64(), 1<<30))))
	}
	return false
}

// below reports whether something is counted that often or more.
func (ix *Index) below(n int) bool {
	for c := range ix.counts {
		if c >= n {
			return true
		}
	}
	return false
}

// place judges a number that names a place; nil when it does not.
func (ix *Index) place(list []lexeme, i int) *bool {
	j := i - 1
	if j >= 0 && (list[j].text == ":" || list[j].text == "-" && list[j].glued && list[i].glued) {
		j-- // log: 61, ERC-20
	}
	if j < 0 || list[j].kind != isWord {
		return nil
	}
	word, n := strings.ToLower(list[j].text), list[i].number
	if n.Unscaled == nil || !n.Unscaled.IsInt64() || list[i].unit != "" {
		return nil
	}
	v := n.Unscaled.Int64()
	ok := false
	switch word {
	case "frame", "frames", "path":
		ok = ix.frames[list[i].text] != nil
	case "log", "logs":
		_, ok = ix.logs[uint64(v)]
	case "node", "nodes":
		ok = n.Scale == 0 && v < int64(len(ix.r.PrettyTrace))
	case "solidity", "vyper":
		ok = ix.verified || ix.raws[n.String()]
	case "version", "layer":
		ok = v < 10
	case "erc", "eip", "bep", "rip":
		ok = n.Scale == 0 && v < 10_000
	case "january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december":
		ok = ix.times[list[j].text] && ix.times[list[i].text]
	case "step":
		ok = v <= maxSteps
	case "slot", "arg", "argument", "word":
		ok = v < 256 || ix.raws[n.String()]
	default:
		return nil
	}
	return &ok
}

// read takes the number at i with what multiplies it, and says where it ends.
func (ix *Index) read(list []lexeme, i int) (reading, int) {
	l := list[i]
	r := reading{value: l.number, last: -l.number.Scale}
	next := i + 1
	by := powers[strings.ToLower(l.unit)]
	if by == 0 && l.unit == "" && next < len(list) && list[next].kind == isWord && ix.of[strings.ToLower(list[next].text)] == nil {
		if by = powers[strings.ToLower(list[next].text)]; by > 0 {
			next++
		}
	}
	if by > 0 {
		r.value.Scale -= by
		r.last += by
	}
	for j := i - 1; j >= 0 && j >= i-3; j-- {
		r.about = r.about || hedges[strings.ToLower(list[j].text)]
	}
	return r, next
}

// measure is what a number counts: the unit, or the symbol of a token.
type measure struct {
	unit   unit
	symbol string
}

// unitAt looks at what stands before the number and after it.
func (ix *Index) unitAt(list []lexeme, i, next int) measure {
	if i > 0 && (list[i-1].text == "$" || strings.EqualFold(list[i-1].text, "usd")) {
		return measure{unit: inUSD}
	}
	after := list[i].unit
	if powers[strings.ToLower(after)] > 0 && ix.of[strings.ToLower(after)] == nil {
		after = ""
	}
	if after == "" && next < len(list) {
		after = list[next].text
		if (after == "-" || after == "of") && next+1 < len(list) && list[next+1].kind == isWord {
			after = list[next+1].text
		}
	}
	key := strings.ToLower(after)
	if ix.of[key] != nil && units[key] != inWei {
		return measure{symbol: key}
	}
	if len(key) > 1 && ix.of[strings.TrimSuffix(key, "s")] != nil {
		return measure{symbol: strings.TrimSuffix(key, "s")}
	}
	return measure{unit: units[key]}
}

// holds reports whether the evidence has such a number.
func (ix *Index) holds(r reading, m measure) bool {
	lo, hi := r.span()
	switch {
	case m.symbol != "":
		return ix.tokens(lo, hi, m.symbol)
	case m.unit == inUSD:
		lo, hi = r.wide()
		return ix.usd.between(lo, hi) || ix.derived.usd.between(lo, hi)
	case m.unit == inWei:
		return ix.loose.between(lo, hi)
	case m.unit == inGwei:
		return ix.loose.between(scaled(lo, 9), scaled(hi, 9))
	case m.unit == inPercent:
		return ix.percent(r)
	case m.unit == inBps:
		return ix.exact(r.value)
	case m.unit == asRatio:
		return ix.exact(r.value) && r.value.Scale <= 0 && ix.counted(r.value) || ix.derived.ratios.between(lo, hi)
	}
	return ix.exact(r.value) || ix.counted(r.value) || ix.precise(r, lo, hi)
}

// tokens looks among the amounts of a symbol, and among the integers of which nothing
// says what they count, with the decimals of its tokens.
func (ix *Index) tokens(lo, hi api.Decimal, symbol string) bool {
	if ix.of[symbol].between(lo, hi) || ix.derived.of[symbol].between(lo, hi) {
		return true
	}
	for scale := range ix.scales[symbol] {
		if ix.untold.between(scaled(lo, scale), scaled(hi, scale)) {
			return true
		}
	}
	return false
}

// scaled multiplies by a power of ten.
func scaled(d api.Decimal, by int) api.Decimal {
	return api.Decimal{Unscaled: d.Unscaled, Scale: d.Scale - by}
}

// exact reports whether a whole number is an integer of the evidence.
func (ix *Index) exact(d api.Decimal) bool {
	s := d.String()
	return !strings.Contains(s, ".") && ix.raws[s]
}

func (ix *Index) counted(d api.Decimal) bool {
	s := d.String()
	n, ok := new(big.Int).SetString(s, 10)
	return ok && n.IsInt64() && n.Int64() < 1<<30 && ix.counts[int(n.Int64())]
}

// precise: an amount whose token the text names elsewhere.
func (ix *Index) precise(r reading, lo, hi api.Decimal) bool {
	return digitsOf(r.value.Unscaled)-trailing(r.value.Unscaled) >= 3 && ix.any.between(lo, hi)
}

// percent: nothing and all, a fee that an argument names, or a figure.
func (ix *Index) percent(r reading) bool {
	s := r.value.String()
	if s == "100" || s == "0" {
		return true
	}
	if ix.rates[s] {
		return true
	}
	return ix.derived.percents.between(r.span())
}
