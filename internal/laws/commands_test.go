package laws

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`)

// testFunctions are the names of the tests, benchmarks and fuzz targets, by package.
func testFunctions(t *testing.T) map[string][]string {
	t.Helper()
	all, n := map[string][]string{}, 0
	everySource(t, func(s *source) {
		if !s.isTest() {
			return
		}
		for _, d := range s.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) {
				all[s.folder()] = append(all[s.folder()], fn.Name.Name)
				n++
			}
		}
	})
	if n < 1500 {
		t.Fatalf("%d test functions were found; the search finds too few", n)
	}
	return all
}

// selection is a pattern of a command "go test", with the packages that it is for.
type selection struct {
	flag, pattern string
	packages      []string
}

var (
	goTest        = regexp.MustCompile(`(?:go test|run_tests) [^\n` + "`" + `]*`)
	shellVariable = regexp.MustCompile(`\$[A-Za-z{(]`)
	shellWord     = regexp.MustCompile(`(?:'[^']*'|"(?:\\.|[^"\\])*"|[^\s'"])+`)
)

// selections are the patterns of the commands in a script or a page that name their
// packages. What a variable of the shell holds is not known here and left out, and so is ^$,
// which is meant to match nothing.
func selections(text string) (list []selection) {
	for _, command := range goTest.FindAllString(strings.ReplaceAll(text, "\\\n", " "), -1) {
		command, _, _ = strings.Cut(command, " -args ")
		var found []selection
		var packages []string
		words := shellWord.FindAllString(command, -1)
		for i, word := range words {
			name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
			switch {
			case strings.HasPrefix(word, "-") && slices.Contains([]string{"run", "bench", "fuzz", "skip"}, name):
				if !joined && i+1 < len(words) {
					value = words[i+1]
				}
				if !shellVariable.MatchString(value) || strings.HasPrefix(value, "'") {
					found = append(found, selection{flag: "-" + name, pattern: strings.Trim(value, `'"`)})
				}
			case word == "." || strings.HasPrefix(word, "./"):
				packages = append(packages, strings.Trim(word, `;)`))
			}
			if strings.ContainsAny(word, ";&>") && !strings.ContainsAny(word, `'"`) {
				break
			}
		}
		for _, s := range found {
			if s.pattern != "^$" && len(packages) > 0 && !strings.Contains(strings.Join(packages, ""), "$") {
				s.packages = packages
				list = append(list, s)
			}
		}
	}
	return list
}

// without lists the alternatives of a pattern that match none of the names.
func (s selection) without(names []string) (missing []string) {
	first, _, _ := strings.Cut(s.pattern, "/")
	alternatives := strings.Split(first, "|")
	if strings.Contains(first, "(") {
		alternatives = []string{first}
	}
	for _, a := range alternatives {
		re, err := regexp.Compile(a)
		if err != nil || !slices.ContainsFunc(names, re.MatchString) {
			missing = append(missing, a)
		}
	}
	return missing
}

// namesIn are the test functions of packages, as the go command names them.
func namesIn(all map[string][]string, packages []string) (names []string) {
	for _, p := range packages {
		dir, below := strings.CutSuffix(strings.TrimPrefix(p, "./"), "...")
		dir = strings.TrimSuffix(dir, "/")
		for pkg, list := range all {
			if pkg == dir || below && (dir == "" || under(pkg, dir)) {
				names = append(names, list...)
			}
		}
	}
	return names
}

// scripts are the files of .ci and the Makefile, by their path.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".ci", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of .ci, %v", len(files), err)
	}
	all := map[string]string{}
	for _, file := range append(files, filepath.Join(root, "Makefile")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, file)
		all[filepath.ToSlash(rel)] = string(text)
	}
	return all
}

// TestCommandsSelectTests: each pattern of "go test -run", -bench, -fuzz and -skip in a
// script or a page matches a test of the packages beside it, so that no step runs nothing
// after a test has moved or changed its name.
func TestCommandsSelectTests(t *testing.T) {
	texts, all, n := scripts(t), testFunctions(t), 0
	maps.Copy(texts, pages(t))
	delete(texts, "CHANGELOG.md")
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for _, s := range selections(texts[file]) {
			n++
			for _, missing := range s.without(namesIn(all, s.packages)) {
				t.Errorf("%s: %s %q selects nothing in %q: name a test of these packages, or the package that has it now",
					file, s.flag, missing, s.packages)
			}
		}
	}
	if n < 12 {
		t.Errorf("%d patterns were read; the search finds too few", n)
	}
}

// testWord is a name of a test in a text, and testIn one with the package that has it.
var (
	testWord = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	testIn   = regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`\\s+(?:in|of)\\s+`([a-z0-9/]+)`")
)

// TestNamedTestsExist: a test that a page or a script names exists, in the package that is
// named with it. A name may be the beginning of several.
func TestNamedTestsExist(t *testing.T) {
	texts, all, n := scripts(t), testFunctions(t), 0
	maps.Copy(texts, pages(t))
	delete(texts, "CHANGELOG.md")
	begins := func(names []string, name string) bool {
		return slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, name) })
	}
	every := slices.Concat(slices.Collect(maps.Values(all))...)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for _, name := range testWord.FindAllString(texts[file], -1) {
			if n++; !begins(every, name) {
				t.Errorf("%s names %s, which no package has; use the name that the test has now, or remove the mention", file, name)
			}
		}
		for _, m := range testIn.FindAllStringSubmatch(texts[file], -1) {
			if !begins(all[m[2]], m[1]) {
				t.Errorf("%s says that %s is in %s, which has no such test; name the package that has it", file, m[1], m[2])
			}
		}
	}
	if n < 15 {
		t.Errorf("%d names of tests were read; the search finds too few", n)
	}
}

// TestSelections: what is read of a command.
func TestSelections(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		var got []string
		for _, s := range selections(text) {
			got = append(got, fmt.Sprint(s.flag, " ", s.pattern, " ", strings.Join(s.packages, ",")))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: read %q, want %q", text, got, want)
		}
	}
	f("go test -tags netgo -run 'TestA|TestB$' ./app ./cmd/txlens", "-run TestA|TestB$ ./app,./cmd/txlens")
	f("go test ./storage/... -run=TestKilled -timeout 1h", "-run TestKilled ./storage/...")
	f("`go test ./zoo -run 'TestZoo/NAME' -args -record \"$PWD/engine\"`", "-run TestZoo/NAME ./zoo")
	f("go test -run '^$' -bench WholePath ./bench", "-bench WholePath ./bench")
	f("go test -count=1 \\\n  -run TestX \\\n  ./app", "-run TestX ./app")
	f("go test -run '^$' -fuzz \"^$target\\$\" \"./$dir\"")
	f("go test -run TestX")
	f("go test ./...")

	names := []string{"TestKilledOnce", "FuzzSettings"}
	g := func(pattern string, missing ...string) {
		t.Helper()
		if got := (selection{pattern: pattern}).without(names); !slices.Equal(got, missing) {
			t.Errorf("%s: nothing matches %q, want %q", pattern, got, missing)
		}
	}
	g("TestKilled")
	g("TestKilled$", "TestKilled$")
	g("TestKilled|TestGone", "TestGone")
	g("Settings/x")
	g("^(TestKilledOnce|TestGone)$")
}
