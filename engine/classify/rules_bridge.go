package classify

import (
	"txlens/engine/facts"
	"txlens/engine/verdict"
)

// bridge: assets leave for, or come from, another chain. A message that carries
// nothing out of here is no bridging of assets, unless a messenger delivers it.
func bridge(a *facts.Case) *Opinion {
	if hits := a.Find(facts.ActBridgeOut, facts.ActBridgeIn, facts.ActBridgeProv); len(hits) > 0 {
		return &Opinion{Act: hits[0].Act, Matches: append(hits, a.Find(facts.ActMessageOut, facts.ActMessageIn)...)}
	}
	if hits := a.Find(facts.ActMessageIn); len(hits) > 0 {
		return opine(hits)
	}
	hits := a.Find(facts.ActMessageOut)
	if len(hits) > 0 && leaves(a, hits) {
		return &Opinion{Act: facts.ActBridgeOut, Matches: hits}
	}
	if nftLeaves(a) {
		return &Opinion{Act: facts.ActBridgeOut, Matches: hits, doubt: verdict.NoBridgeEvent}
	}
	for i := range a.Out {
		if l := &a.Out[i]; a.BridgeAt(l.Counterparty) && len(a.In) == 0 {
			return &Opinion{Act: facts.ActBridgeOut, SubType: "send", place: l.Counterparty, doubt: verdict.NoBridgeEvent}
		}
	}
	return nil
}

// generic messengers carry words as well as assets: votes, locks and rewards. What the
// actor gave leaves the chain with them only when it was burnt or handed to a bridge.
var generic = map[string]bool{"layerzero": true, "wormhole": true, "ccip": true, "hyperlane": true}

// leaves reports whether what the actor gave goes with the messages.
func leaves(a *facts.Case, hits []*facts.Match) bool {
	canonical := false // a rollup's own messenger takes native coin along
	for _, h := range hits {
		canonical = canonical || !generic[h.Slug]
	}
	if canonical {
		return len(a.Out) > 0
	}
	if a.Has(facts.ActStake, facts.ActVote, facts.ActVaultIn) {
		return false
	}
	for i := range a.Out {
		if l := &a.Out[i]; !l.Native() && (l.Minted || a.BridgeAt(l.Counterparty)) {
			return true
		}
	}
	return false
}

// nftLeaves reports whether the actor gave an NFT, for nothing, to the contract that sent and paid
// for the message: it keeps the NFT until that comes back.
func nftLeaves(a *facts.Case) bool {
	if len(a.In) > 0 || a.Has(facts.ActStake, facts.ActVote, facts.ActVaultIn) {
		return false
	}
	for _, fee := range a.MessageFees() {
		for i := range a.Out {
			if l := &a.Out[i]; (l.Key.NFT || l.Key.ID != "") && l.Counterparty == fee.Payer {
				return true
			}
		}
	}
	return false
}

// message: a message was sent to another chain, and no asset went with it.
func message(a *facts.Case) *Opinion {
	if hits := a.Find(facts.ActMessageOut); len(hits) > 0 {
		return &Opinion{Act: "message", Matches: hits}
	}
	return nil
}
