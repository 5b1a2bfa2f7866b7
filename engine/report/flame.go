package report

import (
	"fmt"
	"math/bits"
	"slices"

	"txlens/engine/api"
)

// Bounds and sizes of the flame graph of gas, in pixels.
const (
	flameW        = 1040
	flameRow      = 24
	flameThin     = 3 // frames of less width are not drawn
	maxFlameDepth = 32
	maxFlameBoxes = 500
)

// maxSpenders bounds the table of the frames that used most gas themselves.
const maxSpenders = 25

// gasRow is a frame in that table.
type gasRow struct {
	Path, Call, Gas, Own, Share string
	To                          party
}

// pixels is gas as a part of the whole, in pixels of the graph's width.
func pixels(gas, whole uint64) int {
	hi, lo := bits.Mul64(min(gas, whole), flameW)
	q, _ := bits.Div64(hi, lo, whole) // whole is not below gas, so hi is below whole
	return int(q)
}

// span is where the next frame within an open one is drawn.
type span struct{ next, end uint64 }

// flame draws each frame as wide as the gas that it used, below the frame that called it. It
// returns nil where no gas is known.
func (n *names) flame(r *api.Result) *drawing {
	nodes := r.PrettyTrace
	if len(nodes) == 0 || nodes[0].Type == "LOG" || nodes[0].GasUsed == 0 {
		return nil
	}
	d := &drawing{ID: "flame", Title: "Gas by frame", W: flameW}
	whole, deepest, left := nodes[0].GasUsed, 0, 0
	open := []span{{0, whole}}
	var sentences []string
	for i := range nodes {
		node := &nodes[i]
		if node.Type == "LOG" {
			continue
		}
		at := min(max(node.Depth, 0), len(open)-1)
		up := &open[at]
		from := up.next
		up.next = from + min(node.GasUsed, up.end-from)
		open = append(open[:at+1], span{from, open[at].next})
		x, end := pixels(from, whole), pixels(open[at+1].end, whole)
		if end-x < flameThin || at >= maxFlameDepth || len(d.Boxes) == maxFlameBoxes {
			left++
			continue
		}
		deepest = max(deepest, at)
		d.Boxes = append(d.Boxes, n.flameBox(node, whole, x, at*flameRow, end-x))
		sentences = append(sentences, d.Boxes[len(d.Boxes)-1].Title)
	}
	d.H, d.Desc = (deepest+1)*flameRow, describe(sentences)
	if left > 0 {
		d.Note = "Not drawn: " + api.Count(left, "frame") + " too narrow or too deep."
	}
	return d
}

func (n *names) flameBox(node *api.Node, whole uint64, x, y, w int) box {
	l := n.line(node, 0)
	class := "party"
	if l.Failed {
		class = "party bad"
	}
	title := l.To.Name() + " › " + l.Call + ": " + l.Gas + " gas" + shareText(node.GasUsed, whole)
	b := box{Class: class, X: x, Y: y, W: w - 1, H: flameRow - 2, Title: title}
	if w >= 40 {
		b.Texts = []caption{{"sub", x + w/2, y + 15, clip(l.Call+" · "+l.To.Name(), fontSmall, w-10)}}
	}
	return b
}

func shareText(gas, whole uint64) string {
	if s := shareOf(gas, whole); s != nil {
		return ", " + s.Text
	}
	return ""
}

// spenders are the frames that used most gas themselves, most first.
func (n *names) spenders(r *api.Result) []gasRow {
	own := ownGas(r)
	var order []int
	for i := range own {
		if own[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(own[b]) - int(own[a]) })
	var rows []gasRow
	for _, i := range head(order, maxSpenders) {
		l := n.line(&r.PrettyTrace[i], 0)
		row := gasRow{Path: l.Path, Call: l.Call, To: l.To, Gas: l.Gas, Own: api.Thousands(fmt.Sprint(own[i]))}
		if s := shareOf(uint64(own[i]), r.PrettyTrace[0].GasUsed); s != nil {
			row.Share = s.Text
		}
		rows = append(rows, row)
	}
	return rows
}
