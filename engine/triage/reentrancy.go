package triage

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// entry is a call into a contract while a call of the same function is open, made from
// code that the contract had called in between.
type entry struct {
	outer, inner *trace.Frame
	victim       common.Address
}

// entries lists re-entries by the sender's side into the same function. Flash callbacks
// do not count: there, what comes back calls another function, and by intent.
func (l *look) entries() (out []entry) {
	for _, g := range l.Tree.Frames {
		if g.Kind != trace.Call || g.Status != trace.OK || !l.own[g.From] || l.own[g.To] || len(g.Input) < 4 {
			continue
		}
		called := false
		for f := g.Parent; f != nil; f = f.Parent {
			called = called || f.From == g.To && l.own[f.To] && f.Kind == trace.Call
			if called && f.Kind == trace.Call && f.To == g.To && l.own[f.From] && evmsig.Called(f.Input) == evmsig.Called(g.Input) {
				out = append(out, entry{f, g, g.To})
				break
			}
		}
	}
	return out
}

// reentrancy: a contract paid in a call and, before that call was over, in another one of
// the same function, and what it gave is more than it got and more than it booked.
func (l *look) reentrancy() (out []api.Finding) {
	done := map[common.Address]bool{}
	all := l.entries()
	for _, e := range all {
		if done[e.victim] {
			continue
		}
		done[e.victim] = true
		for _, k := range l.losses(e.victim) {
			if f, ok := l.paidTwice(e, all, k); ok {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// paysIn are the payments of an asset by a contract to the sender's side that belong to
// one frame and to none nested in it by re-entry.
func (l *look) paysIn(f *trace.Frame, nested []entry, victim common.Address, k flow.TokenKey) (out []*payment) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.key != k || p.from != victim || !l.own[p.to] || p.amount.Sign() == 0 || p.frame == nil || !below(p.frame, f) {
			continue
		}
		if !slices.ContainsFunc(nested, func(e entry) bool { return e.inner != f && below(e.inner, f) && below(p.frame, e.inner) }) {
			out = append(out, p)
		}
	}
	return out
}

func (l *look) paidTwice(e entry, all []entry, k flow.TokenKey) (api.Finding, bool) {
	outer, inner := l.paysIn(e.outer, all, e.victim, k), l.paysIn(e.inner, all, e.victim, k)
	if len(outer) == 0 || len(inner) == 0 {
		return api.Finding{}, false
	}
	w := l.fullWords()
	// What the sender's side put in, and what else it gave, such as shares.
	var in []*payment
	for i := range l.pays {
		p := &l.pays[i]
		if !l.own[p.from] || l.own[p.to] || p.amount.Sign() == 0 {
			continue
		}
		if p.key != k && (p.to == e.victim || p.key.Token == e.victim) {
			return api.Finding{}, false // something else was given for it
		}
		if p.key == k && p.to == e.victim {
			in = append(in, p)
		}
	}
	gave := l.total(k, func(p *payment) bool { return p.from == e.victim && l.own[p.to] })
	got := l.total(k, func(p *payment) bool { return p.to == e.victim && l.own[p.from] })
	net := new(big.Int).Sub(gave, got)
	if net.Sign() <= 0 || l.booked(net, k) {
		return api.Finding{}, false
	}
	b := broken{category: api.Reentrancy, victim: e.victim, lost: []flow.TokenKey{k}}
	slot, pre, post, credited := l.credit(e.victim, e.inner.From)
	switch {
	case credited && pre.Cmp(post) > 0 && new(big.Int).Sub(pre, post).Cmp(net) < 0 && pre.Cmp(outer[0].amount) >= 0:
		b.check = fmt.Sprintf("%s - %s > %s - %s", ref("sent", e.victim, k), ref("received", e.victim, k), ref("before", e.victim, slot), ref("after", e.victim, slot))
		b.evidence = append(b.evidence, l.stored(e.victim, slot, "what %s keeps for %s fell by %s base units only", w.Who(e.victim), w.Who(e.inner.From), new(big.Int).Sub(pre, post)))
	case !credited && len(in) > 0 && len(in) <= 8 && l.Diff != nil:
		parts := make([]string, len(in))
		for i, p := range in {
			parts[i] = l.moved(p)
		}
		b.check = ref("sent", e.victim, k) + " > " + strings.Join(parts, " + ")
		b.evidence = append(b.evidence, l.paid(in[0], "%s was put in before", w.Amount(k, in[0].amount)))
	default:
		b.missing = []string{"what the contract booked for the payments: its storage before and after"}
	}
	b.evidence = append(b.evidence,
		l.seen(e.outer, "%s is called and has not returned before the next", w.Who(e.victim)),
		l.seen(e.inner, "%s is entered again, in the same function, from the code that it had called", w.Who(e.victim)),
		l.paid(outer[0], "the outer call pays %s", w.Amount(k, outer[0].amount)), l.paid(inner[0], "the inner call pays %s", w.Amount(k, inner[0].amount)))
	b.sentence = fmt.Sprintf("%s must book a payment before it calls who is paid; it was entered again by %s in frame %s inside frame %s and gave %s for %s put in.",
		w.Who(e.victim), w.Who(e.inner.From), l.path(e.inner), l.path(e.outer), w.Amount(k, gave), w.Amount(k, got))
	return l.find(b), true
}

// booked reports whether some contract's storage, other than the token's own, fell by
// just what was paid: then the payment was a debt that is gone.
func (l *look) booked(net *big.Int, k flow.TokenKey) bool {
	if l.Diff == nil {
		return false
	}
	for a := range l.Diff.Pre {
		if a == k.Token && a != (common.Address{}) {
			continue
		}
		for _, s := range l.changed(a) {
			pre, post, _ := l.slotOf(a, s)
			if new(big.Int).Sub(pre.Big(), post.Big()).Cmp(net) == 0 {
				return true
			}
		}
	}
	return false
}
