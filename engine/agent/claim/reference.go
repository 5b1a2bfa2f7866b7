package claim

import (
	"strings"
)

// A reference in a text:
//
//	reference = "{" kind { ":" argument } "}"
//	kind      = letters and _
//	argument  = letters, digits, "_", ".", "-", "…"
//
// What the arguments of a kind are stands in facts.go. There is nothing to nest and
// nothing to escape: a brace that opens no reference makes its sentence malformed.

// Bounds of references.
const (
	maxReference  = 240 // bytes between the braces
	maxArguments  = 6   // of one reference
	maxReferences = 24  // of one text
)

// textReference is a reference of a text.
type textReference struct {
	kind string
	args []string
}

// parseTextReference parses the text between two braces.
func parseTextReference(s string) (textReference, bool) {
	if len(s) > maxReference {
		return textReference{}, false
	}
	parts := strings.Split(s, ":")
	if len(parts) > 1+maxArguments {
		return textReference{}, false
	}
	for i, p := range parts {
		of := argumentRune
		if i == 0 {
			of = kindRune
		}
		if parts[i] = strings.Trim(p, " "); !consistsOf(parts[i], of) {
			return textReference{}, false
		}
	}
	return textReference{parts[0], parts[1:]}, true
}

// consistsOf reports whether a text is not empty and has only runes that ok accepts.
func consistsOf(s string, of func(rune) bool) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !of(r) })
}

func kindRune(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' }

func argumentRune(r rune) bool {
	return kindRune(r) || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '…'
}

// part is a piece of a text: plain text or a reference. A malformed reference has neither.
type part struct {
	plain string
	ref   *textReference
}

// split splits a text into plain pieces and references.
func split(s string) (out []part) {
	for s != "" {
		at := strings.IndexAny(s, "{}")
		if at != 0 {
			if at < 0 {
				at = len(s)
			}
			out = append(out, part{plain: s[:at]})
			s = s[at:]
			continue
		}
		end := strings.IndexAny(s[1:], "{}")
		if s[0] == '{' && end >= 0 && s[1+end] == '}' {
			if r, ok := parseTextReference(s[1 : 1+end]); ok {
				out = append(out, part{ref: &r})
				s = s[end+2:]
				continue
			}
		}
		out = append(out, part{})
		s = s[1:]
	}
	return out
}
