package check

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   10,
	Name:    "reentrancy",
	Title:   "reentrancy into a contract that later writes",
	Causes:  []api.Category{api.Reentrancy},
	find:    (*inspection).reentrancy,
	ruleOut: (*inspection).checkReentrancy,
})

// entry is a call into a contract while a call of the same function is open, made from
// code that the contract had called in between.
type entry struct {
	outer, inner *trace.Frame
	victim       common.Address
}

// entries lists re-entries by the party into the same function. Flash callbacks
// do not count: there, what comes back calls another function, and by intent.
func (l *inspection) entries() (out []entry) {
	for _, r := range l.Reentries() {
		g := r.Inner
		if g.Kind != trace.Call || !l.party(g.From) || l.party(g.To) || len(g.Input) < 4 {
			continue
		}
		called := false
		for f := g.Parent; f != nil; f = f.Parent {
			called = called || f.From == g.To && l.party(f.To) && f.Kind == trace.Call
			if called && f.Kind == trace.Call && f.To == g.To && l.party(f.From) && evmsig.Called(f.Input) == evmsig.Called(g.Input) {
				out = append(out, entry{f, g, g.To})
				break
			}
		}
	}
	return out
}

// reentrancy: a contract paid in a call and, before that call was over, in another one of
// the same function, and what it gave is more than it got and more than it booked.
func (l *inspection) reentrancy() (out []verdict.Finding) {
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

// paysIn are the payments of an asset by a contract to the party that belong to
// one frame and to none nested in it by re-entry.
func (l *inspection) paysIn(f *trace.Frame, nested []entry, victim common.Address, k flow.TokenKey) (out []*facts.Move) {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Key != k || p.From != victim || !l.party(p.To) || p.Amount.Sign() == 0 || !l.inside(p, f) {
			continue
		}
		if !slices.ContainsFunc(nested, func(e entry) bool { return e.inner != f && below(e.inner, f) && l.inside(p, e.inner) }) {
			out = append(out, p)
		}
	}
	return out
}

// paidFor are the payments of the sender's accounts to a contract in an asset, and whether they
// also gave it something else, such as shares.
func (l *inspection) paidFor(to common.Address, k flow.TokenKey) (in []*facts.Move, other bool) {
	for i := range l.moves {
		p := &l.moves[i]
		switch {
		case !l.party(p.From) || l.party(p.To) || p.Amount.Sign() == 0:
		case p.Key == k && p.To == to:
			in = append(in, p)
		case p.Key != k && (p.To == to || p.Key.Token == to):
			return nil, true
		}
	}
	return in, false
}

func (l *inspection) paidTwice(e entry, all []entry, k flow.TokenKey) (verdict.Finding, bool) {
	outer, inner := l.paysIn(e.outer, all, e.victim, k), l.paysIn(e.inner, all, e.victim, k)
	if len(outer) == 0 || len(inner) == 0 {
		return verdict.Finding{}, false
	}
	in, other := l.paidFor(e.victim, k)
	if other {
		return verdict.Finding{}, false
	}
	gave := l.total(k, func(p *facts.Move) bool { return p.From == e.victim && l.party(p.To) })
	got := l.total(k, func(p *facts.Move) bool { return p.To == e.victim && l.party(p.From) })
	net := new(big.Int).Sub(gave, got)
	if net.Sign() <= 0 || l.booked(net, k) {
		return verdict.Finding{}, false
	}
	b := broken{category: api.Reentrancy, victims: []common.Address{e.victim}, lost: []flow.TokenKey{k}}
	slot, pre, post, credited := l.credit(e.victim, e.inner.From)
	switch {
	case credited && pre.Cmp(post) > 0 && new(big.Int).Sub(pre, post).Cmp(net) < 0 && pre.Cmp(outer[0].Amount) >= 0:
		b.check = fmt.Sprintf(
			"%s - %s > %s - %s",
			l.sumOf("sent", e.victim, k),
			l.sumOf("received", e.victim, k),
			ref("before", e.victim, slot),
			ref("after", e.victim, slot),
		)
		b.evidence = append(
			b.evidence,
			l.stored(
				e.victim,
				slot,
				verdict.CreditFellBy,
				verdict.Who(e.victim),
				verdict.Who(e.inner.From),
				verdict.Num(new(big.Int).Sub(pre, post)),
			),
		)
	case !credited && len(in) > 0 && len(in) <= 8 && l.Diff != nil:
		parts := make([]string, len(in))
		for i, p := range in {
			parts[i] = l.moved(p)
		}
		b.check = l.sumOf("sent", e.victim, k) + " > " + strings.Join(parts, " + ")
		b.evidence = append(b.evidence, l.paid(in[0], verdict.WasPutIn, amountOf(in[0])))
	default:
		b.missing = []verdict.Sentence{verdict.Say(verdict.MissingBookings)}
	}
	b.evidence = append(b.evidence,
		l.seen(e.outer, verdict.CalledAndOpen, verdict.Who(e.victim)),
		l.seen(e.inner, verdict.EnteredAgain, verdict.Who(e.victim)),
		l.paid(outer[0], verdict.OuterPays, amountOf(outer[0])), l.paid(inner[0], verdict.InnerPays, amountOf(inner[0])))
	b.sentence = verdict.Say(
		verdict.PaidBeforeBooking,
		verdict.Who(e.victim),
		verdict.Who(e.inner.From),
		l.at(e.inner),
		l.at(e.outer),
		amount(k, gave),
		amount(k, got),
	)
	return l.find(b), true
}

// booked reports whether some contract's storage, other than the token's own, fell by
// just what was paid: then the payment was a debt that is gone.
func (l *inspection) booked(net *big.Int, k flow.TokenKey) bool {
	if l.Diff == nil {
		return false
	}
	for a := range l.Diff.Pre {
		if a == k.Token { // the coin is of no contract
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

func (l *inspection) checkReentrancy() verdict.Outcome {
	if !l.full() {
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	}
	again := l.Reentered()
	if len(again) == 0 {
		return ruled(verdict.Clean, verdict.WhyNotReentered)
	}
	for _, a := range again {
		if len(l.losses(a)) > 0 && (l.Diff == nil || len(l.changed(a)) > 0) {
			return ruled(verdict.NotChecked, verdict.WhyOrderUnknown, verdict.Who(a))
		}
	}
	return ruled(verdict.Clean, verdict.WhyReenteredBooked, verdict.Count{N: len(again), Of: verdict.OfContracts})
}
