package check

import (
	"fmt"
	"math/big"
	"slices"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/statediff"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   60,
	Name:    "control_changed",
	Title:   "owner, role, implementation, threshold or module changed",
	Causes:  []api.Category{api.AccessControl},
	Flags:   verdict.ControlFlags(),
	find:    func(l *inspection) []verdict.Finding { return append(l.takeover(), l.openMint()...) },
	ruleOut: always(verdict.Clean, verdict.WhyNoControlEvent),
})

// control is a word of storage that says who controls a contract.
type control struct {
	slot      common.Hash
	pre, post common.Address
}

// Slots of control that standards fix: the admin of ERC-1967, and the owner of
// OpenZeppelin's Ownable from version 5 on, by its ERC-7201 namespace.
var controlSlots = []common.Hash{statediff.Admin, statediff.Owner}

// ownerSlots is how many of the first slots of a contract may hold its owner.
const ownerSlots = 256

// controls lists the words of control of a contract that went to the party. What
// stands in the implementation slot is code, which runs on the storage of the contract:
// whoever writes it controls the contract. A
// word may be packed: the address is its lowest 160 bits, what stands above is flags.
func (l *inspection) controls(a common.Address) (out []control) {
	for _, s := range l.changed(a) {
		if !slices.Contains(controlSlots, s) && s != statediff.Implementation && s.Big().Cmp(big.NewInt(ownerSlots)) >= 0 {
			continue
		}
		pre, post, _ := l.slotOf(a, s)
		c := control{s, common.BytesToAddress(pre[12:]), common.BytesToAddress(post[12:])}
		code := s == statediff.Implementation
		if c.pre != c.post && (l.party(c.post) || code) && !l.party(c.pre) && post.Big().BitLen() > 64 {
			out = append(out, c)
		}
	}
	return out
}

// waited reports whether the contract had named a member of the party before: as a
// pending owner, say. Then the change was meant.
func (l *inspection) waited(a common.Address, to common.Address) bool {
	for _, s := range l.changed(a) {
		pre, _, _ := l.slotOf(a, s)
		if common.BytesToAddress(pre[12:]) == to {
			return true
		}
	}
	return false
}

// takeover: control of a contract went from somebody who made no call to the sender's
// side, which then took what the contract holds.
func (l *inspection) takeover() (out []verdict.Finding) {
	for _, v := range l.calledByAnybody() {
		for _, c := range l.controls(v) {
			if f, ok := l.taken(v, c); ok {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// calledByAnybody lists the contracts of others that were called, in order.
func (l *inspection) calledByAnybody() (out []common.Address) {
	seen := map[common.Address]bool{}
	for _, f := range l.Tree.Frames {
		if !seen[f.To] && !l.party(f.To) {
			out = append(out, f.To)
		}
		seen[f.To] = true
	}
	return out
}

// calls reports whether an account made a call that counts to another.
func (l *inspection) calls(from, to common.Address) bool {
	return slices.ContainsFunc(l.Tree.Frames, func(f *trace.Frame) bool { return f.Status == trace.OK && f.From == from && f.To == to })
}

func (l *inspection) taken(v common.Address, c control) (verdict.Finding, bool) {
	call := l.grabs(v, c)
	if call == nil || l.f.Created(v) || l.calls(c.pre, v) || l.waited(v, c.post) || !l.governs(v, c) {
		return verdict.Finding{}, false
	}
	keys := l.losses(v)
	open, known := l.openTo(v, call.Input)
	if known && !open {
		return verdict.Finding{}, false // somebody gave this caller the right
	}
	if c.slot == statediff.Implementation && !known {
		return verdict.Finding{}, false // an upgrade, as far as anybody knows
	}
	b := broken{category: api.AccessControl, victims: []common.Address{v}, lost: keys, control: true}
	b.evidence = append(b.evidence,
		l.seen(call, verdict.IsCalledBy, verdict.Who(v), verdict.Who(call.From)),
		l.stored(v, c.slot, verdict.ControllerChanges, verdict.Who(c.pre), verdict.Who(c.post)))
	if known {
		view, _ := l.ask(Question{From: stranger, To: v, Data: call.Input, When: Before})
		b.evidence = append(b.evidence, l.viewed(view, verdict.StrangerSucceeds))
	}
	var took []verdict.Arg
	if len(keys) > 0 {
		took = l.firstLoss(&b, keys[0])
	} else if !known {
		return verdict.Finding{}, false
	}
	switch {
	case c.pre != (common.Address{}):
	case len(keys) == 0: // who set it up may have been the one to do so
		b.missing = []verdict.Sentence{verdict.Say(verdict.MissingNewController)}
	case !known: // it may have been meant for this caller
		b.missing = []verdict.Sentence{verdict.Say(verdict.MissingWhoMayCall)}
	}
	b.check = fmt.Sprintf("%s != %s", ref("after", v, c.slot), ref("before", v, c.slot))
	if len(keys) > 0 {
		b.check += fmt.Sprintf(" and %s > %s", l.sumOf("sent", v, keys[0]), l.sumOf("received", v, keys[0]))
	}
	form := verdict.TookControl
	if took != nil {
		form = verdict.TookControlAndAssets
	}
	who := []verdict.Arg{verdict.Who(v), verdict.Who(call.From), verdict.Slot(c.slot), verdict.Who(c.pre), l.at(call)}
	b.sentence = verdict.Say(form, append(who, took...)...)
	return l.find(b), true
}

// firstLoss adds the first payment of the victim to an account of the sender to the evidence,
// and returns its amount and its place.
func (l *inspection) firstLoss(b *broken, k flow.TokenKey) []verdict.Arg {
	for i := range l.moves {
		if q := &l.moves[i]; q.From == b.victims[0] && l.party(q.To) && q.Key == k && q.Amount.Sign() > 0 {
			b.evidence = append(b.evidence, l.paid(q, verdict.LeavesTo, amountOf(q), verdict.Who(q.To)))
			return []verdict.Arg{amountOf(q), l.placeOf(q)}
		}
	}
	return nil
}

// governs reports whether a word of storage is one of control, and not that of the last
// caller, bidder or winner: a standard says so, the contract's event does, or its owner()
// told what stood there.
func (l *inspection) governs(v common.Address, c control) bool {
	if slices.Contains(controlSlots, c.slot) || c.slot == statediff.Implementation {
		return true
	}
	for i := range l.Receipt.Logs {
		g := &l.Receipt.Logs[i]
		if g.Address != v || len(g.Topics) == 0 || g.Topics[0] != evmsig.TopicOwnershipTransferred {
			continue
		}
		if len(g.Topics) == 3 && common.BytesToAddress(g.Topics[2][12:]) == c.post ||
			len(g.Data) == 64 && common.BytesToAddress(g.Data[44:]) == c.post {
			return true
		}
	}
	owner := l.number(Question{To: v, Data: evmsig.SelOwner[:], When: Before, Asker: "who owns the contract"})
	return owner != nil && common.BigToAddress(owner) == c.pre
}

// grabs is the first call of the party to a contract that carries the new
// controller, or where none does, that is made by it.
func (l *inspection) grabs(v common.Address, c control) *trace.Frame {
	var by *trace.Frame
	for _, f := range l.Tree.Frames {
		if f.Kind != trace.Call || f.Status != trace.OK || f.To != v || !l.party(f.From) || len(f.Input) < 4 {
			continue
		}
		for i := 4; i+32 <= len(f.Input); i += 32 {
			if common.BytesToAddress(f.Input[i+12:i+32]) == c.post && f.Input[i] == 0 {
				return f
			}
		}
		if by == nil && f.From == c.post {
			by = f
		}
	}
	return by
}
