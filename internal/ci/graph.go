package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
)

const module = "txlens"

// listed is what "go list -json" says of a package.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

// graph is the packages of the project with their imports, by import path.
type graph map[string]listed

func loadGraph() (graph, error) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w: %s", err, stderr.String())
	}
	g, d := graph{}, json.NewDecoder(bytes.NewReader(out))
	for {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return g, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of packages: %w", err)
		}
		g[p.ImportPath] = p
	}
}

// reader are the packages whose tests read files with a prefix.
type reader struct {
	prefix   string
	packages []string
}

// readBy are the packages whose tests read files that belong to no package, by the
// beginning of the files' paths.
var readBy = []reader{
	{"clients/", []string{"txlens/e2e"}},
	{"docs/", []string{
		"txlens/app", "txlens/cmd/txlens", "txlens/e2e", "txlens/engine/check", "txlens/engine/label", "txlens/engine/protocol",
		"txlens/transport/discovery",
	}},
	{"deploy/", []string{"txlens/cmd/txlens"}},
	{"README.md", []string{"txlens/cmd/txlens"}},
	{"CHANGELOG.md", nil},
	{"CONTRIBUTING.md", []string{"txlens/internal/ci"}},
	{"SECURITY.md", nil},
	{"LICENSE", nil},
	{".gitignore", nil},
	{".dockerignore", []string{"txlens/cmd/txlens"}},
}

// lawsPackage reads the source of all packages, so that each change may break it.
const lawsPackage = "txlens/internal/laws"

// affected lists the packages whose tests a change of the files can break: those that hold
// a file, and those that import one of these, their tests included. A package stands
// behind the packages that it imports. A file that no rule knows affects all packages.
func (g graph) affected(files []string) []string {
	changed := map[string]bool{}
	for _, file := range files {
		if pkg := g.holder(file); pkg != "" {
			changed[pkg] = true
			continue
		}
		i := slices.IndexFunc(readBy, func(r reader) bool { return strings.HasPrefix(file, r.prefix) })
		if i < 0 {
			return g.inOrder(func(string) bool { return true })
		}
		for _, pkg := range readBy[i].packages {
			changed[pkg] = true
		}
	}
	if len(files) == 0 {
		return nil
	}
	reached := map[string]bool{} // by imports of production code
	var reaches func(pkg string) bool
	reaches = func(pkg string) bool {
		if known, ok := reached[pkg]; ok {
			return known
		}
		reached[pkg] = changed[pkg]
		if !changed[pkg] {
			reached[pkg] = slices.ContainsFunc(g[pkg].Imports, reaches)
		}
		return reached[pkg]
	}
	return g.inOrder(func(pkg string) bool {
		tests := slices.Concat(g[pkg].TestImports, g[pkg].XTestImports)
		return pkg == lawsPackage || reaches(pkg) || slices.ContainsFunc(tests, reaches)
	})
}

// holder is the package in whose folder, or below it, the file lies; empty if there is none.
func (g graph) holder(file string) string {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if pkg := module + "/" + dir; g[pkg].ImportPath != "" {
			return pkg
		}
	}
	return ""
}

// inOrder lists the wanted packages, each behind those that it imports.
func (g graph) inOrder(want func(pkg string) bool) (order []string) {
	done := map[string]bool{}
	var visit func(pkg string)
	visit = func(pkg string) {
		if done[pkg] || g[pkg].ImportPath == "" {
			return
		}
		done[pkg] = true
		for _, imported := range g[pkg].Imports {
			visit(imported)
		}
		if want(pkg) {
			order = append(order, pkg)
		}
	}
	var all []string
	for pkg := range g {
		all = append(all, pkg)
	}
	slices.Sort(all)
	for _, pkg := range all {
		visit(pkg)
	}
	return order
}
