// Readersample prints identifiers and comments of the project picked at random, for a test
// of how well they read: a person who knows Go and Ethereum, but not this code, explains
// each in one sentence without opening the file, and then looks whether that was right.
//
//	go run ./internal/readersample -seed 7 -n 10 engine actors transport storage
//
// With -all it prints everything it would pick from, in the order of the files.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"math/rand/v2"
	"path/filepath"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the choice")
	n := flag.Int("n", 10, "identifiers, and as many comments, of each folder")
	all := flag.Bool("all", false, "print all identifiers and comments instead of a choice")
	flag.Parse()
	log.SetFlags(0)
	if flag.NArg() == 0 {
		log.Fatal("readersample: name the folders to pick from, such as: engine actors")
	}
	for _, root := range flag.Args() {
		identifiers, comments, err := collect(root)
		if err != nil {
			log.Fatalf("readersample: %v", err)
		}
		if !*all {
			pick := rand.New(rand.NewPCG(*seed, uint64(len(root))))
			identifiers, comments = choose(pick, identifiers, *n), choose(pick, comments, *n)
		}
		fmt.Printf("\n%s: identifiers\n", root)
		for _, it := range identifiers {
			fmt.Printf("%s\n\t%s\n", it.at, it.text)
		}
		fmt.Printf("\n%s: comments\n", root)
		for _, it := range comments {
			fmt.Printf("%s\n\t%s\n", it.at, strings.ReplaceAll(it.text, "\n", "\n\t"))
		}
	}
}

// item is an identifier with its kind, or a comment, and where it stands.
type item struct {
	at   string
	text string
}

func choose(r *rand.Rand, from []item, n int) []item {
	out := make([]item, 0, n)
	for _, i := range r.Perm(len(from))[:min(n, len(from))] {
		out = append(out, from[i])
	}
	return out
}

// collect reads the Go files below a folder, without tests.
func collect(root string) (identifiers, comments []item, err error) {
	set := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		identifiers = append(identifiers, declared(set, file)...)
		for _, group := range file.Comments {
			if text := strings.TrimSpace(group.Text()); text != "" { // a directive has no text
				comments = append(comments, item{position(set, group), text})
			}
		}
		return nil
	})
	return identifiers, comments, err
}

// declared lists the package-level names of a file, and the fields and methods of its types.
func declared(set *token.FileSet, file *ast.File) []item {
	var out []item
	add := func(n ast.Node, kind, name string) {
		if name != "_" {
			out = append(out, item{position(set, n), kind + " " + file.Name.Name + "." + name})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d, "func", d.Name.Name)
			} else {
				add(d, "method", receiver(d.Recv.List[0].Type)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name, d.Tok.String(), name.Name)
					}
				case *ast.TypeSpec:
					add(s, "type", s.Name.Name)
					for _, m := range members(s.Type) {
						add(m, "member", s.Name.Name+"."+m.Name)
					}
				}
			}
		}
	}
	return out
}

// members are the fields of a struct and the methods of an interface.
func members(t ast.Expr) []*ast.Ident {
	var fields *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		return nil
	}
	var out []*ast.Ident
	for _, f := range fields.List {
		out = append(out, f.Names...)
	}
	return out
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func position(set *token.FileSet, n ast.Node) string {
	p := set.Position(n.Pos())
	return fmt.Sprintf("%s:%d", filepath.ToSlash(p.Filename), p.Line)
}
