// Command peers measures Txlens beside other decoders of transactions, on the same
// recorded transactions in one run: the decoder and interpreter that 3loop publishes
// on npm, and Foundry's cast. It builds Txlens, serves the recordings on loopback with
// the wire format of a node, runs each program as a process of its own, and prints
// tables in Markdown. Nothing leaves the machine.
//
//	(cd bench/peers && npm ci)
//	go run ./bench/peers
//
// docs/performance.md has the tables and says what is compared with what.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
)

func main() {
	var opt options
	flag.StringVar(&opt.fixtures, "fixtures", "../shared/fixtures", "folder of the recorded transactions")
	flag.StringVar(&opt.packages, "packages", "bench/peers", "folder of package.json, after npm ci")
	flag.StringVar(&opt.txlens, "txlens", "", "program to measure; empty: build it")
	flag.IntVar(&opt.starts, "starts", 10, "starts of each program; the median counts")
	flag.IntVar(&opt.passes, "passes", 1, "times that a process goes through the recorded blocks")
	flag.IntVar(&opt.runs, "runs", 3, "runs of everything; tables show the smallest and the largest figure of them")
	flag.StringVar(&opt.parts, "parts", "starts,blocks,state,labelled", "tables to print")
	flag.BoolVar(&opt.verbose, "v", false, "print each wrong type and each error")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, opt); err != nil {
		log.Fatal(err)
	}
}

type options struct {
	fixtures, packages, txlens, parts string
	starts, passes, runs              int
	verbose                           bool
}

func run(ctx context.Context, opt options) error {
	l, err := open(ctx, opt)
	if err != nil {
		return err
	}
	defer l.close()
	fmt.Printf("%s\n\n", l.versions(ctx))
	for i := range opt.runs {
		fmt.Printf("run %d of %d, load %s\n", i+1, opt.runs, load())
		if err := runOnce(ctx, l); err != nil {
			return err
		}
	}
	for _, t := range l.tables {
		t.print()
	}
	return nil
}

func runOnce(ctx context.Context, l *lab) error {
	for _, part := range []struct {
		name string
		run  func(context.Context, *lab) error
	}{{"starts", starts}, {"blocks", blocks}, {"state", state}, {"labelled", labelled}} {
		if !strings.Contains(l.parts, part.name) {
			continue
		}
		if err := part.run(ctx, l); err != nil {
			return err
		}
	}
	return nil
}

// load is the machine's average load of the last minute: figures of a busy machine are
// not worth keeping.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
