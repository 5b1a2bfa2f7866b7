package check

import (
	"bytes"
	"fmt"
	"math/big"

	"txlens/engine/api"
	"txlens/engine/evmsig"
	"txlens/engine/facts"
	"txlens/engine/flow"
	"txlens/engine/trace"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

var _ = register(&Check{
	order:  230,
	Name:   "signature",
	Title:  "signature accepted from whoever gives it",
	Causes: []api.Category{api.SignatureVerification},
	find:   (*inspection).signatures,
})

var (
	ecrecover     = common.BytesToAddress([]byte{1})
	generatorX, _ = new(big.Int).SetString("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", 16)
)

// signatures: a contract asked who had signed, was told nobody or the one who is paid,
// and paid all the same.
func (l *inspection) signatures() (out []verdict.Finding) {
	for _, s := range l.Tree.Frames {
		if s.To != ecrecover || s.Kind != trace.StaticCall && s.Kind != trace.Call || s.Status != trace.OK || len(s.Input) < 128 ||
			l.party(s.From) {
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
		var f verdict.Finding
		var ok bool
		if signer == (common.Address{}) {
			f, ok = l.nobodySigned(s, outer, p)
		} else if l.party(signer) {
			f, ok = l.anybodySigned(s, outer, p, signer)
		}
		if ok {
			return append(out, f)
		}
	}
	return out
}

// releases is what the contract paid the party in the call after it had asked.
func (l *inspection) releases(s, outer *trace.Frame) *facts.Move {
	for i := range l.moves {
		p := &l.moves[i]
		if p.Frame < s.Index || !l.inside(p, outer) || !l.party(p.To) || l.party(p.From) || p.From == (common.Address{}) ||
			p.Amount.Sign() == 0 {
			continue
		}
		if (p.From == s.From || l.takenBy(p, s.From)) && l.net(p.From, p.Key).Sign() < 0 {
			return p
		}
	}
	return nil
}

func (l *inspection) takenBy(p *facts.Move, contract common.Address) bool {
	f := l.takes(p)
	return f != nil && f.From == contract
}

// nobodySigned: the recovery failed, nothing else was asked, and the call went on.
func (l *inspection) nobodySigned(s, outer *trace.Frame, p *facts.Move) (verdict.Finding, bool) {
	for _, f := range l.Tree.Frames {
		if below(f, outer) && (f.To == ecrecover && len(f.Output) > 0 || evmsig.Called(f.Input) == evmsig.SelValidERC1271) {
			return verdict.Finding{}, false // others signed, or it was signed in another way
		}
	}
	if !l.carries(outer, s) {
		return verdict.Finding{}, false
	}
	return l.find(broken{category: api.SignatureVerification, victims: []common.Address{p.From},
		faulty: outer.To, lost: []flow.TokenKey{p.Key},
		check: fmt.Sprintf("%s > %s", ref("sent", p.From, p.Asset()), ref("received", p.From, p.Asset())) + l.withPayment(p),
		evidence: []verdict.Evidence{
			l.seen(outer, verdict.CalledWithSignature, verdict.Who(outer.To)),
			l.seen(s, verdict.NoSignerRecovered),
			l.paid(p, verdict.GoesOnAndLeaves, amountOf(p), verdict.Who(p.To)),
		},
		sentence: verdict.Say(
			verdict.ActsOnNoSignature,
			verdict.Who(outer.To),
			l.at(s),
			l.at(outer),
			amountOf(p),
			verdict.Who(p.To),
			l.placeOf(p),
		)}), true
}

// withPayment sets the payment against the whole of what went out, so that the check is
// about more than one number.
func (l *inspection) withPayment(p *facts.Move) string {
	return fmt.Sprintf(" and %s <= %s and %s > %s", l.moved(p), ref("sent", p.From, p.Asset()), l.moved(p), ref("received", p.From, p.Asset()))
}

// carries reports whether the signature that was recovered stands in the calldata of the
// call: it is the caller's, and no constant of the contract.
func (l *inspection) carries(outer, s *trace.Frame) bool {
	return bytes.Contains(outer.Input, s.Input[64:96]) && bytes.Contains(outer.Input, s.Input[96:128])
}

// anybodySigned: the one who is paid signed himself. That this was wrong shows when the
// same call with another signature, of a key that nobody has, succeeds as well.
func (l *inspection) anybodySigned(s, outer *trace.Frame, p *facts.Move, signer common.Address) (verdict.Finding, bool) {
	if !l.carries(outer, s) {
		return verdict.Finding{}, false
	}
	other := bytes.Replace(outer.Input, s.Input[64:96], common.BigToHash(generatorX).Bytes(), 1)
	other = bytes.Replace(other, s.Input[96:128], common.BigToHash(big.NewInt(1)).Bytes(), 1)
	v, _ := l.ask(Question{From: outer.From, To: outer.To, Data: other, When: Before, Asker: "whether any signature will do"})
	if v.Reverted {
		return verdict.Finding{}, false
	}
	return l.find(broken{category: api.SignatureVerification, victims: []common.Address{p.From},
		faulty: outer.To, lost: []flow.TokenKey{p.Key},
		check: fmt.Sprintf("%s > %s", ref("sent", p.From, p.Asset()), ref("received", p.From, p.Asset())) + l.withPayment(p),
		evidence: []verdict.Evidence{
			l.seen(outer, verdict.CalledWithSignature, verdict.Who(outer.To)),
			l.seen(s, verdict.SignedByPayee, verdict.Who(signer)),
			l.viewed(v, verdict.AnyKeySucceeds),
			l.paid(p, verdict.LeavesTo, amountOf(p), verdict.Who(p.To)),
		},
		sentence: verdict.Say(
			verdict.AcceptsAnySigner,
			verdict.Who(outer.To),
			l.at(s),
			verdict.Who(signer),
			amountOf(p),
			verdict.Who(p.To),
			l.placeOf(p),
		)}), true
}
