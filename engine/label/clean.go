package label

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRunes is how much of a string from the chain is kept.
const maxRunes = 200

// maxMarks is how many combining marks may follow one letter; more is drawn over
// the lines around it.
const maxMarks = 2

// Clean makes a string from the chain fit to be shown: invalid UTF-8, control,
// format, bidirectional, zero-width, private and unassigned characters go, line
// breaks and runs of blanks become one space, and 200 characters are kept.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	runes, marks := 0, 0
	blank := false
	for i := 0; i < len(s) && runes < maxRunes; {
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		switch {
		case r == utf8.RuneError && size == 1, invisible(r):
			continue
		case unicode.IsSpace(r):
			blank = runes > 0
			continue
		}
		if unicode.Is(unicode.M, r) {
			if marks++; marks > maxMarks || runes == 0 {
				continue
			}
		} else {
			marks = 0
		}
		if blank {
			blank = false
			b.WriteByte(' ')
			if runes++; runes == maxRunes {
				break
			}
		}
		b.WriteRune(r)
		runes++
	}
	return strings.TrimRight(b.String(), " ")
}

// plain reports whether a string is short printable ASCII without double or
// outer blanks, as nearly all are: nothing to do.
func plain(s string) bool {
	if len(s) > maxRunes {
		return false
	}
	last := byte(' ')
	for i := 0; i < len(s); i++ {
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
