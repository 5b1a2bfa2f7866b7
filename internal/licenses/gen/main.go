// Command gen collects the licences of everything that is linked into txlens, on each
// platform of a release, with and without cgo, and of the sources of its tables.
//
//	go run ./gen -out texts.zst     # in internal/licenses; "make generate" runs it
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"txlens/internal/licenses"

	"github.com/klauspost/compress/zstd"
)

func main() {
	out := flag.String("out", "texts.zst", "file to write")
	root := flag.String("root", filepath.Join("..", ".."), "folder of the project")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	n, err := collect(root)
	if err != nil {
		return err
	}
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	return os.WriteFile(out, e.EncodeAll(text, nil), 0o644)
}

// listed finds the default platforms of the script that builds a release.
var listed = regexp.MustCompile(`(?m)^\s*platforms=\((\w+/[\w/ ]+)\)$`)

// platforms are those of a release.
func platforms(root string) ([]string, error) {
	script := filepath.Join(root, "deploy", "release.sh")
	text, err := os.ReadFile(script)
	if err != nil {
		return nil, err
	}
	m := listed.FindSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("%s has no line platforms=(OS/ARCH ...)", script)
	}
	return strings.Fields(string(m[1])), nil
}

// module is one that is linked.
type module struct{ Path, Version, Dir string }

func collect(root string) (*licenses.Notices, error) {
	linked := map[string]module{}
	all, err := platforms(root)
	if err != nil {
		return nil, err
	}
	for _, platform := range all {
		for _, cgo := range []string{"0", "1"} {
			if err := list(root, platform, cgo, linked); err != nil {
				return nil, err
			}
		}
	}
	own, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	n := &licenses.Notices{Own: string(own)}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	std := module{Path: "std", Version: "of the toolchain", Dir: strings.TrimSpace(string(goroot))}
	modules := []module{std}
	for _, m := range linked {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	for _, m := range modules {
		c, err := componentOf(m)
		if err != nil {
			return nil, err
		}
		n.Components = append(n.Components, c)
	}
	n.Sources, err = sources(filepath.Join(root, "docs", "labels.md"))
	return n, err
}

// list adds the modules that a platform links.
func list(root, platform, cgo string, linked map[string]module) error {
	goos, arch, _ := strings.Cut(platform, "/")
	cmd := exec.Command("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{with .Replace}}{{.Path}}	{{.Version}}	{{.Dir}}{{else}}{{.Path}}	{{.Version}}	{{.Dir}}{{end}}{{end}}{{end}}`, "./cmd/txlens")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED="+cgo)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", platform, err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Split(strings.TrimSpace(line), "\t"); len(f) == 3 {
			linked[f[0]] = module{f[0], f[1], f[2]}
		}
	}
	return nil
}

// named are the names of files with licences and notices.
var named = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright)([-._].*)?$`)

// componentOf reads the files of a module.
func componentOf(m module) (licenses.Component, error) {
	c := licenses.Component{Name: m.Path, Version: m.Version}
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return c, err
	}
	for _, e := range entries {
		if e.IsDir() || !named.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return c, err
		}
		text := strings.TrimSpace(string(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))) + "\n"
		c.Texts = append(c.Texts, licenses.Text{File: e.Name(), Text: text})
	}
	if len(c.Texts) == 0 {
		if c.Texts, err = header(m.Dir); err != nil {
			return c, err
		}
	}
	if c.License = identify(c.Texts); c.License == "" {
		return c, fmt.Errorf("%s %s has no licence that is known; look into %s and add its words to gen/main.go, or leave the module out", m.Path, m.Version, m.Dir)
	}
	return c, nil
}

// header is the comment at the top of the first source file that speaks of a licence: some
// modules have no file for it.
func header(dir string) ([]licenses.Text, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		top, _, _ := bytes.Cut(b, []byte("\npackage "))
		if bytes.Contains(bytes.ToLower(top), []byte("licen")) {
			return []licenses.Text{{File: filepath.Base(f), Text: strings.TrimSpace(string(top)) + "\n"}}, nil
		}
	}
	return nil, err
}

// words tell licences apart, the more particular ones first.
var words = []struct{ id, words string }{
	{"LGPL-3.0-only", "GNU LESSER GENERAL PUBLIC LICENSE"},
	{"Apache-2.0", "Apache License"},
	{"MPL-2.0", "Mozilla Public License"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"MIT", "MIT license"},
	{"ISC", "Permission to use, copy, modify, and"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "names of its contributors may be used"},
	{"BSD-2-Clause", "Redistributions in binary form"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"Unlicense", "This is free and unencumbered software"},
}

// identify names the licences of a component; several are joined.
func identify(texts []licenses.Text) string {
	var found []string
	for _, t := range texts {
		text := strings.Join(strings.Fields(t.Text), " ")
		for _, w := range words {
			part := w.id == "BSD-2-Clause" && slices.Contains(found, "BSD-3-Clause") // whose text has the words, too
			if strings.Contains(text, w.words) && !part && !slices.Contains(found, w.id) {
				found = append(found, w.id)
			}
		}
	}
	return strings.Join(found, " AND ")
}

// sources reads the tables of a page that have a column "licence".
func sources(page string) (out []licenses.Source, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	licence := -1
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			licence = -1
		case slices.Contains(cells, "licence"):
			licence = slices.Index(cells, "licence")
		case licence > 0 && licence < len(cells) && !strings.HasPrefix(cells[0], "--"):
			origin := strings.Join(cells[1:licence], " ")
			if cells[licence] == "" {
				return nil, fmt.Errorf("%s: the source %s has no licence; name it, or leave the source out", page, cells[0])
			}
			out = append(out, licenses.Source{Name: cells[0], Origin: origin, License: cells[licence]})
		}
	}
	return out, nil
}
