package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// maxMarks is how many combining marks one character may carry; more is drawn
// over the lines above and below.
const maxMarks = 2

// clean makes text from anywhere fit for one line: white space and what stands
// for a line break become single blanks; control, format (bidirectional and zero
// width) and private characters and broken UTF-8 go; at most limit characters
// stay, the last one an ellipsis when some were cut.
func clean(s string, limit int) string {
	if len(s) <= limit && simple(s) {
		return s
	}
	var b strings.Builder
	kept, marks, blank := 0, 0, false
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		if unicode.IsSpace(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			blank = kept > 0
			continue
		}
		if marks = countMarks(r, marks); marks > maxMarks || !printable(r, size) {
			continue
		}
		if blank {
			b.WriteByte(' ')
			kept, blank = kept+1, false
		}
		if kept++; kept > limit {
			return cutLast(b.String(), limit)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// simple reports whether s is ASCII text that needs no cleaning.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

func countMarks(r rune, before int) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return before + 1
	}
	return 0
}

func printable(r rune, size int) bool {
	if r == utf8.RuneError && size <= 1 {
		return false
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Variation_Selector)
}

// cutLast makes room for an ellipsis within limit characters.
func cutLast(s string, limit int) string {
	runes := []rune(s)
	if len(runes) >= limit {
		runes = runes[:max(limit-1, 0)]
	}
	return strings.TrimRight(string(runes), " ") + "…"
}

// columns is the number of terminal cells that s takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts clean text to so many cells.
func fit(s string, limit int) string {
	if columns(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += cells(r); n > limit-1 {
			return strings.TrimRight(s[:i], " ") + "…"
		}
	}
	return s
}

// pad fills with blanks up to so many cells, on the right; on the left when the
// number is negative.
func pad(s string, to int) string {
	if to < 0 {
		return strings.Repeat(" ", max(-to-columns(s), 0)) + s
	}
	return s + strings.Repeat(" ", max(to-columns(s), 0))
}

// wrap breaks clean text into lines of so many cells. A word that is longer than
// a line is broken.
func wrap(s string, limit int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		for columns(word) > limit {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := breakAt(word, limit)
			lines, word = append(lines, word[:head]), word[head:]
		}
		switch {
		case line == "":
			line = word
		case columns(line)+1+columns(word) <= limit:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// breakAt is how many bytes of word fit into limit cells, at least one character.
func breakAt(word string, limit int) int {
	n := 0
	for i, r := range word {
		if n += cells(r); n > limit && i > 0 {
			return i
		}
	}
	return len(word)
}
