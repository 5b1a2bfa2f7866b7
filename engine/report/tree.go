package report

import (
	"fmt"
	"strings"

	"txlens/engine/api"
)

// line is one frame or log of the call tree, ready to print.
type line struct {
	Index    int
	Depth    int
	Path     string
	Op       string // CALL, LOG ...
	Log      bool
	Failed   bool
	Reverted bool
	From, To party
	Code     party  // whose code emitted or ran, when To is nobody
	Call     string // function, selector, event, or what happened without one
	Args     []arg
	MoreArgs int
	Value    string
	Gas      string
	Reason   string // of a failure
	Remark   string // of the analysis
}

// arg is an argument; Scaled is an amount in whole tokens, where that is known.
type arg struct{ Name, Type, Value, Scaled string }

func (n *names) line(node *api.Node, args int) line {
	l := line{
		Index:    node.Index,
		Depth:    max(node.Depth, 0),
		Path:     api.OneLine(node.Path, 80),
		Op:       api.OneLine(node.Type, 20),
		Log:      node.Type == "LOG",
		Failed:   node.Status == api.NodeFailed,
		Reverted: node.Status == api.NodeReverted,
		From:     n.party(node.From),
		Call:     callText(node),
	}
	if node.To != nil {
		l.To = n.party(*node.To)
	} else {
		l.To = party{Short: "no address", Address: ""}
	}
	if !l.Log && node.Type != "DELEGATECALL" {
		l.Value = ether(node.ValueWei, n.native)
	}
	if l.Failed {
		if l.Reason = api.OneLine(node.Error, 200); l.Reason == "" {
			l.Reason = "failed"
		}
	}
	if !l.Log {
		l.Gas = api.Thousands(fmt.Sprint(node.GasUsed))
	}
	for i, a := range head(node.DecodedArgs, args) {
		l.Args = append(l.Args, arg{api.OneLine(a.Name, 40), api.OneLine(a.Type, 60), n.value(a.Value, 2), n.scaledArg(node, i)})
	}
	l.MoreArgs = len(node.DecodedArgs) - len(l.Args)
	return l
}

// callText names what a node does: function, selector, event, or the deed itself.
func callText(node *api.Node) string {
	name := api.OneLine(node.FunctionName, 60)
	switch {
	case node.Type == "LOG":
		if node.EventSignature == nil {
			return "unknown event"
		}
		event, _, _ := strings.Cut(*node.EventSignature, "(")
		if len(event) == 66 && strings.HasPrefix(event, "0x") { // the topic, where nobody knows the name
			return "unknown event " + api.OneLine(event[:10], 10)
		}
		return api.OneLine(event, 60)
	case strings.HasPrefix(node.Type, "CREATE"):
		return "create contract"
	case node.Type == "SELFDESTRUCT":
		return "self-destruct"
	case name != "":
		return name
	case node.Selector != "":
		return api.OneLine(node.Selector, 10)
	case len(node.Input) == 0:
		return "receive"
	}
	return "fallback"
}

// maxValue bounds a decoded argument in characters.
const maxValue = 100

// value writes a decoded argument; deeper than levels only its size is said.
func (n *names) value(v any, levels int) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return api.OneLine(v, maxValue)
	case bool:
		return fmt.Sprint(v)
	case []any:
		return n.list(len(v), levels, func(i int) string { return n.value(v[i], levels-1) })
	case []api.Arg:
		return n.list(len(v), levels, func(i int) string {
			s := n.value(v[i].Value, levels-1)
			if name := api.OneLine(v[i].Name, 40); name != "" {
				s = name + ": " + s
			}
			return s
		})
	}
	return api.OneLine(fmt.Sprint(v), maxValue)
}

func (n *names) list(size, levels int, item func(int) string) string {
	if levels <= 0 {
		return "[" + api.Count(size, "item") + "]"
	}
	var parts []string
	for i := range min(size, 5) {
		parts = append(parts, item(i))
	}
	if size > 5 {
		parts = append(parts, fmt.Sprintf("%d more", size-5))
	}
	return api.OneLine("["+strings.Join(parts, ", ")+"]", 3*maxValue)
}

// tally counts the tree as it is printed.
type tally struct{ frames, logs, failed int }

func tallyOf(nodes []api.Node) (t tally) {
	for i := range nodes {
		switch {
		case nodes[i].Type == "LOG":
			t.logs++
		default:
			t.frames++
			if nodes[i].Status == api.NodeFailed {
				t.failed++
			}
		}
	}
	return t
}

func (t tally) String() string {
	s := api.Count(t.frames, "frame")
	if t.failed > 0 {
		s += fmt.Sprintf(", %d failed", t.failed)
	}
	if t.logs > 0 {
		s += ", " + api.Count(t.logs, "log")
	}
	return s
}
