package assemble

import (
	"strconv"

	"txlens/engine/api"
	"txlens/engine/decode"
	"txlens/engine/flow"
	"txlens/engine/trace"
)

// trace writes prettyTrace, rawTrace and prettyTraceMeta.
func (b *builder) trace() {
	logs := 0
	for _, f := range b.tree.Frames {
		logs += len(f.Logs)
	}
	w := nodeWriter{b: b, nodes: make([]api.Node, 0, len(b.tree.Frames)+logs), index: make([]int, len(b.tree.Frames))}
	w.frame(b.tree.Root, "0")
	b.r.PrettyTrace, b.nodes = w.nodes, w.index
	b.r.RawTrace = b.tree.Raw()
	if b.tree.Compressed() {
		b.r.PrettyTraceMeta = w.meta()
	}
}

// nodeWriter lists frames and logs in execution order.
type nodeWriter struct {
	b     *builder
	nodes []api.Node
	index []int // frame index to node index
}

func (w *nodeWriter) frame(f *trace.Frame, path string) {
	n := api.Node{
		Index: len(w.nodes), Depth: f.Depth, Type: f.Kind.String(),
		From: api.AddrOf(f.From), FromLabel: w.b.text(f.From),
		Input: api.Hex(f.Input), Output: api.Hex(f.Output),
		ValueWei: "0", ValueEth: "0", GasUsed: f.GasUsed,
		Path: path, Status: api.NodeOK,
	}
	if f.HasTo {
		to := api.AddrOf(f.To)
		n.To, n.ToLabel = &to, w.b.text(f.To)
	}
	if !f.Value.IsZero() {
		wei := f.Value.ToBig()
		n.ValueWei, n.ValueEth = wei.String(), flow.Amount(wei, uint8(w.b.ev.Chain.Native.Decimals))
	}
	w.status(&n, f)
	w.call(&n, w.b.decoded.Calls[f.Index])
	w.index[f.Index] = n.Index
	w.nodes = append(w.nodes, n)
	w.inside(f, path)
}

// inside writes children and logs in execution order.
func (w *nodeWriter) inside(f *trace.Frame, path string) {
	child := 0
	for item := range f.Items() {
		switch {
		case item.Child != nil:
			w.frame(item.Child, step(path, f.Depth+1, child))
			child++
		case item.Log != nil:
			w.log(f, item.Log, path)
		}
	}
}

// maxPath is the depth down to which frames have a path. Its length grows with the
// depth, so thousands of frames at the bottom of a recursion would be nothing but
// path; there, order and depth say where a frame stands.
const maxPath = 128

// step returns the path of the n-th child of a frame, empty below maxPath.
func step(path string, depth, n int) string {
	if depth > maxPath {
		return ""
	}
	return path + "." + strconv.Itoa(n)
}

func (w *nodeWriter) status(n *api.Node, f *trace.Frame) {
	if !w.b.outcomeKnown {
		n.Status = api.NodeUnknown
		return
	}
	switch f.Status {
	case trace.Failed:
		n.Status = api.NodeFailed
		n.Error = w.b.failureText(f)
	case trace.Reverted:
		n.Status = api.NodeReverted
		if f.RevertedBy != nil {
			n.RevertedBy = w.nodes[w.index[f.RevertedBy.Index]].Path
		}
	}
}

// failureText describes why a frame failed: the decoded error, else the EVM's reason.
func (b *builder) failureText(f *trace.Frame) string {
	if d := b.decoded.Failures[f.Index]; d != nil && d.Text != "" {
		return d.Text
	}
	return decode.Explain(f.Err)
}

func (w *nodeWriter) call(n *api.Node, c *decode.Call) {
	if c == nil {
		return
	}
	if c.HasSelector {
		n.Selector = api.Hex(c.Selector[:]).String()
	}
	n.FunctionName, n.FunctionSignature = c.Name, c.Signature
	n.DecodedArgs, n.DecodedOutput, n.Provenance = c.Args, c.Outputs, string(c.Provenance)
}

func (w *nodeWriter) log(f *trace.Frame, l *trace.Log, path string) {
	at := api.AddrOf(l.Address)
	n := api.Node{
		Index: len(w.nodes), Depth: f.Depth + 1, Type: "LOG",
		From: at, FromLabel: w.b.text(l.Address), To: &at, ToLabel: w.b.text(l.Address),
		Input: api.Hex(l.Data), ValueWei: "0", ValueEth: "0", Path: path, Status: api.NodeOK,
	}
	if f.Status != trace.OK {
		n.Status = api.NodeReverted
	}
	sig := ""
	if len(l.Topics) > 0 {
		sig = l.Topics[0].Hex()
	}
	if l.Receipt >= 0 {
		if w.b.ev.Receipt != nil {
			index := w.b.receipt.Logs[l.Receipt].Index
			n.LogIndex = &index
		}
		if e := w.b.decoded.Events[l.Receipt]; e != nil {
			sig, n.FunctionName = e.Signature, e.Name
			n.DecodedArgs, n.Provenance = e.Args, string(e.Provenance)
		}
	}
	n.EventSignature = &sig
	w.nodes = append(w.nodes, n)
}

func (w *nodeWriter) meta() *api.TraceMeta {
	m := &api.TraceMeta{OriginalNodes: w.b.tree.Total, KeptNodes: len(w.b.tree.Frames)}
	for _, k := range w.b.tree.Markers {
		lm := api.LoopMarker{ParentIndex: w.index[k.Parent.Index], Period: k.Period, Repeats: k.Repeats, RemovedNodes: k.Removed, Kind: "loop"}
		lm.AfterIndex = lm.ParentIndex
		if k.After > 0 {
			lm.AfterIndex = w.index[lastFrame(k.Parent.Children[k.After-1]).Index]
		}
		if k.Elided {
			lm.Kind = "elided"
		}
		m.Markers = append(m.Markers, lm)
	}
	return m
}

func lastFrame(f *trace.Frame) *trace.Frame {
	for len(f.Children) > 0 {
		f = f.Children[len(f.Children)-1]
	}
	return f
}

// mismatches describes differences between the computed balances and the node's state diff.
func (b *builder) mismatches() (notes []string) {
	const most = 10
	if b.ev.Receipt == nil {
		return nil // the fee, which is not known, explains them
	}
	for i, m := range b.flow.Mismatches {
		if i == most {
			return append(notes, "state diff: "+itoa(len(b.flow.Mismatches)-most)+" more differences")
		}
		note := "state diff: " + m.Address.Hex() + " moved " + m.Recorded.String() + " wei by the node's account, " +
			m.Ledger.String() + " by trace and receipt"
		if m.Followed {
			note += "; its balance is that of the state"
		}
		notes = append(notes, note)
	}
	return notes
}

func itoa(n int) string { return strconv.Itoa(n) }
