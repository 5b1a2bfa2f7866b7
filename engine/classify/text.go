package classify

import (
	"math/big"
	"strings"
	"unicode"

	"txlens/engine/explain"
	"txlens/engine/flow"

	"github.com/ethereum/go-ethereum/common"
)

// maxName bounds a name from the chain inside a sentence, in runes.
const maxName = 40

// plainText makes a name from the chain safe inside a sentence: one line, no
// characters that Markdown or HTML read, bounded.
func plainText(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if strings.ContainsRune("*_[]()<>|`#~\\\"{}", r) || !unicode.IsPrint(r) {
			continue
		}
		if n == maxName {
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// short writes an address so that a reader can recognise it.
func short(addr common.Address) string { return explain.AddrOf(addr).Short() }

// who names an address: its label, its token, its verified contract, or its digits.
func (a *analysis) who(addr common.Address) string {
	switch {
	case (addr == common.Address{}):
		return "the zero address"
	case addr == a.sender && a.Labels[addr].Name == "":
		return short(addr)
	}
	if n := plainText(a.labelOf(addr).Name); n != "" {
		return n
	}
	if t, ok := a.Tokens[addr]; ok && t.Symbol != "" {
		if s := plainText(t.Symbol); s != "" {
			return s + " (" + short(addr) + ")"
		}
	}
	if c := a.Contracts[addr]; c != nil {
		if n := plainText(c.Name); n != "" {
			return n + " (" + short(addr) + ")"
		}
	}
	return short(addr)
}

// symbol names a token inside an amount; imitations are called so.
func (a *analysis) symbol(token common.Address) string {
	if token == (common.Address{}) {
		if a.Chain != nil && a.Chain.Native.Symbol != "" {
			return a.Chain.Native.Symbol
		}
		return "native coin"
	}
	t := a.Tokens[token]
	s := plainText(t.Symbol)
	switch {
	case s == "":
		return short(token)
	case t.Lookalike != "":
		return s + " (imitation, " + short(token) + ")"
	}
	return s
}

// decimals of a token; false when unknown.
func (a *analysis) decimals(token common.Address) (int, bool) {
	if token == (common.Address{}) {
		if a.Chain != nil && a.Chain.Native.Decimals > 0 {
			return a.Chain.Native.Decimals, true
		}
		return 18, true
	}
	if t, ok := a.Tokens[token]; ok && t.Decimals != nil {
		return int(*t.Decimals), true
	}
	return 0, false
}

// amount writes how much of what: "1,250 USDC", "NFT 17 of PUNK", "5000 base units of 0x…".
func (a *analysis) amount(key flow.TokenKey, n *big.Int) string {
	n = new(big.Int).Abs(n)
	symbol := a.symbol(key.Token)
	switch {
	case key.NFT:
		return "NFT " + clip(key.ID) + " of " + symbol
	case key.ID != "":
		return explain.Thousands(n.String()) + " of " + symbol + " id " + clip(key.ID)
	}
	d, ok := a.decimals(key.Token)
	if !ok {
		return explain.Thousands(n.String()) + " base units of " + symbol
	}
	return decimal(n, d) + " " + symbol
}

// clip shortens a long token id.
func clip(id string) string {
	if len(id) <= 14 {
		return id
	}
	return id[:6] + "…" + id[len(id)-4:]
}

// decimal writes n / 10^d with about six significant digits, rounded half up. A
// number that would round to nothing is said to be below what is shown.
func decimal(n *big.Int, d int) string {
	if n.Sign() == 0 {
		return "0"
	}
	if d > 77 { // a token may claim any uint8; no balance reaches so far
		d = 77
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil)
	whole := new(big.Int).Quo(n, unit)
	places := 6 - len(whole.String())
	if whole.Sign() == 0 {
		places = d - len(n.String()) + 4 // four significant digits of a small number
		if places < 6 {
			places = 6
		}
	}
	if whole.Sign() > 0 && places < 2 {
		places = 2
	}
	if places > d {
		places = d
	}
	if places > 18 {
		return "less than 0.000000000000001"
	}
	cut := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d-places)), nil)
	half := new(big.Int).Rsh(cut, 1)
	digits := new(big.Int).Quo(new(big.Int).Add(n, half), cut).String()
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	head, tail := digits[:len(digits)-places], strings.TrimRight(digits[len(digits)-places:], "0")
	if tail == "" {
		return explain.Thousands(head)
	}
	return explain.Thousands(head) + "." + tail
}

// legs writes a list of legs, the first few of them.
func (a *analysis) legs(list []leg) string {
	var parts []string
	for i := range list {
		if i == 3 && len(list) > 4 {
			parts = append(parts, explain.Count(len(list)-3, "more asset"))
			break
		}
		parts = append(parts, a.amount(list[i].key, list[i].amount))
	}
	return join(parts)
}

func join(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
