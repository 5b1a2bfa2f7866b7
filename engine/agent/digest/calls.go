package digest

import (
	"fmt"
	"strings"

	"txlens/engine/api"
)

// call is a frame or an event in the outline of the call tree.
type call struct {
	node   *api.Node
	below  []*call
	frames int    // of its subtree, itself included
	times  int    // number of equal neighbours that it stands for
	proxy  bool   // the delegatecall to which its parent, a proxy, passes its input
	broken bool   // it or something below failed
	key    string // equal neighbours have equal keys
}

// calls writes the call tree as an outline: as deep as there is room, equal neighbours
// counted, transfers omitted because they have a table of their own. Failed calls are shown
// at any depth.
func (w *writer) calls() {
	root := w.grow()
	if root == nil {
		return
	}
	depth, reads := 1, false
	for d := 2; d <= 64; d++ {
		if count(root, d, false) > w.b.calls {
			break
		}
		depth = d
	}
	if count(root, depth, true) <= w.b.calls {
		reads = true
	}
	var rows []row
	w.outline(&rows, root, depth, reads)
	title := "Call tree, a call as {call:PATH}, its value as {amount:value:PATH}, an event as {event:INDEX}: node, path, kind, to, call or event, value in wei, remark"
	if m := w.r.PrettyTraceMeta; m != nil {
		title += fmt.Sprintf("; loops were collapsed, %d of %d frames are kept", m.KeptNodes, m.OriginalNodes)
	}
	if !reads {
		title += "; static calls without calls of their own are left out"
	}
	title, rows = cut(title, rows, w.b.calls)
	section(
		w,
		title+". Names are as sure as their mark: none, verified source or own tables; (p) ABIs of packages; (s) signature database; (4) 4byte, may be made up",
		rows,
	)
}

// grow builds the tree of nodes and merges equal neighbours.
func (w *writer) grow() *call {
	var stack []*call
	var root *call
	for i := range w.r.PrettyTrace {
		n := &w.r.PrettyTrace[i]
		if n.Type == "LOG" && transferEvents(n) {
			continue
		}
		k := &call{node: n, frames: 1, times: 1}
		at := min(n.Depth, len(stack))
		if at == 0 {
			if root != nil {
				break
			}
			root = k
		} else {
			up := stack[at-1]
			k.proxy = n.Type == "DELEGATECALL" && up.node.Selector == n.Selector && len(up.node.Input) == len(n.Input)
			up.below = append(up.below, k)
		}
		stack = append(stack[:at], k)
		if n.Status == api.NodeFailed {
			for _, up := range stack {
				up.broken = true
			}
		}
	}
	if root != nil {
		fold(root)
	}
	return root
}

// transferEvents are the events in the table of transfers.
func transferEvents(n *api.Node) bool {
	switch n.FunctionName {
	case "Transfer", "TransferSingle", "TransferBatch":
		return n.Status == api.NodeOK && len(n.DecodedArgs) > 0
	}
	return false
}

// fold merges equal neighbours without calls of their own.
func fold(k *call) {
	to := ""
	if k.node.To != nil {
		to = k.node.To.String()
	}
	k.key = strings.Join([]string{k.node.Type, to, k.node.Selector, k.node.FunctionName, string(k.node.Status), k.node.Error}, " ")
	kept := k.below[:0]
	for _, b := range k.below {
		fold(b)
		k.frames += b.frames
		if n := len(kept); n > 0 && len(b.below) == 0 && len(kept[n-1].below) == 0 && kept[n-1].key == b.key {
			kept[n-1].times++
			continue
		}
		kept = append(kept, b)
	}
	k.below = kept
}

// read reports whether a call only read something.
func (k *call) read() bool {
	return k.node.Type == "STATICCALL" && len(k.below) == 0 && !k.broken
}

// hidden reports whether a call has no row of its own because its parent's row describes
// it.
func (k *call) hidden(reads bool) bool { return k.proxy && !k.broken || !reads && k.read() }

func count(k *call, depth int, reads bool) int {
	n := 0
	if !k.hidden(reads) {
		n = 1
	}
	for _, b := range k.below {
		if b.node.Depth <= depth || b.broken {
			n += count(b, depth, reads)
		}
	}
	return n
}

func (w *writer) outline(rows *[]row, k *call, depth int, reads bool) {
	left := 0
	for _, b := range k.below {
		if b.node.Depth > depth && !b.broken {
			left += b.frames
		}
	}
	if !k.hidden(reads) && len(*rows) <= 2*w.b.calls {
		*rows = append(*rows, w.call(k, left))
	}
	for _, b := range k.below {
		if b.node.Depth <= depth || b.broken {
			w.outline(rows, b, depth, reads)
		}
	}
}

func (w *writer) call(k *call, left int) row {
	n := k.node
	to := ""
	if n.To != nil {
		to = w.names.short(*n.To)
	}
	value := ""
	if n.ValueWei != "0" && n.Type != "DELEGATECALL" {
		value = n.ValueWei
	}
	place := n.Path
	if n.LogIndex != nil {
		place = fmt.Sprintf("log %d", *n.LogIndex)
	}
	return trimmed(row{n.Index, place, n.Type, to, callText(n), value, w.remark(k, left)})
}

// remark returns what the other fields of the row do not say.
func (w *writer) remark(k *call, left int) string {
	var parts []string
	for _, b := range k.below {
		if b.proxy && !b.broken && b.node.To != nil {
			parts = append(parts, "code of "+w.names.short(*b.node.To))
		}
	}
	if k.times > 1 {
		parts = append(parts, fmt.Sprintf("%d times", k.times))
	}
	switch k.node.Status {
	case api.NodeFailed:
		parts = append(parts, "FAILED: "+api.OneLine(k.node.Error, 80))
	case api.NodeReverted:
		parts = append(parts, "undone")
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d more inside", left))
	}
	return strings.Join(parts, "; ")
}

// provenanceMark is the mark of a name, by its provenance.
var provenanceMark = map[string]string{"npm_abi": " (p)", "signature_database": " (s)", "fourbyte": " (4)"}

// callText is the call or event with its first arguments.
func callText(n *api.Node) string {
	name := api.OneLine(n.FunctionName, 60)
	switch {
	case name != "":
	case n.Type == "LOG" && n.EventSignature != nil && *n.EventSignature != "":
		return "topic " + api.OneLine(*n.EventSignature, 66)
	case strings.HasPrefix(n.Type, "CREATE"):
		return fmt.Sprintf("%d bytes of init code", len(n.Input))
	case n.Selector != "":
		return fmt.Sprintf("%s, %d bytes", n.Selector, len(n.Input))
	case len(n.Input) > 0:
		return fmt.Sprintf("%d bytes", len(n.Input))
	default:
		return ""
	}
	room := 140
	if n.Depth == 0 {
		room = 500
	}
	return name + "(" + arguments(n.DecodedArgs, room) + ")" + provenanceMark[n.Provenance]
}

// arguments writes as many arguments as fit.
func arguments(args []api.Arg, room int) string {
	var b strings.Builder
	for i, a := range args {
		s := value(a.Value)
		if name := api.OneLine(a.Name, 20); name != "" {
			s = name + "=" + s
		}
		if i > 0 {
			s = ", " + s
		}
		if b.Len()+len(s) > room {
			b.WriteString(", …")
			break
		}
		b.WriteString(s)
	}
	return strings.TrimPrefix(b.String(), ", ")
}

func value(v any) string {
	switch v := v.(type) {
	case string:
		if len(v) == 42 && strings.HasPrefix(v, "0x") {
			return v[:6] + "…" + v[38:]
		}
		if strings.HasPrefix(v, "0x") && len(v) > 24 {
			return fmt.Sprintf("%s… (%d bytes)", v[:10], len(v)/2-1)
		}
		return api.OneLine(v, 80)
	case bool:
		return fmt.Sprint(v)
	case []any:
		if len(v) <= 3 {
			var parts []string
			for _, x := range v {
				parts = append(parts, value(x))
			}
			return api.OneLine("["+strings.Join(parts, ", ")+"]", 100)
		}
		return fmt.Sprintf("[%d items]", len(v))
	case []api.Arg:
		return "(" + arguments(v, 60) + ")"
	}
	return ""
}

// failures lists where failures began: the failed frames below which no frame failed for
// the same reason.
func (w *writer) failures() {
	var rows []row
	nodes := w.r.PrettyTrace
	for i := range nodes {
		n := &nodes[i]
		if n.Status != api.NodeFailed || within(nodes, i) {
			continue
		}
		rows = append(rows, trimmed(row{n.Index, n.Path, callText(n), api.OneLine(n.Error, 160)}))
	}
	title, rows := cut("Where failures began, the reason as {reason:PATH}: node, path, call, reason", rows, w.b.failures)
	section(w, title, rows)
}

// within reports whether a frame below a failed one failed for the same reason.
func within(nodes []api.Node, i int) bool {
	for j := i + 1; j < len(nodes) && nodes[j].Depth > nodes[i].Depth; j++ {
		if nodes[j].Status == api.NodeFailed && nodes[j].Error == nodes[i].Error {
			return true
		}
	}
	return false
}
