package flow

import (
	"bytes"
	"fmt"
	"math/big"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// maxRepeatGap is how far behind its first log the repetition of a movement is looked for:
// a token may log an approval or an event of its own in between.
const maxRepeatGap = 3

// movedLog is one transfer event of a fungible token.
type movedLog struct {
	pos      int
	from, to common.Address
	v        uint256.Int
	frame    *trace.Frame // the call that emitted it, without delegation; nil if unknown
	equal    int          // equal events before it
	near     bool         // the last of them is its neighbour
}

// repeats returns the positions of the transfer events that report a movement a second
// time: tokens whose own function and whose base class both emit the event. Only events of
// one call are taken for that, and the state decides; where it is unknown, the amount that
// the call asked for does.
func (c *computation) repeats() (skip map[int]bool) {
	if !c.Succeeded || (c.Diff == nil && c.Tree == nil) {
		return nil
	}
	done := map[common.Address]bool{}
	logs := c.Receipt.Logs
	for i := range logs {
		if repeatsNear(logs, i) < 0 || done[logs[i].Address] || c.nativeToken(logs[i].Address) || c.fake[logs[i].Address] {
			continue
		}
		token := logs[i].Address
		done[token] = true
		for _, pos := range c.repeatsOf(token) {
			if skip == nil {
				skip = map[int]bool{}
			}
			skip[pos] = true
		}
	}
	for _, pos := range c.repeatedUnits() {
		if skip == nil {
			skip = map[int]bool{}
		}
		skip[pos] = true
	}
	return skip
}

// repeatsNear returns the position of the equal transfer event of the same token shortly
// before a log, -1 for none.
func repeatsNear(logs []ethrpc.Log, i int) int {
	l := &logs[i]
	if len(l.Topics) == 0 || l.Topics[0] != evmsig.TopicTransfer {
		return -1
	}
	for j := i - 1; j >= max(0, i-maxRepeatGap); j-- {
		if logs[j].Address == l.Address && (equalLogs(&logs[j], l) || burntTwice(&logs[j], l)) {
			return j
		}
	}
	return -1
}

// burntTwice reports whether two events of a token take one amount from one holder, once to the
// zero address and once to the address of what is burnt.
func burntTwice(a, b *ethrpc.Log) bool {
	from1, to1, v1, ok1 := erc20Transfer(a)
	from2, to2, v2, ok2 := erc20Transfer(b)
	if !ok1 || !ok2 || from1 != from2 || v1 != v2 {
		return false
	}
	none := common.Address{}
	return to1 == none && to2 == deadAddress || to1 == deadAddress && to2 == none
}

func equalLogs(a, b *ethrpc.Log) bool {
	if len(a.Topics) != len(b.Topics) || !bytes.Equal(a.Data, b.Data) {
		return false
	}
	for i := range a.Topics {
		if a.Topics[i] != b.Topics[i] {
			return false
		}
	}
	return true
}

// repeatsOf returns the positions of a token's events that repeat another.
func (c *computation) repeatsOf(token common.Address) []int {
	items := c.repeatedItems(token)
	list := c.movedLogs(token)
	for _, extra := range [2][]int{nearRepeats(list), pairedRepeats(list)} {
		if len(extra) > 0 && c.countedOnce(token, list, extra) {
			c.note(fmt.Sprintf("token %s logs a movement twice that took place once; it is counted once", token))
			return append(items, extra...)
		}
	}
	return items
}

// repeatedItems returns the events that move an NFT once more from the same holder to the same
// receiver, which is impossible: it left before.
func (c *computation) repeatedItems(token common.Address) (extra []int) {
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if l.Address != token || repeatsNear(c.Receipt.Logs, i) < 0 || !c.readsID(l) {
			continue
		}
		if from, to, id, ok := readTransfer(l); ok && from != to && !c.cameBack(from, id, repeatsNear(c.Receipt.Logs, i)+1, i) {
			extra = append(extra, i)
		}
	}
	return extra
}

// cameBack reports whether one of the logs from first to before last returns an NFT of the
// token of log last to a holder.
func (c *computation) cameBack(holder common.Address, id uint256.Int, first, last int) bool {
	for i := first; i < last; i++ {
		l := &c.Receipt.Logs[i]
		if l.Address != c.Receipt.Logs[last].Address || len(l.Topics) == 0 {
			continue
		}
		if _, to, v, ok := readTransfer(l); ok && to == holder && v == id {
			return true
		}
	}
	return false
}

// movedLogs lists the transfer events of a fungible token with the equal ones before them.
func (c *computation) movedLogs(token common.Address) (list []movedLog) {
	last := map[movedKey]int{}
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if l.Address != token {
			continue
		}
		from, to, v, ok := c.amountMoved(l)
		if !ok {
			continue
		}
		if to == deadAddress {
			to = common.Address{} // burnt: some tokens log both
		}
		m := movedLog{pos: i, from: from, to: to, v: v, frame: c.emittedBy(i)}
		k := movedKey{from, to, v, m.frame}
		if at, again := last[k]; again {
			m.equal, m.near = list[at].equal+1, at == len(list)-1
		}
		last[k] = len(list)
		list = append(list, m)
	}
	return list
}

// deadAddress is where tokens put what they burn if they do not take it from the supply.
var deadAddress = common.HexToAddress("0x000000000000000000000000000000000000dEaD")

type movedKey struct {
	from, to common.Address
	v        uint256.Int
	frame    *trace.Frame
}

// emittedBy is the call that emitted a log of the receipt; nil if the trace does not tell.
// Code that is run for another contract belongs to the call of that contract.
func (c *computation) emittedBy(pos int) *trace.Frame {
	if c.logFrames == nil {
		c.logFrames = c.Tree.LogFrames()
	}
	return c.logFrames[pos].EnclosingCall()
}

// nearRepeats are the events right behind an equal one.
func nearRepeats(list []movedLog) (extra []int) {
	for i := range list {
		if list[i].near {
			extra = append(extra, list[i].pos)
		}
	}
	return extra
}

// pairedRepeats are the second events of each pair of equal ones, wherever they stand: a token
// may repeat all its events at the end.
func pairedRepeats(list []movedLog) (extra []int) {
	for i := range list {
		if list[i].equal%2 == 1 {
			extra = append(extra, list[i].pos)
		}
	}
	return extra
}

// countedOnce reports whether the movements took place once where the events beside extra
// say so.
func (c *computation) countedOnce(token common.Address, list []movedLog, extra []int) bool {
	dropped := map[int]bool{}
	for _, pos := range extra {
		dropped[pos] = true
	}
	once, all := netsOf(list, dropped), netsOf(list, nil)
	if c.Diff == nil {
		return c.askedOnce(list)
	}
	w := writtenBy(c.Diff, token)
	if !w.any() {
		return false
	}
	if w.agrees(all) {
		return false
	}
	return w.agrees(once) || w.amounts(once) && !w.amounts(all)
}

// netOf is what a holder's events add up to.
type netOf struct {
	holder common.Address
	in     uint256.Int // modulo 2^256
}

func netsOf(list []movedLog, dropped map[int]bool) (nets []netOf) {
	at := map[common.Address]int{}
	add := func(holder common.Address, v *uint256.Int) {
		if holder == (common.Address{}) {
			return
		}
		i, ok := at[holder]
		if !ok {
			i = len(nets)
			at[holder] = i
			nets = append(nets, netOf{holder: holder})
		}
		nets[i].in.Add(&nets[i].in, v)
	}
	for i := range list {
		if m := &list[i]; !dropped[m.pos] {
			add(m.from, new(uint256.Int).Neg(&m.v))
			add(m.to, &m.v)
		}
	}
	return nets
}

// agrees reports whether a mapping of the contract changed by what the holders' events add
// up to.
func (w *written) agrees(nets []netOf) bool {
	if len(nets) > maxCompared {
		return false
	}
	layouts := statediff.Layouts()
	for i := range layouts {
		if compared, same := w.agreesAt(&layouts[i], nets); compared > 0 && same {
			return true
		}
	}
	return false
}

func (w *written) agreesAt(l *statediff.Layout, nets []netOf) (compared int, same bool) {
	for i := range nets {
		n := &nets[i]
		if n.in.IsZero() {
			continue
		}
		delta, changed := w.change(l.Slot(statediff.Word(n.holder)))
		if !changed || !sameAmount(&n.in, delta) {
			return compared, false
		}
		compared++
	}
	return compared, true
}

// amounts reports whether some slot changed by each of the amounts, wherever the contract
// keeps its balances.
func (w *written) amounts(nets []netOf) bool {
	found := false
	for i := range nets {
		if nets[i].in.IsZero() {
			continue
		}
		if !w.changedBy(&nets[i].in) {
			return false
		}
		found = true
	}
	return found
}

// changedBy reports whether some slot changed by an amount.
func (w *written) changedBy(n *uint256.Int) bool {
	for slot := range w.post {
		if d, _ := w.change(slot); sameAmount(n, d) {
			return true
		}
	}
	for slot := range w.pre {
		if d, _ := w.change(slot); sameAmount(n, d) {
			return true
		}
	}
	return false
}

// askedOnce reports whether all events are those of one call, which asked for the amount of
// one of them.
func (c *computation) askedOnce(list []movedLog) bool {
	f := list[0].frame
	if f == nil || f.Kind != trace.Call || f.Status != trace.OK {
		return false
	}
	for i := range list {
		if m := &list[i]; m.from != list[0].from || m.to != list[0].to || m.v != list[0].v {
			return false
		}
	}
	at, ok := amountAt[evmsig.Called(f.Input)]
	if !ok || len(list) != 2 {
		return false
	}
	w := evmsig.Word(f.Input[4:], at)
	return w != nil && *new(uint256.Int).SetBytes32(w) == list[0].v
}

// amountAt is the position of the amount among the arguments of the functions that move,
// mint or burn exactly what they are asked for.
var amountAt = map[evmsig.Selector]int{
	evmsig.SelTransfer: 1, evmsig.SelTransferFrom: 2, evmsig.SelMint: 1, evmsig.SelMintAmount: 0,
	evmsig.SelMintTo: 1, evmsig.SelBurn: 0, evmsig.SelBurnFrom: 1, evmsig.SelBurnOf: 1,
}

// halved reports whether every transfer event of a token has an equal one, and the balance
// of a holder moved by half of what they say: events that report each movement twice, and
// no shares.
func (c *computation) halved(token common.Address, h *holding) bool {
	if new(big.Int).Lsh(h.byState, 1).Cmp(h.byLogs) != 0 {
		return false
	}
	open := map[movedKey]bool{}
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if l.Address != token {
			continue
		}
		if from, to, v, ok := c.amountMoved(l); ok {
			k := movedKey{from: from, to: to, v: v}
			if open[k] {
				delete(open, k)
			} else {
				open[k] = true
			}
		}
	}
	return len(open) == 0
}
