package laws

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Text that people read is made last and read by no code: decisions compare flags,
// categories and other values. The rules of this file look at the syntax alone. They
// report, outside of tests:
//
//   - a search of package strings, a comparison with a literal, or a switch over text
//     that was rendered: a field of that kind, what is assigned or ranged from one, and
//     what package narrate returns;
//   - a search or a comparison for a literal that is English: two words with a blank
//     between them, a word with a capital, or a word and a colon.

// renderedFields are the fields of results and of verdicts that hold text.
var renderedFields = []string{"Summary", "Unmarked", "Steps", "Risks", "NonFindings", "BrokenInvariant", "Claim", "MissingDataToConfirm",
	"Notes", "Reasons", "RunnerUp", "TraceAnnotations", "Description"}

// searches are the functions of package strings that look into a text.
var searches = []string{"HasPrefix", "HasSuffix", "Contains", "ContainsAny", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "Index", "LastIndex", "Count", "Split", "SplitN", "Fields"}

var englishLiteral = regexp.MustCompile(`[A-Za-z]{2,} [A-Za-z]{2,}|^ ?[A-Z][a-z]+\b|^[a-z_ ]+: $`)

// readsText are the functions that may look into text, with the reason. Each must be one
// that the rules report.
var readsText = map[string]string{
	"engine/agent/claim/text.go sentence":           "a model's text: it must not imitate the mark of a partial result",
	"engine/agent/claim/verdict.go supported":       "names of events, which are identifiers",
	"engine/report/html.go headline":                "the mark of a partial result, which the interface fixes",
	"engine/upstream/etherscan.go etherscanRefusal": "answers of Etherscan, which has no codes",
	"engine/upstream/faulttable.go classify":        "answers of nodes, whose codes do not tell",
}

// TestNoDecisionByText: no code decides by text that was rendered for people.
func TestNoDecisionByText(t *testing.T) {
	used := map[string]bool{}
	eachFile(t, nil, func(s *source) {
		top, _, _ := strings.Cut(s.path, "/")
		if !slices.Contains([]string{"engine", "actors", "transport"}, top) || apart(s.folder()) {
			return
		}
		for name, found := range decisionsByText(s.ast) {
			at := s.path + " " + name
			if used[at] = true; readsText[at] == "" {
				t.Errorf("%s: function %s decides by text for readers (%s); compare a flag, category or other value, or add %q to readsText with the reason",
					s.path, name, strings.Join(found, "; "), at)
			}
		}
	})
	for at := range readsText {
		if !used[at] {
			t.Errorf("readsText has %q, which does not read text or does not exist; remove the entry", at)
		}
	}
}

// TestDecisionsByText: what the rules report, and what they do not.
func TestDecisionsByText(t *testing.T) {
	f := func(body string, want int) {
		t.Helper()
		if got := decisionsByText(parseBody(t, body).ast)["f"]; len(got) != want {
			t.Errorf("%s: reported %q, want %d", body, got, want)
		}
	}
	f(`strings.HasPrefix(r.Summary, p)`, 1)
	f(`for _, line := range r.Risks { name, _, _ := strings.Cut(line, ":"); use(name) }`, 1)
	f(`for _, line := range r.Risks { name := strings.ToLower(line); if name == "drain" {} }`, 1)
	f(`slices.ContainsFunc(r.NonFindings, func(s string) bool { return strings.Contains(s, x) })`, 1)
	f(`s := r.Steps[0]; switch s { case "done": }`, 1)
	f(`if narrate.Risk(n, x) == "drain: it" {}`, 1)
	f(`slices.Contains(r.Risks, "drain")`, 1)
	f(`if strings.Contains(s, "flash loan") {}`, 1)
	f(`if strings.HasPrefix(verb, "Claimed") {}`, 1)
	f(`if verb == "Claimed rewards" {}`, 1)
	f(`for _, r := range v.Risks { if r.Flag == verdict.Drain {} }`, 0)
	f(`if r.Summary == "" || r.Summary != other.Summary {}`, 0)
	f(`strings.HasPrefix(s, "0x")`, 0)
	f(`strings.Join(r.Steps, " ")`, 0)
}

// decisionsByText gives what the rules report, by the name of the function.
func decisionsByText(file *ast.File) map[string][]string {
	out := map[string][]string{}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		r := &textRules{rendered: map[string]bool{}}
		for range 3 { // what is assigned from what was assigned
			ast.Inspect(fn.Body, r.spread)
		}
		ast.Inspect(fn.Body, r.judge)
		if len(r.found) > 0 {
			out[fn.Name.Name] = append(out[fn.Name.Name], r.found...)
		}
	}
	return out
}

// textRules looks at one function.
type textRules struct {
	rendered map[string]bool // variables that hold rendered text
	found    []string
}

func (r *textRules) taint(x ast.Expr) {
	if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
		r.rendered[id.Name] = true
	}
}

// spread marks the variables that rendered text goes to.
func (r *textRules) spread(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, x := range n.Rhs {
			if r.isRendered(x) {
				r.taint(n.Lhs[i])
			}
		}
	case *ast.RangeStmt:
		if r.isRendered(n.X) {
			r.taint(n.Value)
		}
	case *ast.CallExpr:
		if pkg, name := called(n); pkg == "slices" && strings.HasSuffix(name, "Func") && r.isRendered(n.Args[0]) {
			if lit, ok := n.Args[1].(*ast.FuncLit); ok {
				for _, p := range lit.Type.Params.List {
					for _, id := range p.Names {
						r.taint(id)
					}
				}
			}
		}
	}
	return true
}

func (r *textRules) isRendered(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident:
		return r.rendered[x.Name]
	case *ast.SelectorExpr:
		return slices.Contains(renderedFields, x.Sel.Name)
	case *ast.IndexExpr:
		return r.isRendered(x.X)
	case *ast.SliceExpr:
		return r.isRendered(x.X)
	case *ast.ParenExpr:
		return r.isRendered(x.X)
	case *ast.CallExpr:
		switch pkg, name := called(x); {
		case pkg == "narrate":
			return true
		case pkg == "strings" && (strings.HasPrefix(name, "To") || strings.HasPrefix(name, "Trim")):
			return r.isRendered(x.Args[0])
		}
	}
	return false
}

// judge notes what looks into text.
func (r *textRules) judge(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		pkg, name := called(n)
		search := pkg == "strings" && slices.Contains(searches, name)
		member := pkg == "slices" && name == "Contains" && len(n.Args) == 2 && stringLiteral(n.Args[1]) != ""
		switch {
		case search && slices.ContainsFunc(n.Args, r.isRendered), member && r.isRendered(n.Args[0]):
			r.found = append(r.found, pkg+"."+name+" of rendered text")
		case search && slices.ContainsFunc(n.Args, isEnglish):
			r.found = append(r.found, pkg+"."+name+" for English")
		}
	case *ast.BinaryExpr:
		if n.Op != token.EQL && n.Op != token.NEQ {
			break
		}
		for _, pair := range [][2]ast.Expr{{n.X, n.Y}, {n.Y, n.X}} {
			if stringLiteral(pair[1]) != "" && (r.isRendered(pair[0]) || isEnglish(pair[1])) {
				r.found = append(r.found, "comparison with "+stringLiteral(pair[1]))
			}
		}
	case *ast.SwitchStmt:
		if n.Tag != nil && r.isRendered(n.Tag) {
			r.found = append(r.found, "switch over rendered text")
		}
	}
	return true
}

// called is the function of a package that is called.
func called(n *ast.CallExpr) (pkg, name string) {
	if s, ok := n.Fun.(*ast.SelectorExpr); ok {
		if id, ok := s.X.(*ast.Ident); ok {
			return id.Name, s.Sel.Name
		}
	}
	return "", ""
}

// stringLiteral is the value of a string literal, empty for anything else.
func stringLiteral(x ast.Expr) string {
	if lit, ok := x.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	return ""
}

func isEnglish(x ast.Expr) bool { return englishLiteral.MatchString(stringLiteral(x)) }
