package claim

import (
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/classify"
)

// The steps of a result are those of the model that stand, and between them each step
// of the rules that no step of the model covers. A step of the model covers one of the
// rules when it repeats its text, or when it
//
//   - points to each place that the other tells of: log:61, or the frame that emitted
//     the log; frame:0.2, or tx for the first one; and
//   - gives each number, address and name that stands in the other. A number may be
//     rounded, an address be short or in full. What has none of these is not covered.
//
// Both lists keep their order. A step of the rules goes before the first step of the
// model that tells of a later place of the transaction.

// toldStep is a step of the model that stands.
type toldStep struct {
	text   string
	marks  []mark
	logs   map[int]bool // receipt positions
	frames map[int]bool // indices
	at     int          // in the order of the nodes, see position
}

// mergedSteps are the steps of a result.
func (ix *Index) mergedSteps(rules []string, own []Said) (out []string) {
	told := make([]toldStep, len(own))
	last := 0 // the call of the transaction
	for i, s := range own {
		told[i] = ix.toldStep(s, last)
		last = told[i].at
	}
	next := 0
	for i, text := range rules {
		p := ix.placeOf(i)
		if slices.ContainsFunc(told, func(t toldStep) bool { return ix.covers(&t, text, p) }) {
			continue
		}
		for at := ix.position(p); next < len(told) && told[next].at < at; next++ {
			out = append(out, told[next].text)
		}
		out = append(out, text)
	}
	for ; next < len(told); next++ {
		out = append(out, told[next].text)
	}
	return out
}

// placeOf is the place of a step of the rules. What the assembly adds tells of the
// whole transaction.
func (ix *Index) placeOf(step int) classify.Place {
	if v := ix.c.Verdict; v != nil && step < len(v.Places) {
		return v.Places[step]
	}
	return classify.Place{At: classify.AtEnd}
}

// position orders places by the nodes of the trace: twice the index of the first node
// that a place names, or one more than that of the log that it follows.
func (ix *Index) position(p classify.Place) int {
	at := classify.AtEnd
	for _, l := range p.Logs {
		at = min(at, ix.logAt(l))
	}
	for _, f := range p.Frames {
		at = min(at, ix.frameAt(f))
	}
	switch {
	case len(p.Logs)+len(p.Frames) > 0 || p.At == classify.AtEnd:
		return at
	case p.At < 2:
		return p.At
	}
	return min(ix.logAt(p.At/2-1)+1, classify.AtEnd)
}

func (ix *Index) logAt(position int) int {
	if rc := ix.c.Receipt; rc != nil && position >= 0 && position < len(rc.Logs) {
		if n := ix.logNode[rc.Logs[position].Index]; n != nil {
			return 2 * n.Index
		}
	}
	return classify.AtEnd
}

func (ix *Index) frameAt(index int) int {
	if t := ix.c.Tree; t != nil && index >= 0 && index < len(t.Frames) {
		if n := ix.nodeAt[t.Frames[index].Path()]; n != nil {
			return 2 * n.Index
		}
	}
	return classify.AtEnd
}

// toldStep reads the places that a step of the model points to. One without any stands
// where the step before it does.
func (ix *Index) toldStep(s Said, before int) toldStep {
	t := toldStep{text: s.Text, marks: ix.marks(s.Text), logs: map[int]bool{}, frames: map[int]bool{}, at: classify.AtEnd}
	for _, ref := range s.Refs {
		ref = strings.TrimSpace(ref)
		if ref == "tx" {
			t.frames[0] = true
			continue
		}
		if !ix.exists(ref) {
			continue
		}
		if n, ok := logOf(ref); ok {
			t.logs[ix.logs[n]] = true
			t.at = min(t.at, ix.logAt(ix.logs[n]))
		}
		if f := ix.frames[strings.TrimPrefix(ref, "frame:")]; f != nil {
			t.frames[f.Index] = true
			t.at = min(t.at, ix.frameAt(f.Index))
			for i := range f.Logs {
				if r := f.Logs[i].Receipt; r >= 0 {
					t.logs[r] = true
				}
			}
		}
	}
	if t.at == classify.AtEnd {
		t.at = before
	}
	return t
}

// covers reports whether a step of the model tells all that one of the rules does.
func (ix *Index) covers(t *toldStep, rule string, p classify.Place) bool {
	if t.text == rule {
		return true
	}
	for _, l := range p.Logs {
		if !t.logs[l] {
			return false
		}
	}
	for _, f := range p.Frames {
		if !t.frames[f] {
			return false
		}
	}
	marks := ix.marks(rule)
	for _, m := range marks {
		if !slices.ContainsFunc(t.marks, m.like) {
			return false
		}
	}
	return len(marks) > 0
}

// mark is a number, an address or a name of a sentence.
type mark struct {
	text   string   // in lower case; empty for a number
	number *reading // nil: none
}

// marks lists those of a sentence.
func (ix *Index) marks(s string) (out []mark) {
	list := lex(s)
	for i := range list {
		l := &list[i]
		switch {
		case l.kind == isNumber && l.number.Unscaled != nil:
			r, _ := ix.read(list, i)
			out = append(out, mark{number: &r})
		case l.kind == isWord && nameLike(list, i), l.kind == isHex, l.kind == isPath, l.kind == isGap, l.kind == isDate, l.kind == isTime, l.kind == isBad:
			out = append(out, mark{text: strings.ToLower(l.text)})
		}
	}
	return out
}

// like reports whether two marks say the same.
func (m mark) like(o mark) bool {
	switch {
	case m.number == nil || o.number == nil:
		return m.number == o.number && sameText(m.text, o.text)
	case m.number.value.Unscaled.Sign() == 0 || o.number.value.Unscaled.Sign() == 0:
		return m.number.value.Unscaled.Sign() == o.number.value.Unscaled.Sign()
	}
	return m.number.holds(o.number.value) || o.number.holds(m.number.value)
}

// holds reports whether the number as it was written may stand for a value.
func (r *reading) holds(v api.Decimal) bool {
	lo, hi := r.span()
	return compare(v, lo) >= 0 && compare(v, hi) <= 0
}

// sameText compares names and hex, which may be written short.
func sameText(a, b string) bool {
	headA, tailA, gapA := cutGap(a)
	headB, tailB, gapB := cutGap(b)
	switch {
	case !gapA && !gapB:
		return a == b
	case !gapA:
		tailA = a
	case !gapB:
		tailB = b
	}
	n, k := min(len(headA), len(headB)), min(len(tailA), len(tailB))
	return n >= headKey && k > tailKey && headA[:n] == headB[:n] && tailA[len(tailA)-k:] == tailB[len(tailB)-k:]
}
