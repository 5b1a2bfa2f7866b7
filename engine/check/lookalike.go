package check

import (
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:   130,
	Name:    "lookalike_address",
	Title:   "poisoned look-alike address",
	Flags:   []verdict.Flag{verdict.AddressPoisoning},
	flag:    (*inspection).poisoning,
	ruleOut: always(verdict.Clean, verdict.WhyNoImitation),
})

// The check reports the flag that the classification raises from the receipt.
var _ = register(&Check{
	order:   140,
	Name:    "fake_airdrop",
	Title:   "unsolicited token that names a web site or imitates another",
	Flags:   []verdict.Flag{verdict.FakeAirdrop},
	ruleOut: always(verdict.Clean, verdict.WhyNoFakeAirdrop),
})

// poisoned is how many owners a batch must name who took no part.
const poisoned = 3

// poisoning raises the flag for a batch that puts addresses into the histories of others.
func (l *inspection) poisoning() []verdict.Risk {
	if s := l.poisoningBatch(); s.Form != 0 && !l.flagged(verdict.AddressPoisoning) {
		return []verdict.Risk{{Flag: verdict.AddressPoisoning, Why: s}}
	}
	return nil
}

// poisoningBatch tells of transfers of nothing, or of tokens that nobody vouches for, from
// three accounts or more that ran no code, signed nothing and moved nothing else, each to
// another account. A batch of airdrops comes from one account, and a batch of payments goes
// to one or moves a token with a name.
func (l *inspection) poisoningBatch() verdict.Sentence {
	if !l.laidOut() || l.cause() != nil {
		return verdict.Sentence{}
	}
	named, payees := map[common.Address]bool{}, map[common.Address]bool{}
	n := 0
	for _, list := range [][]flow.Transfer{l.Flow.Transfers, l.Flow.Fakes} {
		for i := range list {
			t := &list[i]
			if t.From == (common.Address{}) || !l.idle(t.From) {
				return verdict.Sentence{} // somebody moved something of worth, or minted
			}
			n++
			named[t.From], payees[t.To] = true, true
		}
	}
	if len(named) < poisoned || len(payees) < len(named) {
		return verdict.Sentence{}
	}
	return verdict.Say(verdict.PoisoningBatch, verdict.Count{N: n, Of: verdict.OfTransferEvents})
}

// idle reports whether an account took no part in the transaction.
func (l *inspection) idle(who common.Address) bool {
	if l.ownBusiness(who) || l.f.RanCode(who) {
		return false
	}
	for i := range l.f.Signed {
		if l.f.Signed[i].Signer == who {
			return false
		}
	}
	for i := range l.f.Moves {
		if m := &l.f.Moves[i]; m.From == who && m.Amount.Sign() > 0 && (m.Key == (facts.Key{}) || l.Vouched(m.Key.Token)) {
			return false
		}
	}
	return true
}
