package bench

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"txlens/engine/assemble"
	"txlens/engine/chain"
	"txlens/engine/classify"
	"txlens/engine/decode"
	"txlens/engine/ethrpc"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/engine/trace"
	"txlens/testkit/fixture"

	"github.com/go-json-experiment/json"
)

// input is one transaction as the node's bytes.
type input struct {
	chain                     *chain.Chain
	tx, receipt, block, trace []byte
}

func (in *input) size() int { return len(in.tx) + len(in.receipt) + len(in.block) + len(in.trace) }

// blocks to measure: swaps and tokens of 2022 and 2024 and a sandwich on mainnet,
// deep traces on Optimism.
var blocks = []uint64{15050000, 21230867, 21688509, 109279686}

func inputs(b *testing.B, number uint64) []input {
	b.Helper()
	var out []input
	for _, blk := range fixture.Blocks(b) {
		if blk.Number != number {
			continue
		}
		ch, ok := chain.ByID(blk.ChainID)
		if !ok {
			b.Fatalf("chain %d is not in the table", blk.ChainID)
		}
		for _, t := range blk.Txs {
			out = append(out, input{ch, t.Tx, t.Receipt, blk.Header, t.Trace})
		}
	}
	if len(out) == 0 {
		b.Fatalf("no recorded block %d", number)
	}
	return out
}

// floor is what any reader of these bytes must pay in the standard library.
func floor(b *testing.B, ins []input) {
	for i := range ins {
		for _, raw := range [][]byte{ins[i].tx, ins[i].receipt, ins[i].block, ins[i].trace} {
			var v any
			if err := stdjson.Unmarshal(raw, &v); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func parse(b *testing.B, in *input) *assemble.Evidence {
	ev := &assemble.Evidence{Chain: in.chain, Version: "bench"}
	var err error
	if ev.Tx, err = ethrpc.ParseTransaction(in.tx); err != nil {
		b.Fatal(err)
	}
	if ev.Receipt, err = ethrpc.ParseReceipt(in.receipt); err != nil {
		b.Fatal(err)
	}
	if ev.Block, err = ethrpc.ParseBlock(in.block); err != nil {
		b.Fatal(err)
	}
	ev.Tree = parseTrace(b, in)
	ev.TxHash = ev.Tx.Hash.Hex()
	return ev
}

func parseTrace(b *testing.B, in *input) *trace.Tree {
	tree, err := trace.ParseCallTracerBytes(in.trace, trace.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	return tree
}

// beside runs the floor and the measured work in turn, so that both see the same
// machine, and reports their ratio, and the bytes allocated for each byte of input.
func beside(b *testing.B, ins []input, work func()) {
	b.Helper()
	size := 0
	for i := range ins {
		size += ins[i].size()
	}
	work() // tables are decoded at first use; that is not the path
	var floorTime, workTime time.Duration
	var allocated uint64
	var before, after runtime.MemStats
	b.ResetTimer()
	for range b.N {
		t0 := time.Now()
		floor(b, ins)
		floorTime += time.Since(t0)
		runtime.ReadMemStats(&before)
		t0 = time.Now()
		work()
		workTime += time.Since(t0)
		runtime.ReadMemStats(&after)
		allocated += after.TotalAlloc - before.TotalAlloc
	}
	b.ReportMetric(float64(workTime)/float64(floorTime), "x-floor")
	b.ReportMetric(float64(allocated)/float64(b.N)/float64(size), "bytes/input-byte")
	b.ReportMetric(float64(workTime.Microseconds())/float64(b.N)/float64(len(ins)), "us/tx")
}

func eachBlock(b *testing.B, f func(b *testing.B, ins []input)) {
	for _, n := range blocks {
		b.Run(fmt.Sprint(n), func(b *testing.B) { f(b, inputs(b, n)) })
	}
}

// BenchmarkTraceParse reads the call frames off the node's answer.
func BenchmarkTraceParse(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		beside(b, ins, func() {
			for i := range ins {
				parseTrace(b, &ins[i])
			}
		})
	})
}

// BenchmarkDecode names every call and every log.
func BenchmarkDecode(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		evs := parsed(b, ins)
		beside(b, ins, func() {
			for _, ev := range evs {
				decode.New(ev.Chain, decode.Sources{}).All(ev.Tree, ev.Receipt)
			}
		})
	})
}

func parsed(b *testing.B, ins []input) []*assemble.Evidence {
	evs := make([]*assemble.Evidence, len(ins))
	for i := range ins {
		evs[i] = parse(b, &ins[i])
		evs[i].Tree.JoinLogs(evs[i].Receipt)
	}
	return evs
}

// BenchmarkFlowClassify follows the money and names the act.
func BenchmarkFlowClassify(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		evs := parsed(b, ins)
		sets := make([]*decode.Set, len(evs))
		for i, ev := range evs {
			sets[i] = decode.New(ev.Chain, decode.Sources{}).All(ev.Tree, ev.Receipt)
		}
		beside(b, ins, func() {
			for i, ev := range evs {
				ok := ev.Tree.Root.Err == ""
				fl := flow.Compute(flow.Input{Chain: ev.Chain, Tx: ev.Tx, Receipt: ev.Receipt, Block: ev.Block, Tree: ev.Tree, Succeeded: ok})
				r := facts.Read(&facts.Input{Chain: ev.Chain, Tx: ev.Tx, Receipt: ev.Receipt, Block: ev.Block, Tree: ev.Tree, Flow: fl, Decoded: sets[i], Succeeded: ok})
				narrate.Describe(r, classify.Classify(r))
			}
		})
	})
}

// BenchmarkAssemble is everything after parsing: decode, flow, classify, fields.
func BenchmarkAssemble(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		evs := parsed(b, ins)
		beside(b, ins, func() {
			for _, ev := range evs {
				assemble.Result(ev)
			}
		})
	})
}

// BenchmarkWholePath goes from the node's bytes to the Result.
func BenchmarkWholePath(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		beside(b, ins, func() {
			for i := range ins {
				assemble.Result(parse(b, &ins[i]))
			}
		})
	})
}

// BenchmarkWholePathToJSON also writes the Result as JSON.
func BenchmarkWholePathToJSON(b *testing.B) {
	eachBlock(b, func(b *testing.B, ins []input) {
		beside(b, ins, func() {
			for i := range ins {
				if err := json.MarshalWrite(io.Discard, assemble.Result(parse(b, &ins[i]))); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
