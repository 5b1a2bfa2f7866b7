// Mutate tests the tests: it changes the program in one place at a time and runs tests
// that should fail then. A change that no test notices has survived; it shows what no
// test asserts. The files of the project are never changed: the go command reads the
// changed file through -overlay.
//
//	go run ./internal/mutate -n 50 ./storage
//	go run ./internal/mutate -n 30 -tests ./transport,./app -run 'Paid|Metered' ./transport
//
// A change is one of: a condition is negated, a comparison or an operator replaced, a
// statement, a call, a defer, an if or a case removed, a result replaced by nil, zero
// or its opposite, a number raised by one or divided by ten, two arguments or fields of one
// type swapped, a row of a table dropped, a text replaced by the one before it. Of all changes of a package -n are drawn by
// -seed, which is printed; the same seed draws the same ones.
//
// With -guards, the changes are those that drop one condition. So each guard of the rules
// about attacks is tried, and the list of what was killed and what survived printed:
//
//	go run ./internal/mutate -guards -v -files '^engine/check/attack' -run 'TestRules$|TestGuards|TestDrain' ./engine/check
//
// Then the tests are built once, with a switch for each condition, and all conditions are tried
// unless -n draws some of them.
//
// A change that no test can notice, because the program does the same, is listed with
// the reason in equivalent.txt, by the key that is printed when it survives, and counts
// neither as killed nor as survived.
//
// Why not gremlins (github.com/go-gremlins/gremlins, v0.6.0): it replaces operators and loop
// control only. Of the 93 changes that this program finds in engine/meter it knows 34, and
// not the removal of a statement, call, defer, if or case, nor another result or number, which
// are what most tests of payments and storage are held against. It cannot draw some changes of
// a package by seed, run the tests of other packages only or tests by name, leave out changes
// that do nothing, or build the tests once for all conditions; and it copies the whole module,
// with its node_modules, for each worker.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	n          int
	seed       uint64
	tests      string
	match      string
	timeout    time.Duration
	files      *regexp.Regexp
	skip       *regexp.Regexp
	equivalent string
	min        float64
	verbose    bool
	list       bool
	guards     bool
	packages   []string
}

func parse(args []string) (o options, err error) {
	f := flag.NewFlagSet("mutate", flag.ContinueOnError)
	f.IntVar(&o.n, "n", -1, "changes of each package that compile; 0: all; default 50, and all with -guards")
	f.Uint64Var(&o.seed, "seed", 0, "of the draw; 0: the time")
	f.StringVar(&o.tests, "tests", "", "packages whose tests are run, separated by commas; default the changed one")
	f.StringVar(&o.match, "run", "", "run these tests only, as of go test")
	f.DurationVar(&o.timeout, "timeout", 0, "of the tests of one change; default three times as long as without it, and 30 s")
	files := f.String("files", "", "change files only whose names match")
	skip := f.String(
		"skip",
		`^[\w.()]*[Ll]og(ger)?(\(\))?\.(Debug|Info|Warn|Error)\(`,
		"leave out changes of text that matches: nobody tests every log line",
	)
	f.StringVar(&o.equivalent, "equivalent", "internal/mutate/equivalent.txt", "list of changes that no test can notice")
	f.Float64Var(&o.min, "min", 0, "end with an error where less than so many percent are killed")
	f.BoolVar(&o.verbose, "v", false, "print what was killed, too")
	f.BoolVar(&o.guards, "guards", false, "change nothing but conditions: drop each of them once")
	f.BoolVar(&o.list, "list", false, "print the changes and run nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.files, err = regexp.Compile(*files); err != nil {
		return o, fmt.Errorf("-files: %w", err)
	}
	if o.skip, err = regexp.Compile(*skip); err != nil {
		return o, fmt.Errorf("-skip: %w", err)
	}
	if o.n < 0 && !o.guards {
		o.n = 50
	}
	if o.packages = f.Args(); len(o.packages) == 0 {
		return o, errors.New("name the packages to change, such as ./storage")
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	known, err := readEquivalent(o.equivalent)
	if err != nil {
		return err
	}
	var low []string
	for _, name := range o.packages {
		s, err := o.mutatePackage(ctx, out, name, known)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !o.list && s.percent() < o.min {
			low = append(low, name)
		}
	}
	if len(low) > 0 {
		return fmt.Errorf("below %g %%: %s", o.min, strings.Join(low, ", "))
	}
	return nil
}

// score counts what came of the changes of a package.
type score struct{ killed, late, survived, equivalent, broken int }

// percent is the share of changes that were killed among those that could be.
func (s score) percent() float64 {
	if s.killed+s.survived == 0 {
		return 100
	}
	return 100 * float64(s.killed) / float64(s.killed+s.survived)
}

func (o options) mutatePackage(ctx context.Context, out io.Writer, name string, known *equivalents) (s score, err error) {
	p, err := load(ctx, name)
	if err != nil {
		return s, err
	}
	all := o.chosen(p.mutants(o.guards))
	if o.list {
		for _, m := range all {
			fmt.Fprintf(out, "%s: %s\n", m.place(), m.key)
		}
		return s, nil
	}
	for _, key := range known.stale(all, o.guards) {
		fmt.Fprintf(out, "%s: equivalent.txt lists a change that there is not: %s\n", name, key)
	}
	tests := []string{p.path}
	if o.tests != "" {
		tests = strings.Split(o.tests, ",")
	}
	if o.guards {
		return o.dropGuards(ctx, out, p, tests, all, known)
	}
	t := tester{o: o, tests: tests}
	if err := t.baseline(ctx); err != nil {
		return s, err
	}
	fmt.Fprintf(
		out,
		"%s: %d changes, seed %d, tests of %s take %s\n",
		name,
		len(all),
		o.seed,
		strings.Join(tests, " "),
		t.took.Round(time.Millisecond),
	)
	o.shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, m := range all {
		if o.n > 0 && s.killed+s.survived+s.equivalent >= o.n {
			break
		}
		if err := o.try(ctx, out, &t, p, m, known, &s); err != nil {
			return s, err
		}
	}
	fmt.Fprintf(out, "%s: %d killed (%d by the timeout), %d survived, %d equivalent, %d did not compile: %.1f %%\n",
		name, s.killed, s.late, s.survived, s.equivalent, s.broken, s.percent())
	return s, nil
}

// shuffle brings changes into the order of the seed.
func (o options) shuffle(n int, swap func(i, j int)) {
	rand.New(rand.NewPCG(o.seed, 0)).Shuffle(n, swap)
}

// chosen leaves out what the flags do not want.
func (o options) chosen(all []mutant) (list []mutant) {
	for _, m := range all {
		if o.files.MatchString(m.file) && !o.skip.MatchString(m.old) {
			list = append(list, m)
		}
	}
	return list
}

// try runs the tests against one change.
func (o options) try(ctx context.Context, out io.Writer, t *tester, p *pkg, m mutant, known *equivalents, s *score) error {
	if known.reason(m.key) != "" {
		s.equivalent++
		return nil
	}
	if !p.compiles(m) {
		s.broken++
		return nil
	}
	verdict, err := t.try(ctx, m)
	if err != nil {
		return err
	}
	switch verdict {
	case broken:
		s.broken++
	case survived:
		s.survived++
	case late:
		s.late++
		s.killed++
	default:
		s.killed++
	}
	if verdict == survived || o.verbose {
		fmt.Fprintf(out, "%s %s\n  key: %s\n%s", verdict, m.place(), m.key, m.diff())
	}
	return nil
}
