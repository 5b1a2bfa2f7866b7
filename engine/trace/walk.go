package trace

import (
	"bytes"
	"iter"
	"sort"
	"strconv"
)

// Item is one event inside a frame: exactly one field is set.
type Item struct {
	Child  *Frame
	Log    *Log
	Marker *Marker
}

// Items returns the frame's children, logs and markers in execution order. The frame's own
// logs follow a marker at the same position, although they may have been emitted between
// the calls that it stands for.
func (f *Frame) Items() iter.Seq[Item] {
	return func(yield func(Item) bool) {
		log, mark := 0, 0
		for i := 0; i <= len(f.Children); i++ {
			for ; mark < len(f.Markers) && f.Markers[mark].After <= i; mark++ {
				if !yield(Item{Marker: f.Markers[mark]}) {
					return
				}
			}
			for ; log < len(f.Logs) && (f.Logs[log].Calls <= i || i == len(f.Children)); log++ {
				if !yield(Item{Log: &f.Logs[log]}) {
					return
				}
			}
			if i < len(f.Children) && !yield(Item{Child: f.Children[i]}) {
				return
			}
		}
	}
}

// Finish derives what the parsers do not read: Index, Depth, Parent, Status and RevertedBy
// of frames, and Frames, Markers, Total and Failed of the tree. Call it on a tree that was
// built by hand; it may be called again.
func (t *Tree) Finish() {
	t.Frames, t.Markers = nil, nil
	t.Total, t.Failed = 0, 0
	if t.Root == nil {
		return
	}
	t.Frames = make([]*Frame, 0, size(t.Root))
	t.finish(t.Root, nil)
	t.Total += len(t.Frames)
}

func size(f *Frame) int {
	n := 1
	for _, c := range f.Children {
		n += size(c)
	}
	return n
}

// finish derives the fields of f, whose parent is done.
func (t *Tree) finish(f, parent *Frame) {
	f.Parent, f.Index, f.Depth = parent, len(t.Frames), 0
	f.Status, f.RevertedBy = OK, nil
	if parent != nil {
		f.Depth = parent.Depth + 1
		f.RevertedBy = parent.failedBy()
	}
	switch {
	case f.Err != "":
		f.Status, f.RevertedBy = Failed, nil
		t.Failed++
	case f.RevertedBy != nil:
		f.Status = Reverted
	}
	t.Frames = append(t.Frames, f)
	if len(f.Markers) == 0 {
		for _, c := range f.Children {
			t.finish(c, f)
		}
		return
	}
	for it := range f.Items() {
		switch {
		case it.Child != nil:
			t.finish(it.Child, f)
		case it.Marker != nil:
			t.finishMarker(it.Marker, f)
		}
	}
}

func (t *Tree) finishMarker(m *Marker, f *Frame) {
	m.Parent, m.sums = f, nil
	if f.Status != OK { // what is undone moves nothing
		m.Moves, m.Creates, m.Logs = nil, nil, 0
	}
	t.Total += m.Removed
	t.Failed += m.Failed
	t.Markers = append(t.Markers, m)
}

// failedBy returns the nearest failed frame at or above f, nil if all succeeded.
func (f *Frame) failedBy() *Frame {
	if f.Err != "" {
		return f
	}
	return f.RevertedBy
}

// Caught reports whether the frame failed and its caller continued and succeeded.
func (f *Frame) Caught() bool {
	return f.Err != "" && f.Parent != nil && f.Parent.Err == ""
}

// RevertOrigin returns the frame in which the failure of the transaction began: from the
// root down along the failed calls that made their callers fail. It returns nil if the root
// succeeded.
func (t *Tree) RevertOrigin() *Frame {
	if t.Root == nil || t.Root.Err == "" {
		return nil
	}
	return t.Root.Origin()
}

// Origin returns the frame in which the failure of f began, which is f where it failed by
// itself.
func (f *Frame) Origin() *Frame {
	for next := f.cause(); next != nil; next = f.cause() {
		f = next
	}
	return f
}

// cause returns the child whose failure made f fail, nil if f failed by itself. It is the
// last failed child that returned the same data as f; a caller that fails with a text of
// its own (require(ok, "...")) makes no further call, so its last call counts too if that
// one failed.
func (f *Frame) cause() *Frame {
	if len(f.Output) > 0 {
		for i := len(f.Children) - 1; i >= 0; i-- {
			if c := f.Children[i]; c.Err != "" && bytes.Equal(c.Output, f.Output) {
				return c
			}
		}
	}
	if n := len(f.Children); n > 0 && f.Children[n-1].Err != "" && !f.gapAtEnd() {
		return f.Children[n-1]
	}
	return nil
}

// gapAtEnd reports whether calls after the last kept one were omitted.
func (f *Frame) gapAtEnd() bool {
	n := len(f.Markers)
	return n > 0 && f.Markers[n-1].After == len(f.Children)
}

// Path names the frame by the positions of its ancestors among the kept children:
// "0" is the root, "0.2.1" the second child of the root's third.
func (f *Frame) Path() string {
	var at []int
	for ; f.Parent != nil; f = f.Parent {
		kids := f.Parent.Children // in order of Index
		at = append(at, sort.Search(len(kids), func(i int) bool { return kids[i].Index >= f.Index }))
	}
	path := []byte{'0'}
	for i := len(at) - 1; i >= 0; i-- {
		path = strconv.AppendInt(append(path, '.'), int64(at[i]), 10)
	}
	return string(path)
}

// EnclosingCall returns the call in whose context the code of f ran: f, or the nearest frame
// above it that is no DELEGATECALL or CALLCODE. The call of a nil frame is nil.
func (f *Frame) EnclosingCall() *Frame {
	for f != nil && (f.Kind == DelegateCall || f.Kind == CallCode) && f.Parent != nil {
		f = f.Parent
	}
	return f
}

// LogFrames maps positions in the receipt to the frames that emitted the logs. It is complete
// after JoinLogs, and empty for a nil tree.
func (t *Tree) LogFrames() map[int]*Frame {
	out := map[int]*Frame{}
	if t == nil {
		return out
	}
	for _, f := range t.Frames {
		for i := range f.Logs {
			if at := f.Logs[i].Receipt; at >= 0 {
				out[at] = f
			}
		}
	}
	return out
}
