package laws

import (
	"go/ast"
	gobuild "go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"txlens/testkit/golden"
)

// embedded are the packages that other programs import.
var embedded = []string{"app", "engine/api", "engine/decode", "transport/client"}

// TestAPI: a declaration that other programs may use stays as it is recorded. What is new is
// recorded by -update; what is missing breaks them and belongs into the changelog.
func TestAPI(t *testing.T) {
	for _, pkg := range embedded {
		got := exportedDecls(t, filepath.Join(root, filepath.FromSlash(pkg)))
		file := filepath.Join("testdata", "api", strings.ReplaceAll(pkg, "/", "-")+".txt")
		if len(got) < 20 {
			t.Errorf("%s has %d declarations; the search finds too few", pkg, len(got))
		}
		text := []byte(strings.Join(got, "\n") + "\n")
		if golden.Updating() {
			golden.Compare(t, file, text)
			continue
		}
		recorded, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compareDecls(t, pkg, got, strings.Split(strings.TrimSuffix(string(recorded), "\n"), "\n"))
	}
}

func compareDecls(t *testing.T, pkg string, got, want []string) {
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("%s no longer declares %q, which other programs may use; restore it, or run make generate and say in CHANGELOG.md what to use instead", pkg, line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("%s declares %q, which is not recorded; unexport it, or run make generate to record it for good", pkg, line)
		}
	}
}

// exportedDecls has a line for each exported declaration, field, method and constant of a
// package, sorted.
func exportedDecls(t *testing.T, dir string) (lines []string) {
	t.Helper()
	fset := token.NewFileSet()
	pkg, err := gobuild.ImportDir(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range pkg.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(file)
		for _, d := range file.Decls {
			lines = append(lines, declLines(t, fset, d)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func declLines(t *testing.T, fset *token.FileSet, d ast.Decl) (lines []string) {
	text := func(n any) string {
		var b strings.Builder
		if err := printer.Fprint(&b, fset, n); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		d.Body = nil
		return []string{text(d)}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				fields, ok := spec.Type.(*ast.StructType)
				if !ok {
					lines = append(lines, "type "+text(spec))
					continue
				}
				lines = append(lines, "type "+spec.Name.Name+" struct")
				for _, f := range fields.Fields.List {
					lines = append(lines, fieldLines("field "+spec.Name.Name+".", f, text)...)
				}
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					line := d.Tok.String() + " " + name.Name
					if spec.Type != nil {
						line += " " + text(spec.Type)
					}
					lines = append(lines, line)
				}
			}
		}
	}
	return lines
}

// fieldLines has a line for each name of a field, with its tag, which names it in JSON.
func fieldLines(head string, f *ast.Field, text func(any) string) (lines []string) {
	tail := text(f.Type)
	if f.Tag != nil {
		tail += " " + f.Tag.Value
	}
	if len(f.Names) == 0 {
		return []string{head + "embedded " + tail}
	}
	for _, name := range f.Names {
		lines = append(lines, head+name.Name+" "+tail)
	}
	return lines
}
