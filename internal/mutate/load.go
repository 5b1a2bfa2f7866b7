package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pkg is a package with its syntax and types.
type pkg struct {
	path  string // import path
	fset  *token.FileSet
	files []*source
	info  *types.Info
	conf  types.Config
}

// source is one file.
type source struct {
	name string // relative to the working directory
	abs  string
	text []byte
	ast  *ast.File
}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	DepOnly                 bool
}

// list asks the go command for a package and all that it imports.
func list(ctx context.Context, name string) (own listed, exports map[string]string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,DepOnly", name)
	var fault bytes.Buffer
	cmd.Stderr = &fault
	out, err := cmd.Output()
	if err != nil {
		return own, nil, fmt.Errorf("go list: %w: %s", err, fault.Bytes())
	}
	exports = map[string]string{}
	found := 0
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			break
		} else if err != nil {
			return own, nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		exports[l.ImportPath] = l.Export
		if !l.DepOnly {
			own = l
			found++
		}
	}
	if found != 1 || len(own.CgoFiles) > 0 {
		return own, nil, fmt.Errorf("%q are %d packages, or one with cgo; name one", name, found)
	}
	return own, exports, nil
}

func load(ctx context.Context, name string) (*pkg, error) {
	own, exports, err := list(ctx, name)
	if err != nil {
		return nil, err
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	p := &pkg{path: own.ImportPath, fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	p.conf = types.Config{Importer: importer.ForCompiler(p.fset, "gc", lookup)}
	for _, file := range own.GoFiles {
		s := &source{abs: filepath.Join(own.Dir, file)}
		if s.name, err = filepath.Rel(here, s.abs); err != nil {
			return nil, err
		}
		s.name = filepath.ToSlash(s.name)
		if s.text, err = os.ReadFile(s.abs); err != nil {
			return nil, err
		}
		if s.ast, err = parser.ParseFile(p.fset, s.abs, s.text, parser.ParseComments); err != nil {
			return nil, err
		}
		p.files = append(p.files, s)
	}
	if _, err := p.conf.Check(p.path, p.fset, p.syntax(nil), p.info); err != nil {
		return nil, fmt.Errorf("check types: %w", err)
	}
	return p, nil
}

// syntax lists the files; one of them may be replaced.
func (p *pkg) syntax(replaced map[*source]*ast.File) (list []*ast.File) {
	for _, s := range p.files {
		if f := replaced[s]; f != nil {
			list = append(list, f)
			continue
		}
		list = append(list, s.ast)
	}
	return list
}

// compiles checks the types of the package with the change.
func (p *pkg) compiles(m mutant) bool {
	f, err := parser.ParseFile(p.fset, m.source.abs, m.changed(), parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	_, err = p.conf.Check(p.path, p.fset, p.syntax(map[*source]*ast.File{m.source: f}), nil)
	return err == nil
}

// generated reports whether a program has written the file.
func (s *source) generated() bool { return ast.IsGenerated(s.ast) }

// oneLine is source text with its blanks drawn together.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
