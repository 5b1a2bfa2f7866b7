package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
)

// goldenPackage is what tests compare files with.
const goldenPackage = `"txlens/testkit/golden"`

// goldenPackageTests are the tests of a package that compare files.
type goldenPackageTests struct {
	dir   string
	tests []string
}

// goldenTests finds the packages whose tests use testkit/golden, and in each the tests that
// reach it, sorted by folder.
func goldenTests(files map[string][]byte) ([]goldenPackageTests, error) {
	parsed, uses := map[string][]*ast.File{}, map[string]bool{}
	for name, text := range files {
		dir := path.Dir(name)
		if !strings.HasSuffix(name, "_test.go") || dir == "testkit/golden" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed[dir] = append(parsed[dir], f)
		for _, im := range f.Imports {
			uses[dir] = uses[dir] || im.Path.Value == goldenPackage
		}
	}
	var list []goldenPackageTests
	for dir := range uses {
		if !uses[dir] {
			continue
		}
		tests := reaching(parsed[dir])
		if len(tests) == 0 {
			return nil, fmt.Errorf("%s imports testkit/golden, and none of its tests is found to use it", dir)
		}
		list = append(list, goldenPackageTests{dir, tests})
	}
	slices.SortFunc(list, func(a, b goldenPackageTests) int { return strings.Compare(a.dir, b.dir) })
	return list, nil
}

// reaching lists the tests that use package golden, or a function of the package that does.
// It goes by names: a test too many does no harm.
func reaching(files []*ast.File) (tests []string) {
	names := map[string]map[string]bool{} // what each function names
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all := map[string]bool{}
			ast.Inspect(fn, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					all[id.Name] = true
				}
				return true
			})
			names[fn.Name.Name] = all
		}
	}
	found := map[string]bool{"golden": true}
	for grown := true; grown; {
		grown = false
		for fn, all := range names {
			for name := range found {
				if all[name] && !found[fn] {
					found[fn], grown = true, true
				}
			}
		}
	}
	for fn := range found {
		if strings.HasPrefix(fn, "Test") && fn != "TestMain" {
			tests = append(tests, fn)
		}
	}
	slices.Sort(tests)
	return tests
}
