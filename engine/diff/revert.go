package diff

import (
	"bytes"
	"strings"

	"txlens/engine/api"
)

// Revert compares where the transactions failed; null: that one did not.
type Revert struct {
	A    *Place `json:"a"`
	B    *Place `json:"b"`
	Same bool   `json:"same"` // neither failed, or both by the same call for the same reason
}

func revertOf(a, b *api.Result) Revert {
	x, y := revertPoint(a), revertPoint(b)
	r := Revert{Same: x == nil && y == nil}
	if x != nil {
		r.A = placeOf(x)
	}
	if y != nil {
		r.B = placeOf(y)
	}
	if x != nil && y != nil {
		r.Same = shapeOf(x) == shapeOf(y) && x.Error == y.Error
	}
	return r
}

// revertPoint is the frame whose failure ended the transaction: from the outermost call
// down, as long as the last call that failed returned the same data as its caller. It is
// nil where the transaction did not fail or has no trace.
func revertPoint(r *api.Result) *api.Node {
	if r.Status != api.StatusReverted || len(r.PrettyTrace) == 0 || r.PrettyTrace[0].Status != api.NodeFailed {
		return nil
	}
	at := 0
	for {
		next := lastFailedChild(r.PrettyTrace, at)
		if next < 0 || !bytes.Equal(r.PrettyTrace[next].Output, r.PrettyTrace[at].Output) {
			return &r.PrettyTrace[at]
		}
		at = next
	}
}

// lastFailedChild is the index of the last call that the frame at made, if that one failed;
// else negative. A call that succeeded after a failure shows that the caller went on.
func lastFailedChild(nodes []api.Node, at int) int {
	last := -1
	for i := at + 1; i < len(nodes) && nodes[i].Depth > nodes[at].Depth; i++ {
		if nodes[i].Depth == nodes[at].Depth+1 && nodes[i].Type != typeLog && !strings.EqualFold(nodes[i].Type, "SELFDESTRUCT") {
			last = i
		}
	}
	if last < 0 || nodes[last].Status != api.NodeFailed {
		return -1
	}
	return last
}
