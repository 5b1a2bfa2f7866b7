package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// guard drops conditions one at a time: an operand of && is taken for true, one of || for
// false, and the condition of an if as a whole so that the statement does not leave the
// function or the loop, or else does what it guards.
func (f *finder) guard(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		f.operands(n)
	case *ast.IfStmt:
		if !joined(n.Cond) {
			f.drop(n.Cond, !leaves(n.Body))
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			f.cases(n.Body)
		}
	}
	return true
}

// operands drops those of one operator that are not themselves joined by the same one.
func (f *finder) operands(n *ast.BinaryExpr) {
	if n.Op != token.LAND && n.Op != token.LOR {
		return
	}
	for _, x := range []ast.Expr{n.X, n.Y} {
		if b, ok := x.(*ast.BinaryExpr); !ok || b.Op != n.Op {
			f.drop(x, n.Op == token.LAND)
		}
	}
}

// cases drops the conditions of a switch without a tag, which count for false then.
func (f *finder) cases(body *ast.BlockStmt) {
	for _, s := range body.List {
		for _, x := range s.(*ast.CaseClause).List {
			if !joined(x) {
				f.drop(x, false)
			}
		}
	}
}

// joined reports whether a condition consists of several.
func joined(x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// leaves reports whether a block ends by leaving the function or the loop.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// drop takes a condition for true or false.
func (f *finder) drop(x ast.Expr, as bool) {
	f.replace("guard", x.Pos(), x.End(), strconv.FormatBool(as))
}

// switchFile is added to the changed package: a guard is dropped where the environment names
// its number.
const switchFile = `package %s

import (
	"os"
	"strconv"
)

var droppedGuard = func() int {
	n, err := strconv.Atoi(os.Getenv("MUTATE_GUARD"))
	if err != nil {
		return -1
	}
	return n
}()

func guardDropped(n int) bool { return n == droppedGuard }
`

// insertion is text that is put into a file.
type insertion struct {
	at, order int // of several at one place, the lower order comes first
	text      string
}

// switched is a file in which each guard can be dropped by its number in the list.
func switched(s *source, list []mutant) []byte {
	var put []insertion
	for n, m := range list {
		if m.source != s {
			continue
		}
		open := fmt.Sprintf("(!guardDropped(%d) && (", n)
		if m.by == "true" {
			open = fmt.Sprintf("(guardDropped(%d) || (", n)
		}
		// What ends at a place is closed before anything begins there, the inner before the
		// outer; what begins at a place is opened with the outer first.
		put = append(put, insertion{m.start, 1<<40 - m.end, open}, insertion{m.end, -m.start - 1, "))"})
	}
	slices.SortStableFunc(put, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out []byte
	last := 0
	for _, x := range put {
		out = append(append(out, s.text[last:x.at]...), x.text...)
		last = x.at
	}
	return append(out, s.text[last:]...)
}

// dropGuards builds the tests of a package once, with a switch for each guard, and runs them
// once for each guard.
func (o options) dropGuards(ctx context.Context, out io.Writer, p *pkg, all []mutant, known *equivalents) (s score, err error) {
	dir, err := os.MkdirTemp("", "mutate-*")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	binary, home, err := buildSwitched(ctx, dir, p, all)
	if err != nil {
		return s, err
	}
	try := func(n int) error {
		ctx, cancel := context.WithTimeout(ctx, max(o.timeout, time.Minute))
		defer cancel()
		args := []string{"-test.failfast"}
		if o.match != "" {
			args = append(args, "-test.run", o.match)
		}
		cmd := exec.CommandContext(ctx, binary, args...)
		ownGroup(cmd)
		cmd.Dir, cmd.Env = home, append(os.Environ(), fmt.Sprintf("MUTATE_GUARD=%d", n))
		return cmd.Run()
	}
	if err := try(-1); err != nil {
		return s, fmt.Errorf("the tests fail with all guards: %w", err)
	}
	fmt.Fprintf(out, "%s: %d guards\n", p.path, len(all))
	for n, m := range all {
		switch {
		case ctx.Err() != nil:
			return s, context.Cause(ctx)
		case known.reason(m.key) != "":
			s.equivalent++
			continue
		}
		result := killed
		if s.killed++; try(n) == nil {
			result = survived
			s.killed--
			s.survived++
		}
		if result == survived || o.verbose {
			fmt.Fprintf(out, "%s %s\n  key: %s\n", result, m.place(), m.key)
		}
	}
	fmt.Fprintf(out, "%s: %d killed, %d survived, %d equivalent: %.1f %%\n", p.path, s.killed, s.survived, s.equivalent, s.percent())
	return s, nil
}

// buildSwitched builds the test binary, and gives the folder of the package too.
func buildSwitched(ctx context.Context, dir string, p *pkg, all []mutant) (binary, home string, err error) {
	replace := map[string]string{}
	home = filepath.Dir(p.files[0].abs)
	write := func(abs string, text []byte) error {
		name := filepath.Join(dir, filepath.Base(abs))
		replace[abs] = name
		return os.WriteFile(name, text, 0o600)
	}
	for _, s := range p.files {
		if slices.ContainsFunc(all, func(m mutant) bool { return m.source == s }) {
			if err := write(s.abs, switched(s, all)); err != nil {
				return "", "", err
			}
		}
	}
	if err := write(filepath.Join(home, "zz_guard_switch.go"), fmt.Appendf(nil, switchFile, p.files[0].ast.Name.Name)); err != nil {
		return "", "", err
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, doc, 0o600); err != nil {
		return "", "", err
	}
	binary = filepath.Join(dir, "guards.test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, p.path)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build the tests with switches: %w\n%s", err, text)
	}
	return binary, home, nil
}
