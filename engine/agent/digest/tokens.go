package digest

import "unicode"

// Tokens estimates how many tokens of a model a text is, rather too many than too
// few. Byte-pair vocabularies keep common words whole, at some four letters a token,
// but know next to no hex: addresses and hashes, which a digest is full of, fall
// apart into pieces of one to three characters. So a run with a digit in it counts a
// token for two characters, a run of letters one for four, a run of punctuation one
// for two, and each character beyond ASCII two. Single blanks go with the word that
// follows.
func Tokens(text string) int {
	n := 0
	run, kind, digit := 0, plain, false
	flush := func() {
		switch {
		case kind == word && digit, kind == mark:
			n += (run + 1) / 2
		case kind == word:
			n += (run + 3) / 4
		}
		run, digit = 0, false
	}
	for _, r := range text {
		k := kindOf(r)
		if k != kind {
			flush()
			kind = k
		}
		run++
		switch {
		case k == foreign:
			n += 2
		case k == plain && run > 1, r == '\n':
			n++
		}
		digit = digit || r >= '0' && r <= '9'
	}
	flush()
	return n
}

type runKind uint8

const (
	plain   runKind = iota // blanks
	word                   // ASCII letters and digits
	mark                   // ASCII punctuation
	foreign                // anything else
)

func kindOf(r rune) runKind {
	switch {
	case r > unicode.MaxASCII:
		return foreign
	case r <= ' ':
		return plain
	case r >= '0' && r <= '9', r|0x20 >= 'a' && r|0x20 <= 'z':
		return word
	}
	return mark
}
