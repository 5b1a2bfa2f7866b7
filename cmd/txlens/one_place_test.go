package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Some facts are stated in one package, and the rest of the project asks it. These
// tests parse the project's own Go files, tests left out, and look for a second place.

// eachFile parses every Go file outside the given folders.
func eachFile(t *testing.T, except []string, look func(path string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	root, seen := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			name := d.Name()
			if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") && path != root || slices.Contains(except, rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		look(rel, fset, f)
		return nil
	})
	if err != nil || seen < 100 {
		t.Errorf("read %d files: %v", seen, err)
	}
}

// parseBody makes a file of statements, for the tests of the searches themselves.
func parseBody(t *testing.T, body string) (*token.FileSet, *ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "made.go", "package p\nfunc _() {\n"+body+"\n}", parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return fset, f
}

// namesOfStack are the places that show the name of a stack; they decide nothing by it.
var namesOfStack = []string{"cmd/txlens/chains.go", "engine/agent/claim/names.go"}

// TestStacksAreAsked: which stack a chain runs is nobody's business outside
// engine/chain. A difference is a method of chain.Stack.
func TestStacksAreAsked(t *testing.T) {
	eachFile(t, []string{"engine/chain"}, func(path string, fset *token.FileSet, f *ast.File) {
		for _, found := range stackBranches(fset, f, slices.Contains(namesOfStack, path)) {
			t.Errorf("%s: %s", path, found)
		}
	})

	found := func(want int, body string) {
		t.Helper()
		fset, f := parseBody(t, body)
		if got := stackBranches(fset, f, false); len(got) != want {
			t.Errorf("%s: found %q, want %d", body, got, want)
		}
	}
	found(1, `if c.Chain.Stack == other { }`)
	found(1, `if nil != ch.Stack { }`)
	found(1, `switch ch.Stack { }`)
	found(1, `switch s := ch.Stack.(type) { }`)
	found(1, `_ = ch.Stack.(interface{ Special() bool })`)
	found(1, `_ = m[ch.Stack]`)
	found(1, `_ = map[chain.Stack]string{}`)
	found(1, `if ch.Stack.Name() == "arbitrum" { }`)
	found(1, `name := ch.Stack.Name(); use(name)`)
	found(1, `if strings.HasPrefix(ch.Stack.Name(), "op") { }`)
	found(1, `if c.Chain.ID == 56 { }`)
	found(1, `if idBSC == ch.ID { }`)
	found(1, `switch c.Chain.ID { case 1284, 1285: }`)
	found(1, `if a.chainID == 324 { }`)
	found(1, `if a.Chain.Slug == "katana-mainnet" { }`)
	found(1, `switch a.Chain.Slug { case "celo-mainnet": }`)
	found(0, `if ch.Stack.PublicOrder() && ch.Stack.Traces() == chain.TracesMatch { }`)
	found(0, `if c.Chain.ID == 1 || req.ChainID == 0 || rc.ID == x.ID || chainID == q.ChainID { }`)
	found(0, `if f.ID == 56 { }`)
}

// stackBranches lists the expressions of a file that tell stacks or chains apart.
func stackBranches(fset *token.FileSet, f *ast.File, mayName bool) (found []string) {
	say := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("line %d: %s", fset.Position(n.Pos()).Line, what))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch {
			case n.Op != token.EQL && n.Op != token.NEQ:
			case selects(n.X, "Stack") || selects(n.Y, "Stack"):
				say(n, "compares a stack; ask it")
			case tellsChains(n.X, n.Y) || tellsChains(n.Y, n.X):
				say(n, "compares a chain with a constant; give chain.Stack a method or chain.Chain a field")
			}
		case *ast.SwitchStmt:
			switch {
			case n.Tag == nil:
			case selects(n.Tag, "Stack"):
				say(n, "switches on a stack; ask it")
			case slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool {
				return slices.ContainsFunc(c.(*ast.CaseClause).List, func(x ast.Expr) bool { return tellsChains(n.Tag, x) })
			}):
				say(n, "switches on a chain; give chain.Stack a method or chain.Chain a field")
			}
		case *ast.TypeAssertExpr:
			if selects(n.X, "Stack") {
				say(n, "asserts the type of a stack; ask it")
			}
		case *ast.IndexExpr:
			if selects(n.Index, "Stack") {
				say(n, "looks a stack up; ask it")
			}
		case *ast.MapType:
			if s, ok := n.Key.(*ast.SelectorExpr); ok && selects(s, "Stack") {
				say(n, "maps stacks; ask them")
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Name" && selects(s.X, "Stack") && !mayName {
				say(n, "reads the name of a stack; ask the stack instead")
			}
		}
		return true
	})
	return found
}

// selects reports whether x is <something>.name.
func selects(x ast.Expr, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	return ok && s.Sel.Name == name
}

var (
	chainWord = regexp.MustCompile(`(?i)^(ch|chain)$`)
	chainID   = regexp.MustCompile(`(?i)^chainid$`)
	ordinary  = regexp.MustCompile(`^[01]$|^""$`) // none, and Ethereum as the L1 of others
)

// tellsChains reports whether x is the identity of a chain and y a constant that
// stands for one chain.
func tellsChains(x, y ast.Expr) bool {
	return isChain(x) && isConstant(y)
}

func isChain(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return chainID.MatchString(x.Name)
	case *ast.SelectorExpr:
		if chainID.MatchString(x.Sel.Name) {
			return true
		}
		if x.Sel.Name != "ID" && x.Sel.Name != "Slug" {
			return false
		}
		switch owner := x.X.(type) {
		case *ast.Ident:
			return chainWord.MatchString(owner.Name)
		case *ast.SelectorExpr:
			return chainWord.MatchString(owner.Sel.Name)
		}
	}
	return false
}

// isConstant: a literal, or a name like idBSC.
func isConstant(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BasicLit:
		return !ordinary.MatchString(x.Value)
	case *ast.Ident:
		return regexp.MustCompile(`^id[A-Z]`).MatchString(x.Name)
	}
	return false
}
