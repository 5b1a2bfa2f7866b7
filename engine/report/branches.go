package report

import (
	"fmt"
	"math/bits"
	"strings"

	"txlens/engine/api"
)

// maxNesting bounds how deep elements nest: browsers flatten a document beyond
// some 500 levels, and a phone has no room to the right.
const maxNesting = 24

// openLevels is how deep a tree is unfolded at first; a small one is as a whole.
const (
	openLevels = 3
	smallTree  = 40
)

// maxRemark bounds a remark on a node in characters.
const maxRemark = 200

// callTree is the tree as the page shows it.
type callTree struct {
	Tree       []*branch
	TreeTally  string
	MoreFrames int
	Late       []line // failed frames beyond the cut
}

// branch is a line of the tree with what it called.
type branch struct {
	line
	times    int
	Share    *share
	GasText  string
	Preview  string // the arguments in a few words
	Children []*branch
	Open     bool
	Flat     bool   // deeper than elements nest: it says its depth instead
	Loop     string // in place of a line: what compression left out
}

// share is the part of the whole gas that a frame took with all it called.
type share struct {
	Percent int    // of the bar
	Text    string // "62 %", "<1 %"
}

// tree makes the tree of the nodes that have room, and keeps the first failures
// of the rest: they are what a reader of a failed transaction came for.
func (n *names) tree(r *api.Result, b bounds) callTree {
	t := callTree{TreeTally: tallyOf(r.PrettyTrace).String()}
	shown := 0
	t.Tree, shown = n.grow(r, b)
	for i := shown; i < len(r.PrettyTrace); i++ {
		node := &r.PrettyTrace[i]
		if node.Type == "LOG" {
			continue
		}
		t.MoreFrames++
		if node.Status == api.NodeFailed && len(t.Late) < 20 {
			late := n.line(node, 0)
			late.Remark = prose(r.TraceAnnotations[i], maxRemark)
			t.Late = append(t.Late, late)
		}
	}
	return t
}

// grow makes the tree from the depths of the lines, until it has as many as there
// is room for, and says how many nodes went into it. Frames on the way to a
// failure or a remark are open, and the uppermost levels.
func (n *names) grow(r *api.Result, room bounds) (roots []*branch, used int) {
	nodes := r.PrettyTrace
	var stack []*branch // the open chain, stack[i] at nesting i
	loops := loopsAfter(r.PrettyTraceMeta)
	grown := make([]*branch, len(nodes))
	own := ownGas(r)
	made := 0
	for i := range nodes {
		remark := prose(r.TraceAnnotations[i], maxRemark)
		if i > 0 && remark == "" && sameLog(&nodes[i-1], &nodes[i]) {
			grown[i] = grown[i-1]
			grown[i].times++
			continue
		}
		if made++; made > room.nodes {
			return roots, i
		}
		l := n.line(&nodes[i], room.args)
		l.Remark = remark
		if l.Log {
			l.Args, l.MoreArgs = nil, 0 // the list of logs has them
		}
		at := min(l.Depth, len(stack), maxNesting)
		b := &branch{line: l, times: 1, Open: at < openLevels || len(nodes) <= smallTree, Flat: l.Depth > maxNesting}
		if !l.Log {
			b.Preview = n.preview(&nodes[i])
			b.GasText = gasText(&nodes[i], own[i])
			b.Share = shareOf(nodes[i].GasUsed, nodes[0].GasUsed)
		}
		if at == 0 {
			roots = append(roots, b)
		} else {
			stack[at-1].Children = append(stack[at-1].Children, b)
		}
		grown[i], stack = b, append(stack[:at], b)
		if l.Failed || l.Remark != "" {
			for _, up := range stack {
				up.Open = true
			}
		}
		for _, m := range loops[i] {
			if m.ParentIndex >= 0 && m.ParentIndex <= i {
				up := grown[m.ParentIndex]
				up.Children = append(up.Children, &branch{Loop: loopText(m)})
			}
		}
	}
	return roots, len(nodes)
}

// sameLog reports whether two neighbours are logs of one frame that say the same
// event: one line with a count stands for them.
func sameLog(a, b *api.Node) bool {
	return a.Type == "LOG" && b.Type == "LOG" && a.Depth == b.Depth && a.From == b.From && a.Status == b.Status && callText(a) == callText(b)
}

// Times counts the logs that a line stands for, empty for one.
func (b *branch) Times() string {
	if b.times < 2 {
		return ""
	}
	return "×" + api.Thousands(fmt.Sprint(b.times))
}

// preview tells the first arguments beside the name of the function, as many as
// one line takes.
func (n *names) preview(node *api.Node) string {
	const most, room = 4, 84
	out := ""
	for i, a := range node.DecodedArgs {
		value := n.value(a.Value, 1)
		switch {
		case len(value) == 42 && strings.HasPrefix(value, "0x"):
			value = value[:6] + "…" + value[38:]
		case len(value) > 24:
			value = api.OneLine(value, 22)
		}
		if name := api.OneLine(a.Name, 20); name != "" {
			value = name + ": " + value
		}
		if i > 0 {
			value = ", " + value
		}
		if i == most || i > 0 && columns(out)+columns(value) > room {
			return out + ", …"
		}
		out += value
	}
	return out
}

func loopsAfter(meta *api.TraceMeta) map[int][]api.LoopMarker {
	out := map[int][]api.LoopMarker{}
	if meta != nil {
		for _, m := range meta.Markers {
			out[m.AfterIndex] = append(out[m.AfterIndex], m)
		}
	}
	return out
}

func loopText(m api.LoopMarker) string {
	removed := api.Count(m.RemovedNodes, "frame") + " left out"
	if m.Kind != "loop" {
		return removed
	}
	what := "the last call"
	if m.Period > 1 {
		what = "the last " + api.Count(m.Period, "call")
	}
	return fmt.Sprintf("%s of %s: %s", api.Count(m.Repeats, "more turn"), what, removed)
}

// shareOf compares a frame's gas with that of the whole; nil when either is
// unknown. Refunds can make a frame take more than the whole.
func shareOf(gas, whole uint64) *share {
	if whole == 0 || gas == 0 {
		return nil
	}
	percent := 100
	if hi, lo := bits.Mul64(gas, 100); hi < whole {
		q, _ := bits.Div64(hi, lo, whole)
		percent = int(min(q, 100))
	}
	s := &share{max(percent, 1), fmt.Sprintf("%d %%", percent)}
	if percent == 0 {
		s.Text = "<1 %"
	}
	return s
}
