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

var _ = register(&Check{
	order:   50,
	Name:    "caller_controlled_target",
	Title:   "target and calldata of a call taken from the caller",
	Causes:  []api.Category{api.ArbitraryCall},
	find:    (*inspection).arbitrary,
	ruleOut: (*inspection).checkTarget,
})

// arbitrary: a contract made a call of which target and bytes stand in what it was
// called with, and that call took what somebody else had let the contract take.
func (l *inspection) arbitrary() (out []verdict.Finding) {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Log < 0 || l.party(p.From) || p.From == (common.Address{}) || !l.party(p.To) || p.Amount.Sign() == 0 ||
			!l.onlyGives(p.From, p.Key) {
			continue
		}
		inner := l.takes(p)
		if inner == nil || inner.From == p.From {
			continue
		}
		router := inner.From
		outer := l.reached(inner, router)
		if outer == nil || !facts.Forwards(outer, inner) || l.consents(p.From, outer, inner) {
			continue
		}
		var anybody *View
		if l.party(router) {
			if anybody = l.nobodys(router, outer); anybody == nil {
				continue
			}
			l.others[router] = true // it does for anybody what it did for the sender
		}
		out = append(out, l.forwarded(p, inner, outer, anybody))
	}
	return out
}

// nobodys is the proof that the called contract, of which nothing says whose it is, is
// not the sender's own tool: the same call succeeds for an account without any right.
func (l *inspection) nobodys(router common.Address, outer *trace.Frame) *View {
	if l.Tx.To == nil || router != *l.Tx.To || outer.Parent != nil || l.Actor == router {
		return nil
	}
	v, _ := l.ask(Question{From: stranger, To: router, Data: outer.Input, When: Before, Asker: "whether anybody may make the call"})
	if v.Reverted {
		return nil
	}
	return &v
}

// takes is the call of a token that moves a payment out of an account that is not the
// caller's: transferFrom.
func (l *inspection) takes(p *facts.Move) *trace.Frame {
	for f := l.frameOf(p); f != nil; f = f.Parent {
		if f.Kind == trace.Call && f.To == p.Token {
			if evmsig.Called(f.Input) == evmsig.SelTransferFrom && len(f.Input) >= 100 && common.BytesToAddress(f.Input[16:36]) == p.From {
				return f
			}
			return nil
		}
	}
	return nil
}

// onlyGives reports whether an account lost an asset, made no call itself and got nothing.
func (l *inspection) onlyGives(a common.Address, k flow.TokenKey) bool {
	for _, p := range l.f.Nets(a) {
		if p.Key != k && p.Amount.Sign() > 0 {
			return false
		}
	}
	if l.net(a, k).Sign() >= 0 {
		return false
	}
	for _, f := range l.Tree.Frames {
		if f.From == a && f.Status == trace.OK && f.Kind != trace.StaticCall {
			return false
		}
	}
	return true
}

// consents reports whether the call was shown a signature of the account before it took
// something: recovered, or accepted by the account's own contract.
func (l *inspection) consents(a common.Address, outer, inner *trace.Frame) bool {
	for _, f := range l.Tree.Frames[outer.Index:inner.Index] {
		if f.Status != trace.OK {
			continue
		}
		if f.To == ecrecover && len(f.Output) >= 32 && common.BytesToAddress(f.Output[12:32]) == a ||
			f.To == a && evmsig.Called(f.Input) == evmsig.SelValidERC1271 {
			return true
		}
	}
	return false
}

func (l *inspection) forwarded(p *facts.Move, inner, outer *trace.Frame, anybody *View) verdict.Finding {
	b := broken{category: api.ArbitraryCall, victims: []common.Address{p.From}, faulty: inner.From, lost: []flow.TokenKey{p.Key},
		check: fmt.Sprintf("%s > %s and %s < 0", l.moved(p), ref("received", p.From, p.Asset()), ref("net", p.From, p.Asset())),
		evidence: []verdict.Evidence{
			l.seen(outer, verdict.CallsWithTarget, verdict.Who(outer.From), verdict.Who(outer.To)),
			l.seen(inner, verdict.CallsThatTarget, verdict.Who(inner.From)),
			l.paid(p, verdict.GoTo, amountOf(p), verdict.Who(p.From), verdict.Who(p.To)),
		},
		sentence: verdict.Say(
			verdict.UsesRightsOfOthers,
			verdict.Who(inner.From),
			l.at(outer),
			verdict.Who(outer.From),
			l.at(inner),
			amountOf(p),
			verdict.Who(p.From),
			l.placeOf(p),
		)}
	if anybody != nil {
		b.evidence = append(b.evidence, l.viewed(*anybody, verdict.StrangerSucceeds))
	}
	return l.find(b)
}

func (l *inspection) checkTarget() verdict.Outcome {
	if !l.full() {
		return ruled(verdict.NotChecked, verdict.WhyNoTrace)
	}
	n := 0
	for _, f := range l.Tree.Frames {
		if f.Status != trace.OK {
			continue
		}
		for _, c := range f.Children {
			if c.Kind == trace.Call && len(c.Input) >= 4 && facts.Forwards(f, c) {
				n++
			}
		}
	}
	if n == 0 {
		return ruled(verdict.Clean, verdict.WhyNoForwarding)
	}
	return ruled(verdict.Clean, verdict.WhyForwardedHarmless, verdict.Count{N: n, Of: verdict.OfCalls})
}
