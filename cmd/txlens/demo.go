package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"

	"txlens/app"
	"txlens/engine/api"
	"txlens/engine/upstream"
	"txlens/transport"
)

// demoBundles are evidence bundles of real transactions, and one of an exploit made for
// tests; demogen records them.
//
//go:embed demo/*.txlens
var demoBundles embed.FS

// demoCases are the transactions in the order in which the demo shows them.
var demoCases = []struct{ file, title string }{
	{"1-swap", "A swap over two pools, priced by the trade itself"},
	{"2-sandwich-leg", "The first leg of a sandwich; its victim is the next transaction"},
	{"3-sandwich-victim", "The victim of the sandwich"},
	{"4-nft-sale", "The sale of an NFT"},
	{"5-lending", "A deposit into a lending market, on OP"},
	{
		"6-exploit",
		"An exploit. This one is a specimen: contracts written for tests,\non a private chain with the chain id of Ethereum. No explorer knows it.",
	},
	{"7-failed", "A failed transaction"},
}

// sampleBundle is the bundle of the sample report on the front page of the server.
const sampleBundle = "1-swap"

// sampleResult explains the transaction of the sample.
func sampleResult() (*api.Result, error) { return replayDemo(context.Background(), sampleBundle) }

// demoExamples are the cases of the demo, for the front page of the server.
func demoExamples() (list []transport.Example) {
	for _, c := range demoCases {
		_, name, _ := strings.Cut(c.file, "-")
		title := strings.ReplaceAll(c.title, "\n", " ")
		list = append(list, transport.Example{
			Name: name, Title: title,
			Result: func() (*api.Result, error) { return replayDemo(context.Background(), c.file) },
		})
	}
	return list
}

// replayDemo runs the pipeline of a live analysis over an embedded bundle.
func replayDemo(ctx context.Context, name string) (*api.Result, error) {
	b, err := demoBundle(name)
	if err != nil {
		return nil, err
	}
	return app.Replay(ctx, b, transport.RunSpec{})
}

func demoBundle(name string) (*upstream.Bundle, error) {
	raw, err := demoBundles.ReadFile("demo/" + name + app.BundleSuffix)
	if err != nil {
		return nil, err
	}
	b, err := upstream.ParseBundle(raw)
	if err != nil {
		return nil, fmt.Errorf("open the demo bundle %s: %w", name, err)
	}
	return b, nil
}

// demoShelf returns the bundles of demoCases in their order.
func demoShelf() (shelf []*upstream.Bundle, err error) {
	for _, c := range demoCases {
		b, err := demoBundle(c.file)
		if err != nil {
			return nil, err
		}
		shelf = append(shelf, b)
	}
	return shelf, nil
}

// demoTitle is printed above the report of a case.
func demoTitle(i int) string {
	return fmt.Sprintf("%d of %d. %s.\n\n", i+1, len(demoCases), strings.TrimSuffix(demoCases[i].title, "."))
}

type demoCmd struct {
	JSON bool `name:"json" help:"One line of JSON for each transaction, without the bill."`
}

// Run starts a service that settles on a sandbox, buys the analysis of each embedded
// transaction from it as a paid stream, and closes the channel.
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
		if !cmd.JSON {
			if i > 0 {
				fmt.Fprint(c.out, demoRule)
			}
			fmt.Fprint(c.out, demoTitle(i))
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

// demoRule separates the parts of the output of the demo.
var demoRule = "\n" + strings.Repeat("=", 78) + "\n\n"
