package assemble

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/chain"
	"txlens/engine/ethrpc"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var (
	from  = common.HexToAddress("0x1111111111111111111111111111111111111111")
	to    = common.HexToAddress("0x2222222222222222222222222222222222222222")
	miner = common.HexToAddress("0x3333333333333333333333333333333333333333")
)

// evidenceOf is a mainnet transaction after London with the given call frames.
func evidenceOf(t testing.TB, status uint64, frames string) *Evidence {
	t.Helper()
	ch, _ := chain.ByID(1)
	number, index := uint64(15_000_000), uint64(7)
	ev := &Evidence{
		TxHash: "0xaa", Chain: ch, Version: "test",
		Tx:      &ethrpc.Transaction{Hash: common.HexToHash("0xaa"), Type: 2, From: from, To: &to, Gas: 100_000, GasPrice: big.NewInt(3e9), Value: big.NewInt(5e17), BlockNumber: &number, Index: &index},
		Receipt: &ethrpc.Receipt{Status: &status, GasUsed: 50_000, EffectiveGasPrice: big.NewInt(3e9)},
		Block:   &ethrpc.Block{Number: number, Timestamp: 1_656_000_000, Miner: miner, BaseFee: big.NewInt(2e9), Withdrawals: -1},
		Prices:  map[common.Address]Price{{}: {USD: api.Decimal{Unscaled: big.NewInt(123456), Scale: 2}, Time: 1_656_000_010, Source: "test"}},
	}
	if frames != "" {
		tree, err := trace.ParseCallTracer(jsontext.NewDecoder(strings.NewReader(frames)), trace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		ev.Tree = tree
	}
	return ev
}

const head = `"from":"0x1111111111111111111111111111111111111111","to":"0x2222222222222222222222222222222222222222","gas":"0x1","gasUsed":"0x1","input":"0x"`

func TestTransferIsPriced(t *testing.T) {
	r := Result(evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000"}`))
	if r.Partial() || r.Confidence != api.High || *r.TxType != api.TypeTransfer {
		t.Fatalf("%s %s %s", r.AnalysisModel, r.Confidence, r.Summary)
	}
	if r.USDValue.String() != "617.28" {
		t.Errorf("half an ETH at 1234.56 USD is %s", r.USDValue)
	}
	if f := r.Fee; f.TotalWei != "150000000000000" || f.BurntWei != "100000000000000" || f.Recipients[0].Wei != "50000000000000" || f.TotalUSD.String() != "0.185184" {
		t.Errorf("fee %+v, %s USD", f, f.TotalUSD)
	}
	first, last := r.BalanceChanges[0], r.BalanceChanges[len(r.BalanceChanges)-1]
	if !first.IsSender || first.Tokens[0].RawSignedAmount != "-500150000000000000" || first.Tokens[0].Balance != "-0.50015" || first.Tokens[0].TokenSymbol != "ETH" {
		t.Errorf("the sender comes first: %+v", first)
	}
	if last.Address != api.AddrOf(miner) || last.Role != "block producer" {
		t.Errorf("the fee recipient comes last: %+v", last)
	}
	if r.Provenance.PriceTime != 1_656_000_010 || r.TxMeta.ValueWei != "0x6f05b59d3b20000" || r.TxMeta.GasPrice != "0xb2d05e00" {
		t.Errorf("%+v %+v", r.Provenance, r.TxMeta)
	}
}

// TestCoinNameOfItsTime: MATIC was renamed to POL in September 2024.
func TestCoinNameOfItsTime(t *testing.T) {
	f := func(at uint64, want string) {
		t.Helper()
		ev := evidenceOf(t, 1, "")
		ev.Chain, _ = chain.ByID(137)
		ev.Block.Timestamp = at
		r := Result(ev)
		if got := r.BalanceChanges[0].Tokens[0].TokenSymbol; got != want || !strings.Contains(r.Summary, want) {
			t.Errorf("at %d: %s, %q", at, got, r.Summary)
		}
	}
	f(1_656_000_000, "MATIC")
	f(1_756_000_000, "POL")
}

// TestFailedFrames: what failed, what was undone by it, and why, stands at the node.
func TestFailedFrames(t *testing.T) {
	r := Result(evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000","calls":[
		{"type":"CALL",`+head+`,"error":"execution reverted","output":"0x08c379a0000000000000000000000000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000000000000036361620000000000000000000000000000000000000000000000000000000000","calls":[
			{"type":"CALL",`+head+`,"value":"0x1"}]},
		{"type":"CALL",`+head+`}]}`))
	var got []string
	for _, n := range r.PrettyTrace {
		got = append(got, n.Path+" "+string(n.Status)+" "+n.RevertedBy)
	}
	if want := "0 ok |0.0 failed |0.0.0 reverted 0.0|0.1 ok "; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
	if e := r.PrettyTrace[1].Error; !strings.Contains(e, "cab") {
		t.Errorf("the reason is lost: %q", e)
	}
	if r.Status != api.StatusSuccess {
		t.Errorf("status %s", r.Status)
	}
}

// TestLogsStandWhereTheyWereEmitted: after the calls made before them.
func TestLogsStandWhereTheyWereEmitted(t *testing.T) {
	log := func(calls, topic string) string {
		return `{"address":"0x2222222222222222222222222222222222222222","topics":["0x` + strings.Repeat(topic, 64) + `"],"data":"0x","position":"` + calls + `"}`
	}
	ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000","logs":[`+log("0x0", "1")+`,`+log("0x1", "2")+`],"calls":[{"type":"CALL",`+head+`}]}`)
	for i, topic := range []string{"1", "2"} {
		ev.Receipt.Logs = append(ev.Receipt.Logs, ethrpc.Log{Address: to, Topics: []common.Hash{common.HexToHash(strings.Repeat(topic, 64))}, Index: uint64(40 + i)})
	}
	r := Result(ev)
	var got []string
	for _, n := range r.PrettyTrace {
		s := n.Type
		if n.LogIndex != nil {
			s += " " + itoa(int(*n.LogIndex))
		}
		got = append(got, s)
	}
	if want := "CALL|LOG 40|CALL|LOG 41"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

// TestCompressed: a pathological trace has its counts, its loops and no raw trace,
// and the money of the frames left out still counts.
func TestCompressed(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"CALL",` + head + `,"value":"0x6f05b59d3b20000","calls":[`)
	const n = 15_000
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"type":"CALL","from":"0x2222222222222222222222222222222222222222","to":"0x4444444444444444444444444444444444444444","gas":"0x1","gasUsed":"0x1","input":"0x","value":"0x2"}`)
	}
	b.WriteString(`]}`)
	r := Result(evidenceOf(t, 1, b.String()))
	m := r.PrettyTraceMeta
	if m == nil || m.OriginalNodes != n+1 || m.KeptNodes != len(r.PrettyTrace) || m.KeptNodes > 10_000 || len(m.Markers) == 0 {
		t.Fatalf("%+v, %d nodes", m, len(r.PrettyTrace))
	}
	removed := 0
	for _, l := range m.Markers {
		removed += l.RemovedNodes
		if l.Kind != "loop" || l.ParentIndex != 0 {
			t.Errorf("marker %+v", l)
		}
	}
	if removed+m.KeptNodes != m.OriginalNodes {
		t.Errorf("%d removed + %d kept, %d original", removed, m.KeptNodes, m.OriginalNodes)
	}
	if r.RawTrace != nil {
		t.Error("a compressed trace has a raw trace")
	}
	for _, c := range r.BalanceChanges {
		if c.Address.String() == "0x4444444444444444444444444444444444444444" {
			if got := c.Tokens[0].RawSignedAmount; got != "30000" {
				t.Errorf("moved %s wei in %d calls of 2", got, n)
			}
			return
		}
	}
	t.Error("the money of the loop is lost")
}

// TestPartial: each piece may be missing; the answer says which and keeps the rest.
func TestPartial(t *testing.T) {
	f := func(change func(ev *Evidence), wantStatus api.Status, wantSummary string) {
		t.Helper()
		ev := evidenceOf(t, 1, `{"type":"CALL",`+head+`,"value":"0x6f05b59d3b20000"}`)
		change(ev)
		r := Result(ev)
		if !r.Partial() || r.Confidence != api.Low || r.Status != wantStatus || !strings.HasPrefix(r.Summary, api.PartialPrefix) || !strings.Contains(r.Summary, wantSummary) {
			t.Errorf("%s %s %q %q; want %q, %q", r.AnalysisModel, r.Confidence, r.Status, r.Summary, wantStatus, wantSummary)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	}
	f(func(ev *Evidence) {
		ev.Tx, ev.Receipt, ev.Block, ev.Tree = nil, nil, nil, nil
		ev.Failed = []Failure{{"transaction", "no answer"}}
	}, "", "**Partial result: the transaction phase failed (no answer).**")
	f(func(ev *Evidence) {
		ev.Receipt, ev.Block, ev.Tree = nil, nil, nil
		ev.Failed = []Failure{{"transaction", "no answer"}, {"trace", "500"}}
	}, "", "the transaction and trace phases failed (no answer; 500).** Attempt to send 0.5 ETH to")
	f(func(ev *Evidence) { ev.Receipt = nil; ev.Failed = []Failure{{"transaction", "x"}} }, api.StatusSuccess, "transaction")
	f(func(ev *Evidence) { ev.Block = nil; ev.Failed = []Failure{{"transaction", "x"}} }, api.StatusSuccess, "transaction")
	f(func(ev *Evidence) { ev.Tree = nil; ev.Failed = []Failure{{"trace", "x"}} }, api.StatusSuccess, "trace")
	f(func(ev *Evidence) {
		zero := uint64(0)
		ev.Receipt.Status = &zero
		ev.Tree = nil
		ev.Failed = []Failure{{"trace", "x"}}
	}, api.StatusReverted, "trace")
}

// TestNotesStandOnce: what was noted twice on the way stands once, and what is missing
// before what was said about it.
func TestNotesStandOnce(t *testing.T) {
	ev := evidenceOf(t, 1, "")
	ev.Notes = []string{"b", "a", "b"}
	ev.Lost = []Failure{{"price", "x"}, {"price", "x"}, {"odd", "y"}}
	r := Result(ev)
	got := r.Provenance.Notes[len(r.Provenance.Notes)-4:]
	if want := []string{lost["price"] + " (x)", "the odd phase failed (y)", "b", "a"}; !slices.Equal(got, want) || r.Partial() {
		t.Errorf("%q", r.Provenance.Notes)
	}
}
