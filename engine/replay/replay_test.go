package replay

import (
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"

	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"
	"txlens/testkit/gethdata"
)

// noLeak checks that a test leaves no goroutine behind.
func noLeak(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if runtime.NumGoroutine() <= before {
				return
			}
		}
		t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
	})
}

// rerun replays a case on its recorded state.
func rerun(t *testing.T, c *gethdata.Case, ch *chain.Chain, opt Options) *Result {
	t.Helper()
	st, err := c.State()
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	res, err := RunWith(t.Context(), ch, c.Block, c.Tx, nil, st, opt)
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return res
}

// sameTrace compares a tree with callTracer's JSON: as JSON, and frame by frame
// with the logs, which the tree's own JSON does not have.
func sameTrace(t *testing.T, name string, got *trace.Tree, want []byte, logs bool) {
	t.Helper()
	raw, err := json.Marshal(got.Raw())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := gethdata.SameTrace(raw, want, false); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	tree, err := trace.ParseCallTracerBytes(want, trace.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(got.Frames) != len(tree.Frames) || got.Failed != tree.Failed {
		t.Fatalf("%s: %d frames, %d failed, want %d and %d", name, len(got.Frames), got.Failed, len(tree.Frames), tree.Failed)
	}
	for i, f := range got.Frames {
		g, w := flat(f, logs), flat(tree.Frames[i], logs)
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: frame %s\n got %.500v\nwant %.500v", name, f.Path(), g, w)
		}
	}
}

// flat is a frame without its neighbours.
func flat(f *trace.Frame, logs bool) trace.Frame {
	c := *f
	c.Parent, c.Children, c.RevertedBy = nil, nil, nil
	if !logs {
		c.Logs = nil
	}
	for _, b := range []*[]byte{&c.Input, &c.Output} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	for i := range c.Logs {
		if len(c.Logs[i].Data) == 0 {
			c.Logs[i].Data = nil
		}
	}
	return c
}

func mainnet(t testing.TB) *chain.Chain {
	t.Helper()
	ch, ok := chain.ByID(1)
	if !ok {
		t.Fatal("the table of chains has no mainnet")
	}
	return ch
}

var folders = []string{
	gethdata.CallTracer, gethdata.CallTracerWithLog, "call_tracer_flat", "prestate_tracer", "prestate_tracer_with_diff_mode",
}

// The recorded trace comes out again, from state alone, under the rules that the
// recording names.
func TestRecordedTraces(t *testing.T) {
	compared := 0
	for _, c := range gethdata.Cases(t, gethdata.CallTracer, gethdata.CallTracerWithLog) {
		if strings.Contains(string(c.TracerConfig), "onlyTopCall") {
			continue // of those only the top was recorded
		}
		res := rerun(t, c, nil, Options{Config: c.Config})
		sameTrace(t, c.Name, res.Tree, c.Result, strings.Contains(string(c.TracerConfig), "withLog"))
		compared++
	}
	if compared != 23 {
		t.Errorf("%d recorded traces compared, want 23", compared)
	}
}

// Every case gives what go-ethereum's own database and tracers give: trace,
// receipt and state diff.
func TestEqualsNode(t *testing.T) {
	for _, c := range gethdata.Cases(t, folders...) {
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		res := rerun(t, c, nil, Options{Config: c.Config})
		sameTrace(t, c.Name, res.Tree, e.Trace, true)
		rc, err := ethrpc.ParseReceipt(e.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		if notes := Verify(res, rc); len(notes) > 0 {
			t.Errorf("%s: %v", c.Name, notes)
		}
		want, err := ethrpc.ParseStateDiff(e.StateDiff)
		if err != nil {
			t.Fatal(err)
		}
		sameDiff(t, c.Name, res.StateDiff, want)
	}
}

// sameDiff compares by what the two say: before and after of each account.
func sameDiff(t *testing.T, name string, got, want *ethrpc.StateDiff) {
	t.Helper()
	addrs := make(map[common.Address]bool)
	for _, m := range []map[common.Address]*ethrpc.Account{got.Pre, got.Post, want.Pre, want.Post} {
		for a := range m {
			addrs[a] = true
		}
	}
	for a := range addrs {
		g, w := sides(got, a), sides(want, a)
		if !reflect.DeepEqual(g, w) {
			t.Errorf("%s: %s\n got %.300v\nwant %.300v", name, a, g, w)
		}
	}
}

// sides writes an account's change in one form: a tracer may name an unchanged
// field or leave it out, and may write an emptied account as gone or as zero.
func sides(d *ethrpc.StateDiff, a common.Address) map[string]string {
	out := make(map[string]string)
	pre, post := d.Pre[a], d.Post[a]
	if pre == nil {
		pre = &ethrpc.Account{}
	}
	gone := post == nil
	if gone {
		post = &ethrpc.Account{}
	}
	put := func(field, before, after string, said bool) {
		if !said && !gone {
			return
		}
		if before != after {
			out[field] = before + " to " + after
		}
	}
	num := func(b *big.Int) string {
		if b == nil {
			return "0"
		}
		return b.String()
	}
	nonce := func(n *uint64) string {
		if n == nil {
			return "0"
		}
		return new(big.Int).SetUint64(*n).String()
	}
	put("balance", num(pre.Balance), num(post.Balance), post.Balance != nil)
	put("nonce", nonce(pre.Nonce), nonce(post.Nonce), post.Nonce != nil)
	put("code", string(pre.Code), string(post.Code), post.Code != nil)
	if gone {
		return out // what a destroyed account stored is not all known
	}
	for s, v := range pre.Storage {
		out[s.Hex()] = v.Hex() + " to " + post.Storage[s].Hex()
	}
	for s, v := range post.Storage {
		out[s.Hex()] = pre.Storage[s].Hex() + " to " + v.Hex()
	}
	return out
}

// The built-in rules of mainnet reproduce the mainnet recordings.
func TestMainnetRules(t *testing.T) {
	seen := make(map[common.Hash]bool)
	for _, c := range gethdata.Cases(t, folders...) {
		if !c.Mainnet() {
			continue
		}
		e, err := c.BuildEvidence()
		if err != nil {
			t.Fatal(err)
		}
		res := rerun(t, c, mainnet(t), Options{})
		sameTrace(t, c.Name, res.Tree, e.Trace, true)
		if res.Approximate || res.Tree.Source != trace.SourceReplay {
			t.Errorf("%s: approximate %v, source %s", c.Name, res.Approximate, res.Tree.Source)
		}
		seen[c.Hash()] = true
	}
	// A sixteenth, big_slow.json, was recorded under rules that mainnet did not have yet.
	if len(seen) != 15 {
		t.Errorf("%d mainnet transactions, want 15", len(seen))
	}
}

func TestTree(t *testing.T) {
	f := func(name string, frames, logs int, status uint64) {
		t.Helper()
		res := rerun(t, gethdata.Get(t, name), mainnet(t), Options{})
		if res.Tree.Total != frames || len(res.Logs) != logs || res.Status != status {
			t.Errorf("%s: %d frames, %d logs, status %d", name, res.Tree.Total, len(res.Logs), res.Status)
		}
	}
	f(gethdata.TokenTransfer, 1, 1, 1)
	f(gethdata.MultiContracts, 162, 32, 1)
	f(gethdata.FailedTx, 10, 0, 0)
	f(gethdata.Delegated7702, 9, 3, 1)
}

func TestVerify(t *testing.T) {
	c := gethdata.Get(t, gethdata.MultiContracts)
	e, err := c.BuildEvidence()
	if err != nil {
		t.Fatal(err)
	}
	res := rerun(t, c, mainnet(t), Options{})
	f := func(change func(*ethrpc.Receipt), want string) {
		t.Helper()
		rc, err := ethrpc.ParseReceipt(e.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		change(rc)
		if got := strings.Join(Verify(res, rc), "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	f(func(*ethrpc.Receipt) {}, "")
	f(func(rc *ethrpc.Receipt) { rc.Status = nil }, "")
	f(func(rc *ethrpc.Receipt) { rc.GasUsed++ }, "gas")
	f(func(rc *ethrpc.Receipt) { *rc.Status = 0 }, "status")
	f(func(rc *ethrpc.Receipt) { rc.Logs = rc.Logs[1:] }, "31")
	f(func(rc *ethrpc.Receipt) { rc.Logs[7].Data = []byte{1} }, "log 7")
	f(func(rc *ethrpc.Receipt) { rc.Logs[8].Topics = nil }, "log 8")
}
