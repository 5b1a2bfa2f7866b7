package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestErrorCodes: every constant that is a code stands in the table once, and the
// table says where each is met and what to do.
func TestErrorCodes(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "code.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	consts := map[string]int{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Code") {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(lit.Value)
				consts[code] = 0
			}
		}
		return true
	})
	if len(consts) < 15 {
		t.Fatalf("found %d codes", len(consts))
	}
	for _, c := range ErrorCodes() {
		n, known := consts[c.Code]
		if consts[c.Code] = n + 1; !known || n > 0 {
			t.Errorf("%s: known %v, listed %d times", c.Code, known, n+1)
		}
		if c.Status == 0 && !c.Event && !c.Job || c.Status != 0 && (c.Status < 400 || c.Status > 599) {
			t.Errorf("%s is met nowhere", c.Code)
		}
		for _, text := range []string{c.Meaning, c.Action} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: no sentence: %q", c.Code, text)
			}
		}
	}
	for code, n := range consts {
		if n != 1 {
			t.Errorf("%s is not in the table", code)
		}
	}
}

func TestModels(t *testing.T) {
	if names := ModelNames(); names[0] != DefaultModel || len(names) != 5 || Models()[0].RelativeCost != 100 {
		t.Errorf("%v", names)
	}
}
