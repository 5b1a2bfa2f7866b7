package flow

import (
	"fmt"

	"txlens/engine/ethrpc"
	"txlens/engine/evmsig"
	"txlens/engine/statediff"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// unitsMoved is an amount of one id of a multi-token (ERC-1155) that an event moves.
type unitsMoved struct {
	from, to common.Address
	id, v    uint256.Int
	frame    *trace.Frame // the call that emitted it, without delegation; nil if unknown
}

// repeatedUnits returns the positions of the multi-token events whose units all stand in earlier
// events of the same call: a token that logs each unit and the batch, or the same event in its
// own function and in its base class. The state decides whether they moved once; without it,
// the units that the call asked for do.
func (c *computation) repeatedUnits() (extra []int) {
	tokens, logs := c.multiTokens()
	for _, token := range tokens {
		if c.nativeToken(token) || c.fake[token] {
			continue
		}
		if positions, kept := c.unitsAgain(logs[token]); len(positions) > 0 && c.unitsOnce(token, kept, logs[token]) {
			c.note(fmt.Sprintf("token %s logs a movement twice that took place once; it is counted once", token))
			extra = append(extra, positions...)
		}
	}
	return extra
}

// multiTokens lists the contracts with more than one multi-token event, with the positions of
// these events.
func (c *computation) multiTokens() (tokens []common.Address, logs map[common.Address][]int) {
	for i := range c.Receipt.Logs {
		l := &c.Receipt.Logs[i]
		if len(l.Topics) != 4 || l.Topics[0] != evmsig.TopicTransferSingle && l.Topics[0] != evmsig.TopicTransferBatch {
			continue
		}
		if logs == nil {
			logs = map[common.Address][]int{}
		}
		if logs[l.Address] = append(logs[l.Address], i); len(logs[l.Address]) == 2 {
			tokens = append(tokens, l.Address)
		}
	}
	return tokens, logs
}

// unitsAgain sorts the events at the positions of a token into those that repeat earlier ones
// and the units of the others.
func (c *computation) unitsAgain(positions []int) (extra []int, kept []unitsMoved) {
	open := map[unitsMoved]int{}
	for _, pos := range positions {
		units := c.unitsOf(pos)
		if takeAll(open, units) {
			extra = append(extra, pos)
			continue
		}
		for _, u := range units {
			open[u]++
		}
		kept = append(kept, units...)
	}
	return extra, kept
}

// takeAll takes units away from open ones; it takes none if they are not all there.
func takeAll(open map[unitsMoved]int, units []unitsMoved) bool {
	for i, u := range units {
		if open[u] == 0 {
			for _, taken := range units[:i] {
				open[taken]++
			}
			return false
		}
		open[u]--
	}
	return len(units) > 0
}

// unitsOf reads what the multi-token event at a position moves.
func (c *computation) unitsOf(pos int) (units []unitsMoved) {
	l := &c.Receipt.Logs[pos]
	from, to, ok := parties(l.Topics[2][:], l.Topics[3][:])
	if !ok {
		return nil
	}
	u := unitsMoved{from: from, to: to, frame: c.emittedBy(pos)}
	ids, values, ok := idsAndValues(l)
	if !ok {
		return nil
	}
	for i := 0; i < len(ids); i += 32 {
		u.id.SetBytes32(ids[i : i+32])
		u.v.SetBytes32(values[i : i+32])
		if !u.v.IsZero() && from != to {
			units = append(units, u)
		}
	}
	return units
}

// idsAndValues cuts the ids and amounts out of a multi-token event.
func idsAndValues(l *ethrpc.Log) (ids, values []byte, ok bool) {
	if l.Topics[0] == evmsig.TopicTransferSingle {
		ids, values = evmsig.Word(l.Data, 0), evmsig.Word(l.Data, 1)
		return ids, values, values != nil
	}
	ids, ok1 := evmsig.Words(l.Data, 0)
	values, ok2 := evmsig.Words(l.Data, 1)
	return ids, values, ok1 && ok2 && len(ids) == len(values)
}

// unitsOnce reports whether the kept units are what moved.
func (c *computation) unitsOnce(token common.Address, kept []unitsMoved, positions []int) bool {
	if c.Diff == nil {
		return askedUnits(kept)
	}
	var all []unitsMoved
	for _, pos := range positions {
		all = append(all, c.unitsOf(pos)...)
	}
	w := writtenBy(c.Diff, token)
	once, twice := netUnits(kept), netUnits(all)
	if len(once) > maxCompared || !w.any() || w.agreesUnits(twice) {
		return false
	}
	return w.agreesUnits(once) || w.amounts(netsOfUnits(once)) && !w.amounts(netsOfUnits(twice))
}

// netUnit is what a holder's events of one id add up to.
type netUnit struct {
	id uint256.Int
	netOf
}

func netUnits(list []unitsMoved) (nets []netUnit) {
	type key struct {
		holder common.Address
		id     uint256.Int
	}
	at := map[key]int{}
	add := func(holder common.Address, id, v *uint256.Int) {
		if holder == (common.Address{}) {
			return
		}
		i, ok := at[key{holder, *id}]
		if !ok {
			i = len(nets)
			at[key{holder, *id}] = i
			nets = append(nets, netUnit{id: *id, netOf: netOf{holder: holder}})
		}
		nets[i].in.Add(&nets[i].in, v)
	}
	for i := range list {
		u := &list[i]
		add(u.from, &u.id, new(uint256.Int).Neg(&u.v))
		add(u.to, &u.id, &u.v)
	}
	return nets
}

func netsOfUnits(list []netUnit) (nets []netOf) {
	for i := range list {
		nets = append(nets, list[i].netOf)
	}
	return nets
}

// agreesUnits reports whether a mapping of mappings of the contract, by id and holder or the other
// way round, changed by what the holders' events add up to.
func (w *written) agreesUnits(nets []netUnit) bool {
	layouts := statediff.Layouts()
	for i := range layouts {
		for _, holderFirst := range [2]bool{false, true} {
			if layouts[i].Order != statediff.Solady && w.agreesUnitsAt(&layouts[i], holderFirst, nets) {
				return true
			}
		}
	}
	return false
}

func (w *written) agreesUnitsAt(l *statediff.Layout, holderFirst bool, nets []netUnit) bool {
	compared := 0
	for i := range nets {
		n := &nets[i]
		if n.in.IsZero() {
			continue
		}
		outer, inner := common.Hash(n.id.Bytes32()), statediff.Word(n.holder)
		if holderFirst {
			outer, inner = inner, outer
		}
		nested := statediff.Layout{Mapping: l.Slot(outer), Order: l.Order}
		delta, changed := w.change(nested.Slot(inner))
		if !changed || !sameAmount(&n.in, delta) {
			return false
		}
		compared++
	}
	return compared > 0
}

// unitAt is the position of the id and the amount among the arguments of the functions that
// move, mint or burn units of one id.
var unitAt = map[evmsig.Selector]int{
	evmsig.SelSafeTransferFromItem: 2, evmsig.SelMintItem: 1, evmsig.SelMintItemPlain: 1, evmsig.SelBurnItem: 1,
}

// askedUnits reports whether all units are those of one call, which asked for them once.
func askedUnits(kept []unitsMoved) bool {
	if len(kept) == 0 || kept[0].frame == nil {
		return false
	}
	f := kept[0].frame
	if f.Kind != trace.Call || f.Status != trace.OK || len(f.Input) < 4 {
		return false
	}
	ids, values := unitsAsked(f)
	if len(ids) != 32*len(kept) || len(values) != len(ids) {
		return false
	}
	asked := map[[2]uint256.Int]int{}
	for i := 0; i < len(ids); i += 32 {
		asked[[2]uint256.Int{*new(uint256.Int).SetBytes32(ids[i : i+32]), *new(uint256.Int).SetBytes32(values[i : i+32])}]++
	}
	for i := range kept {
		u := &kept[i]
		if u.frame != f || u.from != kept[0].from || u.to != kept[0].to || asked[[2]uint256.Int{u.id, u.v}] == 0 {
			return false
		}
		asked[[2]uint256.Int{u.id, u.v}]--
	}
	return true
}

// unitsAsked cuts the ids and amounts out of the arguments of a call.
func unitsAsked(f *trace.Frame) (ids, values []byte) {
	args := f.Input[4:]
	s := evmsig.Called(f.Input)
	if at, ok := unitAt[s]; ok {
		return evmsig.Word(args, at), evmsig.Word(args, at+1)
	}
	at := 0
	switch s {
	case evmsig.SelSafeBatchTransfer:
		at = 2
	case evmsig.SelMintItems, evmsig.SelBurnItems:
		at = 1
	default:
		return nil, nil
	}
	ids, ok1 := evmsig.Words(args, at)
	values, ok2 := evmsig.Words(args, at+1)
	if !ok1 || !ok2 {
		return nil, nil
	}
	return ids, values
}
