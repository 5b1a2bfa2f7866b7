package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestReaching(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := reaching([]*ast.File{file}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	f("func TestA(t *testing.T) { golden.Compare(t, f, b) }; func TestB(t *testing.T) { other() }", "TestA")
	f("func TestA(t *testing.T) { one(t) }; func one(t *testing.T) { two(t) }; func two(t *testing.T) { golden.Compare(t, f, b) }", "TestA")
	f("func TestB(t *testing.T) { f := func() { golden.Compare(t, x, y) }; f() }; func TestA(t *testing.T) { if golden.Updating() {} }", "TestA", "TestB")
	f("func TestMain(m *testing.M) { golden.Updating() }")
}

// TestGoldenTests: the tests of this repository are found.
func TestGoldenTests(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	if _, err := os.Stat(".git"); err != nil {
		t.Skipf("the project is no git working tree: %v", err)
	}
	files, err := snapshot()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := goldenTests(files)
	if err != nil {
		t.Fatal(err)
	}
	f := func(dir, test string) {
		t.Helper()
		if !slices.ContainsFunc(packages, func(p goldenPackageTests) bool { return p.dir == dir && slices.Contains(p.tests, test) }) {
			t.Errorf("%s of %s is not among %v", test, dir, packages)
		}
	}
	f("engine/report", "TestGolden")
	f("engine/check", "TestDocument")
	f("engine/check", "TestIncidentsPage")
	f("internal/laws", "TestAPI")
	f("cmd/txlens", "TestDocsHaveAllSettings")
	for _, p := range packages {
		t.Log(p.dir, p.tests)
	}
}

func TestSkipped(t *testing.T) {
	out := "=== RUN   TestA\n    a_test.go:3: no browser\n--- SKIP: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\n"
	if got, want := skipped(out), []string{"TestA: a_test.go:3: no browser"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChanges(t *testing.T) {
	before := map[string][]byte{"same": []byte("a"), "written": []byte("a"), "removed": nil}
	after := map[string][]byte{"same": []byte("a"), "written": []byte("b"), "added": nil}
	if got, want := changes(before, after), []string{"added", "removed", "written"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
