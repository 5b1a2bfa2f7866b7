package narrate

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"txlens/engine/api"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/label"

	"github.com/ethereum/go-ethereum/common"
)

// MaxName bounds a name from the chain inside a sentence, in runes.
const MaxName = 40

// PlainText makes a name from the chain safe inside a sentence: one line, no
// characters that Markdown or HTML read, bounded. Brackets go too: a name must not
// look as if an address of our own writing followed it.
func PlainText(s string) string { return plainWithout(s, "*[]()<>|`#~\\\"{}") }

// LabelText is plainText for names out of our own tables, whose brackets mean no harm.
func LabelText(s string) string { return plainWithout(s, "*[]<>|`#~\\\"{}") }

// plainWithout drops the unwanted. An underscore stays inside a word, where nothing
// reads it as emphasis: add_liquidity is the name of a function.
func plainWithout(s, unwanted string) string {
	if len(s) <= MaxName && plainASCII(s) {
		return s
	}
	var b strings.Builder
	n, last := 0, ' '
	runes := []rune(s)
	for i, r := range runes {
		if strings.ContainsRune(unwanted, r) || !unicode.IsPrint(r) {
			continue
		}
		if r == '_' && (!wordRune(last) || i+1 == len(runes) || !wordRune(runes[i+1])) {
			continue
		}
		last = r
		if n == MaxName {
			break
		}
		b.WriteRune(r)
		n++
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// plainASCII reports whether a name is letters, digits and single characters that
// harm nowhere, as nearly all are.
func plainASCII(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '.' && c != ':' && c != '-' {
				return false
			}
		}
	}
	return true
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// digits writes an address: short, or in full where the analysis is to.
func (a Words) digits(addr common.Address) string {
	if a.full {
		return api.AddrOf(addr).String()
	}
	return a.Abbreviate(addr)
}

// Who names an address: its label, its token, its verified contract, or its digits.
// In full, the digits stand behind each name.
func (a Words) Who(addr common.Address) string {
	switch {
	case (addr == common.Address{}):
		return "the zero address"
	case addr == a.Sender && a.Labels[addr].Name == "":
		return a.digits(addr)
	}
	if n := a.labelName(addr); n != "" {
		if a.full || a.LabelOf(addr).Origin != label.InTables || a.Namesake(addr) {
			n += " (" + a.digits(addr) + ")"
		}
		return n
	}
	if t, ok := a.Tokens[addr]; ok {
		if s := a.Symbol(addr); t.Own() || t.Lookalike != "" {
			return s
		}
		if s := PlainText(t.Symbol); s != "" {
			return s + " (" + a.digits(addr) + ")"
		}
	}
	if c := a.Contracts[addr]; c != nil {
		if n := label.Foreign(c.Name); n != "" {
			return api.Quote(n, MaxName) + " (" + a.digits(addr) + ")"
		}
	}
	return a.digits(addr)
}

// labelName is the label of an address for a sentence. A pool that is listed for its
// share token is called a pool here, where it trades.
func (a Words) labelName(addr common.Address) string {
	l := a.LabelOf(addr)
	switch {
	case l.Own():
		n := l.Shown()
		if head, ok := strings.CutSuffix(n, " token"); ok && a.IsPool(addr) {
			return head + " pool"
		}
		return n
	case l.Category == "token" && l.Protocol == "":
		n := PlainText(l.Name)
		if head, ok := strings.CutSuffix(n, " token"); ok && a.IsPool(addr) {
			return head + " pool"
		}
		return n
	case l.Category == "contract":
		return PlainText(l.Name)
	}
	return LabelText(l.Name)
}

// Symbol names a token inside an amount; imitations are called so.
func (a Words) Symbol(token common.Address) string {
	if token == (common.Address{}) {
		if a.Chain != nil && a.Chain.Native.Symbol != "" && a.Block != nil {
			return a.Chain.NativeAt(a.Block.Timestamp).Symbol
		}
		if a.Chain != nil && a.Chain.Native.Symbol != "" {
			return a.Chain.Native.Symbol
		}
		return "native coin"
	}
	t := a.Token(token)
	s := PlainText(t.Symbol)
	own := t.Own() && !a.HasLabel(token)
	if own && s != "" {
		s = api.Quote(label.Printable(t.Symbol), MaxName)
	}
	switch {
	case s == "" && t.Lookalike != "":
		return t.Imitation() + " (" + a.digits(token) + ")"
	case s == "" && a.HasLabel(token):
		return a.labelName(token)
	case s == "":
		return a.digits(token)
	case t.Lookalike != "":
		return s + " (imitation, " + a.digits(token) + ")"
	case own, a.SymbolShared(token):
		return s + " (" + a.digits(token) + ")"
	}
	return s
}

// ownName is a name that the holder of an address chose, with the address.
var ownName = regexp.MustCompile(`("[^"]*") \((0x[0-9a-f]{4}…[0-9a-f]+)\)`)

// once leaves an address out where it stands behind the same name before in a sentence.
func once(s string) string {
	if strings.Count(s, `" (0x`) < 2 {
		return s
	}
	seen := map[string]string{}
	return ownName.ReplaceAllStringFunc(s, func(m string) string {
		p := ownName.FindStringSubmatch(m)
		switch first, ok := seen[p[1]]; {
		case !ok:
			seen[p[1]] = p[2]
		case first == p[2]:
			return p[1]
		}
		return m
	})
}

// Amount writes how much of what: "1,250 USDC", "NFT 17 of PUNK", "5,000 raw units of 0x…".
func (a Words) Amount(key flow.TokenKey, n *big.Int) string {
	n = new(big.Int).Abs(n)
	symbol := a.Symbol(key.Token)
	switch {
	case key.NFT && isRange(key):
		first, last, _ := key.Range()
		return api.Thousands(n.String()) + " NFTs of " + symbol + " (" + clip(first) + " … " + clip(last) + ")"
	case key.NFT && a.Flow != nil && a.Flow.Undecided[key.Token]:
		return "token " + clip(key.ID) + " of " + symbol
	case key.NFT:
		return "NFT " + clip(key.ID) + " of " + symbol
	case key.ID != "":
		return api.Thousands(n.String()) + " of " + symbol + " id " + clip(key.ID)
	}
	d, ok := a.Decimals(key.Token)
	switch {
	case !ok:
		return RawUnits(n, symbol)
	case key == flow.TokenKey{} && d == 18 && n.Sign() > 0 && n.Cmp(gwei) < 0:
		return api.Thousands(n.String()) + " wei"
	}
	return Decimal(n, d) + " " + symbol
}

// isRange reports whether a key names a range of NFTs that one event moved.
func isRange(key flow.TokenKey) bool {
	_, _, ok := key.Range()
	return ok
}

// gwei is the amount of native coin below which it is counted in wei.
var gwei = big.NewInt(1_000_000_000)

// usualDecimals are those of most tokens.
const usualDecimals = 18

// rareRaw is the number of raw units below which usualDecimals would make nearly nothing.
var rareRaw = big.NewInt(1_000_000_000_000)

// RawUnits writes an amount of a token whose decimals are not known, with what it would
// be if they were the usual ones.
func RawUnits(n *big.Int, symbol string) string {
	s := compact(n) + " raw units of " + symbol
	if n.Cmp(big.NewInt(1)) == 0 {
		s = "1 raw unit of " + symbol
	}
	if n.Cmp(rareRaw) < 0 {
		return s
	}
	return s + " (" + Decimal(n, usualDecimals) + " if " + strconv.Itoa(usualDecimals) + " decimals)"
}

// compact writes a whole number with at most four significant digits, and a letter or a
// power of ten for the rest. A number below a million is written in full.
func compact(n *big.Int) string {
	digits := n.String()
	if len(digits) <= 6 {
		return api.Thousands(digits)
	}
	group := (len(digits) - 1) / 3 * 3
	suffix := map[int]string{6: "M", 9: "B", 12: "T"}[group]
	if suffix == "" {
		group, suffix = len(digits)-1, "e"+strconv.Itoa(len(digits)-1)
	}
	cut := api.PowerOfTen(len(digits) - 4)
	rounded := new(big.Int).Add(n, new(big.Int).Rsh(cut, 1))
	rounded.Mul(rounded.Quo(rounded, cut), cut)
	return Decimal(rounded, group) + suffix
}

// clip shortens a long token id.
func clip(id string) string {
	if len(id) <= 14 {
		return id
	}
	return id[:6] + "…" + id[len(id)-4:]
}

// Decimal writes n / 10^d with about six significant digits, rounded half up. A
// number that would round to nothing is said to be below what is shown.
func Decimal(n *big.Int, d int) string {
	if n.Sign() == 0 {
		return "0"
	}
	if d > 77 { // a token may claim any uint8; no balance reaches so far
		d = 77
	}
	text := n.String()
	whole := max(len(text)-d, 0) // digits before the point
	var places int
	switch {
	case whole == 0:
		places = max(d-len(text)+4, 6) // four significant digits of a small number
	default:
		places = max(6-whole, 2)
	}
	places = min(places, d)
	if places > 18 {
		return "less than 0.000000000000001"
	}
	digits := text
	if places < d {
		cut := api.PowerOfTen(d - places)
		rounded := new(big.Int).Rsh(cut, 1)
		digits = rounded.Quo(rounded.Add(rounded, n), cut).String()
	}
	if len(digits) <= places {
		digits = strings.Repeat("0", places-len(digits)+1) + digits
	}
	head, tail := digits[:len(digits)-places], strings.TrimRight(digits[len(digits)-places:], "0")
	if tail == "" {
		return api.Thousands(head)
	}
	return api.Thousands(head) + "." + tail
}

// legs writes a list of legs, the first few of them.
func (a Words) legs(list []facts.Leg) string {
	list = a.withoutTwinLegs(list)
	var parts []string
	if n := len(list); n > 2 && oneCollection(list) {
		return api.Count(n, "NFT") + " of " + a.Symbol(list[0].Key.Token) + " (" + clip(list[0].Key.ID) + " … " + clip(list[n-1].Key.ID) + ")"
	}
	for i := range list {
		if i == 3 && len(list) > 4 {
			parts = append(parts, api.Count(len(list)-3, "more asset"))
			break
		}
		if a.Tokens[list[i].Key.Token].Lookalike != "" {
			// Its name and its number would be taken for those of what it imitates.
			parts = append(parts, "imitation tokens ("+a.Abbreviate(list[i].Key.Token)+", left out)")
			continue
		}
		parts = append(parts, a.Amount(list[i].Key, list[i].Amount))
	}
	return join(parts)
}

// oneCollection reports whether all legs are single NFTs of one contract.
func oneCollection(list []facts.Leg) bool {
	for i := range list {
		if !list[i].Key.NFT || isRange(list[i].Key) || list[i].Key.Token != list[0].Key.Token {
			return false
		}
	}
	return true
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
