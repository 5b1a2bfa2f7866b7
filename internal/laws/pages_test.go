package laws

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are all Markdown files for readers, by their path below the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			path := strings.TrimPrefix(filepath.ToSlash(file), "../../")
			all[path] = readPage(t, path)
		}
	}
	if len(all) < 20 {
		t.Fatalf("%d pages were read; the laws must see all of them", len(all))
	}
	return all
}

// TestReadmeIsShort: the README is read before anything else.
func TestReadmeIsShort(t *testing.T) {
	if n := len(readPage(t, "README.md")); n > 10_000 {
		t.Errorf("README.md has %d bytes, at most 10000; move a section to a page of docs and link it", n)
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
		t.Errorf("docs/architecture.md: %d arrows were read of this diagram; write each as \"a --> b\" on a line of its own\n%s", len(edges), diagram)
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
	drawn := diagramEdges(t, readPage(t, "docs/architecture.md"))
	for _, edge := range drawn {
		if !imported[edge] {
			t.Errorf("the diagram of docs/architecture.md draws %s, and no package imports so; remove the arrow", edge)
		}
	}
	for _, edge := range slices.Sorted(maps.Keys(imported)) {
		if !slices.Contains(drawn, edge) {
			t.Errorf("the packages import %s, and the diagram of docs/architecture.md does not draw it; add the arrow, or remove the import", edge)
		}
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
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s links to %s, and there is no such file; correct the link", from, m[1])
			} else if anchor != "" && !slices.Contains(anchorsOf(all[to]), anchor) {
				t.Errorf("%s links to %s, and the page has no such heading; use one of %q", from, m[1], anchorsOf(all[to]))
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links were read; the search finds too few", links)
	}
}

// paths finds files and folders of the project in a page; one with a placeholder is none.
var paths = regexp.MustCompile("`((?:actors|app|bench|clients|cmd|deploy|docs|e2e|engine|internal|storage|testkit|transport|zoo)/[A-Za-z0-9_./-]+)`")

// TestPathsExist: a file or folder that a page names is there. The changelog names what
// was there, too.
func TestPathsExist(t *testing.T) {
	n, all := 0, pages(t)
	delete(all, "CHANGELOG.md")
	for page, text := range all {
		for _, m := range paths.FindAllStringSubmatch(text, -1) {
			n++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist; name the file that has it now, or remove the mention", page, m[1])
			}
		}
	}
	if n < 30 {
		t.Errorf("%d paths were read; the search finds too few", n)
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
		for name := range there {
			if !named[name] {
				t.Errorf("docs/architecture.md has no row for package %s/%s; add one under %q", folder, name, heading)
			}
		}
		for name := range named {
			if !there[name] {
				t.Errorf("docs/architecture.md has a row for %s/%s under %q, which is no package; remove it, or correct the name", folder, name, heading)
			}
		}
		if len(there) < 5 {
			t.Errorf("%d packages were found in %s; the law must see all of them", len(there), folder)
		}
	}
	f("engine", "## Inside the engine")
	f("actors", "## Inside actors")
}

// definedMetrics finds the names in the source of transport/admin: what has not counted
// yet is in no answer of /metrics.
var definedMetrics = regexp.MustCompile(`(?:counter\(\s*"|times\(\s*"|Namespace:\s*"txlens",\s*Name:\s*"|NewDesc\(\s*"txlens_)([a-z_]+)"`)

// metrics are the metrics of the program.
func metrics(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, file := range []string{"transport/admin/metrics.go", "transport/admin/database.go"} {
		for _, m := range definedMetrics.FindAllStringSubmatch(readPage(t, file), -1) {
			all["txlens_"+m[1]] = true
		}
	}
	return all
}

// TestDocsNameAllMetrics: the metrics of docs/operating.md are those of the program.
func TestDocsNameAllMetrics(t *testing.T) {
	names := regexp.MustCompile(`\btxlens_[a-z_]+`)
	there := map[string]bool{}
	for _, name := range names.FindAllString(readPage(t, "docs/operating.md"), -1) {
		there[name] = true
	}
	want := metrics(t)
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if !want[name] {
			t.Errorf("docs/operating.md has %s, which transport/admin does not define; remove it, or correct the name", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !there[name] {
			t.Errorf("transport/admin defines the metric %s; add it to docs/operating.md", name)
		}
	}
	if len(want) < 30 {
		t.Errorf("%d metrics were found in transport/admin; the search finds too few", len(want))
	}
}

// goFiles are the files of code that a page names with their folders.
var goFiles = regexp.MustCompile("`([a-z_/]+/[a-z_]+\\.go)`")

// TestNamedFiles: every file of code that a page names exists. The architecture page
// lists the files of two requests.
func TestNamedFiles(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range goFiles.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist; name the file that has the code now (%v)", page, m[1], err)
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
		t.Errorf("docs/architecture.md lists %d files that a job passes through, and %d for a voucher; list them under \"Through the files\"", jobs, vouchers)
	}
}
