package report

import (
	"fmt"

	"txlens/engine/api"
)

// What the data of the call list holds at most. The list is read by the script of the page,
// which draws only the rows in sight; without script the tree of elements is shown.
const (
	maxFrameDetail = 600_000 // bytes of arguments, results and calldata of all frames
	maxFrameInput  = 2048    // bytes of calldata of one frame
	maxFrameOutput = 256     // bytes of return data of one frame
	maxGas         = 1 << 53 // that a script can count
)

// frameList is the call tree as the script reads it. All text is in Strings, once; the rows
// refer to it by index, 0 being the empty string.
type frameList struct {
	Strings []string      `json:"s"`
	Rows    [][]int64     `json:"r"` // see frameRow
	Details []frameDetail `json:"d"`
	More    int           `json:"m"` // frames and logs left out

	index map[string]int64
	room  int // bytes left for details
}

// frameDetail is what is shown of a frame when it is chosen.
type frameDetail struct {
	Args     [][4]int64 `json:"a,omitempty"` // name, type, value, scaled value
	MoreArgs int        `json:"n,omitempty"`
	Returns  [][3]int64 `json:"o,omitempty"` // name, value, scaled value
	Input    string     `json:"i,omitempty"`
	Cut      int        `json:"c,omitempty"` // bytes of calldata left out
}

func (f *frameList) text(s string) int64 {
	if at, ok := f.index[s]; ok {
		return at
	}
	at := int64(len(f.Strings))
	f.index[s], f.Strings = at, append(f.Strings, s)
	return at
}

// frames lists the lines of the call tree for the script, up to the bound.
func (n *names) frames(r *api.Result, b bounds) *frameList {
	if len(r.PrettyTrace) == 0 {
		return nil
	}
	f := &frameList{index: map[string]int64{}, room: b.detail}
	f.text("")
	own := ownGas(r)
	for i := range head(r.PrettyTrace, b.rows) {
		f.Rows = append(f.Rows, n.frameRow(f, &r.PrettyTrace[i], own[i], b.args))
	}
	f.More = len(r.PrettyTrace) - len(f.Rows)
	return f
}

// frameRow is: depth, path, operation, sender's name and address, target's name and address,
// function, outcome (0 done, 1 failed, 2 undone), gas, own gas (-1: not known), value, reason,
// preview of the arguments, index of the details (-1: none).
func (n *names) frameRow(f *frameList, node *api.Node, own int64, args int) []int64 {
	l := n.line(node, args)
	outcome, gas := int64(0), int64(-1)
	switch {
	case l.Failed:
		outcome = 1
	case l.Reverted:
		outcome = 2
	}
	if !l.Log {
		gas = int64(min(node.GasUsed, maxGas))
	}
	target := party{}
	if node.To != nil {
		target = l.To
	}
	return []int64{
		int64(l.Depth), f.text(l.Path), f.text(l.Op), f.text(l.From.Name()), f.text(l.From.Address), f.text(target.Name()), f.text(target.Address),
		f.text(l.Call), outcome, gas, own, f.text(l.Value), f.text(l.Reason), f.text(n.preview(node)), n.frameDetail(f, node, &l, args),
	}
}

// frameDetail adds the details of a frame while there is room, and returns their index.
func (n *names) frameDetail(f *frameList, node *api.Node, l *line, args int) int64 {
	d := frameDetail{MoreArgs: l.MoreArgs}
	size := 0
	for _, a := range l.Args {
		size += len(a.Name) + len(a.Type) + len(a.Value) + len(a.Scaled) + 16
	}
	ret := n.returned(node, args)
	for _, a := range ret {
		size += len(a.Name) + len(a.Value) + len(a.Scaled) + 16
	}
	input := head(node.Input, maxFrameInput)
	if size += 2 * len(input); size == 0 || size > f.room {
		return -1
	}
	f.room -= size
	for _, a := range l.Args {
		d.Args = append(d.Args, [4]int64{f.text(a.Name), f.text(a.Type), f.text(a.Value), f.text(a.Scaled)})
	}
	for _, a := range ret {
		d.Returns = append(d.Returns, [3]int64{f.text(a.Name), f.text(a.Value), f.text(a.Scaled)})
	}
	if len(input) > 0 {
		d.Input, d.Cut = api.Hex(input).String(), len(node.Input)-len(input)
	}
	f.Details = append(f.Details, d)
	return int64(len(f.Details) - 1)
}

// ownGas is the gas of each frame without that of the frames it called; -1 for a log, and where
// the calls of a frame are not all there.
func ownGas(r *api.Result) []int64 {
	own := make([]int64, len(r.PrettyTrace))
	var open []int // the open frames, by depth
	for i := range r.PrettyTrace {
		node := &r.PrettyTrace[i]
		if node.Type == "LOG" {
			own[i] = -1
			continue
		}
		at := min(max(node.Depth, 0), len(open))
		own[i] = int64(min(node.GasUsed, maxGas))
		if at > 0 {
			parent := open[at-1]
			own[parent] -= own[i]
		}
		open = append(open[:at], i)
	}
	if r.PrettyTraceMeta != nil {
		for _, m := range r.PrettyTraceMeta.Markers {
			if m.ParentIndex >= 0 && m.ParentIndex < len(own) {
				own[m.ParentIndex] = -1
			}
		}
	}
	for i := range own {
		own[i] = max(own[i], -1)
	}
	return own
}

// gasText writes gas with what of it the frame used itself.
func gasText(node *api.Node, own int64) string {
	s := api.Thousands(fmt.Sprint(node.GasUsed)) + " gas"
	if own >= 0 && uint64(own) != node.GasUsed {
		s += ", " + api.Thousands(fmt.Sprint(own)) + " of it its own"
	}
	return s
}
