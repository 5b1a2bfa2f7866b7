package claim

import (
	"regexp"
	"strings"
	"unicode"

	"txlens/engine/api"
)

// The texts of a model are shown to people who act on them, and a transaction may have
// talked the model into anything. So a sentence stands only if each of its parts is of
// a kind that was looked at: English words, numbers that the evidence has, addresses
// and places that exist, names that the evidence names. It must hold no link and no
// markup. No word is forbidden: a list of words drops true sentences. A sentence that
// does not stand is dropped as a whole: what was meant by the rest nobody can know.

// prose cleans a text of at most limit characters and keeps the sentences that stand.
// It gives "" when none does, and the number of those that do not.
func (ix *Index) prose(s string, limit int) (kept string, dropped int) {
	s = plainText(s)
	parts := sentences(s)
	if markup(ix.masked(s)) {
		return "", len(parts)
	}
	var out []string
	for _, part := range parts {
		if ix.sentence(part) == "" {
			out = append(out, part)
		} else {
			dropped++
		}
	}
	return api.OneLine(strings.Join(out, " "), limit), dropped
}

// emphasis goes silently: models write it out of habit, and without it the text says
// the same.
var emphasis = strings.NewReplacer("*", "", "`", "", "|", "/", "#", "", "[", "(", "]", ")", "{", "(", "}", ")", "\\", "", "’", "'", "“", "\"", "”", "\"", "‘", "'", "\u2011", "-", "\u2010", "-")

// plainText makes a text one line without emphasis. What opens a heading, a list, a
// quotation or a table has no meaning on one line.
func plainText(s string) string {
	s = emphasis.Replace(api.Clean(s, 4*maxText))
	s = strings.ReplaceAll(s, "__", "")
	return strings.Trim(api.Clean(s, 4*maxText), " -_~>")
}

var (
	tag    = regexp.MustCompile(`<[/!?a-zA-Z]|&[a-zA-Z#][a-zA-Z0-9]*;|~~`)
	scheme = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*:\s*/|\bwww\.|\b(javascript|mailto|magnet)\s*:|\bdata:[a-z]+/|\btel:[+0-9]|\w@\w|\]\s*\(|\bdot\s+(com|org|net|io|xyz|eth|finance)\b`)
	dotted = regexp.MustCompile(`[\pL\pN_-]+(?:\s?[.。．｡]\s?[\pL\pN_-]+)+`)
)

// markup reports whether a text holds what a program could make markup or a link of.
func markup(s string) bool {
	if tag.MatchString(s) || scheme.MatchString(s) {
		return true
	}
	for _, name := range dotted.FindAllString(s, -1) {
		if hostLike(name) {
			return true
		}
	}
	return false
}

// hostLike reports whether a word with dots could be a host. A blank at a dot is the
// end of a sentence, unless what follows is no word to begin one with.
func hostLike(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(".。．｡", r) })
	if strings.ContainsAny(name, "。．｡") {
		return true
	}
	for i := 1; i < len(parts); i++ {
		end := strings.TrimSpace(parts[i])
		if strings.Trim(parts[i-1], "0123456789 ") == "" {
			continue
		}
		if apart := end != parts[i] || strings.HasSuffix(parts[i-1], " "); hosts[strings.ToLower(end)] && !apart || apart && farHosts[end] {
			return true
		}
	}
	return false
}

// sentences parts a text where one ends: at a mark, a blank and a capital, digit or
// quotation mark.
func sentences(s string) (out []string) {
	start := 0
	runes := []rune(s)
	for i := 0; i+2 < len(runes); i++ {
		if strings.ContainsRune(".!?", runes[i]) && runes[i+1] == ' ' && !short(runes[start:i]) &&
			(unicode.IsUpper(runes[i+2]) || unicode.IsDigit(runes[i+2]) || runes[i+2] == '"') {
			out = append(out, string(runes[start:i+1]))
			start = i + 2
		}
	}
	if start < len(runes) {
		out = append(out, string(runes[start:]))
	}
	return out
}

// short reports whether a mark follows an abbreviation.
func short(before []rune) bool {
	for _, a := range []string{"e.g", "i.e", "vs", "approx", "no", "cf", "etc"} {
		if s := strings.ToLower(string(before)); s == a || strings.HasSuffix(s, " "+a) || strings.HasSuffix(s, "("+a) {
			return true
		}
	}
	return false
}

// sentence says why a sentence does not stand; "" if it does.
func (ix *Index) sentence(s string) string {
	if strings.Contains(strings.ToLower(s), "partial result") {
		return "it imitates the mark of a partial result"
	}
	list := lex(ix.masked(s))
	if len(list) == 0 || len(list) == maxLexemes {
		return "it is empty or endless"
	}
	for i := range list {
		if why := ix.piece(list, i); why != "" {
			return why
		}
	}
	return ""
}

func (ix *Index) piece(list []lexeme, i int) string {
	l := &list[i]
	switch l.kind {
	case isBad:
		return "a number cannot be read for sure"
	case isHex:
		if !ix.hex(l.text) {
			return "a hex value does not exist in the evidence"
		}
	case isGap:
		if !ix.gap(l.text) {
			return "a number does not exist in the evidence"
		}
	case isPath:
		if ix.frames[l.text] == nil && !version(list, i) {
			return "a frame does not exist"
		}
	case isDate, isTime:
		if !ix.times[l.text] {
			return "a time is not that of the block"
		}
	case isNumber:
		if !ix.number(list, i) {
			return "a number is not in the evidence"
		}
	case isWord:
		return ix.text(list, i)
	}
	return ""
}

// masked puts a plain word in place of names out of our own tables, which may hold
// numbers and dots: Safe 1.3.0, Gate.io.
func (ix *Index) masked(s string) string {
	for _, name := range ix.phrases {
		if i := strings.Index(s, name); i >= 0 && len(name) > 3 && strings.ContainsAny(name, ".0123456789") &&
			(i == 0 || !wordRune(lastRune(s[:i]))) && span(s[i+len(name):], wordRune) == 0 {
			s = strings.ReplaceAll(s, name, "Contract")
		}
	}
	return s
}

// version: "Solidity 0.8.19" is no frame.
func version(list []lexeme, i int) bool {
	if i == 0 {
		return false
	}
	w := strings.ToLower(list[i-1].text)
	return w == "solidity" || w == "vyper" || w == "version"
}

// text looks at one word.
func (ix *Index) text(list []lexeme, i int) string {
	l := &list[i]
	word := strings.ToLower(strings.Trim(l.text, "_"))
	if !asciiWord(l.text) && !ix.known(word) {
		return "a word is not written in English"
	}
	if vague[word] && !multiplies(list, i) || spelt[word] > 0 && word != "both" && !ix.counts[spelt[word]] {
		return "a quantity is not in the evidence"
	}
	if nameLike(list, i) && !ix.known(word) && !ix.compound(word) {
		return "a name is not in the evidence"
	}
	return ""
}

// title reports whether a word has its first letter alone in upper case.
func title(s string) bool {
	return s != "" && unicode.IsUpper([]rune(s)[0]) && s[1:] == strings.ToLower(s[1:])
}

// multiplies reports whether a word such as million belongs to a number before it.
func multiplies(list []lexeme, i int) bool {
	return powers[strings.ToLower(list[i].text)] > 0 && i > 0 && list[i-1].kind == isNumber
}

// nameLike reports whether a word looks like a name: it has a capital that no
// beginning of a sentence asks for, digits, or a _ inside.
func nameLike(list []lexeme, i int) bool {
	w := list[i].text
	first := i == 0 || list[i-1].text == "\"" || list[i-1].text == "(" && i == 1 || list[i-1].text == ":"
	if first && title(w) && !strings.ContainsFunc(w, unicode.IsDigit) {
		return false
	}
	return w != strings.ToLower(w) || strings.ContainsFunc(w, unicode.IsDigit) || strings.Contains(strings.Trim(w, "_"), "_")
}

// standards are prefixes of names with a number that need no evidence.
var standards = set("erc eip rip bep uint int bytes v solidity slot0 reserve token amount arg word log")

// compound reports whether a name is a standard's, a form of a known word, or made of
// known words.
func (ix *Index) compound(word string) bool {
	head := strings.TrimRight(word, "0123456789")
	if head != word && (standards[head] || standards[word]) {
		return true
	}
	for _, end := range []string{"s", "es", "'s"} {
		if stem, ok := strings.CutSuffix(word, end); ok && ix.known(stem) {
			return true
		}
	}
	parts := strings.Split(word, "_")
	for _, p := range parts {
		if p != "" && !ix.known(p) {
			return false
		}
	}
	return len(parts) > 1
}

// hex reports whether a hex value exists: an address, short or in full, 32 bytes, a
// selector, or an integer.
func (ix *Index) hex(s string) bool {
	s = strings.ToLower(strings.Replace(s, "0X", "0x", 1))
	if head, tail, gap := cutGap(s); gap {
		return ix.shortForm(head, tail)
	}
	switch len(s) {
	case 2, 3, 4:
		return true // 0x, 0x0, 0x7e
	case 10:
		if ix.selectors[s] {
			return true
		}
	case 42:
		var a api.Addr
		return a.UnmarshalText([]byte(s)) == nil && ix.addresses[a]
	case 66:
		return ix.has32(s)
	}
	n := integerOf(s)
	return n != nil && ix.raws[n.String()]
}

func cutGap(s string) (head, tail string, found bool) {
	for _, gap := range []string{"…", "...", ".."} {
		if head, tail, found = strings.Cut(s, gap); found {
			return head, tail, true
		}
	}
	return s, "", false
}
