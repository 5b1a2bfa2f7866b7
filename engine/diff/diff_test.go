package diff

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"txlens/engine/api"
)

func ref[T any](v T) *T { return &v }

// sample is a call of a bank that pays out.
func sample() *api.Result {
	a, b := api.Addr{1}, api.Addr{2}
	return &api.Result{
		TxHash: "0x1", Chain: "ethereum-mainnet", Status: api.StatusSuccess, TxType: ref(api.TypeTransfer), Confidence: api.High, AnalysisModel: api.ModelRules,
		TxMeta:      api.TxMeta{From: a, To: &b, ValueWei: "0x0a", GasUsed: 30000, GasPrice: "0x3b9aca00"},
		Fee:         &api.Fee{TotalWei: "30000000000000"},
		RisksDetail: []api.RiskDetail{{Flag: "drain"}},
		BalanceChanges: []api.BalanceChange{
			{Address: a, IsSender: true, Tokens: []api.TokenChange{{TokenSymbol: "ETH", Balance: "-1.5", RawSignedAmount: "-1500000000000000000"}}},
			{Address: b, Label: "Bank", Tokens: []api.TokenChange{{TokenSymbol: "ETH", Balance: "1.5", RawSignedAmount: "1500000000000000000"}}},
		},
		PrettyTrace: []api.Node{
			{Index: 0, Path: "0", Type: "CALL", To: &b, ToLabel: "Bank", FunctionSignature: "pay()", GasUsed: 100, Status: api.NodeOK},
			{Index: 1, Depth: 1, Path: "0.0", Type: "STATICCALL", To: &b, ToLabel: "Bank", FunctionSignature: "rate()", GasUsed: 10, Status: api.NodeOK},
			{Index: 2, Depth: 1, Path: "0", Type: "LOG", Status: api.NodeOK},
			{Index: 3, Depth: 1, Path: "0.1", Type: "CALL", To: &a, Selector: "0x12345678", GasUsed: 5, Status: api.NodeOK},
		},
	}
}

func TestSame(t *testing.T) {
	if d := Of(sample(), sample()); !d.Same {
		t.Errorf("%+v", d)
	}
	other := sample()
	other.TxHash, other.Summary, other.TxMeta.From = "0x2", "Another.", api.Addr{9}
	other.BalanceChanges[0].Address = api.Addr{9}
	if d := Of(sample(), other); !d.Same {
		t.Errorf("of another sender: %+v", d)
	}
	if d := Of(&api.Result{}, &api.Result{}); !d.Same {
		t.Errorf("of nothing: %+v", d)
	}
}

// TestEachDifference: one change makes the results differ in one respect.
func TestEachDifference(t *testing.T) {
	f := func(want string, change func(r *api.Result)) {
		t.Helper()
		b := sample()
		change(b)
		d := Of(sample(), b)
		var got []string
		for _, v := range d.Class {
			got = append(got, v.Name+" "+shown(v.A)+" "+shown(v.B))
		}
		for _, l := range d.Lists {
			got = append(got, l.Name+" "+strings.Join(l.OnlyA, ",")+" "+strings.Join(l.OnlyB, ","))
		}
		for _, s := range d.Money {
			got = append(got, s.Name+" "+shown(s.Difference))
		}
		for _, a := range d.Amounts {
			got = append(got, a.Account+" "+a.A+" "+a.B+" "+shown(a.Difference))
		}
		for _, s := range d.Calls.Shapes {
			got = append(got, strings.Join([]string{s.Callee, s.Function, string(s.Status)}, " ")+strings.Repeat(" +", max(s.B-s.A, 0))+strings.Repeat(" -", max(s.A-s.B, 0)))
		}
		if c := d.Calls.First; c != nil {
			for _, p := range places(c.A, c.B) {
				got = append(got, p.side+" "+p.Path)
			}
		}
		if text := strings.Join(got, "; "); text != want || d.Same {
			t.Errorf("got  %s\nwant %s, same %v", text, want, d.Same)
		}
	}
	f("txType transfer swap", func(r *api.Result) { r.TxType = ref(api.TypeSwap) })
	f("txType transfer -", func(r *api.Result) { r.TxType = nil })
	f("protocol - aave", func(r *api.Result) { r.Protocol = ref("aave") })
	f("attempted - true", func(r *api.Result) { r.Attempted = true })
	f("risks drain flash_loan,stuck_value", func(r *api.Result) {
		r.RisksDetail = []api.RiskDetail{{Flag: "stuck_value"}, {Flag: "flash_loan"}, {Flag: "stuck_value"}}
	})
	f("findings  arbitrary_call", func(r *api.Result) { r.Findings = []api.Finding{{Category: "arbitrary_call"}} })
	f("value -", func(r *api.Result) { r.USDValue = &api.Decimal{} })
	f("sent 246", func(r *api.Result) { r.TxMeta.ValueWei = "0x100" })
	f("fee -1", func(r *api.Result) { r.Fee.TotalWei = "29999999999999" })
	f("gasUsed -", func(r *api.Result) { r.TxMeta.GasUsed = 0 })
	f("sender -1.5 -2.25 -0.75", func(r *api.Result) { r.BalanceChanges[0].Tokens[0].Balance = "-2.25" })
	f("0x0200000000000000000000000000000000000000 1.5 0 -1.5", func(r *api.Result) { r.BalanceChanges = r.BalanceChanges[:1] })
	f("Bank rate() ok -; Bank rates() ok +; A 0.0; B 0.0", func(r *api.Result) { r.PrettyTrace[1].FunctionSignature = "rates()" })
	f("0x0100000000000000000000000000000000000000 0x12345678 ok -; A 0.1", func(r *api.Result) { r.PrettyTrace = r.PrettyTrace[:3] })
	f("A 0.0; B 0.0", func(r *api.Result) { r.PrettyTrace[1].Depth = 2 })
}

// TestRevertPoint: the revert is followed down as long as callers return its data.
func TestRevertPoint(t *testing.T) {
	f := func(want string, nodes ...api.Node) {
		t.Helper()
		r := &api.Result{Status: api.StatusReverted, PrettyTrace: nodes}
		got := ""
		if n := revertPoint(r); n != nil {
			got = n.Path
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	node := func(path string, status api.NodeStatus, output string) api.Node {
		return api.Node{Type: "CALL", Path: path, Depth: strings.Count(path, "."), Status: status, Output: api.Hex(output)}
	}
	failed, ok := api.NodeFailed, api.NodeOK
	f("")
	f("", node("0", ok, ""))
	f("0", node("0", failed, ""))
	f("0.1.0", node("0", failed, "x"), node("0.0", ok, ""), node("0.1", failed, "x"), node("0.1.0", failed, "x"))
	f("0", node("0", failed, "x"), node("0.0", failed, "y"))                      // it answered with an error of its own
	f("0", node("0", failed, "x"), node("0.0", failed, "x"), node("0.1", ok, "")) // it went on
	f("0", node("0", failed, "x"), node("0.0", api.NodeReverted, "x"))            // undone with its caller
	f("0", node("0", failed, ""), node("0.0", ok, ""), node("0.0.0", failed, "")) // caught further down
	f("0.0", node("0", failed, "x"), node("0.0", failed, "x"), api.Node{Type: "LOG", Depth: 1, Path: "0", Status: failed})
	if n := revertPoint(&api.Result{Status: api.StatusSuccess, PrettyTrace: []api.Node{node("0", failed, "")}}); n != nil {
		t.Error("a transaction that succeeded has a revert point")
	}
}

// TestBounds: long differences are cut and counted, and sorted the same each time.
func TestBounds(t *testing.T) {
	long := sample()
	for i := range 900 {
		who := api.Addr{byte(i), byte(i >> 8), 7}
		long.PrettyTrace = append(long.PrettyTrace, api.Node{Type: "CALL", Depth: 1, To: &who})
		long.BalanceChanges = append(long.BalanceChanges, api.BalanceChange{Address: who, Tokens: []api.TokenChange{{Balance: "1"}}})
	}
	d := Of(sample(), long)
	if len(d.Calls.Shapes) != maxShapes || d.Calls.MoreShapes != 700 || len(d.Amounts) != maxAmounts || d.MoreAmounts != 700 {
		t.Errorf("%d and %d shapes, %d and %d amounts", len(d.Calls.Shapes), d.Calls.MoreShapes, len(d.Amounts), d.MoreAmounts)
	}
	first, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := json.Marshal(Of(sample(), long)); !slices.Equal(again, first) {
			t.Fatal("two comparisons differ")
		}
	}
}

// TestHostileText: what a file says is cleaned before a terminal shows it, and escaped in
// a page.
func TestHostileText(t *testing.T) {
	bad := sample()
	bad.TxHash, bad.SubType, bad.Chain = "\x1b[2J<script>", "\x1b]0;x\x07<script>", "a\nb"
	bad.PrettyTrace[1].ToLabel, bad.PrettyTrace[1].Status = "<script>\x1b[2J\t", "\x1b[2J\nTotals"
	d := Of(sample(), bad)
	var text, page strings.Builder
	if err := errors.Join(d.Text(&text), d.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\x07") || strings.Contains(text.String(), "\nTotals") {
		t.Errorf("text: %q", text.String())
	}
	if strings.Contains(page.String(), "<script") {
		t.Error("the page has an element of the result")
	}
}

func TestDifferenceOfNumbers(t *testing.T) {
	f := func(x, y, want string) {
		t.Helper()
		if got := shown(difference(&x, &y)); got != want {
			t.Errorf("%s to %s: %s, want %s", x, y, got, want)
		}
	}
	f("1", "3", "2")
	f("-1.5", "2.25", "3.75")
	f("0.1", "0.1", "0")
	f("100000000000000000000000000000000000001", "0", "-100000000000000000000000000000000000001")
	f("1", "x", "-")
	f("1e3", "1", "-")
	f("1.", "1", "-")
	f("--1", "1", "-")
}
