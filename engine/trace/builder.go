package trace

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"txlens/engine/ethrpc"
)

var (
	// ErrDepth: frames are nested deeper than Limits.MaxDepth, which is above the limit of
	// the EVM.
	ErrDepth = errors.New("calls nested too deeply")
	// ErrMoves: the omitted frames pay or create more accounts than the gas of any
	// transaction could buy.
	ErrMoves = errors.New("more payments than a transaction can make")
	// ErrTraceAddress: the trace addresses of a flat trace do not form a tree.
	ErrTraceAddress = errors.New("malformed trace address")
	// ErrNoFrame: the trace contains no frame.
	ErrNoFrame = errors.New("no call frame")
	// ErrGaps: the trace announces calls that it does not list.
	ErrGaps = errors.New("the list of calls has gaps")
	// ErrNull: the answer is null, so the node has no trace of the transaction.
	ErrNull = ethrpc.ErrNull
)

// Defaults of Limits. Of 6,320 recorded transactions, incidents among them, the largest has 3,797
// frames, so each is kept whole with room for one more than twice as large. A frame costs about
// 1.5 KB in an answer and more while it is analysed, so of a larger one no more than twice as many
// frames are kept as begin the compression.
const (
	DefaultCompressAbove = 10_000
	DefaultMaxDepth      = 1_100

	keptPerCompressed = 2 // default of MaxKept, in CompressAbove
)

func (l Limits) withDefaults() Limits {
	if l.CompressAbove <= 0 {
		l.CompressAbove = DefaultCompressAbove
	}
	if l.MaxKept <= 0 {
		l.MaxKept = keptPerCompressed * l.CompressAbove
	}
	l.CompressAbove = min(l.CompressAbove, l.MaxKept)
	if l.MaxDepth <= 0 {
		l.MaxDepth = DefaultMaxDepth
	}
	return l
}

// maxMoves bounds the distinct payments and creations that markers record. Each costs at
// least 6,700 gas (9,000 for the value, less the stipend; yellow paper, appendix G): the
// bound exceeds the block gas limit of any chain in the table.
const maxMoves = 1 << 17

// builder builds a tree from frames that open and close in execution order. Each level
// holds the open frame of a depth and its completed children.
type builder struct {
	lim         Limits
	levels      []*level
	total       int // frames opened
	kept        int // frames alive: kept, or open
	moves       int // payments and creations recorded in markers
	compressing bool
	scratch     []byte
}

type level struct {
	frame   *Frame
	logs    []Log
	kids    []sibling
	made    int  // children completed, kept or not
	discard bool // opened after the bound was reached: removed once complete

	// See compress.go.
	loop  *Marker // the loop that ends the children, but for a partial turn
	start int     // children before it stand before a marker
}

// sibling is a completed child of an open frame.
type sibling struct {
	frame *Frame
	at    int // position among all children, kept or not
	shape shape
}

var builders = sync.Pool{New: func() any { return new(builder) }}

func newBuilder(lim Limits) *builder {
	b := builders.Get().(*builder)
	b.lim = lim.withDefaults()
	b.total, b.kept, b.moves, b.compressing = 0, 0, 0, false
	return b
}

// release returns the levels to the pool. After an error the builder is dropped, because
// its levels still hold frames.
func (b *builder) release() {
	room := 0
	for _, lv := range b.levels {
		room += cap(lv.kids) + cap(lv.logs)
	}
	if room <= 1<<16 && len(b.levels) <= DefaultMaxDepth {
		builders.Put(b)
	}
}

func (b *builder) level(depth int) *level {
	for len(b.levels) <= depth {
		b.levels = append(b.levels, new(level))
	}
	return b.levels[depth]
}

// open starts a frame below the open frame of depth-1.
func (b *builder) open(depth int) (*level, error) {
	if depth >= b.lim.MaxDepth {
		return nil, fmt.Errorf("%w (limit %d)", ErrDepth, b.lim.MaxDepth)
	}
	if b.moves > maxMoves {
		return nil, fmt.Errorf("%w (limit %d)", ErrMoves, maxMoves)
	}
	b.total++
	if !b.compressing && b.total > b.lim.CompressAbove {
		b.compressing = true
		b.compressOpen(depth)
	}
	lv := b.level(depth)
	lv.begin(new(Frame), b.kept >= b.lim.MaxKept)
	b.kept++
	return lv, nil
}

func (lv *level) begin(f *Frame, doomed bool) {
	lv.frame, lv.discard = f, doomed
	lv.made, lv.loop, lv.start = 0, nil, 0
}

// close completes the open frame of depth and adds it to its parent.
func (b *builder) close(depth int) *Frame {
	lv := b.levels[depth]
	f := lv.frame
	s := b.seal(lv)
	if depth > 0 {
		up := b.levels[depth-1]
		if lv.discard {
			b.elide(up, f)
		} else {
			b.push(up, sibling{frame: f, at: up.made, shape: s})
		}
		up.made++
	}
	return f
}

// seal moves children and logs of the level into its open frame and empties the level. It
// returns the frame's shape if the tree is being compressed.
func (b *builder) seal(lv *level) (s shape) {
	f := lv.frame
	lv.placeLogs()
	if len(lv.logs) > 0 {
		f.Logs = append(make([]Log, 0, len(lv.logs)), lv.logs...)
	}
	if len(lv.kids) > 0 {
		f.Children = make([]*Frame, len(lv.kids))
		for i := range lv.kids {
			f.Children[i] = lv.kids[i].frame
		}
	}
	if b.compressing && !lv.discard {
		s = b.shapeOf(f, lv.kids)
	}
	clear(lv.logs)
	clear(lv.kids)
	lv.logs, lv.kids, lv.frame = lv.logs[:0], lv.kids[:0], nil
	return s
}

// unplaced is Log.Calls of a log whose position among the calls is unknown.
const unplaced = -1

// placeLogs makes the positions of logs ascending and keeps them within the kept children:
// some nodes count calls that they do not list.
func (lv *level) placeLogs() {
	last := 0
	for i := range lv.logs {
		l := &lv.logs[i]
		if l.Calls == unplaced || l.Calls > lv.made {
			l.Calls = lv.made
		}
		l.Calls = max(l.Calls, last)
		last = l.Calls
	}
	if len(lv.kids) == lv.made {
		return
	}
	for i := range lv.logs {
		calls := lv.logs[i].Calls
		lv.logs[i].Calls = sort.Search(len(lv.kids), func(k int) bool { return lv.kids[k].at >= calls })
	}
}

// tree completes the tree below root.
func (b *builder) tree(source Source, root *Frame) *Tree {
	t := &Tree{Source: source, Root: root}
	t.Finish()
	b.release()
	return t
}
