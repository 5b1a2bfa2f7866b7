package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"sort"
	"strings"

	"txlens/engine/api"
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
func sampleResult() (*api.Result, error) { return replayDemo(context.Background(), sampleBundle) }

// replayDemo runs the pipeline of a live analysis over an embedded bundle.
func replayDemo(ctx context.Context, name string) (*api.Result, error) {
	b, err := demoBundle(name)
	if err != nil {
		return nil, err
	}
	return replayBundle(ctx, b)
}

func demoBundle(name string) (*upstream.Bundle, error) {
	raw, err := demoBundles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	b, err := upstream.ParseBundle(raw)
	if err != nil {
		return nil, fmt.Errorf("open the demo bundle %s: %w", name, err)
	}
	return b, nil
}

// demoShelf is all embedded bundles, in the order in which the demo shows them.
func demoShelf() (shelf []*upstream.Bundle, err error) {
	entries, err := demoBundles.ReadDir("demo")
	if err != nil {
		return nil, err
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	for _, e := range entries {
		b, err := demoBundle(path.Join("demo", e.Name()))
		if err != nil {
			return nil, err
		}
		shelf = append(shelf, b)
	}
	return shelf, nil
}

type demoCmd struct {
	JSON bool `name:"json" help:"One line of JSON for each transaction, without the bill."`
}

// Run buys the analysis of each embedded transaction, as a paid stream, from a
// service of its own that settles on a sandbox; then it closes the channel.
func (cmd *demoCmd) Run(ctx context.Context, c console) (err error) {
	shelf, err := demoShelf()
	if err != nil {
		return err
	}
	m, err := openMarket(ctx, shelf)
	if err != nil {
		return fmt.Errorf("open the market of the demo: %w", err)
	}
	defer func() { err = errors.Join(err, m.close()) }()
	for i, b := range shelf {
		res, err := m.buy(ctx, b)
		if err != nil {
			return err
		}
		if i > 0 && !cmd.JSON {
			fmt.Fprint(c.out, demoRule)
		}
		if err := printResult(c, res, cmd.JSON); err != nil {
			return err
		}
	}
	end, err := m.client.CloseChannel(ctx)
	if err != nil || cmd.JSON {
		return err
	}
	fmt.Fprint(c.out, demoRule)
	return m.bill(c.out, end)
}

// demoRule stands between what the demo prints.
var demoRule = "\n" + strings.Repeat("=", 78) + "\n\n"
