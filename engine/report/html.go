package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math/big"
	"strings"

	"txlens/engine/explain"
)

// MaxHTML bounds the page in bytes; long lists are cut until it fits.
const MaxHTML = 2 << 20

// maxNesting bounds how deep elements nest: browsers flatten a document beyond
// some 500 levels, and a phone has no room to the right.
const maxNesting = 24

var htmlBounds = bounds{steps: 200, balances: 200, tokens: 40, transfers: 500, labels: 500, notes: 60, nodes: 1500, args: 16, text: 2000}

//go:embed page.tmpl
var pageSource string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"on": pair}).Parse(pageSource))

// seat is an address with the sheet that knows its links.
type seat struct {
	S *sheet
	P party
}

func pair(s *sheet, p party) seat { return seat{s, p} }

// sheet is what the template sees: the page and what only HTML shows.
type sheet struct {
	*page
	Title      string
	Tree       []*branch
	TreeTally  string
	MoreFrames int
	Late       []line // failed frames beyond the cut
	Logs       []line
	MoreLogs   int
	Contracts  []contract
	Diagram    string
}

type contract struct {
	party
	Description string
}

// branch is a line of the tree with what it called.
type branch struct {
	line
	Children []*branch
	Open     bool
	Flat     bool // deeper than elements nest: it says its depth instead
}

// HTML writes the Result as one self-contained page of at most 2 MiB: no script,
// nothing loaded from anywhere, light and dark, fit for a phone and for print.
func HTML(w io.Writer, r *explain.Result) error {
	var buf bytes.Buffer
	diagram := Mermaid(r)
	for b := htmlBounds; ; b = b.half() {
		buf.Reset()
		if err := pageTemplate.Execute(&buf, newSheet(r, diagram, b)); err != nil {
			return fmt.Errorf("render report: %w", err)
		}
		if buf.Len() <= MaxHTML || b.nodes == 1 {
			break
		}
	}
	if _, err := w.Write(buf.Bytes()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// half shows half as much of everything that can be long.
func (b bounds) half() bounds {
	for _, n := range []*int{&b.steps, &b.balances, &b.tokens, &b.transfers, &b.labels, &b.notes, &b.nodes, &b.args} {
		*n = max(*n/2, 1)
	}
	return b
}

func newSheet(r *explain.Result, diagram string, b bounds) *sheet {
	s := &sheet{page: newPage(r, b), TreeTally: tallyOf(r.PrettyTrace).String(), Diagram: diagram}
	s.Title = s.Kind
	if s.Chain != "" {
		s.Title += " on " + s.Chain
	}
	shown := head(r.PrettyTrace, b.nodes)
	s.Tree = s.names.grow(shown)
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		switch {
		case node.Type == "LOG" && len(s.Logs) < b.nodes/2:
			s.Logs = append(s.Logs, s.names.line(node, b.args))
		case node.Type == "LOG":
			s.MoreLogs++
		case i >= len(shown):
			s.MoreFrames++
			if node.Status == explain.NodeFailed && len(s.Late) < 20 {
				s.Late = append(s.Late, s.names.line(node, 0))
			}
		}
	}
	for _, c := range head(r.Contracts, b.labels) {
		if text := prose(c.Description, 300); text != "" {
			s.Contracts = append(s.Contracts, contract{s.names.party(c.Address), text})
		}
	}
	return s
}

// grow makes the tree from the depths of the lines. Frames on the way to a
// failure are open, and the two uppermost levels.
func (n *names) grow(nodes []explain.Node) []*branch {
	var roots []*branch
	var stack []*branch // the open chain, stack[i] at nesting i
	for i := range nodes {
		l := n.line(&nodes[i], htmlBounds.args)
		if l.Log {
			l.Args, l.MoreArgs = nil, 0 // the list of logs has them
		}
		at := min(l.Depth, len(stack), maxNesting)
		b := &branch{line: l, Open: at < 2, Flat: l.Depth > maxNesting}
		if at == 0 {
			roots = append(roots, b)
		} else {
			stack[at-1].Children = append(stack[at-1].Children, b)
		}
		stack = append(stack[:at], b)
		if l.Failed {
			for _, up := range stack {
				up.Open = true
			}
		}
	}
	return roots
}

// Bar is a bar of a balance: its length in percent of the longest one.
type Bar struct {
	Percent int
	Gain    bool
}

// Bars are the lengths for the tokens of all addresses, by address and token; a
// token without value has none.
func (s *sheet) Bars() [][]*Bar {
	longest := new(big.Rat)
	values := make([][]*big.Rat, len(s.Balances))
	for i, b := range s.Balances {
		values[i] = make([]*big.Rat, len(b.Tokens))
		for j, row := range b.Tokens {
			values[i][j] = rational(row.value)
			if v := values[i][j]; v != nil && new(big.Rat).Abs(v).Cmp(longest) > 0 {
				longest.Abs(v)
			}
		}
	}
	out := make([][]*Bar, len(values))
	for i := range values {
		out[i] = make([]*Bar, len(values[i]))
		for j, v := range values[i] {
			if v == nil || longest.Sign() == 0 {
				continue
			}
			share := new(big.Rat).Quo(new(big.Rat).Abs(v), longest)
			share.Mul(share, big.NewRat(100, 1))
			percent := int(new(big.Int).Quo(share.Num(), share.Denom()).Int64())
			out[i][j] = &Bar{Percent: max(percent, min(v.Sign()*v.Sign(), 1)), Gain: v.Sign() > 0}
		}
	}
	return out
}

// Priced reports whether any balance has a value; without one the columns of
// dollars and bars would stand empty.
func (s *sheet) Priced() bool {
	for _, b := range s.Balances {
		for _, row := range b.Tokens {
			if row.value != nil {
				return true
			}
		}
	}
	return false
}

func rational(d *explain.Decimal) *big.Rat {
	if d == nil || d.Unscaled == nil || d.Scale < 0 || d.Scale > 2*maxDigits {
		return nil
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)
	return new(big.Rat).SetFrac(d.Unscaled, ten)
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

// Role is the role of a balance in words, the sender marked as such.
func (s *sheet) Role(b balance) string { return roleOf(b) }

// FeeTotal and FeeParts split the fee for the list of facts.
func (s *sheet) FeeTotal() string { return strings.Join(head(s.Fee, 1), "") }

// FeeParts are the lines after the total.
func (s *sheet) FeeParts() []string { return s.Fee[min(1, len(s.Fee)):] }
