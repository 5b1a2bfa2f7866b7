package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/report"
	"txlens/engine/view"

	"github.com/go-json-experiment/json"
)

type explainCmd struct {
	Hash     []string `arg:"" help:"Transaction hash, or the address of its page in a block explorer; several, or - for one per line on stdin, each optionally followed by a chain."`
	Chain    string   `       help:"Slug or id; skips the search for the chain."                                                                      name:"chain"    placeholder:"CHAIN"`
	Context  string   `       help:"What you want to know; at most 2 KB."                                                                             name:"context"  placeholder:"TEXT"`
	Model    string   `       help:"Language model that looks at it, as the service names them; default the one of --default-model, or the server's." name:"model"    placeholder:"MODEL"`
	JSON     bool     `       help:"Print the ExplanationResult as one line of JSON."                                                                 name:"json"`
	View     string   `       help:"How much --json prints: ${enum}."                                                                                 name:"view"     placeholder:"VIEW"  enum:"summary,standard,full" default:"full"`
	HTML     string   `       help:"Also write a self-contained HTML report."                                                                         name:"html"     placeholder:"FILE"  type:"path"`
	NoScript bool     `       help:"Leave the script out of the HTML report; without it the report cannot be searched."                                                   name:"no-script"`
	Parallel int      `       help:"Analyses at a time with -."                                                                                       name:"parallel"                                 default:"4"`
	Quiet    bool     `       help:"No progress on stderr."                                                                                           name:"quiet"                                                short:"q"`

	exportFlags       `embed:"" group:"Other formats:"`
	settings.Evidence `embed:"" group:"Where the evidence comes from:"`
	buyFlags          `embed:"" group:"Buying the analysis from a server:"`
}

// explains makes the analyses: this process does, or a server that sells them.
type explains interface {
	Explain(ctx context.Context, req api.Request, sink func(api.Event)) (*api.Result, error)
}

// check returns an error for flags that exclude each other.
func (cmd *explainCmd) check() error {
	switch {
	case cmd.View != string(api.ViewFull) && !cmd.JSON:
		return settings.InputError{Err: errors.New("--view needs --json")}
	case cmd.NoScript && cmd.HTML == "":
		return settings.InputError{Err: errors.New("--no-script needs --html")}
	case len(cmd.Hash) > 1 && slices.Contains(cmd.Hash, "-"):
		return settings.InputError{Err: errors.New("give hashes, or - for those on stdin, not both")}
	case cmd.many() && cmd.chosen() == nil && !cmd.JSON:
		return settings.InputError{Err: errors.New("more than one transaction, or - for stdin, needs --json")}
	case cmd.many() && cmd.HTML != "":
		return settings.InputError{Err: errors.New("--html takes one transaction, and no -")}
	case cmd.many() && cmd.buyFlags.Run != "":
		return settings.InputError{Err: errors.New("--run takes one transaction, and no -")}
	case cmd.Parallel < 1 || cmd.Parallel > 256:
		return settings.InputError{Err: errors.New("--parallel: must be between 1 and 256")}
	case cmd.Server == "" && (cmd.Async || cmd.Close || cmd.buyFlags.Run != "" || cmd.MaxCharge != ""):
		return settings.InputError{Err: errors.New("--server: name who sells the analysis; --async, --run, --close and --max-charge go with it")}
	}
	return cmd.exportFlags.check(cmd.JSON, cmd.many())
}

// many reports whether there may be more than one transaction.
func (cmd *explainCmd) many() bool { return len(cmd.Hash) != 1 || cmd.Hash[0] == "-" }

// Run explains one transaction or many.
func (cmd *explainCmd) Run(ctx context.Context, c console) error {
	if err := cmd.check(); err != nil {
		return err
	}
	req := api.Request{Context: cmd.Context, Model: cmd.Model}
	if cmd.Chain != "" {
		ch, err := settings.ParseChain(cmd.Chain)
		if err != nil {
			return settings.InputError{Err: fmt.Errorf("--chain: %w", err)}
		}
		req.ChainID = ch.ID
	}
	if !cmd.many() {
		if err := refer(&req, cmd.Hash[0]); err != nil {
			return err
		}
	}
	p := newProgress(c.err, c.errTTY, cmd.Quiet)
	if cmd.Server != "" {
		b, err := newBuyer(&cmd.buyFlags, c, p)
		if err != nil {
			return err
		}
		err = cmd.explain(ctx, c, b, p, req)
		return errors.Join(err, b.end(ctx))
	}
	tellPrivate(c, &cmd.Own, cmd.HTML != "" || cmd.chosen() != nil)
	a, err := settings.NewAnalyst(cmd.Evidence)
	if err != nil {
		return err
	}
	defer a.Close()
	return cmd.explain(ctx, c, app.Local{Analyst: a}, p, req)
}

// explain prints the analysis of one hash, or of many.
func (cmd *explainCmd) explain(ctx context.Context, c console, a explains, p *progress, req api.Request) error {
	if cmd.many() {
		in := c.in
		if cmd.Hash[0] != "-" {
			in = strings.NewReader(strings.Join(cmd.Hash, "\n"))
		}
		return cmd.batch(ctx, c, a, in, req)
	}
	res, err := a.Explain(ctx, req, p.event)
	p.end()
	if err != nil {
		return err
	}
	return cmd.show(c, res, p.hint)
}

// show prints the result. If it is partial, a line on stderr says so and what can be done
// about it.
func (cmd *explainCmd) show(c console, res *api.Result, hint string) error {
	var unwritten error
	if cmd.HTML != "" {
		unwritten = writeHTML(cmd.HTML, res, report.HTMLOptions{NoScript: cmd.NoScript})
		made := *res
		made.HTMLReport = unwritten == nil
		res = &made
	}
	if err := cmd.print(c, res); err != nil {
		return err
	}
	if unwritten != nil {
		return unwritten
	}
	return partialError(res, hint)
}

func (cmd *explainCmd) print(c console, res *api.Result) error {
	if f := cmd.chosen(); f != nil {
		return f.Write(c.out, res)
	}
	return printResult(c, view.Of(res, api.View(cmd.View), moreOnCLI), cmd.JSON)
}

// moreOnCLI is the hint how to get what a view leaves out.
const moreOnCLI = "--view full prints everything"

func printResult(c console, res *api.Result, asJSON bool) error {
	if !asJSON {
		return report.Text(c.out, res, report.TextOptions{Color: c.outTTY, Width: terminalWidth(c.out)})
	}
	w := bufio.NewWriterSize(c.out, 1<<16)
	if err := json.MarshalWrite(w, res); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	w.WriteByte('\n')
	return w.Flush()
}

func partialError(res *api.Result, hint string) error {
	if !res.Partial() {
		return nil
	}
	why, _, _ := strings.Cut(strings.TrimPrefix(res.Summary, api.PartialPrefix+": "), "**")
	why = strings.TrimSuffix(why, ".")
	if hint != "" {
		why += "; " + hint
	}
	return fmt.Errorf("%w: %s", errPartial, why)
}

func writeHTML(path string, res *api.Result, o report.HTMLOptions) error {
	return writePage(path, func(w io.Writer) error { return report.HTMLWith(w, res, o) })
}

func writePage(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// maxLine bounds one line of stdin.
const maxLine = 4096

// lineError is printed in place of a result that could not be made.
type lineError struct {
	TxHash string `json:"txHash"`
	Error  string `json:"error"`
	Code   string `json:"code"`
}

// answer is one line of output, ready to be written, in a buffer that write releases.
type answer struct {
	text *bytes.Buffer
	err  error
}

// lineBuffers hold lines of output. A line is tens of kilobytes, and most of what a run
// over many transactions would allocate.
var lineBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// keptLine is the largest buffer that is used again, in bytes.
const keptLine = 1 << 20

func (a answer) release() {
	if a.text.Cap() <= keptLine {
		a.text.Reset()
		lineBuffers.Put(a.text)
	}
}

// batch explains one hash per line, N at a time, and writes in the order of the input. At
// most N results wait to be written, so memory does not grow with the input. If the output
// cannot be written any more, running analyses are stopped.
func (cmd *explainCmd) batch(ctx context.Context, c console, a explains, in io.Reader, base api.Request) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	queue := make(chan chan answer, cmd.Parallel)
	lanes := make(chan struct{}, cmd.Parallel)
	var readErr error
	go func() {
		defer close(queue)
		readErr = eachRequest(in, base, func(req api.Request, bad error) bool {
			select {
			case lanes <- struct{}{}:
			case <-ctx.Done():
				return false
			}
			out := make(chan answer, 1)
			queue <- out
			go func() {
				out <- one(ctx, a, req, api.View(cmd.View), bad)
			}()
			return true
		})
	}()
	worst, err := cmd.write(ctx, c, queue, lanes)
	if err != nil {
		return err
	}
	return errors.Join(readErr, worst)
}

// write copies answers in order until the input or the context ends. A read of stdin
// cannot be interrupted, so write does not wait for it after the context has ended.
func (cmd *explainCmd) write(ctx context.Context, c console, queue chan chan answer, lanes chan struct{}) (worst, err error) {
	for {
		var out chan answer
		select {
		case <-ctx.Done():
			return worst, ctx.Err()
		case next, more := <-queue:
			if !more {
				return worst, nil
			}
			out = next
		}
		ans := <-out
		if ctx.Err() != nil && errors.Is(ans.err, context.Canceled) {
			return worst, ctx.Err() // it was stopped, not explained
		}
		if _, err := c.out.Write(ans.text.Bytes()); err != nil {
			return worst, fmt.Errorf("write the result: %w", err)
		}
		ans.release()
		<-lanes
		if ans.err == nil {
			continue
		}
		fmt.Fprintln(c.err, "txlens:", line(ans.err))
		if worst == nil || severity(ans.err) > severity(worst) {
			worst = &reported{ans.err}
		}
	}
}

// severity orders the outcomes of many lines: the exit code is that of the worst.
func severity(err error) int {
	switch exitCode(err) {
	case exitComplete:
		return 0
	case exitPartial:
		return 1
	case exitPending:
		return 2
	case exitNotFound:
		return 3
	case exitBadInput:
		return 4
	}
	return 5
}

func one(ctx context.Context, a explains, req api.Request, v api.View, bad error) answer {
	err := bad
	text := lineBuffers.Get().(*bytes.Buffer)
	if err == nil {
		var res *api.Result
		p := newProgress(io.Discard, false, true)
		res, err = a.Explain(ctx, req, p.event)
		if res != nil && err == nil {
			if err = json.MarshalWrite(text, view.Of(res, v, moreOnCLI)); err == nil {
				text.WriteByte('\n')
				return answer{text, of(req, partialError(res, p.hint))}
			}
			text.Reset()
		}
	}
	_ = json.MarshalWrite(text, lineError{req.TxHash, oneLine(err.Error()), codeOf(err)}) // three strings
	text.WriteByte('\n')
	return answer{text, of(req, err)}
}

// of adds the number of the input line to an error.
func of(req api.Request, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", oneLine(req.TxHash), err)
}

func codeOf(err error) string {
	if exitCode(err) == exitBadInput {
		return "bad_request"
	}
	return api.FaultOf(err).Code
}

// eachRequest reads lines of a hash, optionally followed by a chain. Empty lines
// and lines that begin with # are skipped. f returns false to stop.
func eachRequest(r io.Reader, base api.Request, f func(api.Request, error) bool) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, maxLine), maxLine)
	for sc.Scan() {
		text := strings.TrimSpace(strings.TrimPrefix(sc.Text(), api.ByteOrderMark))
		if text == "" || text[0] == '#' {
			continue
		}
		req, err := parseLine(text, base)
		if !f(req, err) {
			return nil
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		return settings.InputError{Err: fmt.Errorf("stdin: a line is longer than %d bytes", maxLine)}
	}
	return sc.Err()
}

func parseLine(text string, base api.Request) (api.Request, error) {
	req := base
	words := strings.Fields(text)
	if len(words) > 2 {
		req.TxHash = words[0]
		return req, settings.InputError{Err: errors.New("want a hash, optionally followed by a chain")}
	}
	if len(words) == 2 {
		ch, err := settings.ParseChain(words[1])
		if err != nil {
			return req, settings.InputError{Err: err}
		}
		req.ChainID = ch.ID
	}
	return req, refer(&req, words[0])
}

// refer parses the reference to a transaction. The address of an explorer's page also gives
// its chain.
func refer(req *api.Request, text string) error {
	ref, err := chain.ParseReference(text)
	if err != nil {
		req.TxHash = text
		return settings.InputError{Err: fmt.Errorf("%q is no transaction: %w", api.OneLine(text, 80), err)}
	}
	req.TxHash = ref.Hash
	if ref.Chain != nil {
		if req.ChainID != 0 && req.ChainID != ref.Chain.ID {
			given, _ := chain.ByID(req.ChainID)
			return settings.InputError{
				Err: fmt.Errorf("the page is one of %s, and the chain given is %s; leave one out", ref.Chain.Slug, given.Slug),
			}
		}
		req.ChainID = ref.Chain.ID
	}
	return req.Validate()
}
