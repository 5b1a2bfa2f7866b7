package report

import (
	"fmt"
	"strings"

	"txlens/engine/api"
)

// What the drawn sequence holds at most. It is less than its Mermaid source has,
// since a page scrolls worse than a diagram program.
const (
	maxSeqArrows  = 40
	maxSeqParties = 10
)

// Sizes of the sequence diagram in pixels.
const (
	seqBoxW   = 148
	seqBoxH   = 44
	seqRow    = 34 // from arrow to arrow
	seqGap    = 12 // between boxes at least
	seqText   = 250
	seqMargin = 10
)

// seqLine is an arrow on its line of life.
type seqLine struct {
	arrow
	from, to int
	text     string
}

// sequence draws calls and moves in execution order; nil when there is nothing
// to draw.
func (n *names) sequence(r *api.Result) *drawing {
	all := fold(arrows(r))
	kept := choose(all, maxSeqArrows, maxSeqParties)
	if len(kept) == 0 {
		return nil
	}
	order, _ := participants(kept)
	index := map[api.Addr]int{}
	for i, a := range order {
		index[a] = i
	}
	lines := make([]seqLine, len(kept))
	for i, a := range kept {
		lines[i] = seqLine{a, index[a.from], index[a.to], clip(n.words(r, a), fontText, seqText)}
	}
	x, width := columnsOf(len(order), lines)
	d := &drawing{ID: "order", common: "call", Title: "Sequence of calls and moves", W: width}
	if rest := notDrawn(all, kept); rest != "" {
		d.Note = strings.ToUpper(rest[:1]) + rest[1:] + "."
	}
	top := seqMargin + seqBoxH + 10
	bottom := top + len(lines)*seqRow + 8
	d.H = bottom + seqMargin
	if len(lines) > 10 {
		d.H += seqBoxH
	}
	for i, a := range order {
		class, p := "party", n.party(a)
		if a == r.TxMeta.From {
			class = "party self"
		}
		d.Strokes = append(d.Strokes, stroke{"life", fmt.Sprintf("M%d %dV%d", x[i], seqMargin+seqBoxH, bottom)})
		d.Boxes = append(d.Boxes, mailbox(p, x[i]-seqBoxW/2, seqMargin, seqBoxW, seqBoxH, class))
		if len(lines) > 10 { // who reads the end no longer sees the top
			d.Boxes = append(d.Boxes, mailbox(p, x[i]-seqBoxW/2, bottom, seqBoxW, seqBoxH, class))
		}
	}
	var sentences []string
	for i, l := range lines {
		d.message(l, x, top+(i+1)*seqRow-8)
		sentences = append(sentences, fmt.Sprintf("%s to %s: %s", n.party(order[l.from]).Name(), n.party(order[l.to]).Name(), l.text))
	}
	d.Desc = describe(sentences)
	d.explained(key{"moves", "moves value"}, key{"", "call"}, key{"failed", "failed"}, key{"undone", "undone"})
	return d
}

// columnsOf sets the lines of life so far apart that each text fits between the
// two it connects; a text at itself stands to the right of its line.
func columnsOf(n int, lines []seqLine) (x []int, width int) {
	x = make([]int, n)
	x[0] = seqMargin + seqBoxW/2
	for i := 1; i < n; i++ {
		x[i] = x[i-1] + seqBoxW + seqGap
		for _, l := range lines {
			room := textWidth(l.text, fontText) + 20
			switch from, to := min(l.from, l.to), max(l.from, l.to); {
			case from == to && from == i-1:
				x[i] = max(x[i], x[from]+room+24)
			case from < to && to == i:
				x[i] = max(x[i], x[from]+room)
			}
		}
	}
	width = x[n-1] + seqBoxW/2 + seqMargin
	for _, l := range lines {
		if l.from == n-1 && l.to == n-1 {
			width = max(width, x[n-1]+textWidth(l.text, fontText)+36)
		}
	}
	return x, width
}

// message draws one arrow with its text.
func (d *drawing) message(l seqLine, x []int, y int) {
	class := "call"
	switch {
	case l.style == styleFailed:
		class = "call failed"
	case l.style == styleReverted:
		class = "call undone"
	case l.move != nil || l.node == nil || carries(l.node):
		class = "call moves"
	}
	from, to := x[l.from], x[l.to]
	if l.from == l.to {
		d.Strokes = append(
			d.Strokes,
			stroke{class, fmt.Sprintf("M%d %dh18v10h-18", from, y-6)},
			stroke{class + " tip", ending(l.style == styleFailed, from, y+4, true)},
		)
		d.Texts = append(d.Texts, caption{class + " words start", from + 26, y + 3, l.text})
		return
	}
	d.Strokes = append(
		d.Strokes,
		stroke{class, fmt.Sprintf("M%d %dH%d", from, y, to)},
		stroke{class + " tip", ending(l.style == styleFailed, to, y, to < from)},
	)
	d.Texts = append(d.Texts, caption{class + " words", (from + to) / 2, y - 6, l.text})
}

// ending is an arrow head, or the cross of a call that failed.
func ending(failed bool, x, y int, left bool) string {
	if !failed {
		return arrowHead(x, y, left)
	}
	if left {
		x += 6
	} else {
		x -= 6
	}
	return fmt.Sprintf("M%d %dl8 8m0 -8l-8 8", x-4, y-4)
}

// carries reports whether a frame brings coin.
func carries(node *api.Node) bool {
	v := integer(node.ValueWei)
	return v != nil && v.Sign() > 0
}
