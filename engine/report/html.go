package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"txlens/engine/api"
	"txlens/engine/narrate"
)

// MaxHTML bounds the page in bytes; long lists are cut until it fits.
const MaxHTML = 2 << 20

var htmlBounds = bounds{
	steps:     200,
	balances:  60,
	tokens:    12,
	transfers: 400,
	labels:    400,
	notes:     60,
	nodes:     1500,
	logs:      600,
	args:      16,
	state:     400,
	rows:      12_000,
	detail:    maxFrameDetail,
	text:      2000,
}

//go:embed page.tmpl parts.tmpl style.tmpl
var pageSource embed.FS

// pageTemplate is parsed when the first page is made.
var pageTemplate = sync.OnceValue(func() *template.Template {
	funcs := template.FuncMap{"on": pair, "value": valueCell, "n": thousands}
	return template.Must(template.New("page.tmpl").Funcs(funcs).ParseFS(pageSource, "*.tmpl"))
})

// addressCell is an address with the sheet that knows its links.
type addressCell struct {
	S *sheet
	P party
}

// stateCell is a value of the state with the sheet that knows its links.
type stateCell struct {
	S *sheet
	V stateValue
}

func valueCell(s *sheet, v stateValue) stateCell { return stateCell{s, v} }

func thousands(n int) string { return api.Thousands(fmt.Sprint(n)) }

func pair(s *sheet, p party) addressCell { return addressCell{s, p} }

// sheet is what the template sees: the page and what only HTML shows.
type sheet struct {
	*page
	Title     string
	Notice    string // the failure of a partial result, or the limits of a result without a call trace
	Headline  string
	Tiles     []tile
	Flags     []riskRow
	Findings  []finding
	Dealings  *dealings
	RuledOut  []string
	MoreRuled int
	Created   *party
	Funds     *drawing
	Sequence  *drawing
	Diagram   string // Mermaid source of the sequence
	callTree
	Logs          []line
	MoreLogs      int
	Contracts     []contract
	Spent         spending
	Scripted      bool
	Frames        *frameList // that the script shows
	Flame         *drawing
	Spenders      []gasRow
	Approvals     []approvalRow
	MoreApprovals int
	Sandwich      *sandwich
	Places        []placeRow
	Native        []nativeRow
	State         []stateGroup
	MoreState     int
	StateRead     bool // a state diff says what changed
}

// tile is a figure of the head of the page.
type tile struct{ Name, Value, Below string }

// riskRow is a risk: its name, when it has one, and what it says.
type riskRow struct{ Name, Text string }

type contract struct {
	party
	Description string
}

// HTMLOptions say how the page is written.
type HTMLOptions struct {
	// NoScript leaves out the script. The page says the same without it, but cannot be
	// searched, and shows fewer frames.
	NoScript bool
}

// HTML writes the Result as one self-contained page of at most 2 MiB: nothing is loaded from
// anywhere, light and dark, fit for a phone and for print. One inline script, which the page's
// policy allows by its hash, searches and filters.
func HTML(w io.Writer, r *api.Result) error { return HTMLWith(w, r, HTMLOptions{}) }

// HTMLWith is HTML with options.
func HTMLWith(w io.Writer, r *api.Result, o HTMLOptions) error {
	var buf bytes.Buffer
	d := drawn(r)
	for b := htmlBounds; ; {
		buf.Reset()
		if err := pageTemplate().Execute(&buf, newSheet(r, d, b, o)); err != nil {
			return fmt.Errorf("render report: %w", err)
		}
		if buf.Len() <= MaxHTML || b.nodes == 1 {
			break
		}
		for over := buf.Len() / MaxHTML; over > 0; over /= 2 {
			b = b.half()
		}
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// half shows half as much of everything that can be long. The rows of the call list are short,
// and the last to go.
func (b bounds) half() bounds {
	for _, n := range []*int{
		&b.steps, &b.balances, &b.tokens, &b.transfers, &b.labels, &b.notes, &b.nodes, &b.logs, &b.args, &b.state, &b.detail,
	} {
		*n = max(*n/2, 1)
	}
	if b.nodes < 200 {
		b.rows = max(b.rows/2, 1)
	}
	return b
}

// diagramSet are made once, however often the page is cut: they have bounds of
// their own.
type diagramSet struct {
	funds, sequence, flame *drawing
	source                 string
}

func drawn(r *api.Result) diagramSet {
	n := newNames(r)
	d := diagramSet{funds: n.fundsGraph(r), flame: n.flame(r), source: Mermaid(r)}
	if mostlyNamed(r) {
		d.sequence = n.sequence(r)
	}
	return d
}

// mostlyNamed reports whether at least half of the frames have a name: a sequence of calls
// without names says nothing.
func mostlyNamed(r *api.Result) bool {
	frames, named := 0, 0
	for i := range r.PrettyTrace {
		switch node := &r.PrettyTrace[i]; {
		case node.Type == "LOG":
		case node.FunctionName != "" || node.Selector == "" || strings.HasPrefix(node.Type, "CREATE"):
			named++
			frames++
		default:
			frames++
		}
	}
	return 2*named >= frames
}

func newSheet(r *api.Result, d diagramSet, b bounds, o HTMLOptions) *sheet {
	s := &sheet{
		page: newPage(r, b), Funds: d.funds, Sequence: d.sequence, Flame: d.flame, Diagram: d.source,
		Spent: spendingOf(r), Scripted: !o.NoScript,
	}
	if s.Scripted {
		s.Frames = s.names.frames(r, b)
	}
	s.Sandwich = s.names.sandwich(r)
	s.Approvals, s.MoreApprovals = s.names.approvals(r)
	s.Spenders = s.names.spenders(r)
	s.Places, s.StateRead = s.names.places(r), r.StateChanges != nil
	if s.State, s.MoreState = s.names.state(r, b.state); !s.StateRead {
		s.Native = s.names.nativeChanges(r, b.balances)
	}
	s.Kind, s.Protocol, s.Others = spaced(s.Kind), spaced(s.Protocol), spaced(s.Others)
	s.Title = s.Kind
	if s.Chain != "" {
		s.Title += " on " + s.Chain
	}
	s.headline(r, b)
	s.tiles(r)
	for _, risk := range s.Risks {
		s.Flags = append(s.Flags, flagOf(risk))
	}
	s.Findings, s.Dealings = s.names.findings(r, b), s.names.dealings(r)
	s.RuledOut, s.MoreRuled = proses(r.NonFindings, b.notes, 400)
	if len(r.PrettyTrace) > 0 && r.TxMeta.To == nil && r.PrettyTrace[0].To != nil && r.PrettyTrace[0].Status == api.NodeOK {
		created := s.names.party(*r.PrettyTrace[0].To)
		s.Created = &created
	}
	s.callTree = s.names.tree(r, b)
	s.logs(r, b)
	for _, c := range head(r.Contracts, b.labels) {
		if text := prose(c.Description, 300); text != "" && c.LookedUp() {
			s.Contracts = append(s.Contracts, contract{s.names.party(c.Address), text})
		}
	}
	return s
}

// spaced writes the words of a slug apart.
func spaced(slug string) string { return strings.ReplaceAll(slug, "_", " ") }

// headline parts the summary of a partial result in what failed and what is
// known all the same.
func (s *sheet) headline(r *api.Result, b bounds) {
	s.Headline = s.Summary
	rest, marked := strings.CutPrefix(r.Summary, "**")
	if notice, known, ok := strings.Cut(rest, "**"); r.Partial() && marked && ok {
		s.Notice, s.Headline = prose(notice, b.text), prose(known, b.text)
	} else if untraced(r) {
		s.Notice = withoutTrace
	}
	if s.Headline == "" && s.Title != "" {
		s.Headline = strings.ToUpper(s.Title[:1]) + s.Title[1:]
	}
}

func (s *sheet) tiles(r *api.Result) {
	add := func(name, value, below string) {
		if value != "" {
			s.Tiles = append(s.Tiles, tile{name, value, below})
		}
	}
	add("Value", usd(r.USDValue), "at the time of the block")
	if r.Fee != nil {
		fee := ether(r.Fee.TotalWei, s.names.native)
		if fee == "" {
			fee = "0 " + s.names.native
		}
		add("Fee", fee, usd(r.Fee.TotalUSD))
	}
	gas, price, _ := strings.Cut(s.Gas, " at ")
	add("Gas used", gas, price)
	if t := tallyOf(r.PrettyTrace); t.frames > 0 && !untraced(r) {
		below := api.Count(t.logs, "event")
		if t.failed > 0 {
			below = api.Count(t.failed, "failed call") + ", " + below
		}
		add("Calls", thousands(t.frames), below)
	}
}

// flagOf finds the name that opens a risk: "unlimited_approval: ...".
func flagOf(risk string) riskRow {
	flag, text := narrate.ReadRisk(risk)
	return riskRow{spaced(flag.String()), text}
}

func (s *sheet) logs(r *api.Result, b bounds) {
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		switch {
		case node.Type != "LOG":
		case len(s.Logs) < b.logs:
			l := s.names.line(node, b.args)
			if len(l.Args) == 0 && len(node.Input) > 0 {
				l.Args = []arg{{"data", api.Count(len(node.Input), "byte"), api.OneLine(api.Hex(head(node.Input, 64)).String(), 130), ""}}
			}
			s.Logs = append(s.Logs, l)
		default:
			s.MoreLogs++
		}
	}
}

// AtTx is the explorer's page of a transaction, empty without an explorer.
func (s *sheet) AtTx(hash string) string {
	if s.Explorer == "" || len(hash) != 66 || integer(hash) == nil {
		return ""
	}
	return s.Explorer + "/tx/" + hash
}

// At is the explorer's page of an address, empty without an explorer.
func (s *sheet) At(p party) string {
	if s.Explorer == "" || p.Address == "" {
		return ""
	}
	return s.Explorer + "/address/" + p.Address
}

// AllLogs is how many logs there are, shown or not.
func (s *sheet) AllLogs() int { return len(s.Logs) + s.MoreLogs }

// BlockPlace is the block for a list where its name stands before it.
func (s *sheet) BlockPlace() string { return strings.TrimPrefix(s.Block, "block ") }

// AllTransfers is how many transfers there are, shown or not.
func (s *sheet) AllTransfers() int { return len(s.Transfers) + s.MoreTr }

// Role is the role of a balance in words, the sender marked as such.
func (s *sheet) Role(b balance) string { return roleOf(b) }

// FeeTotal and FeeParts split the fee for the list of facts.
func (s *sheet) FeeTotal() string { return strings.Join(head(s.Fee, 1), "") }

// FeeParts are the lines after the total.
func (s *sheet) FeeParts() []string { return s.Fee[min(1, len(s.Fee)):] }
