package report

import (
	"fmt"
	"strings"

	"txlens/engine/api"
)

// balances writes one block per address: who, then one line per token.
func (t *text) balances() {
	p := t.page
	if len(p.Balances) == 0 {
		return
	}
	t.heading("Balance changes")
	amountWidth, symbolWidth, usdWidth := 0, 0, len("total")
	for _, b := range p.Balances {
		usdWidth = max(usdWidth, columns(b.Total))
		for _, row := range b.Tokens {
			amountWidth, symbolWidth, usdWidth = max(
				amountWidth,
				columns(row.Amount),
			), max(
				symbolWidth,
				columns(row.Symbol),
			), max(
				usdWidth,
				columns(row.USD),
			)
		}
	}
	symbolWidth = min(symbolWidth, 16)
	whoWidth := t.width - amountWidth - symbolWidth - usdWidth - 8
	stacked := whoWidth < 24
	for _, b := range p.Balances {
		t.balance(b, whoWidth, amountWidth, symbolWidth, usdWidth, stacked)
	}
	if p.MoreBal > 0 {
		t.line(t.paint(dim, "  … and "+api.Count(p.MoreBal, "more address")))
	}
}

func (t *text) balance(b balance, who, amount, symbol, usd int, stacked bool) {
	role := brackets(roleOf(b))
	names := []string{b.Party.Known() + role}
	switch {
	case stacked:
		t.line("  ", fit(names[0], t.width-2))
		who, names = 2, nil
	case columns(names[0]) > who:
		names = []string{fit(b.Party.Known(), who), fit(" "+role, who)}
	}
	next := func() string { // the next line of the name, beside a line of numbers
		if len(names) == 0 {
			return pad("", who+4)
		}
		s := names[0]
		names = names[1:]
		return "  " + pad(s, who) + "  "
	}
	for _, row := range b.Tokens {
		t.line(next(), t.paint(gain(row.Gain), pad(row.Amount, -amount)), " ", pad(fit(row.Symbol, symbol), symbol), "  ", pad(row.USD, -usd))
	}
	if b.More > 0 {
		t.line(next(), t.paint(dim, "… and "+api.Count(b.More, "more token")))
	}
	if b.Total != "" && len(b.Tokens)+b.More > 1 {
		t.line(next(), pad("total", -(amount+1+symbol)), "  ", t.paint(gain(b.Gain), pad(b.Total, -usd)))
	}
	for len(names) > 0 {
		t.line(next())
	}
}

func roleOf(b balance) string {
	if b.Sender && b.Party.Role != "sender" && b.Party.Role != "" {
		return "sender, " + b.Party.Role
	}
	if b.Sender {
		return "sender"
	}
	return b.Party.Role
}

func gain(sign int) string {
	switch sign {
	case 1:
		return green
	case -1:
		return red
	}
	return dim
}

func (t *text) transfers() {
	p := t.page
	if len(p.Transfers) == 0 {
		return
	}
	t.heading(fmt.Sprintf("Token transfers (%d)", len(p.Transfers)+p.MoreTr))
	what := 0
	for _, tr := range p.Transfers {
		what = max(what, columns(tr.What))
	}
	what = min(what, t.width/2-4)
	side := (t.width - what - 5 - 2 - 3) / 2
	for i, tr := range p.Transfers {
		t.line(
			fmt.Sprintf(" %2d. ", i+1),
			pad(fit(tr.What, what), -what),
			"  ",
			pad(fit(tr.From.Both(), side), side),
			" → ",
			fit(tr.To.Both(), side),
		)
	}
	if p.MoreTr > 0 {
		t.line(t.paint(dim, "  … and "+api.Count(p.MoreTr, "more transfer")))
	}
}

// tree writes the first calls, then the failed ones that lie beyond the cut:
// they are what a reader of a failed transaction came for.
func (t *text) tree() {
	nodes := t.r.PrettyTrace
	if len(nodes) == 0 {
		return
	}
	if untraced(t.r) {
		t.heading("Outermost call (" + api.Count(tallyOf(nodes).logs, "log") + ")")
	} else {
		t.heading("Call tree (" + tallyOf(nodes).String() + ")")
	}
	shown, late, rest := 0, 0, 0
	for i := range nodes {
		if nodes[i].Type == "LOG" {
			continue
		}
		if shown < maxTreeLines {
			t.frame(t.annotated(i), false)
			shown++
			continue
		}
		rest++
	}
	if rest == 0 {
		return
	}
	t.line(t.paint(dim, "  … and "+api.Count(rest, "more frame")))
	shown = 0
	for i := range nodes {
		if nodes[i].Type == "LOG" {
			continue
		}
		if shown++; shown > maxTreeLines && nodes[i].Status == "failed" {
			if late++; late > maxLateFailures {
				continue
			}
			t.frame(t.annotated(i), true)
		}
	}
	if late > maxLateFailures {
		t.line(t.paint(dim, "  … and "+api.Count(late-maxLateFailures, "more failed frame")))
	}
}

// annotated is the line of a node with the remark on it.
func (t *text) annotated(i int) line {
	l := t.page.names.line(&t.r.PrettyTrace[i], 0)
	l.Remark = prose(t.r.TraceAnnotations[i], maxRemark)
	return l
}

// frame writes one line of the tree. Deep frames stop moving right and say
// their depth; a frame out of its place says its path.
func (t *text) frame(l line, alone bool) {
	mark, code := "  ", ""
	switch {
	case l.Failed:
		mark, code = "✗ ", red
	case l.Reverted:
		mark, code = "↩ ", dim
	}
	lead := strings.Repeat("  ", min(l.Depth, 12))
	switch {
	case alone:
		lead = fit(l.Path, 20) + " "
	case l.Depth > 12:
		lead += fmt.Sprintf("[%d] ", l.Depth)
	}
	s := l.Op + " " + l.To.Both() + " › " + l.Call
	if l.Value != "" {
		s += "  " + l.Value
	}
	room := t.width - columns(mark) - columns(lead) - 2
	var reason []string
	if l.Reason != "" && columns(s)+2+columns(l.Reason) <= room {
		s += ": " + l.Reason
	} else if l.Reason != "" {
		reason = wrap(l.Reason, room-2)
	}
	t.line("  ", t.paint(code, mark), lead, t.paint(code, fit(s, room)))
	for _, part := range reason {
		t.line("  ", pad("", columns(mark)+columns(lead)+2), t.paint(code, part))
	}
	if l.Remark != "" {
		for _, part := range wrap(l.Remark, room-4) {
			t.line("  ", pad("", columns(mark)+columns(lead)+2), t.paint(dim, "# "+part))
		}
	}
}
