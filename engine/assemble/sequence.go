package assemble

import (
	"math/big"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/label"
	"txlens/engine/narrate"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// sequence says which part of a longer sequence the transaction is. It rests on findings,
// flags and labels; where they are silent there is none.
func (b *builder) sequence() *api.Sequence {
	if !b.succeeded {
		return nil
	}
	part, why := b.sequencePart()
	if part == "" {
		return nil
	}
	return &api.Sequence{Part: part, Text: narrate.Sentence(b.words, why)}
}

func (b *builder) sequencePart() (api.SequencePart, verdict.Sentence) {
	sum, from, mixer := b.intoMixer()
	switch {
	case len(b.r.Findings) > 0 && sum != nil:
		return api.PartAttack, verdict.Say(verdict.PartAttackHidden, *sum, verdict.Who(mixer))
	case len(b.r.Findings) > 0:
		return api.PartAttack, verdict.Say(verdict.PartAttack)
	case sum != nil && b.reported(from):
		return api.PartLaundering, verdict.Say(verdict.PartHidden, verdict.Who(from), *sum)
	}
	for _, r := range b.verdict_.Risks {
		switch {
		case r.Flag == verdict.BulkApprovals:
			return api.PartPreparation, verdict.Say(verdict.PartAllowances)
		case r.Why.Form == verdict.OnlyZeroTransfers:
			return api.PartPreparation, verdict.Say(verdict.PartBait)
		}
	}
	return "", verdict.Sentence{}
}

// intoMixer is the largest amount that a mixer got, by the number of base units, and whose
// it was: the sender's where the sender's own contract handed it on; nil if there is none.
func (b *builder) intoMixer() (sum *verdict.Amount, from, mixer common.Address) {
	see := func(key flow.TokenKey, n *big.Int, to common.Address) {
		if b.names.labels[to].Category == label.Mixer && (sum == nil || n.Cmp(sum.N) > 0) {
			sum, from, mixer = &verdict.Amount{Key: key, N: n}, b.verdict_.Actor, to
		}
	}
	for i := range b.flow.Moves {
		if m := &b.flow.Moves[i]; !m.NoTo && m.Kind != flow.MoveFee {
			see(flow.TokenKey{}, m.Amount, m.To)
		}
	}
	for i := range b.flow.Transfers {
		if t := &b.flow.Transfers[i]; t.ID == nil {
			see(flow.TokenKey{Token: t.Token}, t.Amount, t.To)
		}
	}
	return sum, from, mixer
}

// reported reports whether a public list names the account, or the sender for it, for fraud
// or theft.
func (b *builder) reported(a common.Address) bool {
	return b.names.labels[a].Category == label.Reported || b.names.labels[b.ev.Tx.From].Category == label.Reported
}

// AfterModel is the sequence of a result whose findings a language model has changed: an
// attack where there are findings, and none where there are none any more.
func AfterModel(r *api.Result, words narrate.Words) *api.Sequence {
	attack := r.Sequence != nil && r.Sequence.Part == api.PartAttack
	switch {
	case len(r.Findings) > 0 && !attack:
		return &api.Sequence{Part: api.PartAttack, Text: narrate.Sentence(words, verdict.Say(verdict.PartAttack))}
	case len(r.Findings) == 0 && attack:
		return nil
	}
	return r.Sequence
}
