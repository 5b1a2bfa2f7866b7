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
		{name: "long_flash", fires: (*inspection).longFlash, sentence: renderLoss},
		{name: "constructor_attack", fires: (*inspection).constructed, sentence: renderLoss},
		{name: "fresh_gain", fires: (*inspection).freshGain, sentence: renderLoss, claims: true},
		{name: "unpaid", fires: (*inspection).unpaid, sentence: renderLoss, claims: true},
		{name: "robbed_by_others", fires: (*inspection).robbedByOthers, sentence: renderLoss, claims: true},
		{name: "unpaid_caller", fires: (*inspection).unpaidCaller, sentence: renderLoss, alone: true, claims: true},
	},
})

// longFlash: very many deals with borrowed money, and a gain.
func (l *inspection) longFlash() []match {
	if !l.borrowed || !l.gained || l.oldDebt || len(l.f.ExternalCalls) < 25 {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(l.f.ExternalCalls)}}
}

// constructed: the whole transaction is the constructor of a contract that deals with
// others and gains.
func (l *inspection) constructed() []match {
	if !l.f.Tree.Root.Kind.Creates() || !l.gained || len(l.f.ExternalCalls) < 4 || !l.beyondMarkets() {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(l.f.ExternalCalls)}}
}

// unpaid: somebody has less for nothing, in a transaction that does more than collect: it
// trades, or has four external calls or more.
func (l *inspection) unpaid() (out []match) {
	if !l.gained || l.oldDebt || len(l.f.ExternalCalls) < 4 && len(l.f.Trades) == 0 {
		return nil
	}
	for _, loss := range l.unpaidLossCandidates() {
		if v := loss.Address; !l.Registry.Shared(v) {
			out = append(
				out,
				match{
					grade: suspicious, category: api.BusinessLogic, victims: []common.Address{v},
					calls: l.callsOf(l.paidBy(v)), position: loss.Lost[0],
				},
			)
		}
	}
	return out
}

// robbedByOthers: the cluster gained without spending anything, and a contract has less for
// nothing, although what it lost went through others first.
func (l *inspection) robbedByOthers() []match {
	if !l.f.Free() || l.oldDebt || len(l.f.ExternalCalls) < 3 {
		return nil
	}
	seen := map[common.Address]bool{}
	for i := range l.f.Moves {
		v, token := l.f.Moves[i].From, l.f.Moves[i].Key.Token
		if seen[v] || v == token || v == l.wrapped() || l.Registry.Shared(v) || !l.f.RanCode(v) {
			continue
		}
		seen[v] = true
		if lost := l.f.Robbed(v); lost != nil && !l.explained(v) {
			return []match{
				{grade: suspicious, category: api.BusinessLogic, victims: []common.Address{v}, calls: l.callsOf([]int{i}), position: lost[0]},
			}
		}
	}
	return nil
}

// beyondMarkets reports whether the party did more than trade, borrow and pay: an arbitrage
// by a constructor does not.
func (l *inspection) beyondMarkets() bool {
	for i := range l.f.ExternalCalls {
		if l.custom(i) {
			return true
		}
	}
	return false
}

// freshGain: contracts that were created here dealt with others and gained. What they have
// a claim to, others must have given them here.
func (l *inspection) freshGain() []match {
	if len(l.f.Fresh) == 0 || !l.gained || l.oldDebt || len(l.f.ExternalCalls) < 4 || !l.beyondMarkets() {
		return nil
	}
	return []match{{grade: suspicious, category: api.BusinessLogic, count: len(l.f.ExternalCalls)}}
}

// unpaidCaller: a contract that nobody vouches for paid the sender two assets or more for
// nothing, by a function that nobody published.
func (l *inspection) unpaidCaller() []match {
	root := l.f.Tree.Root
	if !l.f.Alone() || len(l.f.Gains) < 2 || l.PublishedCall(0) || l.Vouched(root.To) || len(l.unpaidLossCandidates()) == 0 {
		return nil
	}
	v := l.unpaidLossCandidates()[0]
	return []match{
		{
			grade:    suspicious,
			category: api.BusinessLogic,
			victims:  []common.Address{v.Address},
			calls:    l.callsOf(l.paidBy(v.Address)),
			position: v.Lost[0],
		},
	}
}
