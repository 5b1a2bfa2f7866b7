package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"txlens/engine/api"
)

// TextOptions say how Text writes.
type TextOptions struct {
	Color bool // ANSI colours, for a terminal
	Width int  // columns; 0 means 80, and it is kept between 60 and 140
}

// What a terminal shows of the long lists.
const (
	maxTreeLines     = 40
	maxTextTransfers = 20
	maxTextBalances  = 20
	maxLateFailures  = 5
)

var textBounds = bounds{
	steps:     40,
	balances:  maxTextBalances,
	tokens:    10,
	transfers: maxTextTransfers,
	labels:    0,
	notes:     12,
	nodes:     maxTreeLines,
	args:      0,
	text:      1200,
}

// text is one Text call.
type text struct {
	w     *bufio.Writer
	color bool
	width int
	page  *page
	r     *api.Result
}

// Text writes the Result for a terminal. Nothing of the Result reaches w but
// printable characters; the only control sequences are the colours.
func Text(w io.Writer, r *api.Result, o TextOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	t := &text{w: bufio.NewWriter(w), color: o.Color, width: min(max(o.Width, 60), 140), page: newPage(r, textBounds), r: r}
	t.verdict()
	t.findings()
	t.dealings()
	t.facts()
	t.list("Steps", t.page.Steps, t.page.MoreSteps, true)
	t.list("Risks", t.page.Risks, 0, false)
	t.balances()
	t.transfers()
	t.tree()
	t.legend()
	t.checked()
	t.known()
	if err := t.w.Flush(); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// The colours, by what they say.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (t *text) paint(code, s string) string {
	if !t.color || code == "" || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (t *text) line(parts ...string) {
	t.w.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	t.w.WriteByte('\n')
}

func (t *text) heading(s string) {
	t.w.WriteByte('\n')
	t.line(t.paint(bold, s))
}

// wrapped writes prose with a lead before its first line and blanks of the same
// width before the others.
func (t *text) wrapped(lead, s, code string) {
	blank := strings.Repeat(" ", columns(lead))
	for i, l := range wrap(s, t.width-columns(lead)) {
		if i > 0 {
			lead = blank
		}
		t.line(lead, t.paint(code, l))
	}
}

func (t *text) verdict() {
	p := t.page
	status, code := "OUTCOME UNKNOWN", yellow
	switch api.Status(p.Status) {
	case api.StatusSuccess:
		status, code = "SUCCESS", green
	case api.StatusReverted:
		status, code = "REVERTED", red
	}
	parts := []painted{{bold + ";" + code, status}}
	if p.Partial {
		parts = append(parts, painted{bold + ";" + yellow, "PARTIAL RESULT"})
	}
	parts = append(parts, painted{bold, p.Kind})
	if p.Protocol != "" {
		protocol := p.Protocol
		if p.Others != "" {
			protocol += " with " + p.Others
		}
		parts = append(parts, painted{"", protocol})
	}
	if p.Confidence != "" {
		parts = append(parts, painted{confidenceCode(p.Confidence), p.Confidence + " confidence"})
	}
	t.joined(parts)
	if p.Summary != "" {
		t.w.WriteByte('\n')
		t.wrapped("", p.Summary, "")
	}
	if untraced(t.r) {
		t.w.WriteByte('\n')
		t.wrapped("", withoutTrace, yellow)
	}
}

type painted struct{ code, s string }

// joined writes parts with dots between them, on as many lines as they need.
func (t *text) joined(parts []painted) {
	line, used := "", 0
	for _, p := range parts {
		p.s = fit(p.s, t.width)
		switch {
		case used == 0:
		case used+3+columns(p.s) <= t.width:
			line, used = line+" · ", used+3
		default:
			t.line(line)
			line, used = "", 0
		}
		line, used = line+t.paint(p.code, p.s), used+columns(p.s)
	}
	t.line(line)
}

func confidenceCode(c string) string {
	switch api.Confidence(c) {
	case api.High:
		return green
	case api.Medium:
		return yellow
	}
	return red
}

// nameWidth is the column of names in the two lists of facts.
const nameWidth = 11

func (t *text) fact(name, value string) {
	if value != "" {
		t.wrapped("  "+pad(name, nameWidth), value, "")
	}
}

func (t *text) facts() {
	p := t.page
	t.heading("Transaction")
	t.fact("Chain", join2(p.Chain, p.Block))
	t.fact("Hash", p.Hash)
	if p.Link != "" {
		// One unbroken line, so that a terminal makes a link of it.
		t.line("  ", pad("Explorer", nameWidth), t.paint(cyan, p.Link))
	}
	t.fact("Time", p.Time)
	if p.Read {
		t.fact("From", inFull(p.From))
		to := "nobody: it creates a contract"
		if p.To != nil {
			to = inFull(*p.To)
		}
		t.fact("To", to)
		t.fact("Value", p.Value)
	}
	for i, fee := range p.Fee {
		name := "Fee"
		if i > 0 {
			name, fee = "", "· "+fee
		}
		t.fact(name, fee)
	}
	t.fact("Gas used", p.Gas)
	t.fact("Sequence", p.PartOf)
	t.fact("Known as", p.Incident)
}

func join2(a, b string) string {
	if a != "" && b != "" {
		return a + ", " + b
	}
	return a + b
}

func inFull(p party) string { return strings.TrimRight(p.Address+"  "+p.Label, " ") }

func (t *text) list(title string, items []string, more int, numbered bool) {
	if len(items) == 0 {
		return
	}
	t.heading(title)
	for i, s := range items {
		lead, code := "  ! ", yellow
		if numbered {
			lead, code = fmt.Sprintf(" %2d. ", i+1), ""
		}
		t.wrapped(lead, s, code)
	}
	if more > 0 {
		t.line(t.paint(dim, "  … and "+api.Count(more, "more step")))
	}
}

func (t *text) known() {
	p := t.page
	t.heading("How this is known")
	for _, f := range p.Known {
		t.fact(f.Name, f.Value)
	}
	t.fact("Cost", spent(t.r.Costs))
	t.fact("Calls", called(t.r.ToolCalls))
	for i, note := range p.Notes {
		name := ""
		if i == 0 {
			name = "Notes"
		}
		t.wrapped("  "+pad(name, nameWidth)+"· ", note, "")
	}
}
