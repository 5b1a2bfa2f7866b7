package report

import (
	"slices"
	"sort"
)

// A layered drawing after Sugiyama, Tagawa and Toda (1981): break cycles, give
// each box a rank, order each rank so that few links cross, then place. All of it
// in whole pixels, with ties broken by index, so the same graph gives the same
// drawing on every machine. The text of a link is an item of a rank of its own
// between two ranks of boxes, so texts never lie on boxes or on each other.

// size is a width and a height in pixels.
type size struct{ w, h int }

// wire is a link from one box to another, with room for its text.
type wire struct {
	from, to int
	text     size
}

// route is a link as placed: points from left to right, the text above its line.
type route struct {
	points []point
	text   point // left end of the line below the text
	back   bool  // leads from right to left
}

type point struct{ x, y int }

// layout is a graph as placed.
type layout struct {
	w, h   int
	boxes  []point // upper left corners
	sizes  []size  // boxes may have grown to give each link a place
	routes []route
}

// Distances of a layered drawing.
const (
	portStep = 16 // between two links at one side of a box
	rowGap   = 10 // between items of a rank
	rankGap  = 22 // between ranks
	frame    = 12 // around the whole
)

// item is a box, or a joint where a wire passes a rank.
type item struct {
	size
	rank int
	y    int // of the centre
	at   int // place in the rank, from the top
	wire int // of a joint
}

type layers struct {
	wires []wire
	back  []bool
	items []item // boxes first
	boxes int
	ranks [][]int
	left  [][]int // neighbours of an item in the rank before
	right [][]int
	chain [][]int // the items along a wire, from left to right
	mid   []int   // the joint that carries the text
}

// lay places boxes and wires. Wires lead from one box to another; the box at
// index 0 stands leftmost if anything leads away from it.
func lay(boxes []size, wires []wire) *layout {
	l := &layers{wires: wires, boxes: len(boxes)}
	l.back = backwards(len(boxes), wires)
	for i, rank := range ranksOf(len(boxes), wires, l.back) {
		l.items = append(l.items, item{size: boxes[i], rank: rank, wire: -1})
	}
	l.grow()
	l.join()
	l.untangle()
	l.settle()
	return l.draw()
}

// ends are the left and the right box of a wire.
func (l *layers) ends(i int) (left, right int) {
	if l.back[i] {
		return l.wires[i].to, l.wires[i].from
	}
	return l.wires[i].from, l.wires[i].to
}

// backwards finds wires to turn around so that no cycle is left: those that lead
// to a box still open in a search from the first box.
func backwards(n int, wires []wire) []bool {
	out := make([][]int, n)
	for i, w := range wires {
		out[w.from] = append(out[w.from], i)
	}
	back, state := make([]bool, len(wires)), make([]int, n) // 0 new, 1 open, 2 done
	var visit func(int)
	visit = func(box int) {
		state[box] = 1
		for _, i := range out[box] {
			switch to := wires[i].to; state[to] {
			case 0:
				visit(to)
			case 1:
				back[i] = true
			}
		}
		state[box] = 2
	}
	for box := range n {
		if state[box] == 0 {
			visit(box)
		}
	}
	return back
}

// ranksOf gives each box the length of the longest way to it, in steps of two:
// the odd ranks are for texts. Who only gives stands right before who takes.
func ranksOf(n int, wires []wire, back []bool) []int {
	rank, has := make([]int, n), make([]bool, n)
	each := func(f func(a, b int)) {
		for i, w := range wires {
			if back[i] {
				f(w.to, w.from)
			} else {
				f(w.from, w.to)
			}
		}
	}
	each(func(_, b int) { has[b] = true })
	for range n { // a longest way has fewer than n steps
		changed := false
		each(func(a, b int) {
			if rank[b] < rank[a]+2 {
				rank[b], changed = rank[a]+2, true
			}
		})
		if !changed {
			break
		}
	}
	for box := 1; box < n; box++ {
		if has[box] {
			continue
		}
		nearest := -1
		each(func(a, b int) {
			if a == box && (nearest < 0 || rank[b] < nearest) {
				nearest = rank[b]
			}
		})
		rank[box] = max(nearest-2, 0)
	}
	return rank
}

// grow makes boxes high enough for the wires at their fuller side.
func (l *layers) grow() {
	right, left := make([]int, l.boxes), make([]int, l.boxes)
	for i := range l.wires {
		a, b := l.ends(i)
		right[a]++
		left[b]++
	}
	for i := range l.items {
		l.items[i].h = max(l.items[i].h, (max(right[i], left[i])+1)*portStep)
	}
}

// join puts a joint on each rank that a wire passes; one of them holds the text.
func (l *layers) join() {
	last := 0
	for i := range l.items {
		last = max(last, l.items[i].rank)
	}
	l.ranks = make([][]int, last+1)
	l.chain, l.mid = make([][]int, len(l.wires)), make([]int, len(l.wires))
	for i, w := range l.wires {
		a, b := l.ends(i)
		text := l.items[a].rank + 1 // beside the giver
		if l.back[i] {
			text = l.items[b].rank - 1
		}
		l.chain[i] = append(l.chain[i], a)
		for rank := l.items[a].rank + 1; rank < l.items[b].rank; rank++ {
			joint := item{size: size{0, 4}, rank: rank, wire: i}
			if rank == text {
				// The line runs through the middle, so that it can be straight.
				joint.size, l.mid[i] = size{w.text.w, 2 * w.text.h}, len(l.items)
			}
			l.chain[i] = append(l.chain[i], len(l.items))
			l.items = append(l.items, joint)
		}
		l.chain[i] = append(l.chain[i], b)
	}
	l.left, l.right = make([][]int, len(l.items)), make([][]int, len(l.items))
	for _, c := range l.chain {
		for i := 1; i < len(c); i++ {
			l.right[c[i-1]] = append(l.right[c[i-1]], c[i])
			l.left[c[i]] = append(l.left[c[i]], c[i-1])
		}
	}
	for i := range l.items {
		r := l.items[i].rank
		l.items[i].at = len(l.ranks[r])
		l.ranks[r] = append(l.ranks[r], i)
	}
}

// sweeps is how often the ranks are sorted; more of them find little more.
const sweeps = 12

// untangle sorts each rank by the mean place of the neighbours, from the left
// and from the right in turn, and keeps the order with the fewest crossings.
func (l *layers) untangle() {
	best, kept := l.crossings(), l.order()
	for s := range sweeps {
		near := l.left
		if s%2 == 1 {
			near = l.right
		}
		for i := range l.ranks {
			r := i
			if s%2 == 1 {
				r = len(l.ranks) - 1 - i
			}
			l.sortRank(r, near)
		}
		if n := l.crossings(); n < best {
			best, kept = n, l.order()
		}
	}
	for r, order := range kept {
		l.setRank(r, order)
	}
}

func (l *layers) order() [][]int {
	out := make([][]int, len(l.ranks))
	for r := range l.ranks {
		out[r] = slices.Clone(l.ranks[r])
	}
	return out
}

func (l *layers) setRank(r int, order []int) {
	l.ranks[r] = order
	for at, i := range order {
		l.items[i].at = at
	}
}

func (l *layers) sortRank(r int, near [][]int) {
	mean := make(map[int]int, len(l.ranks[r])) // read by key alone
	for _, i := range l.ranks[r] {
		sum := 0
		for _, j := range near[i] {
			sum += (2*l.items[j].at + 1) * 1000 / len(l.ranks[l.items[j].rank])
		}
		if n := len(near[i]); n > 0 {
			mean[i] = sum / n
		} else {
			mean[i] = (2*l.items[i].at + 1) * 1000 / len(l.ranks[r])
		}
	}
	order := slices.Clone(l.ranks[r])
	sort.SliceStable(order, func(a, b int) bool { return mean[order[a]] < mean[order[b]] })
	l.setRank(r, order)
}

func (l *layers) crossings() int {
	n := 0
	for _, rank := range l.ranks {
		var ends [][2]int
		for _, i := range rank {
			for _, j := range l.right[i] {
				ends = append(ends, [2]int{l.items[i].at, l.items[j].at})
			}
		}
		for a := range ends {
			for b := range a {
				if (ends[a][0]-ends[b][0])*(ends[a][1]-ends[b][1]) < 0 {
					n++
				}
			}
		}
	}
	return n
}

// settle finds heights: each item wants to be level with its neighbours, joints
// most of all, so that wires run straight.
func (l *layers) settle() {
	for _, rank := range l.ranks {
		y := 0
		for _, i := range rank {
			l.items[i].y = y + l.items[i].h/2
			y += l.items[i].h + rowGap
		}
	}
	for s := range 2 * sweeps {
		for k := range l.ranks {
			r := k
			if s%2 == 1 {
				r = len(l.ranks) - 1 - k
			}
			l.level(r)
		}
	}
	top := l.items[0].y
	for i := range l.items {
		top = min(top, l.items[i].y-l.items[i].h/2)
	}
	for i := range l.items {
		l.items[i].y += frame - top
	}
}

// level moves the items of a rank as near to the mean of their neighbours as
// their order and their distance allow: the least squares of it, by pooling
// neighbours that push each other.
func (l *layers) level(r int) {
	type pool struct{ sum, weight, first int } // sum of weight x wish
	var pools []pool
	rank, offset := l.ranks[r], 0
	offsets := make([]int, len(rank))
	for k, i := range rank {
		if k > 0 {
			offset += (l.items[rank[k-1]].h+l.items[i].h)/2 + rowGap
		}
		offsets[k] = offset
		wish, weight := l.wish(i)
		p := pool{(wish - offset) * weight, weight, k}
		for len(pools) > 0 {
			before := pools[len(pools)-1]
			if before.sum*p.weight < p.sum*before.weight {
				break
			}
			p = pool{before.sum + p.sum, before.weight + p.weight, before.first}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	for n, p := range pools {
		end := len(rank)
		if n+1 < len(pools) {
			end = pools[n+1].first
		}
		for k := p.first; k < end; k++ {
			l.items[rank[k]].y = p.sum/p.weight + offsets[k]
		}
	}
}

// wish is the height an item wants, and how much it wants it.
func (l *layers) wish(i int) (y, weight int) {
	sum := 0
	for _, near := range [][]int{l.left[i], l.right[i]} {
		for _, j := range near {
			w := 1
			if l.items[i].wire >= 0 && l.items[j].wire >= 0 {
				w = 6
			}
			sum, weight = sum+w*l.items[j].y, weight+w
		}
	}
	if weight == 0 {
		return l.items[i].y, 1
	}
	return sum / weight, weight
}

// draw turns ranks into columns and chains into points.
func (l *layers) draw() *layout {
	out := &layout{boxes: make([]point, l.boxes), sizes: make([]size, l.boxes)}
	x, wide := make([]int, len(l.ranks)), make([]int, len(l.ranks))
	out.w = frame
	for r, rank := range l.ranks {
		x[r] = out.w
		for _, i := range rank {
			wide[r] = max(wide[r], l.items[i].w)
		}
		out.w += wide[r] + rankGap
	}
	out.w += frame - rankGap
	for i := range l.items {
		it := &l.items[i]
		out.h = max(out.h, it.y+(it.h+1)/2+frame)
		if it.wire < 0 {
			out.boxes[i], out.sizes[i] = point{x[it.rank], it.y - it.h/2}, size{wide[it.rank], it.h}
		}
	}
	starts, ends := l.ports()
	for w, chain := range l.chain {
		a, b := &l.items[chain[0]], &l.items[chain[len(chain)-1]]
		route := route{back: l.back[w], points: []point{{x[a.rank] + wide[a.rank], starts[w]}}}
		for _, i := range chain[1 : len(chain)-1] {
			it := &l.items[i]
			if i == l.mid[w] {
				route.text = point{x[it.rank], it.y}
			}
			route.points = append(route.points, point{x[it.rank], it.y}, point{x[it.rank] + wide[it.rank], it.y})
		}
		route.points = append(route.points, point{x[b.rank], ends[w]})
		out.routes = append(out.routes, route)
	}
	return out
}

// ports are the heights at which wires leave their left box and reach their
// right one: spread over its side in the order of where they come from.
func (l *layers) ports() (starts, ends []int) {
	starts, ends = make([]int, len(l.wires)), make([]int, len(l.wires))
	spread := func(box int, near func(w int) int, wires []int, out []int) {
		sort.SliceStable(wires, func(a, b int) bool { return l.items[near(wires[a])].y < l.items[near(wires[b])].y })
		for k, w := range wires {
			out[w] = l.items[box].y + (2*k-len(wires)+1)*portStep/2
		}
	}
	right, left := make([][]int, l.boxes), make([][]int, l.boxes)
	for w := range l.wires {
		a, b := l.ends(w)
		right[a], left[b] = append(right[a], w), append(left[b], w)
	}
	for box := range l.boxes {
		spread(box, func(w int) int { return l.chain[w][1] }, right[box], starts)
		spread(box, func(w int) int { c := l.chain[w]; return c[len(c)-2] }, left[box], ends)
	}
	return starts, ends
}
