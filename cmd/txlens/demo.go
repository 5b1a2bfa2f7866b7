package main

import (
	"context"
	"embed"
	"fmt"
	"path"
	"sort"
	"strings"

	"txlens/engine/explain"
	"txlens/engine/report"
	"txlens/engine/upstream"
)

//go:generate go run ./demogen -out demo

// The bundles are real transactions: the recorded state before each, from the
// tracer test data of go-ethereum, was re-executed and served to Txlens.
//
//go:embed demo/*.txlens
var demoBundles embed.FS

// sampleBundle is the one that the front page of the server shows.
const sampleBundle = "demo/4-failed.txlens"

// sampleResult explains the transaction of the sample.
func sampleResult() (*explain.Result, error) { return replayDemo(context.Background(), sampleBundle) }

// replayDemo runs the pipeline of a live analysis over an embedded bundle.
func replayDemo(ctx context.Context, name string) (*explain.Result, error) {
	raw, err := demoBundles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b, err := upstream.ParseBundle(raw)
	if err != nil {
		return nil, fmt.Errorf("open the demo bundle %s: %w", name, err)
	}
	return replayBundle(ctx, b)
}

type demoCmd struct {
	JSON bool `name:"json" help:"One line of JSON for each transaction."`
}

// Run explains each embedded transaction through the pipeline of a live analysis.
func (cmd *demoCmd) Run(ctx context.Context, c console) error {
	entries, err := demoBundles.ReadDir("demo")
	if err != nil {
		return err
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for i, e := range entries {
		res, err := replayDemo(ctx, path.Join("demo", e.Name()))
		if err != nil {
			return err
		}
		if cmd.JSON {
			if err := printResult(c, res, true); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprint(c.out, "\n"+strings.Repeat("=", 78)+"\n\n")
		}
		if err := report.Text(c.out, res, report.TextOptions{Color: c.outTTY, Width: terminalWidth(c.out)}); err != nil {
			return err
		}
	}
	return nil
}
