package claim

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"txlens/engine/api"
)

// kind is what a piece of a sentence is.
type kind uint8

const (
	isWord   kind = iota // letters, digits and _ that begin with a letter or _
	isNumber             // a decimal number
	isHex                // 0x and digits, perhaps with a gap: 0x1234…abcd
	isPath               // 0.2.1
	isGap                // 254845…0783
	isDate               // 2024-03-01
	isTime               // 12:30 or 12:30:05
	isMark               // one other character
	isBad                // digits in a form that nobody can be sure how to read
)

// lexeme is one piece.
type lexeme struct {
	kind   kind
	text   string
	glued  bool // nothing stands between it and the one before
	number api.Decimal
	unit   string // letters that follow a number without a blank: 5ETH, 3M, 1inch
}

// maxLexemes bounds the pieces of one text.
const maxLexemes = 2000

// lex parts a clean text into its pieces. Every digit of it, of whatever script, is in
// a piece of a kind that is checked, or in a word.
func lex(s string) []lexeme {
	var out []lexeme
	for i := 0; i < len(s) && len(out) < maxLexemes; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			i += size
			continue
		}
		l := one(s[i:], r, size)
		l.glued = i > 0 && !unicode.IsSpace(lastRune(s[:i]))
		out = append(out, l)
		i += len(l.text)
	}
	return out
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// one reads the piece that a text begins with.
func one(s string, first rune, size int) lexeme {
	switch {
	case first >= '0' && first <= '9':
		return digits(s)
	case unicode.IsNumber(first): // digits of other scripts, fractions, numbers in circles
		return lexeme{kind: isBad, text: s[:size]}
	case wordRune(first):
		return lexeme{kind: isWord, text: s[:span(s, wordRune)]}
	}
	return lexeme{kind: isMark, text: s[:size]}
}

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// span is the length of the part that is made of such runes.
func span(s string, of func(rune) bool) int {
	for i, r := range s {
		if !of(r) {
			return i
		}
	}
	return len(s)
}

func decimalDigit(r rune) bool { return r >= '0' && r <= '9' }

func hexDigit(r rune) bool {
	return decimalDigit(r) || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
}

// digits reads what begins with a digit: hex, a path, a date, a time, a number.
func digits(s string) lexeme {
	if len(s) > 1 && s[0] == '0' && s[1]|0x20 == 'x' {
		return hexText(s)
	}
	for _, form := range []struct {
		kind  kind
		parts []int // how many digits each part has; 0: any
		by    byte
	}{{isDate, []int{4, 2, 2}, '-'}, {isTime, []int{2, 2, 2}, ':'}, {isTime, []int{2, 2}, ':'}} {
		if n := formed(s, form.parts, form.by); n > 0 {
			return lexeme{kind: form.kind, text: s[:n]}
		}
	}
	if n := path(s); n > 0 {
		return lexeme{kind: isPath, text: s[:n]}
	}
	return number(s)
}

// formed is the length of digits in parts; 0 when the text is not so.
func formed(s string, parts []int, by byte) int {
	at := 0
	for i, n := range parts {
		if i > 0 {
			if at >= len(s) || s[at] != by {
				return 0
			}
			at++
		}
		if span(s[at:], decimalDigit) != n {
			return 0
		}
		at += n
	}
	if r, _ := utf8.DecodeRuneInString(s[at:]); at < len(s) && (wordRune(r) || s[at] == by) {
		return 0
	}
	return at
}

// path is the length of a frame's path of three parts or more; a shorter one looks
// like a number and is known by the word before it.
func path(s string) int {
	at, parts := 0, 0
	for {
		n := span(s[at:], decimalDigit)
		if n == 0 {
			at--
			break
		}
		at, parts = at+n, parts+1
		if at >= len(s) || s[at] != '.' {
			break
		}
		at++
	}
	if r, _ := utf8.DecodeRuneInString(s[at:]); parts < 3 || at < len(s) && wordRune(r) {
		return 0
	}
	return at
}

// hexText reads 0x and digits. A gap of dots makes it a short form.
func hexText(s string) lexeme {
	n := 2 + span(s[2:], hexDigit)
	for _, gap := range []string{"…", "...", ".."} {
		if rest, ok := strings.CutPrefix(s[n:], gap); ok {
			if tail := span(rest, hexDigit); tail > 0 {
				n += len(gap) + tail
			}
			break
		}
	}
	if r, _ := utf8.DecodeRuneInString(s[n:]); n < len(s) && wordRune(r) {
		return lexeme{kind: isBad, text: s[:n+span(s[n:], wordRune)]}
	}
	return lexeme{kind: isHex, text: s[:n]}
}

// maxNumber bounds the characters of a number: 2^256 has 78 digits.
const maxNumber = 120

// number reads a decimal number: digits, or groups of three with commas or single
// blanks between, then a fraction, then an exponent, then letters. Whatever else
// digits are glued to makes it one that is not believed.
func number(s string) lexeme {
	if n := span(s, decimalDigit); n >= 4 && strings.HasPrefix(s[n:], "…") {
		if tail := span(s[n+len("…"):], decimalDigit); tail >= 3 {
			return lexeme{kind: isGap, text: s[:n+len("…")+tail]}
		}
	}
	n := groups(s)
	plain := s[:n]
	scale := 0
	if n+1 < len(s) && s[n] == '.' && decimalDigit(rune(s[n+1])) {
		frac := span(s[n+1:], decimalDigit)
		plain, scale, n = plain+s[n+1:n+1+frac], frac, n+1+frac
	}
	exp := 0
	if e := exponent(s[n:]); e > 0 {
		for _, c := range s[n+1 : n+e] {
			if c != '+' {
				exp = exp*10 + int(c-'0')
			}
		}
		n += e
	}
	unit := span(s[n:], func(r rune) bool { return wordRune(r) })
	l := lexeme{kind: isNumber, text: s[:n+unit], unit: s[n : n+unit]}
	if v, ok := new(big.Int).SetString(strings.NewReplacer(",", "", " ", "").Replace(plain), 10); ok && len(plain) <= maxNumber && exp <= 77 {
		l.number = api.Decimal{Unscaled: v, Scale: scale - exp}
	} else {
		l.kind = isBad
	}
	if strings.ContainsFunc(l.unit, unicode.IsNumber) || continues(s[n+unit:]) {
		l.kind = isBad
	}
	return l
}

// continues reports whether digits follow in a way that is no end of a number:
// 1'000, 1_000, 1.000.000, 1,00.
func continues(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 || unicode.IsSpace(r) || strings.ContainsRune("-–—/()[]:;=<>*+%^×~", r) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(s[size:])
	return unicode.IsNumber(next)
}

// groups is the length of the whole part.
func groups(s string) int {
	n := span(s, decimalDigit)
	if n > 3 {
		return n
	}
	for _, by := range []byte{',', ' '} {
		at := n
		for at+3 < len(s) && s[at] == by && span(s[at+1:], decimalDigit) == 3 {
			at += 4
		}
		if at > n {
			return at
		}
	}
	return n
}

// exponent is the length of e18 or e+18 after a number.
func exponent(s string) int {
	if len(s) < 2 || s[0]|0x20 != 'e' {
		return 0
	}
	at := 1
	if s[at] == '+' {
		at++
	}
	n := span(s[at:], decimalDigit)
	if n == 0 || n > 2 {
		return 0
	}
	if r, _ := utf8.DecodeRuneInString(s[at+n:]); at+n < len(s) && wordRune(r) {
		return 0
	}
	return at + n
}
