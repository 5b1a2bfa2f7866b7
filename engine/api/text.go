package api

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks may follow one letter; more is drawn over
// the lines around it.
const maxMarks = 2

// ByteOrderMark stands before UTF-8 text that some editors wrote. Files and bodies are read
// without it.
const ByteOrderMark = "\ufeff"

// Clean makes text from anywhere fit to be shown on one line: invalid UTF-8,
// control, format, bidirectional, zero-width, private and unassigned characters
// go, line breaks and runs of blanks become one space, and at most limit
// characters are kept. Clean text stays as it is.
func Clean(s string, limit int) string {
	s, _ = clean(s, limit)
	return s
}

// OneLine is Clean with an ellipsis as the last character when some were cut.
func OneLine(s string, limit int) string {
	s, cut := clean(s, limit)
	if !cut {
		return s
	}
	if runes := []rune(s); len(runes) >= limit {
		s = string(runes[:max(limit-1, 0)])
	}
	return strings.TrimRight(s, " ") + "…"
}

// quoteSigns are what a reader may take for the end of a quotation.
const quoteSigns = "\"“”„‟«»‹›＂″‶ʺ〝〞〟❝❞"

// Quote is somebody else's text in quotes, on one line of at most limit characters and without
// quotes of its own, so that it cannot end where it goes on.
func Quote(s string, limit int) string { return `"` + OneLine(Unquoted(s), limit) + `"` }

// Unquoted is a text without signs that look like quotes.
func Unquoted(s string) string {
	if !strings.ContainsAny(s, quoteSigns) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(quoteSigns, r) {
			return -1
		}
		return r
	}, s)
}

// Piece makes a piece of a longer text fit to be shown: what Clean drops goes, blanks
// and line breaks stay as they are, since the next piece is to be appended.
func Piece(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == ' ':
			return r
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, invisible(r):
			return -1
		}
		return r
	}, s)
}

func clean(s string, limit int) (text string, cut bool) {
	if len(s) <= limit && simple(s) {
		return s, false
	}
	var b strings.Builder
	kept, marks, blank := 0, 0, 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case ' ' < r && r < 0x7f, r == '…': // as nearly all are
			marks = 0
		case r == utf8.RuneError && size == 1, invisible(r):
			continue
		case unicode.IsSpace(r):
			blank = min(kept, 1) // none before the first character
			continue
		case !unicode.Is(unicode.M, r):
			marks = 0
		default:
			if marks++; marks > maxMarks || kept == 0 {
				continue
			}
		}
		if kept+blank+1 > limit {
			return b.String(), true
		}
		if blank > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		kept, blank = kept+blank+1, 0
	}
	return b.String(), false
}

// simple reports whether a string is printable ASCII without double or outer
// blanks, as nearly all are: nothing to do.
func simple(s string) bool {
	last := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && last == ' ' {
			return false
		}
		last = c
	}
	return s == "" || last != ' '
}

// invisible are characters that show nothing or move what is around them. Line
// separators are not among them: they are blanks.
func invisible(r rune) bool {
	switch {
	case unicode.IsSpace(r):
		return false
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true // letters and marks by class
	case r == '\u2800': // braille blank: a symbol by class
		return true
	}
	// Control, format, private, surrogate, unassigned.
	return !unicode.IsGraphic(r)
}

// Short is 0x1234…abcd: enough to recognise an address by.
func (a Addr) Short() string {
	s := a.String()
	return s[:6] + "…" + s[38:]
}

// Thousands puts a comma after each three digits of the whole part of a decimal
// number.
func Thousands(number string) string {
	start := 0
	if strings.HasPrefix(number, "-") {
		start = 1
	}
	end := strings.IndexByte(number, '.')
	if end < 0 {
		end = len(number)
	}
	if end-start <= 3 {
		return number
	}
	var b strings.Builder
	b.WriteString(number[:start])
	for i := start; i < end; i++ {
		if i > start && (end-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(number[i])
	}
	b.WriteString(number[end:])
	return b.String()
}

// Count writes a number of things: "1 call", "2 calls", "1,234 addresses".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return Thousands(strconv.Itoa(n)) + " " + noun + "s"
}
