package tool

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"txlens/engine/api"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an answer that a model sees.
const (
	MaxResult = 24 << 10 // bytes of JSON; answers of tools are smaller, see Tool.Run
	maxString = 200      // characters of a string from a chain
	maxHex    = 4096     // characters of a string that is 0x and hex digits
	maxIndent = 40       // blanks kept before a line of source
)

// The wrapper around data. Its brackets occur nowhere inside, because Mark escapes them.
const (
	markOpen  = "<chain_data>\n"
	markClose = "\n</chain_data>"
	markCut   = "\n(cut here: ask for less)"
)

// Mark makes an answer safe to show to a model: JSON in a wrapper that nothing inside can
// close. Strings are cut at 200 characters (hex digits at 4,096). Control, bidirectional
// and invisible characters are removed. Whatever could begin HTML, a Markdown link or code,
// or a URL is written as a JSON escape, so that it stays readable but is only text. The
// same value gives the same bytes. A value that cannot be written as JSON gives an answer
// that says so.
func Mark(v any) string {
	text, err := marked(v)
	if err != nil {
		text = []byte(`{"error":"the answer could not be written"}`)
	}
	tail := markClose
	if len(text) > MaxResult {
		text, tail = text[:whole(text, MaxResult)], markCut+markClose
	}
	return markOpen + string(text) + tail
}

// whole returns the largest index up to n that does not split a character.
func whole(text []byte, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// lenient accepts invalid UTF-8 from contracts; Clean removes it.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// marked encodes the value and then its tokens again, each string cleaned.
func marked(v any) ([]byte, error) {
	raw, err := json.Marshal(v, json.Deterministic(true), lenient)
	if err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, lenient)
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			break // the end: the bytes are our own
		}
		if tok.Kind() == '"' {
			tok = jsontext.String(cleaned(tok.String()))
		}
		if err := enc.WriteToken(tok); err != nil {
			return nil, err
		}
	}
	return neutral(bytes.TrimSpace(out.Bytes())), nil
}

// cleaned returns one line of text. Leading blanks are kept, because indentation is
// significant in Vyper.
func cleaned(s string) string {
	if isHex(s) {
		if len(s) > maxHex {
			return s[:maxHex] + "…"
		}
		return s
	}
	indent := min(len(s)-len(strings.TrimLeft(s, " ")), maxIndent)
	return s[:indent] + api.OneLine(s[indent:], maxString)
}

func isHex(s string) bool {
	digits, ok := strings.CutPrefix(s, "0x")
	for i := range len(digits) {
		c := digits[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return ok
}

// neutral escapes what HTML, Markdown and terminals interpret. It works on finished JSON:
// outside of strings only ']' can be affected, and never before '('.
func neutral(text []byte) []byte {
	if !bytes.ContainsAny(text, "<>&`(/") {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for i, c := range text {
		switch {
		case c == '<' || c == '>' || c == '&' || c == '`':
			out = escape(out, c)
		case c == '(' && i > 0 && text[i-1] == ']': // [text](target)
			out = escape(out, c)
		case c == '/' && i > 1 && text[i-1] == '/' && text[i-2] == ':': // scheme://
			out = escape(out, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

func escape(out []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}
