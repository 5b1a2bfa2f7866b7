package laws

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"testing"
)

// namesOfStack are the places that show the name of a stack; they decide nothing by it.
var namesOfStack = []string{"cmd/txlens/chains.go", "engine/agent/claim/names.go"}

// TestStacksAreAsked: which stack a chain runs is nobody's business outside
// engine/chain. A difference is a method of chain.Stack.
func TestStacksAreAsked(t *testing.T) {
	eachFile(t, []string{"engine/chain"}, func(s *source) {
		for _, found := range stackBranches(s, slices.Contains(namesOfStack, s.path)) {
			t.Error(found)
		}
	})

	found := func(want int, body string) {
		t.Helper()
		if got := stackBranches(parseBody(t, body), false); len(got) != want {
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

// What to do with a place that tells stacks or chains apart.
const (
	askStack = "; give chain.Stack a method that answers what is asked here, and call it"
	askChain = "; give chain.Stack a method or chain.Chain a field for the difference, and read that"
)

// stackBranches lists the expressions of a file that tell stacks or chains apart.
func stackBranches(s *source, mayName bool) (found []string) {
	say := func(n ast.Node, what string) { found = append(found, s.at(n)+": "+what) }
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch {
			case n.Op != token.EQL && n.Op != token.NEQ:
			case selects(n.X, "Stack") || selects(n.Y, "Stack"):
				say(n, "compares a stack"+askStack)
			case tellsChains(n.X, n.Y) || tellsChains(n.Y, n.X):
				say(n, "compares a chain with a constant"+askChain)
			}
		case *ast.SwitchStmt:
			switch {
			case n.Tag == nil:
			case selects(n.Tag, "Stack"):
				say(n, "switches on a stack"+askStack)
			case slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool {
				return slices.ContainsFunc(c.(*ast.CaseClause).List, func(x ast.Expr) bool { return tellsChains(n.Tag, x) })
			}):
				say(n, "switches on a chain"+askChain)
			}
		case *ast.TypeAssertExpr:
			if selects(n.X, "Stack") {
				say(n, "asserts the type of a stack"+askStack)
			}
		case *ast.IndexExpr:
			if selects(n.Index, "Stack") {
				say(n, "looks a stack up"+askStack)
			}
		case *ast.MapType:
			if s, ok := n.Key.(*ast.SelectorExpr); ok && selects(s, "Stack") {
				say(n, "maps stacks"+askStack)
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Name" && selects(s.X, "Stack") && !mayName {
				say(n, "reads the name of a stack"+askStack+"; a place that only shows the name is added to namesOfStack")
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
