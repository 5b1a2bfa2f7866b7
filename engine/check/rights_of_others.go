package check

import (
	"bytes"
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by calls that a contract of others should not have made or taken.
var _ = register(&Check{
	order:  330,
	Name:   "rights_of_others",
	Title:  "rights of others used by a call that the sender chose",
	Causes: []api.Category{api.ArbitraryCall, api.AccessControl},
	rules: []rule{
		{name: "pull_embedded", fires: (*inspection).pullEmbedded, sentence: render(verdict.CauseArbitraryCall, ofFaulty, ofAmount, ofAccounts), proves: true, alone: true, blamesFaulty: true},
		{name: "arbitrary_call", fires: (*inspection).arbitraryCall, sentence: render(verdict.CauseArbitraryCall, ofFaulty, ofAmount, ofAccounts), proves: true, blamesFaulty: true},
		{name: "foreign_delegate", fires: (*inspection).foreignDelegate, sentence: render(verdict.CauseForeignCode, ofVictim), proves: true, blamesFaulty: true},
		{name: "forced_trades", fires: (*inspection).forcedTrades, sentence: render(verdict.CauseForcedTrades, ofFaulty, ofAccounts), proves: true, blamesFaulty: true},
		{name: "pull_named", fires: (*inspection).pullNamed, sentence: render(verdict.CausePull, ofFaulty, ofAmount, ofAccounts), proves: true, alone: true, blamesFaulty: true},
		{name: "granted_approval", fires: (*inspection).grantedApproval, sentence: render(verdict.CauseGrantedApproval, ofContracts), proves: true},
	},
})

// pull is a transferFrom that took tokens of somebody outside the cluster who ran no code.
type pull struct {
	frame     int
	outer     int // the frame by which the party asked for it
	owner, to common.Address
	spender   common.Address
	move      int
}

// pulls lists them: inside an external call of the party by a contract of others, or by the called
// contract on calldata that holds the whole call. Owners who got something are left out,
// or taken alone.
func (l *inspection) pulls(paid bool) (out []pull) {
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.Call || !l.f.Live(i) || len(x.Input) < 100 || !evmsig.TakingFunctions[evmsig.Selector(x.Input[:4])] {
			continue
		}
		p := pull{
			frame:   i,
			outer:   l.asked(x),
			owner:   common.BytesToAddress(x.Input[16:36]),
			to:      common.BytesToAddress(x.Input[48:68]),
			spender: x.From,
			move:    -1,
		}
		if x.From == facts.Permit2 {
			if p.spender = x.Parent.From; l.f.Member(p.spender) {
				continue // by a right of its own; see the rules of drains
			}
		}
		if p.outer < 0 || facts.Nowhere(p.owner) || l.f.InAttackerCluster(p.owner) || l.f.RanCode(p.owner) ||
			p.owner == x.From || l.f.HasSigned(p.owner) {
			continue
		}
		for j := l.f.Before(i); j < l.f.After(i); j++ {
			if m := &l.f.Moves[j]; m.From == p.owner && m.Key.Token == x.To && m.Amount.Sign() > 0 {
				p.move = j
			}
		}
		if p.move >= 0 && l.compensated(p.owner) == paid {
			out = append(out, p)
		}
	}
	return out
}

// asked is the frame by which the party had a token moved: the external call around it, or the
// transaction's own call where its calldata holds the whole call and its target, so that
// the called contract does what anybody tells it; -1 for none.
func (l *inspection) asked(x *trace.Frame) int {
	root := l.f.Tree.Root
	if x.From == l.f.Entry && x.From != (common.Address{}) {
		if facts.Forwards(root, x) && l.f.InAttackerCluster(common.BytesToAddress(x.Input[48:68])) {
			return 0
		}
		return -1
	}
	if d := l.f.ExternalCallAt(x.Index); d >= 0 && !l.f.Member(x.From) && l.f.ExternalCalls[d].Frame != x.Index {
		return l.f.ExternalCalls[d].Frame
	}
	return -1
}

// compensated reports whether an account has more of anything at the end.
func (l *inspection) compensated(who common.Address) bool {
	for _, p := range l.f.Nets(who) {
		if p.Amount.Sign() > 0 {
			return true
		}
	}
	return false
}

// signed reports whether a signature was checked inside a frame.
func (l *inspection) signed(frame int) bool {
	for i := frame; i < l.f.End[frame]; i++ {
		x := l.frame(i)
		if x.To == ecrecover || evmsig.SelValidERC1271.Begins(x.Input) {
			return true
		}
	}
	return false
}

// passed reports whether the calldata of a frame contains bytes.
func (l *inspection) passed(frame int, b []byte) bool {
	in := l.frame(frame).Input
	return len(in) > 4 && bytes.Contains(in[4:], b)
}

// pullEmbedded: the calldata of the party held, byte for byte, the arguments of a
// transferFrom of somebody else's tokens, and a contract of others made that call.
func (l *inspection) pullEmbedded() []match { return l.pulled(api.ArbitraryCall, l.embedded) }

func (l *inspection) embedded(p *pull) bool {
	toUs := l.f.InAttackerCluster(p.to) || l.f.Tx.To != nil && p.to == *l.f.Tx.To || l.gained
	return toUs && l.passed(p.outer, l.frame(p.frame).Input[4:100])
}

// pullNamed: the calldata of the party named somebody else, whose tokens a contract of
// others then took.
func (l *inspection) pullNamed() []match {
	matches := l.pulled(api.AccessControl, func(p *pull) bool { return l.passed(p.outer, p.owner[:]) && !l.embedded(p) })
	for i := range matches {
		if h := &matches[i]; l.f.Alone() || len(h.victims) < 2 && !l.gained {
			h.grade = suspicious
		}
	}
	if l.f.Alone() && l.PublishedCall(0) { // who collects by right calls a function that is known
		return nil
	}
	return matches
}

// pulled makes one match of the pulls that a test lets through, by the contract that made
// them.
func (l *inspection) pulled(c api.Category, pass func(*pull) bool) (out []match) {
	at := map[common.Address]int{}
	signed := map[int]bool{}
	list := l.pulls(false)
	for i := range list {
		p := &list[i]
		if _, known := signed[p.outer]; !known {
			signed[p.outer] = l.signed(p.outer)
		}
		if signed[p.outer] || !pass(p) {
			continue
		}
		g := decisive
		if l.f.Member(p.spender) {
			if g = l.openToAll(p.spender); g == 0 {
				continue
			}
		}
		j, ok := at[p.spender]
		if !ok {
			j = len(out)
			at[p.spender] = j
			out = append(out, match{grade: g, category: c, faulty: p.spender})
		}
		h := &out[j]
		h.count++
		m := &l.f.Moves[p.move]
		if !slices.Contains(h.victims, p.owner) && len(h.victims) < maxVictims {
			h.victims = append(h.victims, p.owner)
		}
		if len(h.moves) < 3 {
			if !slices.Contains(h.frames, p.outer) {
				h.frames = append(h.frames, p.outer)
			}
			h.frames, h.moves = append(h.frames, p.frame), append(h.moves, p.move)
		}
		if h.position.Amount == nil || h.position.Key == m.Key && m.Amount.Cmp(h.position.Amount) > 0 {
			h.position = facts.Position{Key: m.Key, Amount: m.Amount}
			k := slices.Index(h.victims, p.owner)
			if k > 0 {
				h.victims[0], h.victims[k] = h.victims[k], h.victims[0]
			}
		}
	}
	return out
}

// openToAll grades what the called contract did on the sender's word by whether it would
// have done so for anybody: that decides; for its owner alone: that is its business. While
// nobody has answered, it is unusual.
func (l *inspection) openToAll(called common.Address) grade {
	open, known := l.openTo(called, l.f.Tree.Root.Input)
	switch {
	case !known:
		return suspicious
	case open:
		return decisive
	}
	return 0
}

// maxVictims bounds how many accounts a finding lists.
const maxVictims = 200

// forcedTrades: a contract of others made three accounts or more trade that had not asked
// for it, and the party traded against them.
func (l *inspection) forcedTrades() (out []match) {
	if !l.gained {
		return nil
	}
	type book struct {
		match
		got map[facts.Key]bool
	}
	by := map[common.Address]*book{}
	var order []common.Address
	for _, p := range l.pulls(true) {
		if !l.passed(p.outer, p.owner[:]) || l.signed(p.outer) {
			continue
		}
		b := by[p.spender]
		if b == nil {
			b = &book{match{grade: decisive, category: api.AccessControl, faulty: p.spender}, map[facts.Key]bool{}}
			by[p.spender] = b
			order = append(order, p.spender)
		}
		if !slices.Contains(b.victims, p.owner) && len(b.victims) < maxVictims {
			b.victims = append(b.victims, p.owner)
		}
		if len(b.frames) < 3 {
			b.frames, b.moves = append(b.frames, p.frame), append(b.moves, p.move)
		}
		for _, x := range l.f.Nets(p.owner) {
			b.got[x.Key] = b.got[x.Key] || x.Amount.Sign() > 0
		}
	}
	for _, s := range order {
		against := slices.ContainsFunc(l.f.Trades, func(t facts.Trade) bool { return by[s].got[t.Paid] || by[s].got[t.Got] })
		if b := by[s]; len(b.victims) >= 3 && against {
			b.count = len(b.victims)
			out = append(out, b.match)
		}
	}
	return out
}

// arbitraryCall: a contract of others made a call of which a tool had passed the target
// and the bytes, by which it gave its own tokens away or took those of a stranger.
func (l *inspection) arbitraryCall() (out []match) {
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.Call || !l.f.Live(i) || len(x.Input) < 68 || l.f.InAttackerCluster(x.From) {
			continue
		}
		d := l.f.ExternalCallAt(i)
		if d < 0 || l.f.ExternalCalls[d].Frame == i || !l.f.Tool(l.callFrame(d).From) {
			continue
		}
		sel := evmsig.Called(x.Input)
		if sel != evmsig.SelApprove && sel != evmsig.SelTransfer && sel != evmsig.SelIncreaseAllowance {
			continue
		}
		to := common.BytesToAddress(x.Input[16:36])
		if l.f.Member(to) && l.f.Loses(x.From) != nil && l.passed(l.f.ExternalCalls[d].Frame, x.Input) &&
			l.passed(l.f.ExternalCalls[d].Frame, x.To[:]) {
			out = append(
				out,
				match{
					grade:    decisive,
					category: api.ArbitraryCall,
					victims:  []common.Address{x.From},
					calls:    []int{d},
					frames:   []int{i},
					position: l.f.Loses(x.From).Lost[0],
				},
			)
		}
	}
	return out
}

// grantedApproval: contracts of others approved a tool as spender when the party called
// them.
func (l *inspection) grantedApproval() []match {
	h := match{grade: decisive, category: api.AccessControl}
	lost := false
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.Call || !l.f.Live(i) || len(x.Input) < 68 || !evmsig.SelApprove.Begins(x.Input) || l.f.Created(x.From) {
			continue
		}
		d := l.f.ExternalCallAt(i)
		spender := common.BytesToAddress(x.Input[16:36])
		if n := evmsig.Uint(x.Input[4:], 1); d < 0 || l.f.ExternalCalls[d].Target != x.From || !l.f.Tool(spender) || n == nil || n.Sign() == 0 {
			continue
		}
		if !slices.Contains(h.victims, x.From) && len(h.victims) < maxVictims {
			h.victims = append(h.victims, x.From)
		}
		if len(h.calls) < 3 {
			h.calls, h.frames = append(h.calls, d), append(h.frames, i)
		}
		lost = lost || l.f.Loses(x.From) != nil
	}
	if h.count = len(h.victims); h.count < 3 && !lost {
		return nil
	}
	return []match{h}
}

// foreignDelegate: a contract of others ran the code of a tool on its own storage.
func (l *inspection) foreignDelegate() (out []match) {
	for i, x := range l.f.Tree.Frames {
		if x.Kind != trace.DelegateCall || !l.f.Live(i) || l.f.InAttackerCluster(x.From) || l.f.Created(x.From) || !l.f.Tool(x.To) {
			continue
		}
		h := match{grade: suspicious, category: api.ArbitraryCall, victims: []common.Address{x.From}, frames: []int{i}}
		if d := l.f.ExternalCallAt(i); d >= 0 {
			h.calls = []int{d}
		}
		if loss := l.f.Loses(x.From); loss != nil {
			h.grade, h.position = decisive, loss.Lost[0]
		}
		out = append(out, h)
	}
	return out
}
