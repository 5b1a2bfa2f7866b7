// Command demogen makes the evidence bundles of the demo.
//
// Most are transactions of recorded mainnet blocks: a node on loopback serves the
// recorded answers, and Txlens explains the transaction with the recorder on. The
// neighbours of the transaction in its block are among the answers. The recordings
// hold transactions, receipts, blocks, call traces and state differences, and no other
// state, so every eth_call, eth_getCode and eth_getStorageAt fails, as on a node
// without history. Token names and decimals are those of the embedded tables.
//
// One is a specimen of the zoo: a contract with a flaw, exploited on a chain of its
// own. Its bundle was recorded by the tests of the package zoo.
//
// Made again, the files differ only in the durations and the order of the calls.
//
//	go run ./cmd/txlens/demogen -fixtures ../shared/fixtures -zoo engine/check/testdata -out cmd/txlens/demo
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"

	"txlens/actors/analysis"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/upstream"
	"txlens/testkit/fixture"
	"txlens/testkit/stubnode"
)

// recordedAt is written into the bundles as their date: 2026-01-01.
const recordedAt = 1767225600

// recorded are transactions of mainnet, by the file that the demo has of each.
var recorded = []struct {
	file          string
	chain, number uint64
	hash          string
}{
	{"1-swap", 1, 15050000, "0x8787d972e298021c7487cdcc8ed742325d5ce4ef3255105db3104a382216b297"},
	{"2-sandwich-leg", 1, 21688509, "0xce24f91efa43d0240c376ebd4734f21e4014440dfd3b03310e7b67e633a62fa3"},
	{"3-sandwich-victim", 1, 21688509, "0x4c4325abbb7b3003c0afa7d55e1fa8b71d598a2c126a52497cb889c1c144eda5"},
	{"4-nft-sale", 1, 15050000, "0x421cd166b60016ca78bd567d07573cd273b16c61dfbd6b2462fe2a923c3d6ead"},
	{"5-lending", 10, 109279684, "0x80336c5a50a0a844e0ec65454eb587dffd597eca3cb54c62c787a3f09926ba8b"},
	{"7-failed", 1, 21230867, "0xc30c589a09e92eb5649276e7ba7601068e42228857e42d26a39ff5912b2c7560"},
}

// specimens are bundles of the zoo.
var specimens = []struct{ file, from string }{
	{"6-exploit", "price-manipulation-by-flash-loan-a-lender-believes-a-pair"},
}

const suffix = ".txlens"

func main() {
	fixtures := flag.String("fixtures", "", "folder of the recorded transactions, with blocks/<chain id>/<number>")
	zoo := flag.String("zoo", "", "folder of the bundles that go test ./zoo -record wrote")
	out := flag.String("out", "demo", "folder that the bundles are written to")
	flag.Parse()
	if err := run(*fixtures, *zoo, *out); err != nil {
		log.Fatal(err)
	}
}

// run makes all bundles.
func run(fixtures, zoo, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, c := range recorded {
		dir := filepath.Join(fixtures, "blocks", strconv.FormatUint(c.chain, 10), strconv.FormatUint(c.number, 10))
		block, err := fixture.ReadBlock(dir)
		if err != nil {
			return err
		}
		if err := record(block, c.hash, filepath.Join(out, c.file+suffix)); err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
	}
	for _, s := range specimens {
		b, err := upstream.ReadBundle(filepath.Join(zoo, s.from+suffix))
		if err != nil {
			return err
		}
		b.Meta.CreatedAt = recordedAt
		if err := b.WriteFile(filepath.Join(out, s.file+suffix)); err != nil {
			return err
		}
	}
	return nil
}

// record explains one transaction of a block over a node that has this block alone.
func record(block fixture.Block, hash, path string) error {
	srv := httptest.NewServer(stubnode.New([]fixture.Block{block}, stubnode.Options{}))
	defer srv.Close()
	client, err := upstream.New(upstream.Config{Endpoints: map[uint64][]string{block.ChainID: {srv.URL}}, RPCOnly: true, SourcesOff: true})
	if err != nil {
		return err
	}
	defer client.Close()
	x := analysis.New(analysis.Options{SourcesOff: true})
	defer x.Close()
	rec, m := upstream.NewRecorder(), new(meter.Meter)
	req := api.Request{TxHash: hash, ChainID: block.ChainID}
	res, err := x.Explain(context.Background(), analysis.Input{Request: req, World: client.Session(m, rec), Meter: m})
	if err != nil {
		return err
	}
	if res.Partial() {
		return fmt.Errorf("partial result: %s", res.Summary)
	}
	rec.SetMeta(upstream.Meta{TxHash: hash, ChainID: block.ChainID, CreatedAt: recordedAt, SourcesOff: true})
	return rec.WriteFile(path)
}
