package report

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"txlens/engine/api"
	testsize "txlens/testkit/size"
)

func page1(t *testing.T, r *api.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var (
	element   = regexp.MustCompile(`<(/?)([a-zA-Z!][a-zA-Z0-9]*)([^>]*)>`)
	attribute = regexp.MustCompile(`([a-zA-Z-]+)="([^"]*)"`)
	styleText = regexp.MustCompile(`(?s)<style>.*?</style>`)
	ownPart   = regexp.MustCompile(`^#[a-z-]+$`)
	pathData  = regexp.MustCompile(`^[MLCHVhvlmz0-9 -]+$`)
	barStyle  = regexp.MustCompile(`^width:\d{1,3}%$`)
)

var allowedElements = strings.Fields("!DOCTYPE html head meta title style body main header section nav footer h1 h2 h3 small p ul ol li dl dt dd div span b i em bdi br a table thead tbody tr th td details summary pre svg g rect path text title desc script")

// ownData is how the data of the call list begins.
const ownData = `<script type="application/json" id="frames">`

// withoutData removes the data of the call list, which nothing but the page's script reads.
func withoutData(page string) string {
	before, data, ok := strings.Cut(page, ownData)
	if !ok {
		return page
	}
	_, after, _ := strings.Cut(data, "</script>")
	return before + after
}

var void = map[string]bool{"meta": true, "br": true, "!DOCTYPE": true}

// checkHTML says what does not belong on the page: elements and attributes that
// the template does not write, links that lead elsewhere, a broken nesting.
func checkHTML(page string) string {
	allowed := map[string]bool{}
	for _, e := range allowedElements {
		allowed[e] = true
	}
	var open []string
	body := styleText.ReplaceAllString(page, "")
	body = strings.Replace(body, "<script>"+pageScript+"</script>", "", 1)
	body = withoutData(body)
	if strings.Contains(body, "<script") {
		return "a script that is not the page's own"
	}
	for _, m := range element.FindAllStringSubmatch(body, -1) {
		closing, name, attributes := m[1] == "/", m[2], m[3]
		switch {
		case !allowed[name]:
			return "element " + m[0]
		case closing && (len(open) == 0 || open[len(open)-1] != name):
			return "unmatched " + m[0]
		case closing:
			open = open[:len(open)-1]
		case !void[name] && !strings.HasSuffix(attributes, "/"):
			open = append(open, name)
		}
		for _, a := range attribute.FindAllStringSubmatch(attributes, -1) {
			switch a[1] {
			case "href":
				if !strings.HasPrefix(a[2], "https://etherscan.io/") && !strings.HasPrefix(a[2], "https://revoke.cash/address/0x") && !ownPart.MatchString(a[2]) {
					return "link " + m[0]
				}
			case "style":
				if !barStyle.MatchString(a[2]) {
					return "style " + m[0]
				}
			case "d":
				if !pathData.MatchString(a[2]) {
					return "path " + m[0]
				}
			case "x", "y", "width", "height", "rx", "tabindex", "colspan", "rowspan":
				if a[2] != "device-width" && strings.Trim(a[2], "0123456789-") != "" {
					return "number " + m[0]
				}
			case "class", "rel", "lang", "charset", "content", "name", "http-equiv", "scope", "data-n", "id", "role", "title", "viewBox", "aria-label", "aria-labelledby", "aria-hidden":
			default:
				return "attribute " + m[0]
			}
		}
	}
	if len(open) > 0 {
		return "left open: " + strings.Join(open, " ")
	}
	if strings.Count(body, "<") != len(element.FindAllString(body, -1)) {
		return "a bare <"
	}
	return ""
}

func TestHTMLHoldsOnlyItsOwnElements(t *testing.T) {
	for name, r := range samples() {
		got := page1(t, r)
		if wrong := checkHTML(got); wrong != "" {
			t.Errorf("%s: %s", name, wrong)
		}
		for _, never := range []string{"<script>alert", "javascript:alert(1)\"", "@import", "url(", "\x1b", "\u202e", "ZgotmplZ"} {
			if strings.Contains(withoutData(got), never) {
				t.Errorf("%s: %q on the page", name, never)
			}
		}
		if !strings.Contains(got, `content="default-src 'none'; script-src 'sha256-`+strings.ReplaceAll(scriptHash(), "+", "&#43;")+`'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`) {
			t.Errorf("%s: no content security policy", name)
		}
	}
}

func TestHTMLSections(t *testing.T) {
	f := func(r *api.Result, want ...string) {
		t.Helper()
		got := page1(t, r)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("no %q on the page", w)
			}
		}
	}
	f(swap(), ">✓ Success<", "Swapped 1.5 ETH", "<dd>$4,512.33<small>", "<dd>0.00192789 ETH<small>$5.80</small>", ">unlimited approval</span>", "What happened", `href="https://etherscan.io/tx/`+sampleHash, `style="width:100%"`,
		"4. 4,512.33 USDC", `aria-labelledby="funds-title funds-desc"`, `aria-labelledby="order-title order-desc"`, "sequenceDiagram", "$0.00128", "Logs <small>4</small>", "Addresses <small>6</small>", `<em>100 %</em>`,
		"<td>sourcify.contract</td>", `1, <span class="down">1 failed</span>`)
	f(failed(), ">✗ Reverted<", "attempted swap", `class="frame failed" open`, "✗ reverted: Too little received", ">(undone)<")
	f(partial(), "Partial result</span>", `<p class="notice">Partial result: the trace phase failed</p>`, "<h1>(all 2 endpoints", "low confidence", "unclassified")
	f(deep(500), "depth 30", "500 of 12,345 frames kept", "⟳ 5,000 more turns of the last 2 calls: 10,000 frames left out")
	f(deep(5000), "3,500 more frames are not shown; the first failures among them:", "out of gas", "Not drawn: ")
	f(&api.Result{}, "Outcome unknown", "<h1>Unclassified</h1>")
}

// TestPreview: the first arguments stand beside the name of the function.
func TestPreview(t *testing.T) {
	n := newNames(swap())
	f := func(want string, args ...api.Arg) {
		t.Helper()
		if got := n.preview(&api.Node{DecodedArgs: args}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	amount := api.Arg{Name: "amount", Type: "uint256", Value: "1500000000000000000"}
	f("")
	f("to: 0xa100…0001, amount: 1500000000000000000", api.Arg{Name: "to", Value: alice.String()}, amount)
	f("[1, 2], true", api.Arg{Value: []any{"1", "2"}}, api.Arg{Value: true})
	f("a: 1, b: 2, c: 3, d: 4, …", api.Arg{Name: "a", Value: "1"}, api.Arg{Name: "b", Value: "2"}, api.Arg{Name: "c", Value: "3"}, api.Arg{Name: "d", Value: "4"}, api.Arg{Name: "e", Value: "5"})
	f("amount: 1500000000000000000, amount: 1500000000000000000, …", amount, amount, amount, amount)
	f("data: 0xaaaaaaaaaaaaaaaaaaa…", api.Arg{Name: "data", Value: "0x" + strings.Repeat("a", 900)})
}

// TestGasShares: of the whole, whatever the numbers.
func TestGasShares(t *testing.T) {
	f := func(gas, whole uint64, want string) {
		t.Helper()
		got := "none"
		if s := shareOf(gas, whole); s != nil {
			got = fmt.Sprint(s.Percent, " ", s.Text)
		}
		if got != want {
			t.Errorf("%d of %d: %s, want %s", gas, whole, got, want)
		}
	}
	f(21000, 21000, "100 100 %")
	f(159, 160, "99 99 %")
	f(1, 1000, "1 <1 %")
	f(0, 1000, "none")
	f(5, 0, "none")
	f(30000, 21000, "100 100 %") // a refund made the whole smaller
	f(1<<63, 1<<63+1<<62, "66 66 %")
}

// accused is a result with a finding.
func accused() *api.Result {
	r := swap()
	r.Findings = []api.Finding{{BrokenInvariant: "Pool must not pay more than it got; it paid 4,512.33 USDC for 0 WETH (frame 0.1).", Category: "accounting_error", Severity: "critical", Confidence: api.Medium,
		Status: api.Probable, Check: "sent(pool) > received(pool)", Amplifiers: []api.Amplifier{api.FlashLoan}, CausedBy: "F1", Primary: true,
		Victim: []api.Addr{pool}, Attacker: []api.Addr{alice}, MissingDataToConfirm: []string{"the source of the pool"},
		Evidence: []api.Evidence{{Claim: "the pool paid first", Kind: "observed", Frame: "0.1.0", LogIndex: ref(uint64(41)), Address: &pool, Slot: "0x2", Before: "7", After: "6", Selector: "0xa9059cbb", Source: "trace"}}}}
	r.NonFindings = []string{"reentrancy: clean", "bad debt: not applicable"}
	return r
}

// TestHTMLFindings: what was found, on what evidence, and what was checked.
func TestHTMLFindings(t *testing.T) {
	r := accused()
	r.TraceAnnotations = map[int]string{4: "the pool pays <before> it is paid", 5: "**seen** here", 99: "nowhere"}
	r.Provenance.Dropped = &api.Dropped{Sentences: 3, Evidence: 2, Demoted: 1}
	got := page1(t, r)
	for _, want := range []string{`<span class="tag strong bad">critical</span>`, "accounting error", "it paid 4,512.33 USDC for 0 WETH", "the pool paid first", "frame 0.1.0, log 41, at 0xa300…0003 Uniswap V3: USDC/WETH 0.05%, slot 0x2, function 0xa9059cbb, before 7, after 6, from the trace",
		`<span class="tag">probable</span>`, "First finding", `<dd class="mono">sent(pool) &gt; received(pool)</dd>`, "<dd>flash loan</dd>", "<dd>F1</dd>",
		`<em class="remark">the pool pays &lt;before&gt; it is paid</em>`, `<em class="remark">seen here</em>`,
		"3 sentences, 2 items of evidence of the model&#39;s, which the evidence does not support; 1 finding lowered",
		"the source of the pool", "What was checked", "<li>bad debt: not applicable</li>", `<a href="#findings">`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if wrong := checkHTML(got); wrong != "" {
		t.Error(wrong)
	}
}

func TestHTMLStaysBelowItsBound(t *testing.T) {
	r := deep(testsize.Of(600, 8000)) // without the cut 600 nodes have 100 MB
	long := strings.Repeat("漢", 5000)
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		n.FunctionName, n.ToLabel, n.Error, n.Status = long, long, long, api.NodeFailed
		for range 18 {
			n.DecodedArgs = append(n.DecodedArgs, api.Arg{Name: long, Type: long, Value: long})
		}
	}
	for i := range testsize.Of(600, 3000) {
		r.Steps = append(r.Steps, long)
		r.Addresses = append(r.Addresses, api.Address{Address: addr(i + 100), Label: fmt.Sprint(i, long)})
		r.TokenTransfers = append(r.TokenTransfers, r.TokenTransfers[0])
		r.BalanceChanges = append(r.BalanceChanges, r.BalanceChanges[0])
	}
	got := page1(t, r)
	if len(got) > MaxHTML {
		t.Errorf("%d bytes", len(got))
	}
	if wrong := checkHTML(got); wrong != "" {
		t.Error(wrong)
	}
}

func FuzzHTML(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, "12.5", int16(3))
	}
	f.Fuzz(func(t *testing.T, s, number string, depth int16) {
		r := hostile()
		r.ExplorerBase = "https://etherscan.io"
		r.Summary, r.TxHash, r.PrettyTrace[2].Depth, r.PrettyTrace[1].FunctionName = s, s, int(depth), s
		r.PrettyTrace[1].DecodedArgs = []api.Arg{{Name: s, Type: s, Value: []any{s, number}}}
		r.BalanceChanges[0].Tokens[0].TokenSymbol, r.BalanceChanges[0].Tokens[0].Balance = s, number
		if wrong := checkHTML(page1(t, r)); wrong != "" {
			t.Error(wrong)
		}
	})
}

// TestNothingKnown: what was not read is not said, least of all that it went well.
func TestNothingKnown(t *testing.T) {
	r := &api.Result{TxHash: swap().TxHash, ChainName: "Ethereum", AnalysisModel: api.ModelPartial, Confidence: api.Low}
	for _, out := range []string{plain(t, r, TextOptions{}), page1(t, r)} {
		if low := strings.ToLower(out); !strings.Contains(low, "outcome unknown") || strings.Contains(low, ">success") || strings.Contains(out, "creates a contract") || strings.Contains(out, "0x0000000000") {
			t.Errorf("the report claims what nobody read:\n%s", out)
		}
	}
}

// TestStateTab: a change stands with its name, both values and the difference.
func TestStateTab(t *testing.T) {
	text := textOf(section(t, page1(t, swap()), "state"))
	for _, want := range []string{
		"balance 5 ETH 3.498072 ETH -1.501928 ETH",
		"nonce 1,233 1,234 +1",
		"code no code delegated to Uniswap V3: SwapRouter02 0x",
		"slot 4 70 1,099,511,627,776",
		"balance alice.eth 0x",
		"mapping at slot 9, key 0x",
		" 0 USDC 4,512.33 USDC +4,512.33 USDC",
		"unlimited USDC 1 USDC",
		"implementation EIP-1967 zero address Uniswap V3: SwapRouter02 0x",
		"abababab",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the tab lacks %q:\n%s", want, text)
		}
	}
	f := func(name, want string, change func(r *api.Result)) {
		t.Helper()
		r := swap()
		change(r)
		if text := textOf(section(t, page1(t, r), "state")); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in:\n%s", name, want, text)
		}
	}
	f("nothing changed", "changed no state", func(r *api.Result) { r.StateChanges = []api.StateChange{} })
	f("no state diff", "Changes of the native coin", func(r *api.Result) { r.StateChanges = nil })
	f("nothing known", "No state change is known", func(r *api.Result) { r.StateChanges, r.BalanceChanges = nil, nil })
	f("left out", "and 607 more changes", func(r *api.Result) {
		r.StateChanges = append(r.StateChanges, make([]api.StateChange, 991)...)
		r.StateChangesMeta = &api.StateMeta{OriginalChanges: 1007, KeptChanges: 1000}
	})
	f("a token without decimals", " 0 4,512,330,000 +4,512,330,000", func(r *api.Result) { r.TokenTransfers = nil })
}

// section is the part of a page with an id, up to its end tag.
func section(t *testing.T, page, id string) string {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<section class="tab" id="`+id+`"`)
	if !ok {
		t.Fatalf("no section %s", id)
	}
	part, _, _ := strings.Cut(rest, `<section class="tab"`)
	return "<section" + part
}

var tagsAndSpace = regexp.MustCompile(`<[^>]*>|\s+`)

// textOf is the text of a part of a page, with one space for each run of tags and space.
func textOf(part string) string {
	part = html.UnescapeString(tagsAndSpace.ReplaceAllString(part, " "))
	return strings.Join(strings.Fields(part), " ")
}
