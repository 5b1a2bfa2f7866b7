package check

import (
	"fmt"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// mints are functions that make tokens for whom they name.
var mints = map[[4]byte]bool{evmsig.SelMint: true, evmsig.SelMintAmount: true, evmsig.SelMintTo: true}

// openMint: tokens were made for nothing by a function that everybody may call, and
// somebody gave other assets for them.
func (l *inspection) openMint() (out []verdict.Finding) {
	for i := range l.moves {
		p := &l.moves[i]
		token := p.Key.Token
		if !l.mintsToSender(p) {
			continue
		}
		call := l.reached(l.frameOf(p), token)
		if call == nil || !mints[evmsig.Called(call.Input)] || !l.givenFor(token) {
			continue
		}
		buyer, got := l.buyer(token)
		if buyer == (common.Address{}) {
			continue
		}
		owner, _ := l.ask(Question{To: token, Data: evmsig.SelOwner[:], When: Before, Asker: "who owns the token"})
		open, _ := l.openTo(token, call.Input)
		n := owner.number()
		if n == nil || !open {
			continue
		}
		// A token that has an owner and lets everybody mint. One without may be meant so.
		o := common.BigToAddress(n)
		if o == (common.Address{}) || l.party(o) || l.calls(o, token) {
			continue
		}
		return append(out, l.minted(p, call, owner, o, buyer, got))
	}
	return out
}

// mintsToSender reports whether a payment is new units of a token of others for the sender's
// side.
func (l *inspection) mintsToSender(p *facts.Move) bool {
	return p.From == (common.Address{}) && p.Log >= 0 && p.Amount.Sign() > 0 && p.Key.ID == "" && !p.Key.NFT &&
		l.party(p.To) && !l.party(p.Key.Token) && !l.f.Created(p.Key.Token)
}

// givenFor reports whether the party gave nothing to the token and burnt none of
// it: what it minted was free.
func (l *inspection) givenFor(token common.Address) bool {
	for i := range l.moves {
		if p := &l.moves[i]; l.party(p.From) && p.To == token && p.Amount.Sign() > 0 {
			return false
		}
	}
	return true
}

// buyer is who got the token from the party and gave another asset for it.
func (l *inspection) buyer(token common.Address) (common.Address, flow.TokenKey) {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Key.Token != token || !l.party(p.From) || l.party(p.To) || p.To == (common.Address{}) {
			continue
		}
		for _, k := range l.losses(p.To) {
			if k.Token != token {
				return p.To, k
			}
		}
	}
	return common.Address{}, flow.TokenKey{}
}

func (l *inspection) minted(p *facts.Move, call *trace.Frame, owner View, o, buyer common.Address, got flow.TokenKey) verdict.Finding {
	view, _ := l.ask(Question{From: stranger, To: call.To, Data: call.Input, When: Before})
	return l.find(broken{category: api.AccessControl, victims: []common.Address{buyer}, faulty: p.Key.Token, lost: []flow.TokenKey{got},
		check: fmt.Sprintf("%s > 0 and %s > %s", ref("minted", p.Token), l.sumOf("sent", buyer, got), ref("sent", p.Token, p.Key)),
		evidence: []verdict.Evidence{
			l.seen(call, verdict.MintsForStranger, verdict.Who(p.Key.Token), verdict.Who(call.From)),
			l.viewed(owner, verdict.OwnerIs, verdict.Who(o)),
			l.viewed(view, verdict.StrangerSucceeds),
			l.paid(p, verdict.ComeIntoBeing, amountOf(p)),
		},
		sentence: verdict.Say(
			verdict.OpenMint,
			verdict.Who(p.Key.Token),
			verdict.Who(call.From),
			verdict.Who(o),
			amountOf(p),
			l.at(call),
			verdict.Who(buyer),
			amount(got, l.net(buyer, got)),
		)})
}
