package main

import (
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
				t.Errorf("README.md shows %q, which the demo does not print; copy the output of txlens demo", line)
			}
		}
	}
	if shown < 10 {
		t.Errorf("%d lines were compared", shown)
	}
}

// TestDocsNameAllFlags: every command, and every flag of one, is in a page.
func TestDocsNameAllFlags(t *testing.T) {
	var text string
	for _, pattern := range []string{"*.md", "docs/*.md"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(files), err)
		}
		for _, file := range files {
			page, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text += string(page) + "\n"
		}
	}
	k, err := newParser(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range k.Model.Leaves(true) {
		if !strings.Contains(text, "txlens "+leaf.Path()) && !strings.Contains(text, "`"+leaf.Path()+"`") {
			t.Errorf("no page has the command %q; describe it in docs/commands.md", leaf.Path())
		}
		for _, f := range leaf.Flags {
			if !regexp.MustCompile(`--` + f.Name + `\b`).MatchString(text) {
				t.Errorf("no page has --%s of %q; describe the flag in docs/commands.md, or run make generate if it is one of serve", f.Name, leaf.Path())
			}
		}
	}
}
