package check

import (
	"txlens/engine/api"

	"github.com/ethereum/go-ethereum/common"
)

// Rules that never decide alone.
var _ = register(&Check{
	order:  410,
	Name:   "unexplained_gain",
	Title:  "gain in a transaction that does more than collect",
	Causes: []api.Category{api.BusinessLogic},
	rules: []rule{
		{name: "long_flash", fires: (*attack).longFlash, sentence: renderLoss},
		{name: "constructor_attack", fires: (*attack).constructed, sentence: renderLoss},
		{name: "fresh_gain", fires: (*attack).freshGain, sentence: renderLoss, claims: true},
		{name: "unpaid", fires: (*attack).unpaid, sentence: renderLoss, claims: true},
		{name: "robbed_by_others", fires: (*attack).robbedByOthers, sentence: renderLoss, claims: true},
		{name: "unpaid_caller", fires: (*attack).unpaidCaller, sentence: renderLoss, alone: true, claims: true},
	},
})

// longFlash: very many deals with borrowed money, and a gain.
func (a *attack) longFlash() []match {
	if !a.loan || !a.gain || a.old || len(a.f.ExternalCalls) < 25 {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(a.f.ExternalCalls)}}
}

// constructed: the whole transaction is the constructor of a contract that deals with
// others and gains.
func (a *attack) constructed() []match {
	if !a.f.Tree.Root.Kind.Creates() || !a.gain || len(a.f.ExternalCalls) < 4 || !a.beyondMarkets() {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(a.f.ExternalCalls)}}
}

// unpaid: somebody has less for nothing, in a transaction that does more than collect: it
// trades, or has four external calls or more.
func (a *attack) unpaid() (out []match) {
	if !a.gain || a.old || len(a.f.ExternalCalls) < 4 && len(a.f.Trades) == 0 {
		return nil
	}
	for _, l := range a.unpaidLossCandidates() {
		if v := l.Address; !a.l.Registry.Shared(v) {
			out = append(
				out,
				match{grade: suspicious, category: api.BusinessLogic, victims: []common.Address{v}, calls: a.callsOf(a.paidBy(v)), position: l.Lost[0]},
			)
		}
	}
	return out
}

// robbedByOthers: the cluster gained without spending anything, and a contract has less for
// nothing, although what it lost went through others first.
func (a *attack) robbedByOthers() []match {
	if !a.f.Free() || a.old || len(a.f.ExternalCalls) < 3 {
		return nil
	}
	seen := map[common.Address]bool{}
	for i := range a.f.Moves {
		v, token := a.f.Moves[i].From, a.f.Moves[i].Key.Token
		if seen[v] || v == token || v == a.wrapped() || a.l.Registry.Shared(v) || !a.f.RanCode(v) {
			continue
		}
		seen[v] = true
		if lost := a.f.Robbed(v); lost != nil && !a.explained(v) {
			return []match{
				{grade: suspicious, category: api.BusinessLogic, victims: []common.Address{v}, calls: a.callsOf([]int{i}), position: lost[0]},
			}
		}
	}
	return nil
}

// beyondMarkets reports whether the party did more than trade, borrow and pay: an arbitrage
// by a constructor does not.
func (a *attack) beyondMarkets() bool {
	for i := range a.f.ExternalCalls {
		if a.custom(i) {
			return true
		}
	}
	return false
}

// freshGain: contracts that were created here dealt with others and gained. What they have
// a claim to, others must have given them here.
func (a *attack) freshGain() []match {
	if len(a.f.Fresh) == 0 || !a.gain || a.old || len(a.f.ExternalCalls) < 4 || !a.beyondMarkets() {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(a.f.ExternalCalls)}}
}

// unpaidCaller: a contract that nobody vouches for paid the sender two assets or more for
// nothing, by a function that nobody published.
func (a *attack) unpaidCaller() []match {
	root := a.f.Tree.Root
	if !a.f.Alone() || len(a.f.Gains) < 2 || a.l.published(0) || a.l.vouched(root.To) || len(a.unpaidLossCandidates()) == 0 {
		return nil
	}
	v := a.unpaidLossCandidates()[0]
	return []match{
		{
			grade:    suspicious,
			category: api.BusinessLogic,
			victims:  []common.Address{v.Address},
			calls:    a.callsOf(a.paidBy(v.Address)),
			position: v.Lost[0],
		},
	}
}
