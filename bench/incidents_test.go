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
	"txlens/engine/check"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/testkit/fixture"
	"txlens/testkit/recorded"
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

// BenchmarkChecks goes from the bytes of recorded transactions to their results, and prints
// the time of that over the time without the checks.
func BenchmarkChecks(b *testing.B) {
	run := func(b *testing.B, ins []input) {
		var whole, checks time.Duration
		for b.Loop() {
			for i := range ins {
				start := time.Now()
				c := assemble.Build(parse(b, &ins[i]))
				whole += time.Since(start)
				f := factsOf(c)
				start = time.Now()
				check.Run(f)
				checks += time.Since(start)
			}
		}
		b.ReportMetric(float64(whole)/float64(whole-checks), "x-without")
		b.ReportMetric(float64(checks.Microseconds())/float64(b.N)/float64(len(ins)), "us-checks/tx")
	}
	eachBlock(b, run)
	b.Run("incidents", func(b *testing.B) {
		var ins []input
		for _, x := range fixture.Exploits(b) {
			if ch, ok := chain.ByID(x.ChainID); ok {
				ins = append(ins, input{ch, x.Tx, x.Receipt, x.Block, x.Trace})
			}
		}
		run(b, ins)
	})
}

// factsOf reads the facts of a case anew, so that nothing is remembered of earlier checks.
func factsOf(c *assemble.Analysis) *check.Input {
	ev := c.Evidence
	r := facts.Read(&facts.Input{Chain: ev.Chain, Tx: ev.Tx, Receipt: c.Receipt, Block: ev.Block, Tree: c.Tree, Flow: c.Flow,
		Decoded: c.Decoded, Tokens: ev.Tokens, Succeeded: c.Tree.Root.Err == ""})
	return &check.Input{Case: r, Verdict: c.Verdict}
}

// BenchmarkFramesOfIncident has the calls of an incident once, twice and four times, which is
// as much as is looked at. It prints the time of the whole analysis from the bytes for one frame,
// which stays, and over the time of reading the same JSON.
func BenchmarkFramesOfIncident(b *testing.B) {
	x := largest(b, facts.MaxFrames/4)
	for n := 1; n <= 4; n *= 2 {
		b.Run(fmt.Sprintf("%dx", n), func(b *testing.B) {
			doc := repeated(b, x.Trace, n)
			ins := []input{{trace: doc, tx: x.Tx, receipt: x.Receipt, block: x.Block}}
			var took, read time.Duration
			frames := 0
			for b.Loop() {
				start := time.Now()
				floor(b, ins)
				read += time.Since(start)
				start = time.Now()
				tree, err := trace.ParseCallTracerBytes(doc, trace.Limits{CompressAbove: facts.MaxFrames})
				if err != nil {
					b.Fatal(err)
				}
				if frames = len(tree.Frames); frames > facts.MaxFrames {
					b.Skipf("%d frames are more than the rules look at", frames)
				}
				assemble.Build(recorded.OfTree(x.ChainID, x.Hash, tree))
				took += time.Since(start)
			}
			b.ReportMetric(float64(frames), "frames")
			b.ReportMetric(float64(took.Microseconds())/float64(b.N)/float64(frames), "us/frame")
			b.ReportMetric(float64(took)/float64(read), "x-floor")
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
