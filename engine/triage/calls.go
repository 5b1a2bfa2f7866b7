package triage

import (
	"bytes"
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/flow"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// arbitrary: a contract made a call of which target and bytes stand in what it was
// called with, and that call took what somebody else had let the contract take.
func (l *look) arbitrary() (out []api.Finding) {
	for i := range l.pays {
		p := &l.pays[i]
		if p.log < 0 || l.own[p.from] || p.from == (common.Address{}) || !l.own[p.to] || p.frame == nil || p.amount.Sign() == 0 || !l.onlyGives(p.from, p.key) {
			continue
		}
		inner := l.takes(p)
		if inner == nil || inner.From == p.from {
			continue
		}
		router := inner.From
		outer := l.reached(inner, router)
		if outer == nil || !free(outer, inner) || l.consents(p.from, outer, inner) {
			continue
		}
		var anybody *View
		if l.own[router] {
			if anybody = l.nobodys(router, outer); anybody == nil {
				continue
			}
			delete(l.own, router) // it does for anybody what it did for the sender
		}
		out = append(out, l.forwarded(p, inner, outer, anybody))
	}
	return out
}

// nobodys is the proof that the called contract, of which nothing says whose it is, is
// not the sender's own tool: the same call succeeds for an account without any right.
func (l *look) nobodys(router common.Address, outer *trace.Frame) *View {
	if l.Tx.To == nil || router != *l.Tx.To || outer.Parent != nil || l.Verdict != nil && l.Verdict.Actor == router {
		return nil
	}
	v, ok := l.ask(Question{From: stranger, To: router, Data: outer.Input, When: Before, Asker: "whether anybody may make the call"})
	if !ok || v.Reverted {
		return nil
	}
	return &v
}

// takes is the call of a token that moves a payment out of an account that is not the
// caller's: transferFrom.
func (l *look) takes(p *payment) *trace.Frame {
	for f := p.frame; f != nil; f = f.Parent {
		if f.Kind == trace.Call && f.To == p.key.Token {
			if evmsig.Called(f.Input) == evmsig.SelTransferFrom && len(f.Input) >= 100 && common.BytesToAddress(f.Input[16:36]) == p.from {
				return f
			}
			return nil
		}
	}
	return nil
}

// free reports whether target and bytes of a call both stand in the calldata of another.
func free(outer, inner *trace.Frame) bool {
	return len(inner.Input) < len(outer.Input) && bytes.Contains(outer.Input[4:], inner.Input) && bytes.Contains(outer.Input[4:], inner.To[:])
}

// onlyGives reports whether an account lost an asset, made no call itself and got nothing.
func (l *look) onlyGives(a common.Address, k flow.TokenKey) bool {
	for key, n := range l.nets(a) {
		if key != k && n.Sign() > 0 {
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
func (l *look) consents(a common.Address, outer, inner *trace.Frame) bool {
	for _, f := range l.Tree.Frames[outer.Index:inner.Index] {
		if f.Status != trace.OK {
			continue
		}
		if f.To == ecrecover && len(f.Output) >= 32 && common.BytesToAddress(f.Output[12:32]) == a || f.To == a && evmsig.Called(f.Input) == evmsig.SelValidERC1271 {
			return true
		}
	}
	return false
}

func (l *look) forwarded(p *payment, inner, outer *trace.Frame, anybody *View) api.Finding {
	w := l.fullWords()
	b := broken{category: api.ArbitraryCall, victim: p.from, faulty: inner.From, lost: []flow.TokenKey{p.key},
		check: fmt.Sprintf("%s > %s and %s < 0", l.moved(p), ref("received", p.from, p.key), ref("net", p.from, p.key)),
		evidence: []api.Evidence{
			l.seen(outer, "%s calls %s with a target and bytes to call it with", w.Who(outer.From), w.Who(outer.To)),
			l.seen(inner, "%s calls that target with just these bytes", w.Who(inner.From)),
			l.paid(p, "%s of %s go to %s", w.Amount(p.key, p.amount), w.Who(p.from), w.Who(p.to)),
		},
		sentence: fmt.Sprintf("%s must not use what others let it take on the word of a stranger; in frame %s %s chose target and calldata, and frame %s took %s of %s, which made no call and got nothing (%s).",
			w.Who(inner.From), l.path(outer), w.Who(outer.From), l.path(inner), w.Amount(p.key, p.amount), w.Who(p.from), l.placeOf(p))}
	if anybody != nil {
		b.evidence = append(b.evidence, l.viewed(*anybody, "the same call, made before the transaction by an account without any right, succeeds"))
	}
	return l.find(b)
}

var (
	ecrecover     = common.BytesToAddress([]byte{1})
	generatorX, _ = new(big.Int).SetString("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", 16)
)

// signatures: a contract asked who had signed, was told nobody or the one who is paid,
// and paid all the same.
func (l *look) signatures() (out []api.Finding) {
	for _, s := range l.Tree.Frames {
		if s.To != ecrecover || s.Kind != trace.StaticCall && s.Kind != trace.Call || s.Status != trace.OK || len(s.Input) < 128 || l.own[s.From] {
			continue
		}
		outer := l.reached(s, s.From)
		if outer == nil {
			continue
		}
		p := l.releases(s, outer)
		if p == nil {
			continue
		}
		signer := common.Address{}
		if len(s.Output) >= 32 {
			signer = common.BytesToAddress(s.Output[12:32])
		}
		var f api.Finding
		var ok bool
		if signer == (common.Address{}) {
			f, ok = l.nobodySigned(s, outer, p)
		} else if l.own[signer] {
			f, ok = l.anybodySigned(s, outer, p, signer)
		}
		if ok {
			return append(out, f)
		}
	}
	return out
}

// releases is what the contract paid the sender's side in the call after it had asked.
func (l *look) releases(s, outer *trace.Frame) *payment {
	for i := range l.pays {
		p := &l.pays[i]
		if p.frame == nil || p.frame.Index < s.Index || !below(p.frame, outer) || !l.own[p.to] || l.own[p.from] || p.from == (common.Address{}) || p.amount.Sign() == 0 {
			continue
		}
		if (p.from == s.From || l.takenBy(p, s.From)) && l.net(p.from, p.key).Sign() < 0 {
			return p
		}
	}
	return nil
}

func (l *look) takenBy(p *payment, contract common.Address) bool {
	f := l.takes(p)
	return f != nil && f.From == contract
}

// nobodySigned: the recovery failed, nothing else was asked, and the call went on.
func (l *look) nobodySigned(s, outer *trace.Frame, p *payment) (api.Finding, bool) {
	for _, f := range l.Tree.Frames {
		if below(f, outer) && (f.To == ecrecover && len(f.Output) > 0 || evmsig.Called(f.Input) == evmsig.SelValidERC1271) {
			return api.Finding{}, false // others signed, or it was signed in another way
		}
	}
	if !l.carries(outer, s) {
		return api.Finding{}, false
	}
	w := l.fullWords()
	return l.find(broken{category: api.SignatureVerification, victim: p.from, faulty: outer.To, lost: []flow.TokenKey{p.key},
		check: fmt.Sprintf("%s > %s", ref("sent", p.from, p.key), ref("received", p.from, p.key)) + l.withPayment(p),
		evidence: []api.Evidence{
			l.seen(outer, "%s is called with a signature", w.Who(outer.To)),
			l.seen(s, "who signed cannot be recovered: the answer is empty"),
			l.paid(p, "the call goes on and %s leaves to %s", w.Amount(p.key, p.amount), w.Who(p.to)),
		},
		sentence: fmt.Sprintf("%s must not act on a signature that nobody made; in frame %s the recovery of the signer failed, and the call in frame %s paid %s to %s all the same (%s).",
			w.Who(outer.To), l.path(s), l.path(outer), w.Amount(p.key, p.amount), w.Who(p.to), l.placeOf(p))}), true
}

// withPayment sets the payment against the whole of what went out, so that the check is
// about more than one number.
func (l *look) withPayment(p *payment) string {
	return fmt.Sprintf(" and %s <= %s and %s > %s", l.moved(p), ref("sent", p.from, p.key), l.moved(p), ref("received", p.from, p.key))
}

// carries reports whether the signature that was recovered stands in the calldata of the
// call: it is the caller's, and no constant of the contract.
func (l *look) carries(outer, s *trace.Frame) bool {
	return bytes.Contains(outer.Input, s.Input[64:96]) && bytes.Contains(outer.Input, s.Input[96:128])
}

// anybodySigned: the one who is paid signed himself. That this was wrong shows when the
// same call with another signature, of a key that nobody has, succeeds as well.
func (l *look) anybodySigned(s, outer *trace.Frame, p *payment, signer common.Address) (api.Finding, bool) {
	if !l.carries(outer, s) {
		return api.Finding{}, false
	}
	other := bytes.Replace(outer.Input, s.Input[64:96], common.BigToHash(generatorX).Bytes(), 1)
	other = bytes.Replace(other, s.Input[96:128], common.BigToHash(big.NewInt(1)).Bytes(), 1)
	v, ok := l.ask(Question{From: outer.From, To: outer.To, Data: other, When: Before, Asker: "whether any signature will do"})
	if !ok || v.Reverted {
		return api.Finding{}, false
	}
	w := l.fullWords()
	return l.find(broken{category: api.SignatureVerification, victim: p.from, faulty: outer.To, lost: []flow.TokenKey{p.key},
		check: fmt.Sprintf("%s > %s", ref("sent", p.from, p.key), ref("received", p.from, p.key)) + l.withPayment(p),
		evidence: []api.Evidence{
			l.seen(outer, "%s is called with a signature", w.Who(outer.To)),
			l.seen(s, "it was made by %s, which is paid", w.Who(signer)),
			l.viewed(v, "the same call with the signature of another key, made before the transaction, succeeds"),
			l.paid(p, "%s leaves to %s", w.Amount(p.key, p.amount), w.Who(p.to)),
		},
		sentence: fmt.Sprintf("%s must hold a signature against who may give it; in frame %s it recovered %s, any other key would have done, and it paid %s to %s (%s).",
			w.Who(outer.To), l.path(s), w.Who(signer), w.Amount(p.key, p.amount), w.Who(p.to), l.placeOf(p))}), true
}
