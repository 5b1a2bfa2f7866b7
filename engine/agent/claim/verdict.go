package claim

import (
	"fmt"
	"slices"

	"txlens/engine/api"
	"txlens/engine/trace"

	"github.com/ethereum/go-ethereum/common"
)

// typeDecision reconciles type, protocol and confidence of the model with those of the
// rules. If the rules are sure, they decide; otherwise a type of the model is used if the
// evidence supports it. Each disagreement is noted and lowers the confidence to medium,
// unless the evidence decides.
type typeDecision struct {
	ix    *Index
	r     *api.Result
	d     *Dropped
	notes []string
	kept  bool // findings of the rules determine the type, whatever the model claims
}

func (v *typeDecision) note(format string, args ...any) {
	v.notes = append(v.notes, fmt.Sprintf(format, args...))
}

func (v *typeDecision) lower() { v.r.Confidence = v.r.Confidence.Lower(api.Medium) }

// settle decides the type. exploit says whether a finding makes the transaction an exploit.
func (v *typeDecision) settle(a *Answer, exploit bool) {
	rules := api.TxType("")
	if v.r.TxType != nil {
		rules = *v.r.TxType
	}
	switch {
	case a.TxType == rules:
		return
	case v.kept:
		v.note("the model said %s; the rules' %s was kept%s", a.TxType, rules, v.because(a))
		v.d.Verdicts++
		v.lower()
		return
	case a.TxType == api.TypeExploit && exploit:
		v.take(a.TxType)
		v.note("the rules say %s; the findings decide", orNone(rules))
		return
	case a.TxType == api.TypeExploit:
		v.note("the model said exploit; no finding of at least medium severity is shown, so the type stays %s", orNone(rules))
		v.d.Verdicts++
		v.lower()
		return
	}
	if v.r.Confidence != api.High && v.supported(a.TxType) {
		v.take(a.TxType)
		v.note("the rules say %s, the model %s, which the evidence allows%s", orNone(rules), a.TxType, v.because(a))
	} else {
		v.note("the model said %s; the rules' %s was kept%s", a.TxType, orNone(rules), v.because(a))
		v.d.Verdicts++
	}
	v.lower()
}

func (v *typeDecision) take(t api.TxType) {
	v.r.TxType, v.r.SubType = &t, ""
	if c := v.ix.c.Verdict; c != nil {
		for _, vote := range c.Votes {
			if vote.TxType == t {
				v.r.SubType = vote.SubType
				return
			}
		}
	}
}

// because renders the accepted part of the model's reason.
func (v *typeDecision) because(a *Answer) string {
	s := v.ix.say(a.TypeReason, mode{where: "txTypeReason", limit: maxText})
	v.d.Sentences += s.bad
	if s.text == "" {
		return ""
	}
	return ": " + s.text
}

func orNone(t api.TxType) string {
	if t == "" {
		return "nothing"
	}
	return string(t)
}

// supported reports whether a rule voted for a type, or the evidence has what the type
// requires.
func (v *typeDecision) supported(t api.TxType) bool {
	c := v.ix.c
	if c.Verdict == nil {
		return false
	}
	for _, vote := range c.Verdict.Votes {
		if vote.TxType == t {
			return true
		}
	}
	out, in := v.ix.sides()
	switch t {
	case api.TypeSwap:
		return out && in && v.ix.marketMoved()
	case api.TypeTransfer:
		return out != in
	case api.TypeApproval:
		return !out && !in && slices.ContainsFunc(v.r.PrettyTrace, func(n api.Node) bool {
			return n.Type == "LOG" && (n.FunctionName == "Approval" || n.FunctionName == "ApprovalForAll")
		})
	case api.TypeDeployment:
		return v.ix.has(trace.Create, trace.Create2)
	case api.TypeOther:
		return true
	}
	return false
}

// sides reports whether the actor, fees aside, gave and got anything.
func (ix *Index) sides() (out, in bool) {
	actor := ix.r.TxMeta.From
	if p := ix.r.Provenance; p != nil && p.Actor != nil {
		actor = *p.Actor
	}
	if ix.c.Flow == nil {
		return
	}
	for i := range ix.c.Flow.Transfers {
		t := &ix.c.Flow.Transfers[i]
		out = out || api.AddrOf(t.From) == actor
		in = in || api.AddrOf(t.To) == actor
	}
	for _, m := range ix.c.Flow.Moves {
		if m.Kind == "fee" {
			continue
		}
		out = out || api.AddrOf(m.From) == actor
		in = in || api.AddrOf(m.To) == actor
	}
	return out, in
}

// protocol uses the model's protocol if the rules have none and a label of our tables, or a
// rule, names it. Names that contracts give themselves do not count.
func (v *typeDecision) protocol(p *string) {
	switch {
	case p == nil || v.r.Protocol != nil && *p == *v.r.Protocol:
	case v.r.Protocol != nil:
		v.note("the model named protocol %s; the rules' %s was kept", *p, *v.r.Protocol)
		v.d.Verdicts++
		v.lower()
	case v.ix.knownProtocol(*p):
		name := *p
		v.r.Protocol = &name
	default:
		v.d.Verdicts++
	}
}

// knownProtocol reports whether a label of our tables or a rule names a protocol in this
// transaction.
func (ix *Index) knownProtocol(slug string) bool {
	for _, a := range ix.r.Addresses {
		if l, ok := ix.c.Evidence.LabelOf(common.Address(a.Address)); ok && l.Protocol == slug {
			return true
		}
	}
	if ix.c.Verdict == nil {
		return false
	}
	for _, vote := range ix.c.Verdict.Votes {
		if vote.Protocol == slug {
			return true
		}
	}
	return false
}

// confidence is the lower of both. A model may raise it only from low to medium, if the
// trace is complete and nothing of its answer was dropped.
func (v *typeDecision) confidence(said api.Confidence) {
	switch {
	case v.r.Confidence == api.Low && said != api.Low && v.ix.c.Tree.Whole() && v.d.Total() == 0 && len(v.r.Steps) > 1:
		v.r.Confidence = api.Medium
		v.note("the rules' confidence was low; all that the model said resolves")
	default:
		v.r.Confidence = v.r.Confidence.Lower(said)
	}
}
