package check

import (
	"fmt"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// mints are functions that make tokens for whom they name.
var mints = map[[4]byte]bool{evmsig.SelMint: true, evmsig.SelMintAmount: true, evmsig.SelMintTo: true}

// openMint: tokens were made for nothing by a function that everybody may call, and
// somebody gave other assets for them.
func (l *inspection) openMint() (out []finding) {
	for i := range l.pays {
		p := &l.pays[i]
		token := p.key.Token
		if !l.mintsToSender(p) {
			continue
		}
		call := l.reached(p.frame, token)
		if call == nil || !mints[evmsig.Called(call.Input)] || !l.givenFor(token) {
			continue
		}
		buyer, got := l.buyer(token)
		if buyer == (common.Address{}) {
			continue
		}
		owner, ok := l.ask(Question{To: token, Data: evmsig.SelOwner[:], When: Before, Asker: "who owns the token"})
		open, known := l.openTo(token, call.Input)
		o := common.Address{}
		if ok && len(owner.Output) >= 32 {
			o = common.BytesToAddress(owner.Output[12:32])
		}
		// A token that has an owner and lets everybody mint. One without may be meant so.
		if !ok || !known || !open || o == (common.Address{}) || l.own[o] || l.calls(o, token) {
			continue
		}
		return append(out, l.minted(p, call, owner, o, buyer, got))
	}
	return out
}

// mintsToSender reports whether a payment is new units of a token of others for the sender's
// side.
func (l *inspection) mintsToSender(p *payment) bool {
	return p.from == (common.Address{}) && p.log >= 0 && p.frame != nil && p.amount.Sign() > 0 && p.key.ID == "" && !p.key.NFT &&
		l.own[p.to] && !l.own[p.key.Token] && !l.creates(p.key.Token)
}

// givenFor reports whether the sender's side gave nothing to the token and burnt none of
// it: what it minted was free.
func (l *inspection) givenFor(token common.Address) bool {
	for i := range l.pays {
		if p := &l.pays[i]; l.own[p.from] && p.to == token && p.amount.Sign() > 0 {
			return false
		}
	}
	return true
}

// buyer is who got the token from the sender's side and gave another asset for it.
func (l *inspection) buyer(token common.Address) (common.Address, flow.TokenKey) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.key.Token != token || !l.own[p.from] || l.own[p.to] || p.to == (common.Address{}) {
			continue
		}
		for _, k := range l.losses(p.to) {
			if k.Token != token {
				return p.to, k
			}
		}
	}
	return common.Address{}, flow.TokenKey{}
}

func (l *inspection) minted(p *payment, call *trace.Frame, owner View, o, buyer common.Address, got flow.TokenKey) finding {
	view, _ := l.ask(Question{From: stranger, To: call.To, Data: call.Input, When: Before})
	return l.find(broken{category: api.AccessControl, victim: buyer, faulty: p.key.Token, lost: []flow.TokenKey{got},
		check: fmt.Sprintf("%s > 0 and %s > %s", ref("minted", p.key.Token), ref("sent", buyer, got), ref("sent", p.key.Token, p.key)),
		evidence: []verdict.Evidence{
			l.seen(call, verdict.MintsForStranger, verdict.Who(p.key.Token), verdict.Who(call.From)),
			l.viewed(owner, verdict.OwnerIs, verdict.Who(o)),
			l.viewed(view, verdict.StrangerSucceeds),
			l.paid(p, verdict.ComeIntoBeing, amount(p.key, p.amount)),
		},
		sentence: verdict.Say(
			verdict.OpenMint,
			verdict.Who(p.key.Token),
			verdict.Who(call.From),
			verdict.Who(o),
			amount(p.key, p.amount),
			l.at(call),
			verdict.Who(buyer),
			amount(got, l.net(buyer, got)),
		)})
}
