package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"txlens/internal/licenses"
)

// TestIdentify: licences are told by their words; what has none is an error.
func TestIdentify(t *testing.T) {
	f := func(want string, texts ...string) {
		t.Helper()
		var list []licenses.Text
		for _, text := range texts {
			list = append(list, licenses.Text{File: "LICENSE", Text: text})
		}
		if got := identify(list); got != want {
			t.Errorf("%q: %q, want %q", texts, got, want)
		}
	}
	f("MIT", "Permission is hereby granted,\n  free of charge, to")
	f("MIT", "// MIT license")
	f("Apache-2.0 AND MIT", "Apache License\nVersion 2.0", "Permission is hereby granted, free of charge")
	f("LGPL-3.0-only", "GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3")
	f("BSD-3-Clause", "Redistributions in binary form must … Neither the name of")
	f("BSD-2-Clause", "Redistributions in binary form must")
	f("BSD-2-Clause AND ISC", "Redistributions in binary form must", "Permission to use, copy, modify, and/or distribute")
	f("", "All rights reserved.")

	dir := t.TempDir()
	if _, err := componentOf(module{"example.org/a", "v1", dir}); err == nil || !strings.Contains(err.Error(), "example.org/a v1 has no licence") {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE.md"), []byte("Apache License\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := componentOf(module{"example.org/a", "v1", dir})
	if err != nil || c.License != "Apache-2.0" || c.Texts[0] != (licenses.Text{File: "LICENSE.md", Text: "Apache License\n"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestSources: rows of tables with a column for the licence, and no others.
func TestSources(t *testing.T) {
	page := filepath.Join(t.TempDir(), "labels.md")
	f := func(text string, want ...licenses.Source) {
		t.Helper()
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := sources(page)
		if (err != nil) != (want == nil) || len(got) != len(want) {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%+v, want %+v", got[i], want[i])
			}
		}
	}
	f("| a | b |\n|---|---|\n| c | d |\n\n| source | repository | licence | rows |\n|---|---|---|---|\n| s | o/r | MIT | 3 |\n\n| x | y | z |\n", licenses.Source{Name: "s", Origin: "o/r", License: "MIT"})
	f("| source | licence |\n|---|---|\n| s | |\n")
}

// TestPlatforms: the platforms are those that the release script names.
func TestPlatforms(t *testing.T) {
	got, err := platforms(filepath.Join("..", "..", ".."))
	if err != nil || len(got) < 6 || got[0] != "linux/amd64" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := platforms(t.TempDir()); err == nil {
		t.Error("a folder without a script has platforms")
	}
}
