package trace_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/trace"
	"txlens/testkit/fixture"
)

// BenchmarkParseCallTracer reads the traces of whole real blocks, beside the time
// that encoding/json takes to unmarshal the same bytes into any.
func BenchmarkParseCallTracer(b *testing.B) {
	for _, blk := range fixture.Blocks(b) {
		if blk.ChainID != 1 || blk.Number < 9_000_000 {
			continue
		}
		size := 0
		for _, x := range blk.Txs {
			size += len(x.Trace)
		}
		run := func(how string, f func(raw []byte) error) {
			b.Run(fmt.Sprintf("%d/%s", blk.Number, how), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					for _, x := range blk.Txs {
						if err := f(x.Trace); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(size), "inputB")
			})
		}
		run("bytes", func(raw []byte) error {
			_, err := trace.ParseCallTracerBytes(raw, trace.Limits{})
			return err
		})
		run("stream", func(raw []byte) error {
			_, err := trace.ParseCallTracer(jsontext.NewDecoder(bytes.NewReader(raw)), trace.Limits{})
			return err
		})
		run("encoding-json", func(raw []byte) error {
			var v any
			return stdjson.Unmarshal(raw, &v)
		})
	}
}
