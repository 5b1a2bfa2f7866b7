package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readPage reads a file by its path below the root of the project.
func readPage(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pages are all Markdown files for readers, by their path below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			path := strings.TrimPrefix(filepath.ToSlash(file), "../../")
			all[path] = readPage(t, path)
		}
	}
	return all
}

// TestReadmeIsShort: the README is read before anything else.
func TestReadmeIsShort(t *testing.T) {
	if n := len(readPage(t, "README.md")); n > 10_000 {
		t.Errorf("%d bytes; what is longer belongs into docs", n)
	}
}

// TestReadmeShowsTheDemo: each line of the demo's output in the README is what it prints.
func TestReadmeShowsTheDemo(t *testing.T) {
	code, out, errOut := command(t, "", "demo")
	if code != exitComplete {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	printed, shown := strings.Split(out, "\n"), 0
	for _, block := range strings.Split(readPage(t, "README.md"), "```") {
		if !strings.HasPrefix(block, "\nSUCCESS") && !strings.HasPrefix(block, "\nTRANSACTION") {
			continue
		}
		for line := range strings.Lines(strings.TrimSpace(block)) {
			shown++
			if !slices.Contains(printed, strings.TrimSuffix(line, "\n")) {
				t.Errorf("the demo does not print %q", line)
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d lines were compared", shown)
	}
}

// diagramEdges are the arrows "a --> b" of the first mermaid diagram of a page.
func diagramEdges(t *testing.T, page string) []string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```mermaid\n")
	diagram, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("the page has no mermaid diagram")
	}
	var edges []string
	for _, m := range regexp.MustCompile(`(?m)^\s*(\w+) --> (\w+)\s*$`).FindAllStringSubmatch(diagram, -1) {
		edges = append(edges, m[1]+" -> "+m[2])
	}
	if len(edges) != strings.Count(diagram, "-->") {
		t.Errorf("%d arrows were read of\n%s", len(edges), diagram)
	}
	slices.Sort(edges)
	return edges
}

// TestDiagram: the arrows between the top folders in the architecture page are the
// imports of their packages.
func TestDiagram(t *testing.T) {
	imported := map[string]bool{}
	for pkg, imports := range projectImports(t) {
		from, _, _ := strings.Cut(pkg, "/")
		for _, path := range imports {
			own, inside := strings.CutPrefix(path, "txlens/")
			to, _, _ := strings.Cut(own, "/")
			if inside && from != to && !apart(pkg) {
				imported[from+" -> "+to] = true
			}
		}
	}
	want := slices.Sorted(maps.Keys(imported))
	if drawn := diagramEdges(t, readPage(t, "docs/architecture.md")); !slices.Equal(drawn, want) {
		t.Errorf("docs/architecture.md draws\n%s\nthe packages import\n%s", strings.Join(drawn, "\n"), strings.Join(want, "\n"))
	}
}

var (
	pageLinks = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInIDs  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchorsOf are the fragments that GitHub gives to the headings of a page.
func anchorsOf(page string) []string {
	var ids []string
	for _, m := range headings.FindAllStringSubmatch(page, -1) {
		ids = append(ids, strings.ReplaceAll(notInIDs.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return ids
}

// TestLinks: a link from a page leads to a file of the project, and to a heading of it.
func TestLinks(t *testing.T) {
	all, links := pages(t), 0
	for from, text := range all {
		for _, m := range pageLinks.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(m[1], "#")
			to := from
			if path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(from), path))
			}
			if _, err := os.Stat(filepath.Join("..", "..", to)); err != nil {
				t.Errorf("%s: %s: no such file", from, m[1])
			} else if anchor != "" && !slices.Contains(anchorsOf(all[to]), anchor) {
				t.Errorf("%s: %s: no such heading among %q", from, m[1], anchorsOf(all[to]))
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links were read", links)
	}
}

// paths finds files and folders of the project in a page; one with a placeholder is none.
var paths = regexp.MustCompile("`((?:actors|bench|cmd|deploy|docs|e2e|engine|internal|storage|transport|zoo)/[A-Za-z0-9_./-]+)`")

// TestPathsExist: a file or folder that a page names is there. The changelog names what
// was there, too.
func TestPathsExist(t *testing.T) {
	n, all := 0, pages(t)
	delete(all, "CHANGELOG.md")
	for page, text := range all {
		for _, m := range paths.FindAllStringSubmatch(text, -1) {
			n++
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if n < 30 {
		t.Errorf("%d paths were read", n)
	}
}

// TestPackageTables: the tables of the engine and of actors in the architecture page
// have the packages of these folders and no others.
func TestPackageTables(t *testing.T) {
	f := func(folder, heading string) {
		t.Helper()
		there := map[string]bool{}
		for pkg := range projectImports(t) {
			if rest, inside := strings.CutPrefix(pkg, folder+"/"); inside && !apart(pkg) {
				name, _, _ := strings.Cut(rest, "/")
				there[name] = true
			}
		}
		_, rest, found := strings.Cut(readPage(t, "docs/architecture.md"), heading+"\n")
		section, _, _ := strings.Cut(rest, "\n## ")
		if !found {
			t.Fatalf("the page has no section %q", heading)
		}
		named := map[string]bool{}
		for _, row := range regexp.MustCompile(`(?m)^\| (`+"`[^|]*"+`) \|`).FindAllStringSubmatch(section, -1) {
			for _, m := range regexp.MustCompile("`([a-z]+)`").FindAllStringSubmatch(row[1], -1) {
				named[m[1]] = true
			}
		}
		if got, want := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(there)); !slices.Equal(got, want) {
			t.Errorf("docs/architecture.md names %q, %s has %q", got, folder, want)
		}
	}
	f("engine", "## Inside the engine")
	f("actors", "## Inside actors")
}

// TestDocsNameAllFlags: every command, and every flag of one, is in a page.
func TestDocsNameAllFlags(t *testing.T) {
	text := strings.Join(slices.Collect(maps.Values(pages(t))), "\n")
	k, err := newParser(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		if !strings.Contains(text, "txlens "+leaf.Path()) && !strings.Contains(text, "`"+leaf.Path()+"`") {
			t.Errorf("no page has the command %q", leaf.Path())
		}
		for _, f := range leaf.Flags {
			if !regexp.MustCompile(`--` + f.Name + `\b`).MatchString(text) {
				t.Errorf("no page has --%s of %q", f.Name, leaf.Path())
			}
		}
	}
}

// definedMetrics finds the names in the source of transport/admin: what has not counted
// yet is in no answer of /metrics.
var definedMetrics = regexp.MustCompile(`(?:counter\(\s*"|times\(\s*"|Namespace:\s*"txlens",\s*Name:\s*"|NewDesc\(\s*"txlens_)([a-z_]+)"`)

// TestDocsNameAllMetrics: the metrics of docs/operating.md are those of the program.
func TestDocsNameAllMetrics(t *testing.T) {
	names := regexp.MustCompile(`\btxlens_[a-z_]+`)
	there := map[string]bool{}
	for _, name := range names.FindAllString(readPage(t, "docs/operating.md"), -1) {
		there[name] = true
	}
	want := map[string]bool{}
	for _, file := range []string{"transport/admin/metrics.go", "transport/admin/database.go"} {
		for _, m := range definedMetrics.FindAllStringSubmatch(readPage(t, file), -1) {
			want["txlens_"+m[1]] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !want[name] {
			t.Errorf("docs/operating.md has %s, which is no metric", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !there[name] {
			t.Errorf("docs/operating.md lacks %s", name)
		}
	}
	if len(want) < 30 {
		t.Errorf("%d metrics: %s", len(want), fmt.Sprint(want))
	}
}

// goFiles are the files of code that a page names with their folders.
var goFiles = regexp.MustCompile("`([a-z_/]+/[a-z_]+\\.go)`")

// TestNamedFiles: every file of code that a page names exists. The architecture page
// lists the files of two requests.
func TestNamedFiles(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range goFiles.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	_, paths, found := strings.Cut(readPage(t, "docs/architecture.md"), "### Through the files")
	job, voucher, split := strings.Cut(paths, "A voucher that")
	voucher, _, _ = strings.Cut(voucher, "\n## ")
	if !found || !split {
		t.Fatal("docs/architecture.md does not list the files of a job and of a voucher")
	}
	jobs, vouchers := len(goFiles.FindAllString(job, -1)), len(goFiles.FindAllString(voucher, -1))
	t.Logf("a job passes through %d files, a voucher through %d", jobs, vouchers)
	if jobs == 0 || vouchers == 0 {
		t.Errorf("a job passes through %d files, a voucher through %d", jobs, vouchers)
	}
}
