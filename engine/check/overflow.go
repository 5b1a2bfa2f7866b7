package check

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// Rules by amounts that a contract should have rejected.
var _ = register(&Check{
	order:  300,
	Name:   "overflow",
	Title:  "amounts so large that calculations wrap around",
	Causes: []api.Category{api.PrecisionLoss, api.AccessControl},
	rules: []rule{
		{name: "absurd_argument", fires: (*inspection).absurdArgument, sentence: render(verdict.CauseOverflow, ofNumber, ofFaulty), proves: true, alone: true},
		{name: "absurd_amount", fires: (*inspection).absurdAmount, sentence: render(verdict.CauseOverflow, ofAmount, ofFaulty)},
	},
})

// topBit is 2^255, the number that doubles to zero.
var topBit = new(big.Int).Lsh(common.Big1, 255)

// absurdArgument: the sender called a function, which is none of tokens, with 2^255: a
// product with it wraps.
func (l *inspection) absurdArgument() []match {
	root := l.f.Tree.Root
	if len(l.f.ExternalCalls) > 1 || len(l.f.ExternalCalls) == 1 && l.f.ExternalCalls[0].Frame != 0 {
		return nil
	}
	if len(root.Input) < 4 || evmsig.TokenFunctions[evmsig.Called(root.Input)] || len(l.f.Spent) > 0 {
		return nil
	}
	for i := 0; i < len(root.Input[4:])/32 && i < 64; i++ {
		if n := evmsig.Uint(root.Input[4:], i); n.Cmp(topBit) == 0 {
			return []match{
				{
					grade:    decisive,
					category: api.PrecisionLoss,
					frames:   []int{0},
					victims:  []common.Address{root.To},
					position: facts.Position{Amount: n},
				},
			}
		}
	}
	return nil
}

// absurdAmount: more of a token moved than any token has.
func (l *inspection) absurdAmount() []match {
	for i := range l.f.Moves {
		m := &l.f.Moves[i]
		if !facts.Fungible(m.Key) || m.Key == (facts.Key{}) || m.Amount.BitLen() < 128 ||
			new(big.Int).Add(m.Amount, common.Big1).BitLen() == 257 ||
			!l.f.Counts(m.Key) {
			continue
		}
		h := match{
			grade:    suspicious,
			category: api.PrecisionLoss,
			faulty:   m.Key.Token,
			moves:    []int{i},
			position: facts.Position{Key: m.Key, Amount: m.Amount},
		}
		if l.f.IsFresh(m.From) || l.f.IsFresh(m.To) || l.borrowed && l.gained {
			h.grade = decisive
		}
		if m.ExternalCall >= 0 {
			h.calls = []int{m.ExternalCall}
			if l.mintedIn(m.Key.Token, m.ExternalCall) { // whoever asked got as many as they liked
				h.category = api.AccessControl
			}
		}
		return []match{h}
	}
	return nil
}

// mintedIn reports whether the party had a token mint, or called a function of it that tokens
// do not have, no later than in an external call.
func (l *inspection) mintedIn(token common.Address, call int) bool {
	if l.customCall(token, call+1) >= 0 {
		return true
	}
	for i := range l.f.ExternalCalls[:call+1] {
		if l.f.ExternalCalls[i].Target == token && l.calledLike(i, []string{"mint"}) {
			return true
		}
	}
	return false
}
