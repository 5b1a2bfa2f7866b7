package e2e

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/testkit/recorded"
)

// recordedKinds are recorded transactions that reports of each kind are made of.
var recordedKinds = []struct{ name, hash string }{
	{"transfer", "0x26ab3b9f85"},
	{"approval", "0x936b6bcd57"},
	{"swap", "0x5dcdd902dc"},
	{"aggregator", "0x769e36370a"},
	{"sandwich", "0x80ce0c71a4"},
	{"nft-sale", "0x421cd166b6"},
	{"nft-mint", "0x2698d7e554"},
	{"batch", "0x9a659b275c"},
	{"vault", "0x2cf0a5a736"},
	{"bridge", "0xec2b739eea"},
	{"reverted", "0xc30c589a09"},
	{"out-of-gas", "0x48dc484075"},
	{"deployment", "0x216b67f3ad"},
}

// reports are results of recorded transactions, by kind, and the one with the
// most frames.
func reports(t testing.TB) map[string]*api.Result {
	t.Helper()
	out := map[string]*api.Result{}
	var most *assemble.Evidence
	for ev := range recorded.All(t) {
		if most == nil || len(ev.Tree.Frames) > len(most.Tree.Frames) {
			most = ev
		}
		for _, k := range recordedKinds {
			if strings.HasPrefix(ev.TxHash, k.hash) {
				out[k.name] = assemble.Result(ev)
			}
		}
	}
	if len(out) != len(recordedKinds) {
		t.Fatalf("found %d of %d recorded transactions", len(out), len(recordedKinds))
	}
	out["most-frames"] = assemble.Result(most)
	for _, r := range out {
		r.Costs = api.Costs{DataCollection: api.NanoDollars(1250000), CodeExecution: api.NanoDollars(30000), TotalUSD: api.NanoDollars(1280000)}
		r.ToolCalls = []api.ToolCall{{Tool: "rpc.eth_getTransactionByHash", DurationMs: 38, OK: true, CostUSD: api.NanoDollars(1000)}, {Tool: "rpc.debug_traceTransaction", DurationMs: 412, OK: true, CostUSD: api.NanoDollars(40000)}, {Tool: "sourcify.contract", DurationMs: 95, OK: false}}
	}
	return out
}

// without is a partial result: the trace could not be had.
func without(t testing.TB, hash string) *api.Result {
	t.Helper()
	ev := recorded.Find(t, hash)
	ev.Tree, ev.Prices = nil, nil
	ev.Failed = []assemble.Failure{{Phase: "trace", Reason: "all 2 endpoints timed out"}, {Phase: "price", Reason: "the service answered 503"}}
	return assemble.Result(ev)
}

// canary is what hostile code would set; nothing may.
const canary = "window.pwned"

// hostileTexts are what a chain would have a report print. Each would show
// itself: by a dialog, a request, the canary, a line of the console or a page
// that no longer fits its window.
var hostileTexts = []string{
	`<script>` + canary + `=1;alert("script")</script>`,
	`"><img src=x onerror="` + canary + `=1;alert('img')">`,
	`' onmouseover='` + canary + `=1' onload='` + canary + `=1' x='`,
	`javascript:` + canary + `=1;alert('link')`,
	`</title></desc></svg><script>` + canary + `=2</script>`,
	`</style><style>*{position:fixed;width:9999px!important;background:url(http://127.0.0.1:9/css)}</style>`,
	`</pre></details></section></main></body></html><iframe src="http://127.0.0.1:9/frame"></iframe>`,
	`<svg onload="` + canary + `=3"><use href="data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'/>#x"/></svg>`,
	`<meta http-equiv="refresh" content="0;url=http://127.0.0.1:9/refresh">`,
	`<base href="http://127.0.0.1:9/"><link rel=stylesheet href=//127.0.0.1:9/link>`,
	`data:text/html,<script>` + canary + `=4</script>`,
	`expression(alert(1));background:url("http://127.0.0.1:9/bg");width:99999px`,
	`{{.}}{{template "page"}}${7*7}#{7*7}<%=7*7%>`,
	"\u202e\u2066drow desrever\u202c\u2069 \u200f\u200e",
	strings.Repeat("W", 200),
	strings.Repeat("漢", 200),
	strings.Repeat("🦄👩‍👩‍👧‍👦", 40),
	"عملة مستقرة جدا שקל חדש",
	"a\u200b\u200c\u200d\ufeffb\u00ad\u2060c",
	"nul\x00byte\x1b[31mred\x07\xff\xfe",
	strings.Repeat("Z\u0310\u0311\u0312\u0313\u0314\u0315\u0316", 30),
	"line\nbreak\r\nand\u2028more\u2029\tend",
	`<!--<script>` + `]]>--!>` + `<![CDATA[`,
	`&lt;script&gt;&#60;script&#62;&NewLine;`,
}

// poison puts a hostile text in place of the texts of a result, the next one each
// time. With all set numbers and addresses of type string go too, otherwise only
// what the chain or a service can name, so that diagrams and tables stay full.
func poison(r *api.Result, first int, all bool) {
	at := first
	next := func() string { at++; return hostileTexts[at%len(hostileTexts)] }
	keep := map[string]bool{}
	if !all {
		for _, f := range []string{"ValueWei", "Path", "Status", "Type", "Total", "Decimals", "TokenID", "Balance", "RawSignedAmount", "GasPrice", "TotalWei", "BurntWei", "Wei", "ExplorerBase", "AnalysisModel", "Confidence"} {
			keep[f] = true
		}
	}
	var walk func(v reflect.Value, field string)
	walk = func(v reflect.Value, field string) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				return
			}
			if v.Kind() == reflect.Interface {
				v.Set(reflect.ValueOf(any(next())))
				return
			}
			if v.Type() != reflect.TypeFor[*big.Int]() {
				walk(v.Elem(), field)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Name != "RawTrace" && f.Name != "MermaidDiagram" {
					walk(v.Field(i), f.Name)
				}
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), field)
			}
		case reflect.String:
			if !keep[field] && v.CanSet() {
				v.SetString(next())
			}
		}
	}
	walk(reflect.ValueOf(r).Elem(), "")
	r.Risks, r.NonFindings = hostileTexts, hostileTexts
	r.Findings = []api.Finding{{BrokenInvariant: next(), Category: api.Category(next()), Severity: api.Severity(next()), Confidence: api.Confidence(next()), Victim: []api.Addr{r.TxMeta.From}, Attacker: []api.Addr{r.TxMeta.From},
		Evidence: []api.Evidence{{Claim: next(), Kind: api.EvidenceKind(next()), Frame: next(), Slot: next(), Before: next(), After: next(), Selector: next(), Source: next()}}, MissingDataToConfirm: hostileTexts}}
}
