package main

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestRun: the document of a real program, that of this test, names the toolchain and the
// checksum of the file.
func TestRun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := run(&b, program); err != nil {
		t.Fatal(err)
	}
	var doc document
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.SpecVersion != "1.6" || len(doc.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("%s", b.String())
	}
	if version, _, _ := strings.Cut(runtime.Version(), " "); doc.Components[0].PURL != "pkg:golang/std@"+strings.TrimPrefix(version, "go") {
		t.Errorf("the toolchain is %q", doc.Components[0].PURL)
	}
	if err := run(&b, "main.go"); err == nil {
		t.Error("a file of text has a bill of materials")
	}
}

// TestDocumentOf: each module once, in the place of what it replaces, with the checksum of
// go.sum in hex.
func TestDocumentOf(t *testing.T) {
	sum := "h1:" + strings.Repeat("A", 42) + "E="
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0", Main: debug.Module{Path: "txlens", Version: "v1.2.3"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0", Sum: sum},
			{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "vcs.time", Value: "today"}},
	}
	doc, err := documentOf(info, "txlens", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range doc.Components {
		names = append(names, c.PURL)
	}
	if got := strings.Join(names, " "); got != "pkg:golang/std@1.26.0 pkg:golang/example.org/a@v1.0.0 pkg:golang/example.org/c@v2.0.0" {
		t.Errorf("components %s", got)
	}
	if h := doc.Components[1].Hashes; len(h) != 1 || h[0].Content != strings.Repeat("0", 63)+"1" {
		t.Errorf("checksum %v", h)
	}
	if p := doc.Metadata.Component.Properties; len(p) != 1 || p[0].Value != "linux" || doc.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("program %+v", doc.Metadata.Component)
	}
	known, err := componentOf(&debug.Module{Path: "go.etcd.io/bbolt", Version: "v1.5.0"})
	if err != nil || len(known.Licenses) != 1 || known.Licenses[0].Expression != "MIT" || len(doc.Components[1].Licenses) != 0 {
		t.Errorf("licences %+v, %+v, %v", known, doc.Components[1], err)
	}
	if l := doc.Components[0].Licenses; len(l) != 1 || l[0].Expression != "BSD-3-Clause" || doc.Metadata.Component.Licenses[0].Expression != "Apache-2.0" {
		t.Errorf("licences %v", l)
	}
	if n := len(doc.Dependencies[0].DependsOn); n != 3 {
		t.Errorf("%d dependencies", n)
	}
	info.Deps[0].Sum = "h1:no"
	if _, err := documentOf(info, "txlens", [32]byte{}); err == nil {
		t.Error("a wrong checksum was accepted")
	}
}
