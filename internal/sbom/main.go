// Command sbom prints the software bill of materials of a Go program in the format
// CycloneDX 1.6. It reads the list of modules that the toolchain stamps into every program,
// so that the list is that of the program itself and not of a source folder.
//
//	go run ./internal/sbom dist/txlens_linux_amd64 > dist/txlens_linux_amd64.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"txlens/internal/licenses"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, path string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	doc, err := documentOf(info, filepath.Base(path), sha256.Sum256(program))
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// document is the part of CycloneDX 1.6 that is used.
type document struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Licenses   []license  `json:"licenses,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

// license is an expression of SPDX.
type license struct {
	Expression string `json:"expression"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// kept are the settings of a build that say what was built.
var kept = []string{"GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "-trimpath", "-ldflags", "vcs.revision", "vcs.modified"}

func documentOf(info *debug.BuildInfo, name string, sum [sha256.Size]byte) (*document, error) {
	root := component{Type: "application", Ref: "program", Name: name, Version: info.Main.Version, Licenses: []license{{"Apache-2.0"}}}
	root.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	for _, want := range kept {
		for _, s := range info.Settings {
			if s.Key == want {
				root.Properties = append(root.Properties, property{"go:build:" + s.Key, s.Value})
			}
		}
	}
	doc := &document{Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: metadata{root}, Components: []component{{
		Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), Licenses: []license{{licenses.Of("std")}},
	}}}
	for _, m := range info.Deps {
		c, err := componentOf(m)
		if err != nil {
			return nil, err
		}
		doc.Components = append(doc.Components, c)
	}
	top := dependency{Ref: root.Ref}
	for _, c := range doc.Components {
		top.DependsOn = append(top.DependsOn, c.Ref)
	}
	doc.Dependencies = []dependency{top}
	return doc, nil
}

// componentOf describes a module, or the one that replaces it. Its hash is that of go.sum,
// which is a SHA-256 of the list of its files.
func componentOf(m *debug.Module) (component, error) {
	if m.Replace != nil {
		m = m.Replace
	}
	id := m.Path + "@" + m.Version
	c := component{Type: "library", Ref: id, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + id}
	if known := licenses.Of(m.Path); known != "" {
		c.Licenses = []license{{known}}
	}
	text, ok := strings.CutPrefix(m.Sum, "h1:")
	if !ok {
		return c, nil // of a folder
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(sum) != sha256.Size {
		return c, errors.Join(fmt.Errorf("module %s has a wrong checksum", m.Path), err)
	}
	c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	return c, nil
}
