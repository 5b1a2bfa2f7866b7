package classify_test

import (
	"encoding/json"
	"testing"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/testkit/fixture"
	"txlens/testkit/scene"
)

// BenchmarkClassify judges whole recorded blocks; BenchmarkFloor unmarshals the same
// inputs with encoding/json. The first should stay under a sixth of the second.
func BenchmarkClassify(b *testing.B) {
	blocks := fixture.Blocks(b)
	var facts []*facts.Input
	for i := range blocks {
		blk, err := ethrpc.ParseBlock(blocks[i].Header)
		if err != nil {
			b.Fatal(err)
		}
		for j := range blocks[i].Txs {
			facts = append(facts, scene.FromFixture(b, &blocks[i], &blocks[i].Txs[j], blk))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range facts {
			scene.Judge(f)
		}
	}
}

func BenchmarkFloor(b *testing.B) {
	blocks := fixture.Blocks(b)
	b.ReportAllocs()
	for b.Loop() {
		for i := range blocks {
			for j := range blocks[i].Txs {
				t := &blocks[i].Txs[j]
				for _, raw := range [][]byte{t.Tx, t.Receipt, t.Trace} {
					var v any
					if err := json.Unmarshal(raw, &v); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
}
