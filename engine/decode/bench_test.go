package decode

import (
	"encoding/json"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

type parsed struct {
	tree *trace.Tree
	rc   *ethrpc.Receipt
}

// BenchmarkDecodeBlock decodes every frame and log of a real block of 2025, beside
// its floor: encoding/json reading the same traces and receipts.
func BenchmarkDecodeBlock(b *testing.B) {
	var block fixture.Block
	for _, x := range fixture.Blocks(b) {
		if x.ChainID == 1 && len(x.Txs) > len(block.Txs) && x.Number > 21_000_000 {
			block = x
		}
	}
	var txs []parsed
	size := 0
	for _, tx := range block.Txs {
		tree, rc := load(b, tx)
		txs = append(txs, parsed{tree, rc})
		size += len(tx.Trace) + len(tx.Receipt)
	}
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range txs {
				New(nil, Sources{}).All(p.tree, p.rc)
			}
		}
	})
	b.Run("want", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, p := range txs {
				Want(p.tree, p.rc)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(size))
		b.ReportAllocs()
		for b.Loop() {
			for _, tx := range block.Txs {
				var t, r map[string]any
				if err := json.Unmarshal(tx.Trace, &t); err != nil {
					b.Fatal(err)
				}
				if err := json.Unmarshal(tx.Receipt, &r); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkOpenTables is the price of the first look into each table.
func BenchmarkOpenTables(b *testing.B) {
	for _, e := range []*embedded{curated, packages, fourByte} {
		b.Run(string(e.from), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				(&embedded{read: e.read, from: e.from}).open()
			}
		})
	}
}
