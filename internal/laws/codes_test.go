package laws

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestErrorCodesComeFromTheTable: an answer, event or job has no error code but a constant
// of engine/api, whose test holds each to a row of the table.
func TestErrorCodesComeFromTheTable(t *testing.T) {
	eachFile(t, nil, func(s *source) {
		for _, n := range typedCodes(s) {
			t.Errorf("%s: an error code is typed; declare it in engine/api/code.go, with its row", s.at(n))
		}
	})
	f := func(want int, body string) {
		t.Helper()
		if got := typedCodes(parseBody(t, body)); len(got) != want {
			t.Errorf("%s: found %d, want %d", body, len(got), want)
		}
	}
	f(1, `fail(ctx, 503, "busy", "text")`)
	f(0, `fail(ctx, 400, "", "text")`)
	f(0, `fail(ctx, 503, api.CodeBusy, "text")`)
	f(1, `_ = api.Fault{Code: "busy"}`)
	f(1, `_ = api.Fault{"busy", "text"}`)
	f(0, `_ = api.Fault{Code: api.CodeBusy, Message: "text"}`)
	f(1, `job.ErrorCode = "busy"`)
	f(0, `job.ErrorCode = ""`)
	f(1, `_ = Job{ErrorCode: "busy"}`)
	f(1, `_ = wire.RunError{Code: "busy"}`)
	f(0, `_ = label.Error{Code: "busy"}`)
}

// withCodes are the types whose member Code is an error code of the service.
var withCodes = []string{"Fault", "ErrorBody", "RunError", "MeteredSseRequired", "DepositBelowMinimum"}

// typedCodes returns the error codes that are literals.
func typedCodes(s *source) (found []ast.Node) {
	typed := func(e ast.Expr) bool {
		lit, ok := e.(*ast.BasicLit)
		return ok && lit.Kind == token.STRING && len(lit.Value) > 2
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "fail" && len(n.Args) == 4 && typed(n.Args[2]) {
				found = append(found, n)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "ErrorCode" && i < len(n.Rhs) && typed(n.Rhs[i]) {
					found = append(found, n)
				}
			}
		case *ast.CompositeLit:
			if codeOf := codeIn(n); codeOf != nil && typed(codeOf) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// codeIn returns the error code of a literal of a type that has one.
func codeIn(lit *ast.CompositeLit) ast.Expr {
	name := ""
	switch n := lit.Type.(type) {
	case *ast.Ident:
		name = n.Name
	case *ast.SelectorExpr:
		name = n.Sel.Name
	}
	coded := strings.Contains(" "+strings.Join(withCodes, " ")+" ", " "+name+" ")
	for i, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			if coded && i == 0 && name == "Fault" {
				return e
			}
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && (key.Name == "ErrorCode" || coded && key.Name == "Code") {
			return kv.Value
		}
	}
	return nil
}
