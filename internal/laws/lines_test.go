package laws

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how many characters a line of code has at most, a tab counted as one.
const maxColumns = 140

// TestLongLines: code is readable without scrolling sideways. Three kinds of lines may
// be longer: a struct tag, a row of a table, and a text that is one string.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", maxColumns)
	found := func(want int, text string) {
		t.Helper()
		if got := longLines(parseFile(t, text)); len(got) != want {
			t.Errorf("%.60s: found %q, want %d", text, got, want)
		}
	}
	found(1, "// "+long)
	found(1, "func f() { "+long+"() }")
	found(1, "func f() { g([]int{"+long+"}, 0) }")
	found(1, "var x = []func(){\nfunc() {\n"+long+"()\n},\n}")
	found(0, "// Source: https://example.com/"+long)
	found(0, "type T struct {\nA int `help:\""+long+"\"`\n}")
	found(0, "var x = []string{\n\"a\", y("+long+"),\n}")
	found(0, "func f() {\ng(\"a\",\n\""+long+"\", 1)\n}")

	eachFile(t, nil, func(s *source) {
		for _, what := range longLines(s) {
			t.Error(what)
		}
	})
}

// longLines lists the lines of a file that are too long and of none of the kinds that
// may be.
func longLines(s *source) (found []string) {
	var excused map[int]bool
	n := 0
	for line := range strings.Lines(string(s.text)) {
		n++
		length := utf8.RuneCountInString(strings.TrimRight(line, "\r\n"))
		if length <= maxColumns {
			continue
		}
		if excused == nil {
			excused = mayBeLong(s.fset, s.ast)
		}
		if !excused[n] && !(strings.HasPrefix(strings.TrimSpace(line), "//") && strings.Contains(line, "https://")) {
			found = append(found, fmt.Sprintf("%s:%d: %d characters, at most %d; break the line", s.path, n, length, maxColumns))
		}
	}
	return found
}

// mayBeLong marks the lines that hold a struct tag, the elements of a table that spans
// several lines, or a string with little beside it.
func mayBeLong(fset *token.FileSet, f *ast.File) map[int]bool {
	lines := map[int]bool{}
	mark := func(from, to int) {
		for n := from; n <= to; n++ {
			lines[n] = true
		}
	}
	line := func(p token.Pos) int { return fset.Position(p).Line }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if n.Tag != nil {
				lines[line(n.Tag.Pos())] = true
			}
		case *ast.CompositeLit:
			mark(line(n.Lbrace)+1, line(n.Rbrace)-1)
		case *ast.BasicLit:
			if n.Kind == token.STRING && (len(n.Value) > maxColumns*2/3 || strings.Contains(n.Value, "\n")) {
				mark(line(n.Pos()), line(n.End()))
			}
		}
		return true
	})
	// A function within a table is code.
	ast.Inspect(f, func(n ast.Node) bool {
		if n, ok := n.(*ast.FuncLit); ok {
			for l := line(n.Body.Lbrace) + 1; l < line(n.Body.Rbrace); l++ {
				delete(lines, l)
			}
		}
		return true
	})
	return lines
}
