package laws

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// root is the folder of the project.
var root = filepath.Join("..", "..")

// source is a file of Go.
type source struct {
	path string // below the root, with slashes
	text []byte
	ast  *ast.File
	fset *token.FileSet
}

func (s *source) folder() string { return path.Dir(s.path) }

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// at is the place of a node, as an editor opens it.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

// imports are the packages that the file imports.
func (s *source) imports() (paths []string) {
	for _, im := range s.ast.Imports {
		p, _ := strconv.Unquote(im.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// sources parses every Go file of the project, once in a run: all laws look at the same
// files, and change none.
var sources = sync.OnceValues(func() (all []*source, err error) {
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && name != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		all = append(all, &source{path: filepath.ToSlash(rel), text: text, ast: f, fset: fset})
		return err
	})
	return all, err
})

// everySource calls look with each Go file, tests too.
func everySource(t *testing.T, look func(s *source)) {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 1000 {
		t.Fatalf("%d Go files were read below %s; the laws must see the whole project", len(all), root)
	}
	for _, s := range all {
		look(s)
	}
}

// eachFile calls look with each Go file that is no test and not below one of the folders.
func eachFile(t *testing.T, except []string, look func(s *source)) {
	t.Helper()
	seen := 0
	everySource(t, func(s *source) {
		if s.isTest() || slices.ContainsFunc(except, func(dir string) bool { return under(s.path, dir) }) {
			return
		}
		seen++
		look(s)
	})
	if seen < 100 {
		t.Errorf("%d Go files were read outside %q; the law must see the project", seen, except)
	}
}

// under reports whether a path is dir or lies below it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// parseFile makes a source of declarations, for the tests of the searches themselves.
func parseFile(t *testing.T, text string) *source {
	t.Helper()
	fset, text := token.NewFileSet(), "package p\n"+text
	f, err := parser.ParseFile(fset, "made.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: "made.go", text: []byte(text), ast: f, fset: fset}
}

// parseBody makes a source of statements.
func parseBody(t *testing.T, body string) *source {
	t.Helper()
	return parseFile(t, "func f() {\n"+body+"\n}")
}

// readPage reads a file by its path below the root.
func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
