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
	"strings"
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

// dropGuards builds the tests of packages once, with a switch for each guard of one package,
// and runs them once for each guard.
func (o options) dropGuards(
	ctx context.Context,
	out io.Writer,
	p *pkg,
	tests []string,
	all []mutant,
	known *equivalents,
) (s score, err error) {
	dir, err := os.MkdirTemp("", "mutate-*")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	built, err := buildSwitched(ctx, dir, p, tests, all)
	if err != nil {
		return s, err
	}
	try := func(n int) error {
		for _, b := range built {
			if err := o.tryGuard(ctx, b, n); err != nil {
				return err
			}
		}
		return nil
	}
	if err := try(-1); err != nil {
		return s, fmt.Errorf("the tests fail with all guards: %w", err)
	}
	fmt.Fprintf(out, "%s: %d guards, seed %d, tests of %s\n", p.path, len(all), o.seed, strings.Join(tests, " "))
	for _, n := range o.drawn(len(all)) {
		m := all[n]
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

// drawn are the numbers of the guards that are tried: all in their order, or as many as -n
// says, drawn by the seed.
func (o options) drawn(all int) []int {
	list := make([]int, all)
	for i := range list {
		list[i] = i
	}
	if o.n > 0 && o.n < all {
		o.shuffle(all, func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:o.n]
		slices.Sort(list)
	}
	return list
}

// tryGuard runs a test binary without the guard of a number.
func (o options) tryGuard(ctx context.Context, b testBinary, n int) error {
	ctx, cancel := context.WithTimeout(ctx, max(o.timeout, time.Minute))
	defer cancel()
	args := []string{"-test.failfast"}
	if o.match != "" {
		args = append(args, "-test.run", o.match)
	}
	cmd := exec.CommandContext(ctx, b.path, args...)
	ownGroup(cmd)
	cmd.Dir, cmd.Env = b.home, append(os.Environ(), fmt.Sprintf("MUTATE_GUARD=%d", n))
	return cmd.Run()
}

// testBinary is the built tests of a package, and the folder in which they run.
type testBinary struct{ path, home string }

// buildSwitched builds the tests of packages against the changed package.
func buildSwitched(ctx context.Context, dir string, p *pkg, tests []string, all []mutant) (built []testBinary, err error) {
	overlay, err := writeOverlay(dir, p, all)
	if err != nil {
		return nil, err
	}
	for i, name := range tests {
		home, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", name).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", name, err)
		}
		b := testBinary{filepath.Join(dir, fmt.Sprintf("guards%d.test", i)), strings.TrimSpace(string(home))}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", b.path, name)
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the tests with switches: %w\n%s", err, text)
		}
		built = append(built, b)
	}
	return built, nil
}

// writeOverlay writes the package with a switch for each guard, and gives the file that has
// the go command read it.
func writeOverlay(dir string, p *pkg, all []mutant) (string, error) {
	replace := map[string]string{}
	home := filepath.Dir(p.files[0].abs)
	write := func(abs string, text []byte) error {
		name := filepath.Join(dir, filepath.Base(abs))
		replace[abs] = name
		return os.WriteFile(name, text, 0o600)
	}
	for _, s := range p.files {
		if slices.ContainsFunc(all, func(m mutant) bool { return m.source == s }) {
			if err := write(s.abs, switched(s, all)); err != nil {
				return "", err
			}
		}
	}
	if err := write(filepath.Join(home, "zz_guard_switch.go"), fmt.Appendf(nil, switchFile, p.files[0].ast.Name.Name)); err != nil {
		return "", err
	}
	doc, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, doc, 0o600)
}
