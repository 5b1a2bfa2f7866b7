// Command demogen makes the bundles of the demo: real mainnet transactions whose
// recorded state stands in go-ethereum's tracer test data are re-executed, served
// by a node on loopback, and explained with the recorder on.
//
// Made again, the files differ in nothing but the durations of the calls.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"txlens/actors"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/replay/gethdata"
	"txlens/engine/upstream"
)

// recordedAt is written into the bundles as their day: 2026-01-01.
const recordedAt = 1767225600

// cases in the order in which the demo shows them.
var cases = []struct{ file, name string }{
	{"1-token-transfer", gethdata.TokenTransfer},
	{"2-delegated-account", gethdata.Delegated7702},
	{"3-many-contracts", gethdata.MultiContracts},
	{"4-failed", gethdata.FailedTx},
}

func main() {
	out := flag.String("out", "demo", "folder of the bundles")
	flag.Parse()
	if err := os.MkdirAll(*out, 0o755); err != nil {
		log.Fatal(err)
	}
	for _, c := range cases {
		if err := record(c.name, filepath.Join(*out, c.file+".txlens")); err != nil {
			log.Fatalf("%s: %v", c.name, err)
		}
	}
}

func record(name, path string) error {
	c, err := gethdata.Open(name)
	if err != nil {
		return err
	}
	node, err := gethdata.NewNode(c)
	if err != nil {
		return err
	}
	srv := httptest.NewServer(node)
	defer srv.Close()
	client, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{1: {srv.URL}}, RPCOnly: true, SourcesOff: true})
	if err != nil {
		return err
	}
	defer client.Close()
	x := actors.New(actors.Options{SourcesOff: true})
	defer x.Close()
	rec, m := upstream.NewRecorder(), new(meter.Meter)
	req := api.Request{TxHash: c.Hash().Hex(), ChainID: 1}
	res, err := x.Explain(context.Background(), actors.Job{Request: req, World: client.Session(m, rec), Meter: m})
	if err != nil {
		return err
	}
	if res.Partial() {
		return fmt.Errorf("partial result: %s", res.Summary)
	}
	rec.SetMeta(upstream.Meta{TxHash: req.TxHash, ChainID: req.ChainID, CreatedAt: recordedAt, SourcesOff: true})
	return rec.WriteFile(path)
}
