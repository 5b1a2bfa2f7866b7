package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"txlens/engine/explain"
)

func page1(t *testing.T, r *explain.Result) string {
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
	barStyle  = regexp.MustCompile(`^width:\d{1,3}%$`)
)

var allowedElements = strings.Fields("!DOCTYPE html head meta title style body main header section h1 h2 small p ul ol li dl dt dd div span b i a table thead tbody tr th td details summary pre")

var void = map[string]bool{"meta": true, "!DOCTYPE": true}

// checkHTML says what does not belong on the page: elements and attributes that
// the template does not write, links that lead elsewhere, a broken nesting.
func checkHTML(page string) string {
	allowed := map[string]bool{}
	for _, e := range allowedElements {
		allowed[e] = true
	}
	var open []string
	body := styleText.ReplaceAllString(page, "")
	for _, m := range element.FindAllStringSubmatch(body, -1) {
		closing, name, attributes := m[1] == "/", m[2], m[3]
		switch {
		case !allowed[name]:
			return "element " + m[0]
		case closing && (len(open) == 0 || open[len(open)-1] != name):
			return "unmatched " + m[0]
		case closing:
			open = open[:len(open)-1]
		case !void[name]:
			open = append(open, name)
		}
		for _, a := range attribute.FindAllStringSubmatch(attributes, -1) {
			switch a[1] {
			case "href":
				if !strings.HasPrefix(a[2], "https://etherscan.io/") {
					return "link " + m[0]
				}
			case "style":
				if !barStyle.MatchString(a[2]) {
					return "style " + m[0]
				}
			case "class", "rel", "lang", "charset", "content", "name", "http-equiv", "colspan", "scope", "data-n":
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
		for _, never := range []string{"<script", "javascript:alert(1)\"", "@import", "url(", "\x1b", "\u202e", "ZgotmplZ"} {
			if strings.Contains(got, never) {
				t.Errorf("%s: %q on the page", name, never)
			}
		}
		if !strings.Contains(got, `content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"`) {
			t.Errorf("%s: no content security policy", name)
		}
	}
}

func TestHTMLSections(t *testing.T) {
	f := func(r *explain.Result, want ...string) {
		t.Helper()
		got := page1(t, r)
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("no %q on the page", w)
			}
		}
	}
	f(swap(), ">Success<", "Swapped 1.5 ETH", "Risks", "What happened", `href="https://etherscan.io/tx/`+sampleHash, `style="width:100%"`, "4,512.33 USDC", "sequenceDiagram", "$0.00128", "Logs (4)", "Addresses (6)")
	f(failed(), ">Reverted<", "attempted swap", `class="frame failed" open`, "✗ reverted: Too little received", ">undone<")
	f(partial(), "Partial result</span>", "low confidence", "unclassified")
	f(deep(500), "depth 30", "500 of 12,345 frames kept")
	f(deep(5000), "3500 more frames are not shown; the first failures among them:", "out of gas")
}

func TestHTMLStaysBelowItsBound(t *testing.T) {
	r := deep(8000)
	long := strings.Repeat("漢", 5000)
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		n.FunctionName, n.ToLabel, n.Error, n.Status = long, long, long, explain.NodeFailed
		for range 18 {
			n.DecodedArgs = append(n.DecodedArgs, explain.Arg{Name: long, Type: long, Value: long})
		}
	}
	for i := range 3000 {
		r.Steps = append(r.Steps, long)
		r.Addresses = append(r.Addresses, explain.Address{Address: addr(i + 100), Label: fmt.Sprint(i, long)})
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
		r.PrettyTrace[1].DecodedArgs = []explain.Arg{{Name: s, Type: s, Value: []any{s, number}}}
		r.BalanceChanges[0].Tokens[0].TokenSymbol, r.BalanceChanges[0].Tokens[0].Balance = s, number
		if wrong := checkHTML(page1(t, r)); wrong != "" {
			t.Error(wrong)
		}
	})
}

// TestNothingKnown: what was not read is not said, least of all that it went well.
func TestNothingKnown(t *testing.T) {
	r := &explain.Result{TxHash: swap().TxHash, ChainName: "Ethereum", AnalysisModel: explain.ModelPartial, Confidence: explain.Low}
	for _, out := range []string{plain(t, r, TextOptions{}), page1(t, r)} {
		if low := strings.ToLower(out); !strings.Contains(low, "outcome unknown") || strings.Contains(low, ">success") || strings.Contains(out, "creates a contract") || strings.Contains(out, "0x0000000000") {
			t.Errorf("the report claims what nobody read:\n%s", out)
		}
	}
}
