package claim

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"txlens/engine/api"
)

// The texts of a model are shown to people who act on them, and a transaction may have
// talked the model into anything. So what can be checked is said by reference, and what
// stands between references is made of letters and plain punctuation. There are no lists
// of words: whether a word is true of its subject code cannot tell.

// mode says what a text may contain.
type mode struct {
	where string // the member of the answer
	limit int    // characters
	full  bool   // addresses are written in full
	bare  bool   // sentences without references to facts are accepted
}

// renderedText is the accepted sentences of a text, with the places that they refer to.
type renderedText struct {
	text   string
	first  bool // the first sentence is accepted
	logs   []int
	frames []int
	bad    int // sentences that were dropped
}

// places reports whether a text refers to a place of the transaction.
func (s *renderedText) places() bool { return len(s.logs)+len(s.frames) > 0 }

// say renders the accepted sentences of a text.
func (ix *Index) say(s string, m mode) (out renderedText) {
	var kept []string
	for i, sentence := range sentences(split(withoutMarkup(s))) {
		r, why := ix.sentence(sentence, m)
		if why == Accepted && utf8.RuneCountInString(strings.Join(kept, " ")+r.text)+1 > m.limit {
			why = TooLong
		}
		if why != Accepted {
			out.bad++
			ix.drops = append(ix.drops, Drop{m.where, i + 1, why})
			continue
		}
		out.first = out.first || i == 0
		kept, out.logs, out.frames = append(kept, r.text), append(out.logs, r.logs...), append(out.frames, r.frames...)
	}
	out.text = strings.Join(kept, " ")
	return out
}

// markup removes Markdown, which models write by habit. Removing it does not change what
// the text says. Marks of headings, lists and quotations have no meaning within one line.
var markup = strings.NewReplacer("*", "", "`", "", "#", "", "__", "", "~", "", "[", "(", "]", ")", "\\", "",
	"’", "'", "‘", "'", "“", "\"", "”", "\"", "\u2010", "-", "\u2011", "-", "–", "-", "—", "-")

// maxRaw bounds the characters of a text before rendering: references are longer than their
// rendered form.
const maxRaw = 3 * maxSummary

func withoutMarkup(s string) string {
	return strings.Trim(markup.Replace(api.Clean(s, maxRaw)), " ->")
}

// sentences splits a text at the end of a sentence: a mark, a blank, and a capital letter
// or a reference.
func sentences(parts []part) (out [][]part) {
	var now []part
	add := func(p part) {
		if p.ref != nil || p.plain != "" || p == (part{}) {
			now = append(now, p)
		}
	}
	end := func() {
		if len(now) > 0 {
			out, now = append(out, now), nil
		}
	}
	for i, p := range parts {
		if p.plain == "" {
			add(p)
			continue
		}
		rest := p.plain
		for {
			at := boundary(rest, i+1 < len(parts))
			if at < 0 {
				break
			}
			add(part{plain: rest[:at]})
			end()
			rest = strings.TrimLeft(rest[at:], " ")
		}
		if rest != "" {
			add(part{plain: rest})
		}
	}
	end()
	return out
}

// boundary returns the index after the mark that ends the first sentence of a plain piece,
// -1 if none ends. more says that a reference follows the piece.
func boundary(s string, more bool) int {
	for i := 0; i+1 < len(s); i++ {
		if strings.IndexByte(".!?", s[i]) < 0 || s[i+1] != ' ' {
			continue
		}
		next := strings.TrimLeft(s[i+1:], " ")
		if next == "" && more || next != "" && (next[0] >= 'A' && next[0] <= 'Z' || next[0] == '"' || next[0] == '(') {
			return i + 1
		}
	}
	return -1
}

// sentence renders one sentence, or returns the reason why it is dropped.
func (ix *Index) sentence(parts []part, m mode) (out fact, why Reason) {
	var text strings.Builder
	words, refs, facts, verdicts := false, 0, 0, 0
	for i, p := range parts {
		if p.ref == nil {
			if why := plain(parts, i); why != Accepted {
				return out, why
			}
			words = words || strings.ContainsFunc(p.plain, unicode.IsLetter)
			text.WriteString(p.plain)
			continue
		}
		if refs++; refs > maxReferences {
			return out, TooMany
		}
		f, why := ix.resolve(p.ref, m.full)
		if why != Accepted {
			return out, why
		}
		switch f.class {
		case isFact:
			facts++
		case isVerdict:
			verdicts++
		}
		out.logs, out.frames = append(out.logs, f.logs...), append(out.frames, f.frames...)
		text.WriteString(f.text)
	}
	out.text = api.Clean(text.String(), 4*maxRaw)
	switch {
	case strings.Contains(strings.ToLower(out.text), "partial result"):
		return out, Reserved
	case verdicts > 0 && (words || verdicts < refs):
		return out, MixedVerdict
	case facts+verdicts == 0 && !m.bare:
		return out, NoFact
	case !words && refs == 0:
		return out, Empty
	}
	return out, Accepted
}

// plain returns the reason why plain text of a sentence is dropped.
func plain(parts []part, at int) Reason {
	s := parts[at].plain
	if s == "" {
		return Malformed
	}
	if beside(parts, at) {
		return Malformed
	}
	start := at == 0
	for i, r := range s {
		next, after := at+1 < len(parts), s[i+utf8.RuneLen(r):]
		switch {
		case unicode.IsNumber(r):
			return Digit
		case r >= 'A' && r <= 'Z':
			if !start {
				return Name
			}
			start = false
		case r >= 'a' && r <= 'z':
			start = false
		case r == '.':
			if dotted(s, i, next) {
				return Link
			}
		case r == ':':
			if after == "" && next || after != "" && after[0] != ' ' {
				return Link
			}
		case r == '@', r == '/' && strings.HasPrefix(after, "/"):
			return Link
		case !strings.ContainsRune(" ,;!?'\"()-/&", r):
			return Character
		}
	}
	return Accepted
}

// beside reports whether a letter or a minus sign touches a reference, which would change
// its meaning: {amount:log:41}k.
func beside(parts []part, at int) bool {
	s := parts[at].plain
	first, _ := utf8.DecodeRuneInString(s)
	last, size := utf8.DecodeLastRuneInString(s)
	before, _ := utf8.DecodeLastRuneInString(s[:len(s)-size])
	return at > 0 && unicode.IsLetter(first) ||
		at+1 < len(parts) && (unicode.IsLetter(last) || last == '-' && (size == len(s) || !unicode.IsLetter(before)))
}

// dotted reports whether a dot at i neither ends the sentence nor belongs to an
// abbreviation such as "i.e.".
func dotted(s string, i int, more bool) bool {
	after, initial := s[i+1:], initialAt(s, i)
	switch {
	case i > 0 && s[i-1] == ' ':
		return true
	case after == "":
		return more
	case initial && len(after) > 1 && unicode.IsLetter(rune(after[0])) && after[1] == '.':
		return false
	case initial && i > 2 && s[i-2] == '.':
		return after[0] != ' ' && after[0] != ',' && after[0] != ')'
	case after[0] == '"' || after[0] == ')':
		return len(after) > 1 || more
	}
	return true
}

// initialAt reports whether a letter alone stands before the dot at i.
func initialAt(s string, i int) bool {
	return i > 0 && unicode.IsLetter(rune(s[i-1])) && (i == 1 || s[i-2] == '.' || s[i-2] == ' ' || s[i-2] == '(')
}
