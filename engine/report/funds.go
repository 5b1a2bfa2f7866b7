package report

import (
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strconv"
	"strings"

	"txlens/engine/api"
)

// What the graph of funds holds at most.
const (
	maxFundBoxes = 20
	maxFundLanes = 34
	maxLaneItems = 3
)

// Sizes of the graph of funds in pixels.
const (
	fundBoxW = 176 // at most
	fundBoxH = 44
	fundLine = 15 // of text above a wire
)

// fundsNode is one box of the graph of funds: an address, or the source of minted or the
// sink of burnt units of one token. Minting and burning have a box for each token, so that
// the zero address does not connect unrelated transfers.
type fundsNode struct {
	addr        api.Addr
	made, burnt bool
}

// holding is a sum of one token, or a number of its NFTs.
type holding struct {
	token    api.Addr
	symbol   string
	decimals string
	native   bool
	nft      bool
	id       string
	total    *big.Int // base units; of NFTs the number
}

// lane is the sum of all transfers from one node to another.
type lane struct {
	from, to fundsNode
	items    []*holding
	moves    int // the transfers as recorded
	order    int // of its first transfer among the first of all lanes
}

// fundsGraph draws the net transfers between addresses. It returns nil when nothing moved.
func (n *names) fundsGraph(r *api.Result) *drawing {
	all := lanesOf(r)
	if len(all) == 0 {
		return nil
	}
	kept, left := n.chooseLanes(r, all)
	index := map[fundsNode]int{}
	order := []fundsNode{}
	indexOf := func(p fundsNode) int {
		at, ok := index[p]
		if !ok {
			at = len(order)
			index[p], order = at, append(order, p)
		}
		return at
	}
	if slices.ContainsFunc(kept, func(l *lane) bool { return l.from.addr == r.TxMeta.From || l.to.addr == r.TxMeta.From }) {
		indexOf(fundsNode{addr: r.TxMeta.From})
	}
	wires := make([]wire, len(kept))
	texts := make([][]string, len(kept))
	for i, l := range kept {
		texts[i] = n.laneText(l)
		texts[i][0] = strconv.Itoa(l.order) + ". " + texts[i][0]
		w := 0
		for _, t := range texts[i] {
			w = max(w, textWidth(t, fontText))
		}
		wires[i] = wire{indexOf(l.from), indexOf(l.to), size{w + 8, len(texts[i])*fundLine + 4}}
	}
	boxes := make([]size, len(order))
	for i := range boxes {
		boxes[i] = size{n.fundsParty(order[i]).width(fundBoxW), fundBoxH}
	}
	return n.drawFunds(r, order, kept, texts, left, lay(boxes, wires))
}

func (n *names) drawFunds(r *api.Result, order []fundsNode, kept []*lane, texts [][]string, left []*lane, l *layout) *drawing {
	d := &drawing{ID: "funds", common: "wire", Title: "Fund flow", W: l.w, H: l.h, Note: notInGraph(left)}
	var sentences []string
	for i, k := range kept {
		class := "wire"
		switch r.TxMeta.From {
		case k.from.addr:
			class = "wire out"
		case k.to.addr:
			class = "wire in"
		}
		d.wire(l.routes[i], class, texts[i])
		sentences = append(
			sentences,
			fmt.Sprintf("%s to %s: %s", n.fundsParty(k.from).Name(), n.fundsParty(k.to).Name(), strings.Join(texts[i], ", ")),
		)
	}
	d.Desc = describe(sentences)
	d.explained(key{"out", "from the sender"}, key{"in", "to the sender"}, key{"", "between others"})
	for i, p := range order {
		class := "party"
		switch {
		case p.made || p.burnt:
			class = "party void"
		case p.addr == r.TxMeta.From:
			class = "party self"
		}
		at, s := l.boxes[i], l.sizes[i]
		d.Boxes = append(d.Boxes, mailbox(n.fundsParty(p), at.x, at.y, s.w, s.h, class))
	}
	return d
}

// wire draws a line with its arrow head and the text above it.
func (d *drawing) wire(r route, class string, text []string) {
	var b strings.Builder
	from, to := r.points[0], r.points[len(r.points)-1]
	for i, p := range r.points {
		switch {
		case i == 0:
			fmt.Fprintf(&b, "M%d %d", p.x, p.y)
		case i%2 == 1: // between ranks
			q := r.points[i-1]
			mid := (p.x + q.x) / 2
			fmt.Fprintf(&b, "C%d %d %d %d %d %d", mid, q.y, mid, p.y, p.x, p.y)
		default: // across a rank
			fmt.Fprintf(&b, "L%d %d", p.x, p.y)
		}
	}
	tip := arrowHead(to.x, to.y, false)
	if r.back {
		tip = arrowHead(from.x, from.y, true)
	}
	d.Strokes = append(d.Strokes, stroke{class, b.String()}, stroke{class + " tip", tip})
	for i, t := range text {
		d.Texts = append(d.Texts, caption{class + " sum", r.text.x + 4, r.text.y - 5 - (len(text)-1-i)*fundLine, t})
	}
}

func (n *names) fundsParty(p fundsNode) party {
	switch {
	case p.made:
		return party{Label: "minted", Short: "zero address", Address: p.addr.String()}
	case p.burnt:
		return party{Label: "burnt", Short: "zero address", Address: p.addr.String()}
	}
	return n.party(p.addr)
}

// lanesOf sums the transfers that took effect, in the order of the first transfer of each
// lane.
func lanesOf(r *api.Result) []*lane {
	type key struct{ from, to fundsNode }
	at := map[key]*lane{}
	var out []*lane
	for _, a := range arrows(r) {
		h := heldBy(r, &a)
		if h == nil || a.from == a.to {
			continue
		}
		k := key{fundsNode{addr: a.from}, fundsNode{addr: a.to}}
		if a.move != nil {
			zero := api.Addr{}
			k.from.made, k.to.burnt = a.from == zero, a.to == zero
		}
		l := at[k]
		if l == nil {
			l = &lane{from: k.from, to: k.to, order: len(out) + 1}
			at[k], out = l, append(out, l)
		}
		l.add(h)
	}
	return out
}

// heldBy returns what an arrow transfers, nil when it transfers nothing.
func heldBy(r *api.Result, a *arrow) *holding {
	switch {
	case a.move != nil:
		h := &holding{
			token:    a.move.TokenAddress,
			symbol:   a.move.TokenSymbol,
			decimals: a.move.Decimals,
			id:       a.move.TokenID,
			nft:      a.move.TokenID != "",
			total:    integer(a.move.Total),
		}
		if h.nft && h.total == nil {
			h.total = big.NewInt(1)
		}
		if h.total == nil || h.total.Sign() <= 0 {
			return nil
		}
		return h
	case a.node != nil && (a.style != styleCall || a.node.Status != api.NodeOK || a.node.Type == "DELEGATECALL" || a.node.Type == "CALLCODE"):
		return nil
	case a.node == nil && r.Status != api.StatusSuccess:
		return nil
	}
	wei := r.TxMeta.ValueWei
	if a.node != nil {
		wei = a.node.ValueWei
	}
	total := integer(wei)
	if total == nil || total.Sign() <= 0 {
		return nil
	}
	return &holding{native: true, decimals: "18", total: total}
}

func (l *lane) add(h *holding) {
	l.moves++
	for _, have := range l.items {
		if have.native == h.native && have.nft == h.nft && have.token == h.token {
			have.total = new(big.Int).Add(have.total, h.total)
			have.id = "" // no longer one of them
			return
		}
	}
	l.items = append(l.items, h)
}

// maxLaneText bounds the text for a token at a lane, in characters.
const maxLaneText = 30

// laneText returns the lines of text for a lane, one for each token.
func (n *names) laneText(l *lane) []string {
	var out []string
	for _, h := range head(l.items, maxLaneItems) {
		limit := maxLaneText
		if !h.native && n.symbol(h.symbol, h.token) != api.OneLine(h.symbol, maxSymbol) {
			limit += 14 // the address is what tells the token from others
		}
		out = append(out, api.OneLine(n.holdingText(h), limit))
	}
	if more := len(l.items) - len(out); more > 0 {
		out = append(out, "and "+api.Count(more, "more token"))
	}
	return out
}

func (n *names) holdingText(h *holding) string {
	sym := n.native
	if !h.native {
		sym = n.symbol(h.symbol, h.token)
	}
	if h.nft {
		if h.id != "" && h.total.IsInt64() && h.total.Int64() == 1 {
			return sym + " #" + api.OneLine(h.id, 12)
		}
		return api.Thousands(h.total.String()) + " " + sym
	}
	d, known := units(h.total.String(), h.decimals)
	if !known {
		return amount(d) + " " + sym + " raw"
	}
	return amount(d) + " " + sym
}

// chooseLanes selects the lanes to draw within both bounds: first those of the sender, then
// the most valuable, then the earliest. The result is in execution order.
func (n *names) chooseLanes(r *api.Result, all []*lane) (kept, left []*lane) {
	prices := pricesOf(r)
	worth := make([]*big.Rat, len(all))
	order := make([]int, len(all))
	for i, l := range all {
		order[i], worth[i] = i, l.worth(prices)
	}
	self := func(l *lane) bool { return l.from.addr == r.TxMeta.From || l.to.addr == r.TxMeta.From }
	sort.SliceStable(order, func(a, b int) bool {
		x, y := order[a], order[b]
		if self(all[x]) != self(all[y]) {
			return self(all[x])
		}
		return worth[x].Cmp(worth[y]) > 0
	})
	seen, keep := map[fundsNode]bool{}, make([]bool, len(all))
	count := 0
	for _, i := range order {
		fresh := 0
		for _, p := range []fundsNode{all[i].from, all[i].to} {
			if !seen[p] {
				fresh++
			}
		}
		if count == maxFundLanes || len(seen)+fresh > maxFundBoxes {
			continue
		}
		seen[all[i].from], seen[all[i].to], keep[i] = true, true, true
		count++
	}
	for i, l := range all {
		if keep[i] {
			kept = append(kept, l)
		} else {
			left = append(left, l)
		}
	}
	return kept, left
}

// pricesOf returns the prices that the result states, by token. The zero address is the
// native coin.
func pricesOf(r *api.Result) map[api.Addr]*big.Rat {
	out := map[api.Addr]*big.Rat{}
	for _, b := range r.BalanceChanges {
		for _, t := range b.Tokens {
			if p := rational(t.PriceUSD); p != nil && out[t.TokenAddress] == nil && t.TokenID == nil {
				out[t.TokenAddress] = p
			}
		}
	}
	return out
}

// worth is the value of a lane in dollars, as far as prices are known.
func (l *lane) worth(prices map[api.Addr]*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, h := range l.items {
		price := prices[h.token]
		d, known := units(h.total.String(), h.decimals)
		if price == nil || !known || h.nft {
			continue
		}
		sum.Add(sum, new(big.Rat).Mul(price, rational(&d)))
	}
	return sum
}

func notInGraph(left []*lane) string {
	if len(left) == 0 {
		return ""
	}
	moves := 0
	for _, l := range left {
		moves += l.moves
	}
	return "Not drawn: " + api.Count(moves, "more move") + " between " + strconv.Itoa(len(left)) + " more pairs of addresses."
}
