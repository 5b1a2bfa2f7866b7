package claim

import (
	"slices"
	"strings"
	"unicode"

	"txlens/engine/narrate"
	"txlens/engine/trace"
)

// The steps of a result are those of the model that stand, and between them each step
// of the rules that no step of the model covers. A step of the model covers one of the
// rules when it repeats its text, or when it
//
//   - points to each place that the other tells of: log:61, or the frame that emitted
//     the log; frame:0.2, or tx for the first one; and
//   - renders each number, address and name that stands in the other. What has less
//     than two of these is not covered.
//
// Both lists keep their order. A step of the rules goes before the first step of the
// model that tells of a later place of the transaction.

// acceptedStep is an accepted step of the model, with its further references.
type acceptedStep struct {
	renderedText
	refs []string
}

// placedStep is an accepted step with its position in the transaction.
type placedStep struct {
	text   string
	marks  map[string]bool
	logs   map[int]bool // receipt positions
	frames map[int]bool // indices
	at     int          // order of the first place, see position
}

// mergedSteps returns the steps of a result, merged from the rules and the model.
func (ix *Index) mergedSteps(rules []string, own []acceptedStep) (out []string) {
	list := make([]placedStep, len(own))
	last := 0 // the call of the transaction
	for i, s := range own {
		list[i] = ix.toldStep(s, last)
		last = list[i].at
	}
	next := 0
	for i, text := range rules {
		p := ix.placeOf(i)
		if slices.ContainsFunc(list, func(t placedStep) bool { return ix.covers(&t, text, p) }) {
			continue
		}
		for at := ix.position(p); next < len(list) && list[next].at < at; next++ {
			out = append(out, list[next].text)
		}
		out = append(out, text)
	}
	for ; next < len(list); next++ {
		out = append(out, list[next].text)
	}
	return out
}

// placeOf returns the place of a step of the rules. Steps that package assemble adds are
// about the whole transaction.
func (ix *Index) placeOf(step int) narrate.Place {
	if v := &ix.c.RuleSentences; step < len(v.Places) {
		return v.Places[step]
	}
	return narrate.Place{At: narrate.AtEnd}
}

// position orders places by the nodes of the trace: twice the index of the first node that
// a place names, plus one for the position after a log.
func (ix *Index) position(p narrate.Place) int {
	at := narrate.AtEnd
	for _, l := range p.Logs {
		at = min(at, ix.logAt(l))
	}
	for _, f := range p.Frames {
		at = min(at, ix.frameAt(f))
	}
	switch {
	case len(p.Logs)+len(p.Frames) > 0 || p.At == narrate.AtEnd:
		return at
	case p.At < 2:
		return p.At
	}
	return min(ix.logAt(p.At/2-1)+1, narrate.AtEnd)
}

func (ix *Index) logAt(position int) int {
	if rc := ix.c.Receipt; rc != nil && position >= 0 && position < len(rc.Logs) {
		if n := ix.logNode[rc.Logs[position].Index]; n != nil {
			return 2 * n.Index
		}
	}
	return narrate.AtEnd
}

func (ix *Index) frameAt(index int) int {
	if t := ix.c.Tree; t != nil && index >= 0 && index < len(t.Frames) {
		if n := ix.nodeAt[t.Frames[index].Path()]; n != nil {
			return 2 * n.Index
		}
	}
	return narrate.AtEnd
}

// placedStep reads the places that a step of the model points to. One without any stands
// where the step before it does.
func (ix *Index) toldStep(s acceptedStep, before int) placedStep {
	t := placedStep{text: s.text, marks: map[string]bool{}, logs: map[int]bool{}, frames: map[int]bool{}, at: narrate.AtEnd}
	for _, m := range marks(s.text) {
		t.marks[m] = true
	}
	for _, l := range s.logs {
		t.log(ix, l)
	}
	for _, f := range s.frames {
		t.frame(ix, ix.c.Tree.Frames[f])
	}
	for _, ref := range s.refs {
		ref = strings.Trim(ref, "{} ")
		if ref == "tx" {
			t.frames[0] = true
			continue
		}
		if !ix.exists(ref) {
			continue
		}
		if n, ok := logOf(ref); ok {
			t.log(ix, ix.logs[n])
		}
		if f := ix.frames[strings.TrimPrefix(ref, "frame:")]; f != nil {
			t.frame(ix, f)
		}
	}
	if t.at == narrate.AtEnd {
		t.at = before
	}
	return t
}

func (t *placedStep) log(ix *Index, position int) {
	t.logs[position] = true
	t.at = min(t.at, ix.logAt(position))
}

// frame adds a frame and the logs that it emitted.
func (t *placedStep) frame(ix *Index, f *trace.Frame) {
	t.frames[f.Index] = true
	t.at = min(t.at, ix.frameAt(f.Index))
	for i := range f.Logs {
		if r := f.Logs[i].Receipt; r >= 0 {
			t.logs[r] = true
		}
	}
}

// covers reports whether a step of the model contains all facts of a step of the rules.
func (ix *Index) covers(t *placedStep, rule string, p narrate.Place) bool {
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
	list := marks(rule)
	for _, m := range list {
		if !t.marks[m] {
			return false
		}
	}
	return len(list) >= minMarks
}

// minMarks is how many numbers, addresses and names a step of the rules must have before a
// step of the model can replace it: with fewer, most of it is in words.
const minMarks = 2

// marks returns the words of a rendered sentence that are numbers, addresses or names: they
// have a digit, or a capital letter that does not begin the sentence. Code renders them
// identically in the steps of the rules and of the model.
func marks(s string) (out []string) {
	for i, w := range strings.Fields(s) {
		w = strings.Trim(w, ".,;:!?()\"'")
		from := 0
		if i == 0 && w != "" {
			from = 1
		}
		if strings.ContainsFunc(w, unicode.IsNumber) || strings.ContainsFunc(w[from:], unicode.IsUpper) {
			out = append(out, w)
		}
	}
	return out
}
