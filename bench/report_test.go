package bench

import (
	"io"
	"testing"
	"time"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/report"
)

// BenchmarkReport writes the HTML report of each transaction of a block, diagrams
// included, and prints the mean and the slowest.
func BenchmarkReport(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		results := make([]*api.Result, len(ins))
		for i := range ins {
			results[i] = assemble.Result(parse(b, &ins[i]))
		}
		var slowest time.Duration
		b.ReportAllocs()
		for b.Loop() {
			for _, r := range results {
				start := time.Now()
				if err := report.HTML(io.Discard, r); err != nil {
					b.Fatal(err)
				}
				slowest = max(slowest, time.Since(start))
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(ins)), "us/report")
		b.ReportMetric(float64(slowest.Microseconds()), "us/slowest")
	})
}
