package bench

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/internal/testkit/fixture"
	"txlens/internal/testkit/recorded"
)

// largest is the recorded incident with the most frames, as long as there are at most so
// many.
func largest(b *testing.B, most int) fixture.Exploit {
	frames := func(x fixture.Exploit) int { return bytes.Count(x.Trace, []byte(`"type"`)) }
	list := slices.DeleteFunc(fixture.Exploits(b), func(x fixture.Exploit) bool { return frames(x) > most })
	return slices.MaxFunc(list, func(x, y fixture.Exploit) int { return frames(x) - frames(y) })
}

// BenchmarkLargestIncident goes from the bytes of the largest recorded incident to the
// result with its triage.
func BenchmarkLargestIncident(b *testing.B) {
	x := largest(b, facts.MaxFrames)
	ch, ok := chain.ByID(x.ChainID)
	if !ok {
		b.Fatalf("chain %d is not in the table", x.ChainID)
	}
	in := []input{{ch, x.Tx, x.Receipt, x.Block, x.Trace}}
	beside(b, in, func() {
		ev := parse(b, &in[0])
		ev.Triage = true
		assemble.Result(ev)
	})
}

// BenchmarkFramesOfIncident has the calls of an incident once, twice and four times, which is
// as much as is looked at: the time of the whole analysis for one frame stays.
func BenchmarkFramesOfIncident(b *testing.B) {
	x := largest(b, facts.MaxFrames/4)
	for n := 1; n <= 4; n *= 2 {
		b.Run(fmt.Sprintf("%dx", n), func(b *testing.B) {
			tree, err := trace.ParseCallTracerBytes(repeated(b, x.Trace, n), trace.Limits{CompressAbove: facts.MaxFrames})
			if err != nil {
				b.Fatal(err)
			}
			if len(tree.Frames) > facts.MaxFrames {
				b.Skipf("%d frames are more than the rules look at", len(tree.Frames))
			}
			ev := recorded.OfTree(x.ChainID, x.Hash, tree)
			var took time.Duration
			for b.Loop() {
				start := time.Now()
				assemble.Build(ev)
				took += time.Since(start)
			}
			b.ReportMetric(float64(len(tree.Frames)), "frames")
			b.ReportMetric(float64(took.Microseconds())/float64(b.N)/float64(len(tree.Frames)), "us/frame")
		})
	}
}

// repeated has the calls of the outermost frame n times.
func repeated(b *testing.B, doc []byte, n int) []byte {
	var root map[string]stdjson.RawMessage
	var calls []stdjson.RawMessage
	if err := stdjson.Unmarshal(doc, &root); err != nil {
		b.Fatal(err)
	}
	if err := stdjson.Unmarshal(root["calls"], &calls); err != nil {
		b.Fatal(err)
	}
	all, err := stdjson.Marshal(slices.Repeat(calls, n))
	if err != nil {
		b.Fatal(err)
	}
	root["calls"] = all
	out, err := stdjson.Marshal(root)
	if err != nil {
		b.Fatal(err)
	}
	return out
}
