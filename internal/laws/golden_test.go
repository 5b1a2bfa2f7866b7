package laws

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// writesFiles are the tests that write files of the repository without testkit/golden, with
// the reason.
var writesFiles = map[string]string{
	"app/dictionary_test.go": "trains the dictionary of stored results: not with each change of a result, because every database keeps each dictionary that it was opened with",
}

// inRepository lists the calls of a test file that write to a file of the repository: those
// whose path is spelled with a parent folder, testdata or docs, in the call or in what the
// names in it are set to.
func inRepository(s *source, others []*source) (found []string) {
	values := map[string][]ast.Expr{} // of the constants and variables of the package, and of variables here
	for _, other := range others {
		for _, d := range other.ast.Decls {
			if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.CONST || g.Tok == token.VAR) {
				for _, spec := range g.Specs {
					spec := spec.(*ast.ValueSpec)
					for i, name := range spec.Names {
						if i < len(spec.Values) {
							values[name.Name] = append(values[name.Name], spec.Values[i])
						}
					}
				}
			}
		}
	}
	for _, d := range s.ast.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		local := map[string][]ast.Expr{}
		ast.Inspect(fn, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for i, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						local[id.Name] = append(local[id.Name], n.Rhs[min(i, len(n.Rhs)-1)])
					}
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						local[name.Name] = append(local[name.Name], n.Values[i])
					}
				}
			}
			return true
		})
		value := func(name string) []ast.Expr {
			if v := local[name]; v != nil {
				return v
			}
			return values[name]
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			pkg, name := called(call)
			if pkg == "os" && slices.Contains([]string{"WriteFile", "Create", "OpenFile", "Rename"}, name) {
				to := call.Args[0]
				if name == "Rename" && len(call.Args) == 2 {
					to = call.Args[1]
				}
				if at := repositoryPath(to, value, 4); at != "" {
					found = append(found, s.at(call)+": os."+name+" writes to "+at)
				}
			}
			return true
		})
	}
	return found
}

// repositoryPath is the part of a path that lies in the repository, or "". A path that begins
// in a temporary folder lies outside, whatever follows.
func repositoryPath(x ast.Expr, value func(string) []ast.Expr, depth int) string {
	switch x := x.(type) {
	case *ast.BasicLit:
		text := stringLiteral(x)
		for _, dir := range []string{"..", "testdata", "docs"} {
			if under(text, dir) {
				return text
			}
		}
	case *ast.Ident:
		if depth > 0 {
			for _, v := range value(x.Name) {
				if at := repositoryPath(v, value, depth-1); at != "" {
					return at
				}
			}
		}
	case *ast.BinaryExpr:
		return repositoryPath(x.X, value, depth)
	case *ast.CallExpr:
		if pkg, _ := called(x); (pkg == "filepath" || pkg == "path") && len(x.Args) > 0 {
			return repositoryPath(x.Args[0], value, depth)
		}
	}
	return ""
}

// registersUpdate lists the flags of a file whose name says that they write files.
func registersUpdate(s *source) (found []string) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if pkg, _ := called(call); pkg == "flag" && len(call.Args) > 0 {
				if name := stringLiteral(call.Args[0]); strings.HasPrefix(name, "update") {
					found = append(found, s.at(call)+": registers the flag -"+name)
				}
			}
		}
		return true
	})
	return found
}

// TestGoldenFiles: a test writes a file of the repository by testkit/golden alone, so that
// -update is the one flag for it and internal/generate finds all of them.
func TestGoldenFiles(t *testing.T) {
	byFolder, used, uses := map[string][]*source{}, map[string]bool{}, 0
	everySource(t, func(s *source) {
		byFolder[s.folder()] = append(byFolder[s.folder()], s)
		if slices.Contains(s.imports(), "txlens/testkit/golden") {
			uses++
		}
	})
	everySource(t, func(s *source) {
		for _, found := range registersUpdate(s) {
			if s.folder() != "testkit/golden" {
				t.Errorf("%s; compare the file with golden.Compare of testkit/golden, which has -update", found)
			}
		}
		if !s.isTest() {
			return
		}
		for _, found := range inRepository(s, byFolder[s.folder()]) {
			if used[s.path] = true; writesFiles[s.path] == "" {
				t.Errorf("%s, a file of the repository; write it with golden.Compare of testkit/golden, or add %s to writesFiles with the reason", found, s.path)
			}
		}
	})
	for path := range writesFiles {
		if !used[path] {
			t.Errorf("writesFiles has %s, which writes no file of the repository; remove the entry", path)
		}
	}
	if uses < 8 {
		t.Errorf("%d files use testkit/golden; the search finds too few", uses)
	}

	f := func(body string, want int) {
		t.Helper()
		s := parseBody(t, body)
		if got := inRepository(s, []*source{s}); len(got) != want {
			t.Errorf("%s: found %q, want %d", body, got, want)
		}
	}
	f(`os.WriteFile("testdata/x", b, 0o644)`, 1)
	f(`os.WriteFile(filepath.Join("..", "docs", "x.md"), b, 0o644)`, 1)
	f(`path := filepath.Join("testdata", name); os.Create(path)`, 1)
	f(`const page = "../docs/x.md"; os.OpenFile(page, 1, 0o644)`, 1)
	f(`path := "testdata/x"; os.Rename(path+".new", path)`, 1)
	f(`os.WriteFile(filepath.Join(t.TempDir(), "testdata", "x"), b, 0o644)`, 0)
	f(`dir := t.TempDir(); os.WriteFile(filepath.Join(dir, "x"), b, 0o644)`, 0)
	f(`os.ReadFile("testdata/x")`, 0)
}
