package trace

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/ethereum/go-ethereum/common"
)

// Compression works on the completed children of open frames, so that memory
// follows the frames that stay. Two siblings are alike when their shapes are: the
// same calls with the same selectors, errors and kinds of logs, whatever the
// arguments and values. When minTurns turns of 1 to maxPeriod siblings follow each
// other, the first stays and a marker takes the place of the others and of all
// that come after them. A partial turn waits behind its marker until it is whole
// or broken.
//
// Where nothing repeats, frames opened when MaxKept frames are alive go when they
// are complete, into a marker that says so. Such a gap is the last thing in its
// parent: as many frames are alive after it as before, so what follows goes too.
// Nor does it meet a loop: the turns that a loop let go leave room for a whole one.
const (
	maxPeriod = 4
	// More turns than a period has siblings: a run inside a turn (A A A B) is then
	// never mistaken for a loop of its own.
	minTurns = maxPeriod + 1
)

// shape identifies what a subtree does. It is a part of a SHA-256 hash, so that a hostile
// contract cannot construct a subtree with the shape of a harmless loop.
type shape [16]byte

// shapeOf returns the shape of a completed frame with the kept children kids.
func (b *builder) shapeOf(f *Frame, kids []sibling) (s shape) {
	buf := append(b.scratch[:0], byte(f.Kind))
	if f.HasTo && !f.Kind.Creates() { // each creation has its own address
		buf = append(buf, f.To[:]...)
	}
	if !f.Kind.Creates() {
		buf = append(buf, f.Input[:min(len(f.Input), 4)]...)
	}
	buf = append(buf, 0xff)
	buf = append(buf, f.Err...)
	buf = binary.BigEndian.AppendUint32(append(buf, 0), uint32(len(f.Logs)))
	for i := range f.Logs {
		if topics := f.Logs[i].Topics; len(topics) > 0 {
			buf = append(buf, topics[0][:]...)
		} else {
			buf = append(buf, 0)
		}
	}
	for _, m := range f.Markers {
		// How often a loop turned does not make it another loop.
		buf = binary.BigEndian.AppendUint32(append(buf, byte(m.Period)), uint32(m.After))
	}
	buf = append(buf, 0xfe)
	for i := range kids {
		buf = append(buf, kids[i].shape[:]...)
	}
	b.scratch = buf
	sum := sha256.Sum256(buf)
	return shape(sum[:])
}

// push adds a completed child to its open parent and compresses repetitions.
func (b *builder) push(lv *level, s sibling) {
	lv.kids = append(lv.kids, s)
	if !b.compressing {
		return
	}
	if m := lv.loop; m != nil {
		turn := len(lv.kids) - m.After // siblings of the turn so far
		if lv.kids[m.After-m.Period+turn-1].shape == s.shape {
			if turn == m.Period {
				b.fold(lv, m, m.After)
				m.Repeats++
			}
			return
		}
		lv.loop, lv.start = nil, m.After // nothing repeats across a marker
	}
	for p := 1; p <= maxPeriod; p++ {
		if lv.repeats(p) {
			b.startLoop(lv, p)
			return
		}
	}
}

// repeats reports whether the last children are minTurns repetitions of p siblings.
func (lv *level) repeats(p int) bool {
	n := len(lv.kids)
	if n-lv.start < minTurns*p {
		return false
	}
	for i := n - 1; i >= n-(minTurns-1)*p; i-- {
		if lv.kids[i].shape != lv.kids[i-p].shape {
			return false
		}
	}
	return true
}

// startLoop keeps the first repetition of the loop that the children end with.
func (b *builder) startLoop(lv *level, p int) {
	from := len(lv.kids) - (minTurns-1)*p
	m := &Marker{Parent: lv.frame, After: from, Period: p, Repeats: minTurns - 1}
	lv.frame.Markers = append(lv.frame.Markers, m)
	lv.loop = m
	b.fold(lv, m, from)
}

// elide removes a completed child and those before it.
func (b *builder) elide(lv *level, f *Frame) {
	var m *Marker
	if n := len(lv.frame.Markers); n > 0 {
		m = lv.frame.Markers[n-1]
	}
	if m == nil || !m.Elided {
		m = &Marker{Parent: lv.frame, After: len(lv.kids), Elided: true}
		lv.frame.Markers = append(lv.frame.Markers, m)
	}
	b.drop(m, f, true)
}

// fold moves the children from an index on into m.
func (b *builder) fold(lv *level, m *Marker, from int) {
	for i := range lv.kids[from:] {
		b.drop(m, lv.kids[from+i].frame, true)
	}
	clear(lv.kids[from:])
	lv.kids = lv.kids[:from]
}

// drop counts the subtree of f in m. Value in a failed frame did not move.
func (b *builder) drop(m *Marker, f *Frame, live bool) {
	b.kept--
	m.Removed++
	if f.Err != "" {
		m.Failed++
		live = false
	}
	if live {
		m.Logs += len(f.Logs)
		if f.Kind.Creates() && f.HasTo {
			m.Creates = append(m.Creates, f.To)
			b.moves++
		}
		if f.MovesValue() {
			b.moves += m.move(Move{Kind: f.Kind, From: f.From, To: f.To, Value: f.Value, Count: 1})
		}
	}
	for it := range f.Items() {
		switch {
		case it.Child != nil:
			b.drop(m, it.Child, live)
		case it.Marker != nil:
			b.moves += m.absorb(it.Marker, live)
		}
	}
}

// absorb adds the counts of an inner marker. It returns the change in the number of
// recorded payments and creations.
func (m *Marker) absorb(in *Marker, live bool) (change int) {
	m.Removed += in.Removed
	m.Failed += in.Failed
	change = -len(in.Moves)
	if !live {
		return change - len(in.Creates)
	}
	m.Logs += in.Logs
	m.Creates = append(m.Creates, in.Creates...)
	for _, mv := range in.Moves {
		change += m.move(mv)
	}
	return change
}

type moveKey struct {
	kind     Kind
	from, to common.Address
}

// move adds mv to the sum of its kind, payer and payee. A sum beyond 256 bits, which no
// real trace has, starts another entry. It returns the number of entries added.
func (m *Marker) move(mv Move) int {
	key := moveKey{mv.Kind, mv.From, mv.To}
	if i, ok := m.sums[key]; ok {
		old := m.Moves[i].Value
		if _, over := m.Moves[i].Value.AddOverflow(&old, &mv.Value); !over {
			m.Moves[i].Count += mv.Count
			return 0
		}
		m.Moves[i].Value = old
	}
	if m.sums == nil {
		m.sums = make(map[moveKey]int)
	}
	m.sums[key] = len(m.Moves)
	m.Moves = append(m.Moves, mv)
	return 1
}

// compressOpen compresses what was completed before the tree grew beyond the
// limit; frames are open up to depth.
func (b *builder) compressOpen(depth int) {
	for d := range depth {
		lv := b.levels[d]
		kids := lv.kids
		lv.kids = make([]sibling, 0, cap(kids))
		for _, k := range kids {
			k.shape = b.compressDone(k.frame, depth)
			b.push(lv, k)
		}
	}
}

// compressDone compresses a completed subtree, with the levels from depth on as
// working space, and gives its shape.
func (b *builder) compressDone(f *Frame, depth int) shape {
	lv := b.level(depth)
	lv.begin(f, false)
	for _, kid := range f.Children {
		s := b.compressDone(kid, depth+1)
		b.push(lv, sibling{frame: kid, at: lv.made, shape: s})
		lv.made++
	}
	lv.logs = append(lv.logs[:0], f.Logs...)
	f.Children = nil
	return b.seal(lv)
}
