package laws

import (
	"go/ast"
	"go/token"
	"testing"
)

// maxComplexity is the highest cyclomatic complexity of a function that judges.
const maxComplexity = 20

// judgement are the packages whose functions decide what a result says.
var judgement = []string{"engine/check", "engine/facts", "engine/agent/claim"}

// TestComplexity: what decides is read in one go.
func TestComplexity(t *testing.T) {
	seen := 0
	eachFile(t, nil, func(s *source) {
		for _, dir := range judgement {
			if !under(s.folder(), dir) {
				continue
			}
			for _, d := range s.ast.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				seen++
				if n := complexity(f); n > maxComplexity {
					t.Errorf("%s: %s has the cyclomatic complexity %d, at most %d; give a part of it a name of its own", s.at(f), f.Name.Name, n, maxComplexity)
				}
			}
		}
	})
	if seen < 900 {
		t.Errorf("%d functions were read", seen)
	}
	f := func(want int, body string) {
		t.Helper()
		if got := complexity(parseBody(t, body).ast.Decls[0].(*ast.FuncDecl)); got != want {
			t.Errorf("%s: %d, want %d", body, got, want)
		}
	}
	f(1, `x = 1`)
	f(2, `if a { b() }`)
	f(3, `if a && b { c() }`)
	f(4, `for range a || b { if c { d() } }`)
	f(3, `switch { case a: case b: default: }`)
	f(3, `select { case <-a: case <-b: default: }`)
	f(2, `x = func() { if a { b() } }`)
}

// complexity counts the ways through a function: one, and one more for each branch.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
