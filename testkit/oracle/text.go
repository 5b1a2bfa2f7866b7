package oracle

import (
	"encoding/hex"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"txlens/engine/api"
)

// names are the ways in which a result may print an address.
type names map[api.Addr][]string

func namesOf(r *api.Result) names {
	n := names{}
	for _, a := range r.Addresses {
		n[a.Address] = append(n[a.Address], a.Label)
	}
	for _, c := range r.BalanceChanges {
		n[c.Address] = append(n[c.Address], c.Label)
	}
	for _, t := range r.TokenTransfers {
		n[t.TokenAddress] = append(n[t.TokenAddress], t.TokenSymbol+" token", t.TokenName)
	}
	for _, c := range r.Contracts {
		n[c.Address] = append(n[c.Address], c.Name)
	}
	for i := range r.PrettyTrace {
		x := &r.PrettyTrace[i]
		n[x.From] = append(n[x.From], x.FromLabel)
		if x.To != nil {
			n[*x.To] = append(n[*x.To], x.ToLabel)
		}
	}
	for a := range n {
		slices.Sort(n[a])
		n[a] = slices.Compact(n[a])
	}
	return n
}

func digits(a api.Addr) (full, short string) {
	h := hex.EncodeToString(a[:])
	return "0x" + h, "0x" + h[:4] + "…" + h[len(h)-4:]
}

// same reports whether a text is a name of the address, with or without its digits behind. A
// name that the result lists for no address may be of one that it does not list either.
func (n names) same(text string, a api.Addr) bool {
	full, short := digits(a)
	text = strings.TrimPrefix(text, "account ")
	for _, name := range append(n[a], full, short) {
		if name != "" && (text == name || text == name+" ("+short+")" || text == name+" ("+full+")") {
			return true
		}
	}
	if !strings.HasPrefix(text, "0x") && !strings.Contains(text, "…") && !n.listed(text) {
		return true
	}
	return strings.HasSuffix(text, " ("+short+")") || strings.HasSuffix(text, " ("+full+")") ||
		strings.HasPrefix(text, short+" (") || strings.HasPrefix(text, full+" (")
}

// listed reports whether the result lists an address by this name.
func (n names) listed(text string) bool {
	for _, list := range n {
		if slices.Contains(list, text) {
			return true
		}
	}
	return false
}

var numberPattern = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?(?:e\d+)?[KMBT]?`)

var powers = map[byte]int64{'K': 3, 'M': 6, 'B': 9, 'T': 12}

// number is a printed number.
func number(text string) *big.Rat {
	scale := int64(0)
	if p := powers[text[len(text)-1]]; p > 0 {
		scale, text = p, text[:len(text)-1]
	}
	v, ok := new(big.Rat).SetString(strings.ReplaceAll(text, ",", ""))
	if !ok {
		return new(big.Rat)
	}
	return v.Mul(v, new(big.Rat).SetInt(power(scale)))
}

func power(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }

// tells reports whether a text prints an amount of base units, with the decimals or raw, up to
// the rounding of one part in a thousand, and where the number ends.
func tells(text string, amount *big.Int, decimals string) (end int, ok bool) {
	whole := new(big.Rat).SetInt(new(big.Int).Abs(amount))
	if d, known := new(big.Int).SetString(decimals, 10); known {
		whole.Quo(whole, new(big.Rat).SetInt(power(d.Int64())))
	}
	for _, at := range numberPattern.FindAllStringIndex(text, -1) {
		printed := number(text[at[0]:at[1]])
		if near(printed, whole) || near(printed, new(big.Rat).SetInt(new(big.Int).Abs(amount))) {
			return at[1], true
		}
	}
	return 0, false
}

func near(a, b *big.Rat) bool {
	diff := new(big.Rat).Sub(a, b)
	limit := new(big.Rat).Mul(b, big.NewRat(1, 1000))
	return diff.Abs(diff).Cmp(limit.Abs(limit)) <= 0
}

// decimalsOf are the decimals of a token as the result has them; of the native coin 18.
func decimalsOf(r *api.Result, token api.Addr) string {
	if token == (api.Addr{}) {
		return "18"
	}
	for _, t := range r.TokenTransfers {
		if t.TokenAddress == token {
			return t.Decimals
		}
	}
	return ""
}
