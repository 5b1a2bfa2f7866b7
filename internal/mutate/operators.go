package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	source     *source
	file       string
	line       int
	start, end int // bytes of the file that are replaced
	old, by    string
	key        string // names it as long as its function stands
}

// place is where a reader finds it.
func (m mutant) place() string { return fmt.Sprintf("%s:%d", m.file, m.line) }

// changed is the file with the change.
func (m mutant) changed() []byte {
	return append(append(append([]byte(nil), m.source.text[:m.start]...), m.by...), m.source.text[m.end:]...)
}

// diff shows the lines that change.
func (m mutant) diff() string {
	text := m.source.text
	from := bytes.LastIndexByte(text[:m.start], '\n') + 1
	to := len(text)
	if i := bytes.IndexByte(text[m.end:], '\n'); i >= 0 {
		to = m.end + i
	}
	var out strings.Builder
	write := func(sign, lines string) {
		for line := range strings.SplitSeq(lines, "\n") {
			if strings.TrimSpace(line) != "" {
				fmt.Fprintf(&out, "  %s%s\n", sign, line)
			}
		}
	}
	write("-", string(text[from:to]))
	write("+", string(text[from:m.start])+m.by+string(text[m.end:to]))
	return out.String()
}

// finder collects the changes of one function.
type finder struct {
	p    *pkg
	s    *source
	fn   string
	seen map[string]int // keys so far
	list []mutant
}

// mutants lists all changes of the package, in the order of the files. With guards they are
// those that drop one condition which keeps something from happening.
func (p *pkg) mutants(guards bool) (all []mutant) {
	for _, s := range p.files {
		if s.generated() {
			continue
		}
		f := &finder{p: p, s: s, seen: map[string]int{}}
		visit := f.visit
		if guards {
			visit = f.guard
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				f.fn = nameOf(d)
				if d.Body != nil {
					ast.Inspect(d.Body, visit)
					if !guards {
						f.literals(d.Body)
					}
				}
			case *ast.GenDecl:
				if f.fn = "var"; !guards && (d.Tok == token.CONST || d.Tok == token.VAR) {
					ast.Inspect(d, f.visit)
					f.literals(d)
				}
			}
		}
		all = append(all, f.list...)
	}
	return all
}

// nameOf is the name of a function, with its receiver's type.
func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// replace adds a change of the text from one position to another.
func (f *finder) replace(what string, from, to token.Pos, by string) {
	file := f.p.fset.File(from)
	start, end := file.Offset(from), file.Offset(to)
	old := string(f.s.text[start:end])
	key := fmt.Sprintf("%s %s: %s `%s`", f.s.name, f.fn, what, oneLine(old))
	if by != "" {
		key += fmt.Sprintf(" by `%s`", oneLine(by))
	}
	if f.seen[key]++; f.seen[key] > 1 {
		key += fmt.Sprintf(" #%d", f.seen[key])
	}
	f.list = append(f.list, mutant{source: f.s, file: f.s.name, line: file.Line(from), start: start, end: end, old: old, by: by, key: key})
}

func (f *finder) text(n ast.Node) string {
	file := f.p.fset.File(n.Pos())
	return string(f.s.text[file.Offset(n.Pos()):file.Offset(n.End())])
}

// operators by what takes their place.
var operators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR, token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.REM: token.MUL, token.SHL: token.SHR, token.SHR: token.SHL, token.AND: token.OR, token.OR: token.AND,
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.CONST || n.Tok == token.VAR
	case *ast.BinaryExpr:
		if by, ok := operators[n.Op]; ok && (n.Op != token.ADD || !f.isString(n.X)) {
			f.replace("replace", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), by.String())
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
		if n.Else == nil && n.Init == nil {
			f.replace("remove", n.Pos(), n.End(), "")
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			f.replace("replace the condition", n.Cond.Pos(), n.Cond.End(), "false")
		}
	case *ast.ExprStmt:
		f.replace("remove", n.Pos(), n.End(), "")
	case *ast.AssignStmt:
		f.assignment(n)
	case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt:
		f.replace("remove", n.Pos(), n.End(), "")
	case *ast.ReturnStmt:
		f.results(n)
	case *ast.CaseClause:
		f.clause(n, n.List != nil)
	case *ast.CommClause:
		f.clause(n, n.Comm != nil)
		for _, s := range n.Body { // what it waits for stays
			ast.Inspect(s, f.visit)
		}
		return false
	case *ast.CallExpr:
		f.arguments(n)
	case *ast.CompositeLit:
		f.fields(n)
		f.rows(n)
	case *ast.BasicLit:
		f.number(n)
	case *ast.Ident:
		f.boolean(n)
	case *ast.BranchStmt:
		if n.Label == nil && n.Tok == token.CONTINUE {
			f.replace("replace", n.Pos(), n.End(), "break")
		}
	case *ast.ImportSpec, *ast.Field:
		return false
	}
	return true
}

// condition is negated, unless it is a single comparison, which is replaced itself.
func (f *finder) condition(c ast.Expr) {
	if b, ok := c.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	f.replace("negate", c.Pos(), c.End(), "!("+f.text(c)+")")
}

// assignment is removed where the variables stay.
func (f *finder) assignment(n *ast.AssignStmt) {
	if n.Tok == token.DEFINE {
		return
	}
	for _, left := range n.Lhs {
		if id, ok := left.(*ast.Ident); ok && id.Name == "_" {
			return
		}
	}
	f.replace("remove", n.Pos(), n.End(), "")
}

// clause drops a case, but for the default.
func (f *finder) clause(n ast.Node, named bool) {
	if named {
		f.replace("drop", n.Pos(), n.End(), "")
	}
}

// results are replaced one by one.
func (f *finder) results(n *ast.ReturnStmt) {
	for _, r := range n.Results {
		t := f.p.info.Types[r]
		if text := f.text(r); text == "true" || text == "false" {
			continue // boolean replaces it
		}
		if by := opposite(t, f.text(r)); by != "" && by != f.text(r) {
			f.replace("return", r.Pos(), r.End(), by)
		}
	}
}

// opposite is another value of the type, empty where there is none that is easily
// written.
func opposite(t types.TypeAndValue, text string) string {
	if t.Type == nil || t.IsNil() {
		return ""
	}
	if v := t.Value; v != nil &&
		(v.Kind() == constant.String && constant.StringVal(v) == "" ||
			v.Kind() != constant.Bool && v.Kind() != constant.String && constant.Sign(v) == 0) {
		return "" // it is that already
	}
	switch u := t.Type.Underlying().(type) {
	case *types.Interface, *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature:
		return "nil"
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return "!(" + text + ")"
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsNumeric != 0:
			return "0"
		}
	}
	return ""
}

// number is raised by one, and a large one divided by ten.
func (f *finder) number(n *ast.BasicLit) {
	if n.Kind != token.INT {
		return
	}
	v := constant.MakeFromLiteral(n.Value, token.INT, 0)
	if i, exact := constant.Int64Val(v); exact {
		f.replace("raise", n.Pos(), n.End(), strconv.FormatInt(i+1, 10))
		if i >= minScaled {
			f.replace("scale", n.Pos(), n.End(), strconv.FormatInt(i/10, 10))
		}
	}
}

// minScaled is the least number that is scaled, too: smaller ones are as a rule places and sizes.
const minScaled = 100

// arguments swaps neighbours of one type in a call.
func (f *finder) arguments(n *ast.CallExpr) {
	if t := f.p.info.Types[n.Fun]; t.IsType() {
		return
	}
	for i := 1; i < len(n.Args); i++ {
		f.swap("swap", n.Args[i-1], n.Args[i])
	}
}

// fields swaps the values of neighbours of one type in a literal of a struct.
func (f *finder) fields(n *ast.CompositeLit) {
	t := f.p.info.Types[n].Type
	if t == nil {
		return
	}
	if _, ok := t.Underlying().(*types.Struct); !ok {
		return
	}
	for i := 1; i < len(n.Elts); i++ {
		f.swap("swap", valueOf(n.Elts[i-1]), valueOf(n.Elts[i]))
	}
}

// valueOf is an element of a literal without its key.
func valueOf(x ast.Expr) ast.Expr {
	if kv, ok := x.(*ast.KeyValueExpr); ok {
		return kv.Value
	}
	return x
}

// swap changes two expressions of one type for each other, where their texts differ.
func (f *finder) swap(what string, x, y ast.Expr) {
	a, b := f.p.info.Types[x].Type, f.p.info.Types[y].Type
	if a == nil || b == nil || !types.Identical(types.Default(a), types.Default(b)) || f.text(x) == f.text(y) {
		return
	}
	between := f.s.text[f.p.fset.File(x.End()).Offset(x.End()):f.p.fset.File(y.Pos()).Offset(y.Pos())]
	f.replace(what, x.Pos(), y.End(), f.text(y)+string(between)+f.text(x))
}

// rows drops the rows of a table one by one: of a map, or of a list of more than one element.
func (f *finder) rows(n *ast.CompositeLit) {
	t := f.p.info.Types[n].Type
	if t == nil || len(n.Elts) < 2 {
		return
	}
	switch t.Underlying().(type) {
	case *types.Map, *types.Slice:
	default:
		return
	}
	for i, x := range n.Elts {
		from, to := x.Pos(), x.End()
		if i+1 < len(n.Elts) {
			to = n.Elts[i+1].Pos()
		} else {
			from = n.Elts[i-1].End()
		}
		f.replace("drop", from, to, "")
	}
}

// literals puts another text of the same declaration, the one before it, in the place of each text.
func (f *finder) literals(d ast.Node) {
	var last *ast.BasicLit
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field:
			return false
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			if last != nil && f.text(n) != f.text(last) {
				f.replace("replace", n.Pos(), n.End(), f.text(last))
			}
			last = n
		}
		return true
	})
}

func (f *finder) boolean(n *ast.Ident) {
	if t, ok := f.p.info.Types[n]; !ok || t.Value == nil || t.Value.Kind() != constant.Bool {
		return
	}
	switch n.Name {
	case "true":
		f.replace("replace", n.Pos(), n.End(), "false")
	case "false":
		f.replace("replace", n.Pos(), n.End(), "true")
	}
}

func (f *finder) isString(e ast.Expr) bool {
	t := f.p.info.Types[e].Type
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
