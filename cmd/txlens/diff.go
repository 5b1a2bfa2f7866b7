package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"

	"txlens/app"
	"txlens/app/settings"
	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/diff"
	"txlens/engine/upstream"
	"txlens/transport"
)

type diffCmd struct {
	A    string `arg:"" help:"File with a result of --json or a bundle of --record, or a transaction as explain takes it."`
	B    string `arg:"" help:"The same for the other side."`
	JSON bool   `       help:"Print the difference as one line of JSON."  name:"json"`
	HTML string `       help:"Also write the difference as a page."       name:"html" placeholder:"FILE" type:"path"`

	settings.Evidence `embed:"" group:"Where the evidence comes from:"`
}

// Run compares two results.
func (cmd *diffCmd) Run(ctx context.Context, c console) error {
	sides := make([]*api.Result, 2)
	for i, name := range []string{cmd.A, cmd.B} {
		res, err := cmd.read(ctx, c, name)
		if err != nil {
			return fmt.Errorf("%s: %w", api.OneLine(name, 80), err)
		}
		sides[i] = res
	}
	d := diff.Of(sides[0], sides[1])
	if cmd.HTML != "" {
		if err := writePage(cmd.HTML, d.HTML); err != nil {
			return err
		}
	}
	if !cmd.JSON {
		return d.Text(c.out)
	}
	if err := json.MarshalWrite(c.out, d); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	_, err := fmt.Fprintln(c.out)
	return err
}

// read returns the result that a side names.
func (cmd *diffCmd) read(ctx context.Context, c console, name string) (*api.Result, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, settings.InputError{Err: errors.New("is a folder; name a file in it")}
	case err == nil:
		return readResult(ctx, name)
	}
	if _, perr := chain.ParseReference(name); perr != nil {
		return nil, settings.InputError{Err: errors.New("is neither a file nor a transaction")}
	}
	var req api.Request
	if err := refer(&req, name); err != nil {
		return nil, err
	}
	a, err := settings.NewAnalyst(cmd.Evidence)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	p := newProgress(c.err, c.errTTY, false)
	defer p.end()
	return app.Local{Analyst: a}.Explain(ctx, req, p.event)
}

// maxResult bounds the file of a result.
const maxResult = 256 << 20

// readResult reads a bundle, or the JSON of a result.
func readResult(ctx context.Context, path string) (*api.Result, error) {
	b, err := upstream.ReadBundle(path)
	if err == nil {
		return app.Replay(ctx, b, transport.RunSpec{})
	}
	if !errors.Is(err, upstream.ErrNotBundle) {
		return nil, settings.InputError{Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := io.ReadAll(io.LimitReader(f, maxResult+1))
	if err != nil {
		return nil, err
	}
	switch doc = bytes.TrimSpace(doc); {
	case len(doc) > maxResult:
		return nil, settings.InputError{Err: fmt.Errorf("is larger than %d MiB", maxResult>>20)}
	case bytes.Count(doc, []byte("\n{")) > 0:
		return nil, settings.InputError{Err: errors.New("has more than one result; give a file with one")}
	}
	res, err := api.DecodeResult(doc)
	if err != nil || res.TxHash == "" {
		return nil, settings.InputError{Err: errors.New("is neither a bundle nor the JSON of one result, as --json prints it")}
	}
	return res, nil
}
