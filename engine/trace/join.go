package trace

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"txlens/engine/ethrpc"
)

// maxCompared bounds the comparisons of a join over the gaps of a compressed tree.
const maxCompared = 1 << 22

// JoinLogs assigns each log of a successful frame its position in the receipt. Both lists
// are in execution order and are walked in parallel, with tolerance for the logs that
// markers omit; what does not match by order is matched by content. A log of the receipt
// without a frame is assigned to the only call of its emitter, and to the root if there
// were several; Notes report it. A second call does nothing.
func (t *Tree) JoinLogs(rc *ethrpc.Receipt) {
	if t.Root == nil || rc == nil || t.joined {
		return
	}
	t.joined = true
	j := joiner{rc: rc, taken: make([]bool, len(rc.Logs))}
	if t.HasLogs {
		j.walk(t.Root)
		if len(j.rest) > 0 && j.omitted == 0 {
			// The node's order is not the receipt's: alike logs must still keep theirs.
			clear(j.taken)
			j.rest = t.liveLogs()
		}
		j.byContent()
	}
	t.note(len(j.rest), "%d logs of the trace are not in the receipt.")
	free := j.free()
	if len(free) <= j.omitted && t.HasLogs {
		return // they belong to the frames left out
	}
	if t.HasLogs {
		t.Loose = free
	}
	t.assign(rc, free)
}

func (t *Tree) note(n int, format string) {
	if n > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf(format, n))
	}
}

type joiner struct {
	rc       *ethrpc.Receipt
	taken    []bool
	next     int // receipt position after the last match
	slack    int // logs omitted since the last match
	omitted  int // logs omitted in total
	compared int
	rest     []*Log // not matched by order
}

// walk joins the logs of f and below in execution order.
func (j *joiner) walk(f *Frame) {
	if f.Status != OK { // its logs are undone, also where a node lists them
		j.undo(f)
		return
	}
	gap := false // the frame's own logs may lie inside the gap
	for it := range f.Items() {
		switch {
		case it.Marker != nil:
			j.slack += it.Marker.Logs
			j.omitted += it.Marker.Logs
			gap = true
		case it.Log != nil:
			j.join(it.Log, gap)
		case it.Child != nil:
			gap = false
			j.walk(it.Child)
		}
	}
}

// liveLogs lists the logs that took effect, in execution order.
func (t *Tree) liveLogs() (out []*Log) {
	var walk func(f *Frame)
	walk = func(f *Frame) {
		for it := range f.Items() {
			switch {
			case it.Log != nil:
				out = append(out, it.Log)
			case it.Child != nil && it.Child.Status == OK:
				walk(it.Child)
			}
		}
	}
	if t.Root.Status == OK {
		walk(t.Root)
	}
	return out
}

func (j *joiner) undo(f *Frame) {
	for i := range f.Logs {
		f.Logs[i].Receipt = -1
	}
	for _, c := range f.Children {
		j.undo(c)
	}
}

// join matches l with the next log of the receipt. After a gap, all logs that it omitted
// are assumed to come before l; inside one, as few as possible.
func (j *joiner) join(l *Log, inGap bool) {
	l.Receipt = -1
	if at := j.next + j.slack; !inGap && j.matches(l, at) {
		j.take(l, at)
		return
	}
	for at := j.next; at <= j.next+j.slack && j.compared < maxCompared; at++ {
		if j.matches(l, at) {
			j.take(l, at)
			return
		}
	}
	j.rest = append(j.rest, l)
}

func (j *joiner) matches(l *Log, at int) bool {
	j.compared++
	return at < len(j.rc.Logs) && !j.taken[at] && same(l, &j.rc.Logs[at])
}

func (j *joiner) take(l *Log, at int) {
	l.Receipt, j.taken[at] = at, true
	j.slack -= at - j.next
	j.next = at + 1
}

func same(l *Log, r *ethrpc.Log) bool {
	return l.Address == r.Address && slices.Equal(l.Topics, r.Topics) && bytes.Equal(l.Data, r.Data)
}

// byContent matches the logs that the order did not: with the first unassigned log of the
// same content.
func (j *joiner) byContent() {
	if len(j.rest) == 0 {
		return
	}
	at := make(map[[32]byte][]int)
	for _, i := range j.free() {
		l := &j.rc.Logs[i]
		k := content(l.Address, l.Topics, l.Data)
		at[k] = append(at[k], i)
	}
	left := j.rest[:0]
	for _, l := range j.rest {
		k := content(l.Address, l.Topics, l.Data)
		if l.Receipt = -1; len(at[k]) == 0 {
			left = append(left, l)
			continue
		}
		l.Receipt, at[k] = at[k][0], at[k][1:]
		j.taken[l.Receipt] = true
	}
	j.rest = left
}

func content(a common.Address, topics []common.Hash, data []byte) (sum [32]byte) {
	h := sha256.New()
	h.Write(a[:])
	h.Write([]byte{byte(len(topics))})
	for i := range topics {
		h.Write(topics[i][:])
	}
	h.Write(data)
	return [32]byte(h.Sum(nil))
}

// free returns the logs of the receipt without a frame.
func (j *joiner) free() (out []int) {
	for i, t := range j.taken {
		if !t {
			out = append(out, i)
		}
	}
	return out
}

// assign gives logs of the receipt to the call during which their emitter ran, if it ran in
// only one call. In a compressed tree this is unknown, because an omitted call may have
// been another one.
func (t *Tree) assign(rc *ethrpc.Receipt, logs []int) {
	if len(logs) == 0 {
		return
	}
	var only map[common.Address]*Frame
	if !t.Compressed() {
		only = t.emitters()
	}
	unknown := 0
	for _, i := range logs {
		f := only[rc.Logs[i].Address]
		if f == nil {
			f = t.Root
			unknown++
		}
		f.adopt(rc, i)
	}
	t.note(unknown, "The frame of %d logs is not known; they stand at the outermost call.")
}

// emitters maps an address to the one live call that entered its context and was
// allowed to log, and to nil where there are several. A delegate call out of a
// context stays in it: a proxy and its implementation are one call.
func (t *Tree) emitters() map[common.Address]*Frame {
	out := make(map[common.Address]*Frame)
	var walk func(f *Frame)
	walk = func(f *Frame) {
		if f.Status != OK || f.Kind == StaticCall || f.Kind == SelfDestruct {
			return
		}
		if f.Kind != DelegateCall && f.Kind != CallCode {
			if _, twice := out[f.To]; twice {
				out[f.To] = nil
			} else {
				out[f.To] = f
			}
		}
		for _, c := range f.Children {
			walk(c)
		}
	}
	walk(t.Root)
	return out
}
