package trace_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holiman/uint256"

	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/size"
)

// generated writes a trace piece by piece as it is read, so that the test holds no
// more of it than the parser does.
type generated struct {
	next func(w *bytes.Buffer) bool // false after the last piece
	buf  bytes.Buffer
	done bool
}

func (g *generated) Read(p []byte) (int, error) {
	for !g.done && g.buf.Len() < len(p) {
		g.done = !g.next(&g.buf)
	}
	if g.buf.Len() == 0 {
		return 0, io.EOF
	}
	return g.buf.Read(p)
}

// flat is a root with n children, each written by child.
func flat(n int, child func(i int) string) *generated {
	i := -1
	return &generated{next: func(w *bytes.Buffer) bool {
		switch i++; {
		case i == 0:
			w.WriteString(`{"type":"CALL","from":"` + addr(1) + `","to":"` + addr(2) + `","gas":"0x1","gasUsed":"0x1","input":"0x","calls":[`)
		case i == n:
			w.WriteString(`],"value":"0x0"}`)
			return false
		default:
			w.WriteByte(',')
		}
		w.WriteString(child(i))
		return true
	}}
}

func addr(n int) string {
	digits := strconv.FormatInt(int64(n), 16)
	return "0x" + strings.Repeat("0", 40-len(digits)) + digits
}

func call(to, value int, more string) string {
	return `{"type":"CALL","from":"` + addr(2) + `","to":"` + addr(to) + `","gas":"0xffff","gasUsed":"0x1234","input":"0xa9059cbb` +
		strings.Repeat("0", 64) + `","value":"0x` + strconv.FormatInt(int64(value), 16) + `"` + more + `}`
}

// peak is the largest heap after a collection, seen from inside a parse.
func peak(t *testing.T, g *generated, every int, lim trace.Limits) (*trace.Tree, uint64) {
	t.Helper()
	var top uint64
	n, next := 0, g.next
	g.next = func(w *bytes.Buffer) bool {
		if n++; n%every == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapAlloc)
		}
		return next(w)
	}
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tree, err := trace.ParseCallTracer(jsontext.NewDecoder(g), lim)
	if err != nil {
		t.Fatal(err)
	}
	return tree, top - min(top, before.HeapAlloc)
}

var (
	manyFrames = size.Of(200_000, 1_000_000)
	forests    = size.Of[uint64](60, 400)
)

// TestMillionFrames: a million calls at the full size, and other patterns of many, read in the memory of the frames that stay.
func TestMillionFrames(t *testing.T) {
	n := manyFrames
	f := func(name string, g *generated, total, maxKept, markers int, moved int) {
		t.Helper()
		tree, heap := peak(t, g, n/8, trace.Limits{})
		t.Logf("%s: %d of %d frames kept, %d markers, heap %d KiB", name, len(tree.Frames), tree.Total, len(tree.Markers), heap>>10)
		if tree.Total != total || len(tree.Frames) > maxKept || len(tree.Markers) > markers || !tree.Compressed() {
			t.Errorf("%s: total %d want %d, kept %d, markers %d", name, tree.Total, total, len(tree.Frames), len(tree.Markers))
		}
		if heap > 48<<20 {
			t.Errorf("%s: heap grew by %d MiB", name, heap>>20)
		}
		if sum := ledger(tree)["CALL "+addr(2)+" "+addr(3)]; sum.String() != fmt.Sprint(moved) {
			t.Errorf("%s: %s wei moved, want %d", name, &sum, moved)
		}
		if tree.Raw() != nil {
			t.Errorf("%s: raw trace of a compressed tree", name)
		}
	}
	f("one call", flat(n, func(i int) string { return call(3, 1, "") }), n+1, 2, 1, n)
	n /= 4
	f("three calls", flat(n/3*3, func(i int) string { return call(3+i%3, 1, "") }), n/3*3+1, 4, 1, n/3)
	inner := `,"calls":[` + strings.Repeat(call(4, 1, "")+",", 8) + call(5, 0, `,"error":"out of gas"`) + `]`
	f("nested", flat(n/10, func(i int) string { return call(3, 2, inner) }), n+1, 4, 2, n/10*2)
	f("no pattern", flat(n, func(i int) string { return call(3+i, i%100/99, "") }), n+1, 40_000, 1, 0)
}

// ledger sums what live frames and markers moved.
func ledger(t *trace.Tree) map[string]uint256.Int {
	out := make(map[string]uint256.Int)
	add := func(k trace.Kind, from, to common.Address, v uint256.Int) {
		key := fmt.Sprintf("%s %#x %#x", k, from[:], to[:])
		sum := out[key]
		out[key] = *sum.Add(&sum, &v)
	}
	for _, f := range t.Frames {
		if f.Status == trace.OK && f.MovesValue() {
			add(f.Kind, f.From, f.To, f.Value)
		}
	}
	for _, m := range t.Markers {
		for _, mv := range m.Moves {
			add(mv.Kind, mv.From, mv.To, mv.Value)
		}
	}
	return out
}

// creations counts the live creations of each address.
func creations(t *trace.Tree) map[common.Address]int {
	out := make(map[common.Address]int)
	for _, f := range t.Frames {
		if f.Status == trace.OK && f.Kind.Creates() && f.HasTo {
			out[f.To]++
		}
	}
	for _, m := range t.Markers {
		for _, a := range m.Creates {
			out[a]++
		}
	}
	return out
}

// forest writes random traces with loops, failures, creations and logs.
type forest struct {
	rnd  *rand.Rand
	left int
	logs int
}

func (g *forest) frame(w *strings.Builder, depth int, to int) {
	g.left--
	kind := "CALL"
	switch g.rnd.IntN(20) {
	case 0:
		kind = "CREATE"
	case 1:
		kind = "SELFDESTRUCT"
	case 2:
		kind = "DELEGATECALL"
	}
	fmt.Fprintf(w, `{"type":"%s","from":"%s","to":"%s","gas":"0x1","gasUsed":"0x1","input":"0x%08x","value":"0x%x"`,
		kind, addr(to+1), addr(to), to, g.rnd.IntN(3))
	failed := g.rnd.IntN(12) == 0 && depth > 0
	if failed {
		w.WriteString(`,"error":"execution reverted"`)
	}
	made := 0
	w.WriteString(`,"calls":[`)
	for g.left > 0 && depth < 6 && g.rnd.IntN(5) != 0 {
		turns, period := 1, 1
		if g.rnd.IntN(2) == 0 {
			turns, period = 1+g.rnd.IntN(12), 1+g.rnd.IntN(4)
		}
		seed, from := g.rnd.Uint64(), g.rnd.IntN(8)
		for range turns {
			// The same seed makes the same turn again.
			turn := &forest{rnd: rand.New(rand.NewPCG(seed, 1)), left: min(g.left, 12), logs: g.logs}
			for p := range period {
				if made++; made > 1 {
					w.WriteByte(',')
				}
				turn.frame(w, depth+1, 3+from+p)
			}
			g.left -= 8
			g.logs = turn.logs
		}
	}
	w.WriteString(`],"logs":[`)
	if !failed {
		for i := range g.rnd.IntN(4) {
			if i > 0 {
				w.WriteByte(',')
			}
			g.logs++
			fmt.Fprintf(w, `{"address":"%s","topics":["0x%064x"],"data":"0x%08x","position":"0x%x"}`,
				addr(to), to, g.logs, g.rnd.IntN(made+1))
		}
	}
	w.WriteString(`]}`)
}

// receiptOf lists the live logs of a whole tree as its receipt would.
func receiptOf(t *trace.Tree) *ethrpc.Receipt {
	rc := new(ethrpc.Receipt)
	var walk func(f *trace.Frame)
	walk = func(f *trace.Frame) {
		for it := range f.Items() {
			switch {
			case it.Child != nil:
				walk(it.Child)
			case it.Log != nil && f.Status == trace.OK:
				rc.Logs = append(rc.Logs, ethrpc.Log{Address: it.Log.Address, Topics: it.Log.Topics, Data: it.Log.Data})
			}
		}
	}
	walk(t.Root)
	return rc
}

// A compressed tree accounts for everything that the whole one holds.
func TestCompressedAgreesWithWhole(t *testing.T) {
	compressed := 0
	for seed := range forests {
		g := &forest{rnd: rand.New(rand.NewPCG(seed, 7)), left: 600}
		var w strings.Builder
		g.frame(&w, 0, 1)
		whole := parse(t, []byte(w.String()), trace.Limits{CompressAbove: 1 << 30})
		lim := trace.Limits{CompressAbove: 20, MaxKept: 10 + int(seed%5)*30, MaxDepth: 8}
		tree := parse(t, []byte(w.String()), lim)
		if tree.Compressed() {
			compressed++
		}
		consistent(t, tree, lim)
		compare(t, seed, tree, whole)
		if n := len(tree.Frames); n > lim.MaxKept+8 {
			t.Errorf("seed %d: %d frames kept", seed, n)
		}
	}
	if compressed < int(forests/2) {
		t.Errorf("only %d trees were compressed", compressed)
	}
}

func compare(t *testing.T, seed uint64, tree, whole *trace.Tree) {
	t.Helper()
	if tree.Total != whole.Total || tree.Failed != whole.Failed {
		t.Errorf("seed %d: %d frames, %d failed; want %d, %d", seed, tree.Total, tree.Failed, whole.Total, whole.Failed)
	}
	if have, want := fmt.Sprint(ledger(tree)), fmt.Sprint(ledger(whole)); have != want {
		t.Errorf("seed %d: moved\n%s, want\n%s", seed, have, want)
	}
	if have, want := fmt.Sprint(creations(tree)), fmt.Sprint(creations(whole)); have != want {
		t.Errorf("seed %d: created %s, want %s", seed, have, want)
	}
	rc := receiptOf(whole)
	tree.JoinLogs(rc)
	if len(tree.Notes) > 0 {
		t.Errorf("seed %d: %v", seed, tree.Notes)
	}
	live, gaps := 0, 0
	for _, m := range tree.Markers {
		gaps += m.Logs
	}
	for _, f := range tree.Frames {
		for _, l := range f.Logs {
			if f.Status != trace.OK {
				continue
			}
			live++
			if l.Receipt < 0 || !bytes.Equal(rc.Logs[l.Receipt].Data, l.Data) {
				t.Errorf("seed %d %s: log joined with %d", seed, f.Path(), l.Receipt)
			}
		}
	}
	if live+gaps != len(rc.Logs) {
		t.Errorf("seed %d: %d logs kept and %d left out of %d", seed, live, gaps, len(rc.Logs))
	}
}
