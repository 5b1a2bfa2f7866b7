package tool

import (
	"regexp"
	"strings"
)

// region is a range of lines of a file, counted from 1, both ends included.
type region struct {
	File     int
	From, To int
	Kind     string // the keyword that declares it
	Name     string // what it declares, or the keyword where that has no name
}

// outlined are the keywords of declarations, of Solidity and Vyper.
var outlined = regexp.MustCompile(
	`^\s*(?:abstract\s+)?(contract|interface|library|function|modifier|constructor|receive|fallback|event|error|struct|enum|def)\b\s*([A-Za-z_$][A-Za-z0-9_$]*)?`,
)

// Bounds of the search, against source that is written to be slow to parse.
const (
	maxRegion       = 96 << 10 // bytes
	maxDeclarations = 5000     // of one file
	maxHead         = 400      // bytes of a line
)

// declarations finds the declarations of a file. It reads lines and counts braces outside
// of comments and strings: exact for source that compiles, and harmless for any other.
func declarations(file int, lines []string) []region {
	var out []region
	code := codeOf(lines)
	for i, line := range code {
		m := outlined.FindStringSubmatch(line[:min(len(line), maxHead)])
		if len(out) == maxDeclarations {
			break
		}
		if m == nil || m[2] == "" && m[1] != "constructor" && m[1] != "receive" && m[1] != "fallback" {
			continue
		}
		r := region{File: file, From: i + 1, Kind: m[1], Name: m[2]}
		if r.Name == "" || m[1] == "constructor" {
			r.Name = m[1]
		}
		if m[1] == "def" || strings.HasSuffix(strings.TrimSpace(line), ":") {
			r.To = indented(code, i) + 1
		} else {
			r.To = braced(code, i) + 1
		}
		out = append(out, r)
	}
	return out
}

// braced returns the line on which the declaration that begins at line i ends: at its
// closing brace, or at a semicolon before any brace.
func braced(code []string, i int) int {
	depth, opened, size := 0, false, 0
	for j := i; j < len(code); j++ {
		if size += len(code[j]) + 1; size > maxRegion && j > i {
			return j - 1
		}
		for k := range len(code[j]) {
			switch code[j][k] {
			case '{':
				depth, opened = depth+1, true
			case '}':
				if depth--; opened && depth <= 0 {
					return j
				}
			case ';':
				if !opened {
					return j
				}
			}
		}
	}
	return len(code) - 1
}

// indented returns the last line of a block by indentation.
func indented(code []string, i int) int {
	own, last, size := indentOf(code[i]), i, 0
	body := false
	for j := i + 1; j < len(code) && size <= maxRegion; j++ {
		size += len(code[j]) + 1
		text := strings.TrimSpace(code[j])
		if text == "" {
			continue
		}
		if body && indentOf(code[j]) <= own {
			break
		}
		body = body || indentOf(code[j]) > own
		last = j
	}
	return last
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// codeOf blanks comments and the contents of strings, line by line, so that braces and
// keywords in them are not counted.
func codeOf(lines []string) []string {
	out := make([]string, len(lines))
	block := false
	for i, line := range lines {
		out[i], block = codeLine(line, block)
	}
	return out
}

func codeLine(line string, block bool) (string, bool) {
	b := []byte(line)
	quote := byte(0)
	for k := 0; k < len(b); k++ {
		two := string(b[k:min(k+2, len(b))])
		switch {
		case block:
			b[k] = ' '
			if two == "*/" {
				block = false
				b[k+1] = ' '
				k++
			}
		case quote != 0:
			if b[k] == '\\' && k+1 < len(b) {
				b[k], b[k+1] = ' ', ' '
				k++
				continue
			}
			if b[k] == quote {
				quote = 0
			}
			b[k] = ' '
		case two == "//" || b[k] == '#' && strings.TrimSpace(line[:k]) == "":
			return string(b[:k]), false
		case two == "/*":
			block = true
			b[k], b[k+1] = ' ', ' '
			k++ // its star does not end it
		case b[k] == '"' || b[k] == '\'':
			quote = b[k]
			b[k] = ' '
		}
	}
	return string(b), block
}
