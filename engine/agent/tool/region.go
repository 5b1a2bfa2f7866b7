package tool

import (
	"regexp"
	"strings"
)

// region is a run of lines of a file, counted from 1, both included.
type region struct {
	File     int
	From, To int
	What     string // the line that declares it, trimmed
}

// outlined are the declarations that a reader asks for by name. Vyper's def and
// event stand beside Solidity's words.
var outlined = regexp.MustCompile(`^\s*(?:abstract\s+)?(contract|interface|library|function|modifier|constructor|receive|fallback|event|error|struct|enum|def)\b\s*([A-Za-z_$][A-Za-z0-9_$]*)?`)

// declarations finds what a file declares. It reads lines and counts braces
// outside of comments and strings: enough for source that compiles, and harmless
// on any other.
func declarations(file int, lines []string) []region {
	var out []region
	code := codeOf(lines)
	for i, line := range code {
		m := outlined.FindStringSubmatch(line)
		if m == nil || m[2] == "" && m[1] != "constructor" && m[1] != "receive" && m[1] != "fallback" {
			continue
		}
		r := region{File: file, From: i + 1, What: strings.TrimSpace(lines[i])}
		if m[1] == "def" || strings.HasSuffix(strings.TrimSpace(line), ":") {
			r.To = indented(code, i) + 1
		} else {
			r.To = braced(code, i) + 1
		}
		out = append(out, r)
	}
	return out
}

// name is the word that a declaration declares, or its keyword.
func (r region) name() string {
	m := outlined.FindStringSubmatch(r.What)
	if m == nil {
		return ""
	}
	if m[2] != "" && m[1] != "constructor" {
		return m[2]
	}
	return m[1]
}

// kind is the keyword of a declaration.
func (r region) kind() string {
	if m := outlined.FindStringSubmatch(r.What); m != nil {
		return m[1]
	}
	return ""
}

// braced is the line on which the declaration that begins at line i ends: with its
// braces, or with a semicolon before any.
func braced(code []string, i int) int {
	depth, opened := 0, false
	for j := i; j < len(code); j++ {
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

// indented is the last line of a block by indentation.
func indented(code []string, i int) int {
	own, last := indentOf(code[i]), i
	body := false
	for j := i + 1; j < len(code); j++ {
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

// codeOf blanks comments and the contents of strings, line by line, so that a
// brace or a keyword in them counts for nothing.
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
			if two == "*/" {
				block = false
				b[k+1] = ' '
			}
			b[k] = ' '
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
			b[k] = ' '
		case b[k] == '"' || b[k] == '\'':
			quote = b[k]
			b[k] = ' '
		}
	}
	return string(b), block
}
