package ethrpc_test

import (
	stdjson "encoding/json"
	"testing"

	"txlens/engine/ethrpc"
	"txlens/testkit/fixture"
)

// BenchmarkParseReceipt reads the receipts of a real block, among them one with
// 10,001 logs, beside encoding/json into any.
func BenchmarkParseReceipt(b *testing.B) {
	for _, blk := range fixture.Blocks(b) {
		if blk.ChainID != 1 || blk.Number != 15_537_394 {
			continue
		}
		size := 0
		for _, x := range blk.Txs {
			size += len(x.Receipt)
		}
		run := func(name string, f func([]byte) error) {
			b.Run(name, func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for _, x := range blk.Txs {
						if err := f(x.Receipt); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(size), "inputB")
			})
		}
		run("txlens", func(raw []byte) error {
			_, err := ethrpc.ParseReceipt(raw)
			return err
		})
		run("encoding-json", func(raw []byte) error {
			var v any
			return stdjson.Unmarshal(raw, &v)
		})
	}
}
