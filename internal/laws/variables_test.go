package laws

import (
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// testSupport are the folders whose code only tests and generators use.
func testSupport() []string { return []string{"internal", "testkit", "zoo", "bench", "e2e"} }

// shared says why the value of an exported package variable can be changed by whoever
// holds it, or "".
func shared(value, typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.ArrayType:
		if x.Len == nil {
			return "is a slice"
		}
	case *ast.MapType:
		return "is a map"
	case *ast.FuncType:
		return "is a function"
	case *ast.StarExpr:
		return "is a pointer"
	case *ast.ChanType:
		return "is a channel"
	}
	switch x := value.(type) {
	case *ast.CompositeLit:
		return shared(nil, x.Type)
	case *ast.FuncLit:
		return "is a function"
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return "is a pointer"
		}
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok && (id.Name == "new" || id.Name == "make") {
			return "is made by " + id.Name
		}
	}
	return ""
}

// exportedVariables calls look with each exported package variable of f.
func exportedVariables(f *ast.File, look func(name *ast.Ident, value, typ ast.Expr)) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, name := range v.Names {
				var value ast.Expr
				if i < len(v.Values) {
					value = v.Values[i]
				}
				if name.IsExported() {
					look(name, value, v.Type)
				}
			}
		}
	}
}

// assigned lists the variables of other packages of the project that f assigns to.
func assigned(f *ast.File) (out []string) {
	packages := map[string]bool{}
	for _, im := range f.Imports {
		path, _ := strconv.Unquote(im.Path.Value)
		if !strings.HasPrefix(path, "txlens/") {
			continue
		}
		name := path[strings.LastIndex(path, "/")+1:]
		if im.Name != nil {
			name = im.Name.Name
		}
		packages[name] = true
	}
	target := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				if id, ok := x.X.(*ast.Ident); ok && packages[id.Name] && x.Sel.IsExported() {
					out = append(out, id.Name+"."+x.Sel.Name)
					return
				}
				e = x.X
				continue
			}
			return
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				for _, e := range x.Lhs {
					target(e)
				}
			}
		case *ast.IncDecStmt:
			target(x.X)
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				target(x.X)
			}
		}
		return true
	})
	return out
}

// TestExportedVariablesAreConstant: an exported package variable is an error, or a value
// that is copied when it is read, and no other package assigns to it.
func TestExportedVariablesAreConstant(t *testing.T) {
	found := 0
	eachFile(t, testSupport(), func(s *source) {
		exportedVariables(s.ast, func(name *ast.Ident, value, typ ast.Expr) {
			found++
			if why := shared(value, typ); why != "" {
				t.Errorf("%s: the exported variable %s %s, which whoever holds it can change; unexport it and hand out copies by a function", s.at(name), name.Name, why)
			}
		})
		for _, v := range assigned(s.ast) {
			t.Errorf("%s assigns to %s of another package, or takes its address; pass the value as a parameter or an option", s.path, v)
		}
	})
	if found < 50 {
		t.Errorf("found %d exported variables; the search finds too few", found)
	}
	for _, bad := range []string{"x.Y = 1", "x.Y[0] = 1", "x.Y.Z = 1", "x.Y++", "use(&x.Y)", "x.Y.Z[1].W += 2"} {
		f := parseBody(t, bad).ast
		f.Imports = []*ast.ImportSpec{{Path: &ast.BasicLit{Value: `"txlens/engine/x"`}}}
		if len(assigned(f)) != 1 {
			t.Errorf("%s is not seen", bad)
		}
	}
}

// initFunctions are the functions that run before main, by file, with the reason.
func initFunctions() map[string]string {
	return map[string]string{
		"engine/agent/claim/facts.go":  "registers the kinds of references; a variable could not name methods that look the table up",
		"engine/agent/claim/values.go": "registers the places that a check can name, for the same reason",
	}
}

// TestInitFunctions: code runs before main only where it registers something.
func TestInitFunctions(t *testing.T) {
	left := initFunctions()
	eachFile(t, nil, func(s *source) {
		for _, d := range s.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.Name != "init" {
				continue
			}
			if left[s.path] == "" {
				t.Errorf("%s: an init function; build the value where it is used, or say in initFunctions why it must run before main", s.at(fn))
			}
			delete(left, s.path)
		}
	})
	for path := range left {
		t.Errorf("initFunctions has %s, which has no init function any more; remove the entry", path)
	}
}

// recoverRow is a row of the table of recovered panics: file, function, reason.
var recoverRow = regexp.MustCompile("^\\| `([a-z0-9_/]+\\.go)` \\| `([A-Za-z.]+)` \\| (.{20,}) \\|$")

// TestRecoveredPanics: docs/architecture.md lists each function that recovers from a
// panic, with the reason, and no other.
func TestRecoveredPanics(t *testing.T) {
	listed := map[string]bool{}
	for line := range strings.Lines(readPage(t, "docs/architecture.md")) {
		if m := recoverRow.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			listed[m[1]+" "+m[2]] = true
		}
	}
	code := map[string]bool{}
	eachFile(t, testSupport(), func(s *source) {
		for _, d := range s.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "recover" {
					code[s.path+" "+functionName(fn)] = true
				}
				return true
			})
		}
	})
	for _, site := range slices.Sorted(maps.Keys(code)) {
		if !listed[site] {
			t.Errorf("%s recovers from panics and is not in docs/architecture.md; let the panic end the process, or add a row with the reason under \"Where panics are recovered\"", site)
		}
	}
	for _, site := range slices.Sorted(maps.Keys(listed)) {
		if !code[site] {
			t.Errorf("docs/architecture.md lists %s, which recovers from nothing; remove the row", site)
		}
	}
	if len(code) < 10 {
		t.Errorf("found %d functions that recover; the search finds too few", len(code))
	}
}

// functionName is the name of a function, with the type of its receiver.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	typ := fn.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	return typ.(*ast.Ident).Name + "." + fn.Name.Name
}
