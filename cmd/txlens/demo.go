package main

import (
	"context"
	"embed"
	"fmt"
	"path"
	"sort"
	"strings"

	"txlens/engine/report"
	"txlens/engine/upstream"
)

//go:generate go run ./demogen -out demo

// The bundles are real transactions: the recorded state before each, from the
// tracer test data of go-ethereum, was re-executed and served to Txlens.
//
//go:embed demo/*.txlens
var demoBundles embed.FS

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
		raw, err := demoBundles.ReadFile(path.Join("demo", e.Name()))
		if err != nil {
			return err
		}
		b, err := upstream.ParseBundle(raw)
		if err != nil {
			return fmt.Errorf("open the demo bundle %s: %w", e.Name(), err)
		}
		res, err := replayBundle(ctx, b)
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
