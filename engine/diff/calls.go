package diff

import (
	"cmp"
	"slices"
	"strings"

	"txlens/engine/api"
)

// Calls compares the call trees.
type Calls struct {
	FramesA int     `json:"framesA"`
	FramesB int     `json:"framesB"`
	Shapes  []Shape `json:"shapes"` // shapes that one side has more of
	// MoreShapes counts the shapes that differ and are not listed.
	MoreShapes int `json:"moreShapes"`
	// First is where the trees differ first in execution order; null: nowhere.
	First *Divergence `json:"first"`
}

// Shape is a kind of call: its type, whom it calls, the function and the outcome.
type Shape struct {
	Type     string         `json:"type"`
	Callee   string         `json:"callee"` // label, or address
	Function string         `json:"function"`
	Status   api.NodeStatus `json:"status"`
	A        int            `json:"a"` // calls of the shape on each side
	B        int            `json:"b"`
	GasA     uint64         `json:"gasA"` // that they used, their own calls included
	GasB     uint64         `json:"gasB"`
}

// Divergence is the first call that differs; null: the side has no more calls.
type Divergence struct {
	A *Place `json:"a"`
	B *Place `json:"b"`
}

// Place is one call of a tree.
type Place struct {
	Path     string         `json:"path"`
	Type     string         `json:"type"`
	Callee   string         `json:"callee"`
	Function string         `json:"function"`
	Status   api.NodeStatus `json:"status"`
	Error    string         `json:"error,omitempty"`
}

// typeLog is Node.Type of a log.
const typeLog = "LOG"

func callsOf(a, b *api.Result) Calls {
	x, y := framesOf(a), framesOf(b)
	c := Calls{FramesA: len(x), FramesB: len(y), First: divergence(x, y)}
	c.Shapes, c.MoreShapes = shapesOf(x, y)
	return c
}

func framesOf(r *api.Result) (frames []*api.Node) {
	for i := range r.PrettyTrace {
		if r.PrettyTrace[i].Type != typeLog {
			frames = append(frames, &r.PrettyTrace[i])
		}
	}
	return frames
}

// shapeOf is the shape of a frame without its counts.
func shapeOf(n *api.Node) Shape {
	return Shape{Type: n.Type, Callee: calleeOf(n), Function: functionOf(n), Status: n.Status}
}

func calleeOf(n *api.Node) string {
	if label := api.OneLine(n.ToLabel, maxText); label != "" {
		return label
	}
	if n.To == nil {
		return ""
	}
	return n.To.String()
}

// functionOf is the signature, the name or the selector, as far as one is known.
func functionOf(n *api.Node) string {
	return api.OneLine(cmp.Or(n.FunctionSignature, n.FunctionName, n.Selector), maxText)
}

// shapesOf lists the shapes whose numbers differ, the largest difference first.
func shapesOf(x, y []*api.Node) (list []Shape, more int) {
	counts := map[Shape]*Shape{}
	count := func(n *api.Node) *Shape {
		key := shapeOf(n)
		s := counts[key]
		if s == nil {
			s = &key
			counts[shapeOf(n)] = s
		}
		return s
	}
	for _, n := range x {
		s := count(n)
		s.A, s.GasA = s.A+1, s.GasA+n.GasUsed
	}
	for _, n := range y {
		s := count(n)
		s.B, s.GasB = s.B+1, s.GasB+n.GasUsed
	}
	list = []Shape{}
	for _, s := range counts {
		if s.A != s.B {
			list = append(list, *s)
		}
	}
	slices.SortFunc(list, compareShapes)
	return cut(list, maxShapes)
}

func compareShapes(s, t Shape) int {
	distance := func(s Shape) int { return max(s.A-s.B, s.B-s.A) }
	return cmp.Or(cmp.Compare(distance(t), distance(s)), strings.Compare(s.Callee, t.Callee), strings.Compare(s.Function, t.Function),
		strings.Compare(s.Type, t.Type), strings.Compare(string(s.Status), string(t.Status)))
}

// cut keeps the first items, and counts the others.
func cut[T any](list []T, most int) ([]T, int) {
	n := min(len(list), most)
	return list[:n], len(list) - n
}

// divergence finds the first frame of another depth or shape.
func divergence(x, y []*api.Node) *Divergence {
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			return &Divergence{B: placeOf(y[i])}
		case i >= len(y):
			return &Divergence{A: placeOf(x[i])}
		case x[i].Depth != y[i].Depth || shapeOf(x[i]) != shapeOf(y[i]):
			return &Divergence{placeOf(x[i]), placeOf(y[i])}
		}
	}
	return nil
}

func placeOf(n *api.Node) *Place {
	return &Place{n.Path, n.Type, calleeOf(n), functionOf(n), n.Status, api.OneLine(n.Error, maxText)}
}
