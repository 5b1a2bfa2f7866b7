package report

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

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
