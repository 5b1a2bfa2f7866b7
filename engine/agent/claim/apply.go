package claim

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"txlens/engine/api"
	"txlens/engine/assemble"
	"txlens/engine/check"
	"txlens/engine/narrate"
	"txlens/engine/verdict"
)

// Apply verifies an answer against the evidence and returns a Result with the accepted
// parts. The Result of the Case is not changed; the new one shares with it what stays the
// same. The caller sets AnalysisModel (see Contributed), SkillsUsed and the diagram. A
// partial result stays partial, with its mark and low confidence.
func Apply(c *assemble.Analysis, a *Answer, ix *Index) (*api.Result, Dropped) {
	r := *c.Result
	p := api.Provenance{}
	if r.Provenance != nil {
		p = *r.Provenance
	}
	var d Dropped
	ix.drops = nil
	d.Figures = ix.compute(a.Figures)
	v := &typeDecision{ix: ix, r: &r, d: &d}
	v.judge(a)
	if exploitNotShown(&r, a) {
		d.Sentences++ // the summary
		d.Steps, d.Risks = d.Steps+len(a.Steps), d.Risks+len(a.Risks)
		d.Descriptions, d.Annotations = d.Descriptions+len(a.Contracts), d.Annotations+len(a.Annotations)
		a = &Answer{TxType: a.TxType, Protocol: a.Protocol, Confidence: a.Confidence, NonFindings: a.NonFindings}
	}
	ix.narrate(&r, a, &d)
	accused(&r)
	ix.describe(&r, a, &d)
	if r.TxType == nil || a.TxType != *r.TxType {
		r.Summary = c.Result.Summary // that of another type would contradict the rest
	}
	r.NonFindings = ix.ruledOut(a.NonFindings, r.Findings, c.Evidence.Triage, &d)
	v.protocol(a.Protocol)
	if v.confidence(a.Confidence); r.Partial() {
		r.Confidence = api.Low
	}
	p.Notes = append(slices.Clone(p.Notes), v.notes...)
	if d.Total() > 0 {
		p.Dropped = &d
	}
	r.Provenance = &p
	r.Sequence = assemble.AfterModel(&r, c.Words)
	return &r, d
}

// Contributed reports whether a Result of Apply contains anything of the model: a text, a
// finding, a verdict, or a confidence that differs from that of the rules.
func Contributed(rules, r *api.Result) bool {
	return r.Summary != rules.Summary || !slices.Equal(r.Steps, rules.Steps) || !slices.Equal(r.Risks, rules.Risks) ||
		!slices.Equal(
			r.NonFindings,
			rules.NonFindings,
		) || !reflect.DeepEqual(r.Findings, rules.Findings) || !slices.Equal(r.Contracts, rules.Contracts) ||
		len(r.TraceAnnotations) > 0 || !same(r.TxType, rules.TxType) || r.SubType != rules.SubType ||
		!same(r.Protocol, rules.Protocol) || r.Confidence != rules.Confidence
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// exploitNotShown reports whether an answer claims an exploit that the evidence does not
// show. Then none of its texts are accepted, because they assume it.
func exploitNotShown(r *api.Result, a *Answer) bool {
	return a.TxType == api.TypeExploit && (r.TxType == nil || *r.TxType != api.TypeExploit)
}

// judge verifies the findings and decides the type.
func (v *typeDecision) judge(a *Answer) {
	rules := v.r.Findings
	found := v.ix.findings(a.Findings, v.d)
	exploit := a.TxType == api.TypeExploit && slices.ContainsFunc(found, func(s acceptedFinding) bool { return s.exploit() })
	v.r.Findings = nil
	for i := range found {
		s := &found[i]
		switch {
		case exploit && s.Status.Rank() >= api.Possible.Rank():
			v.r.Findings = append(v.r.Findings, s.Finding)
		case exploit:
			v.d.Findings++
		default:
			v.note("%s", s.note())
			v.d.Findings++
		}
	}
	v.keep(rules, exploit)
	v.settle(a, exploit)
}

// accused makes the rest of the result consistent with the findings: each becomes a risk,
// and the parties get their roles in addresses and balances.
func accused(r *api.Result) {
	if len(r.Findings) == 0 {
		return
	}
	roles := map[api.Addr]string{}
	for i := len(r.Findings) - 1; i >= 0; i-- { // those of the first finding stay
		maps.Copy(roles, check.Roles(&r.Findings[i]))
	}
	if roles[r.TxMeta.From] == check.RoleAttacker {
		delete(roles, r.TxMeta.From) // it is the sender
	}
	r.Addresses = slices.Clone(r.Addresses)
	for i := range r.Addresses {
		a := &r.Addresses[i]
		a.Label, a.Role = withRole(a.Label, a.Role, roles[a.Address])
	}
	for _, party := range slices.SortedFunc(maps.Keys(roles), func(a, b api.Addr) int { return bytes.Compare(a[:], b[:]) }) {
		if !slices.ContainsFunc(r.Addresses, func(a api.Address) bool { return a.Address == party }) {
			r.Addresses = append(r.Addresses, api.Address{Address: party, Label: roles[party], Role: roles[party]})
		}
	}
	r.BalanceChanges = slices.Clone(r.BalanceChanges)
	for i := range r.BalanceChanges {
		b := &r.BalanceChanges[i]
		b.Label, b.Role = withRole(b.Label, b.Role, roles[b.Address])
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if line := narrate.RiskLine(verdict.FlagOfCause(f.Category), f.BrokenInvariant); !slices.Contains(r.Risks, line) {
			r.Risks = append(r.Risks, line)
		}
	}
}

// withRole gives an address another role, which is also its label if it has no name.
func withRole(label, had, role string) (newLabel, newRole string) {
	switch {
	case role == "":
		return label, had
	case label == "" || label == had:
		return role, role
	}
	return label, role
}

// keep keeps the findings of the rules that the model does not mention. Code has verified
// them, so that the model's silence does not refute them.
func (v *typeDecision) keep(rules []api.Finding, exploit bool) {
	if v.r.TxType == nil || *v.r.TxType != api.TypeExploit || len(rules) == 0 {
		return
	}
	said := v.r.Findings
	for _, f := range rules {
		if slices.ContainsFunc(said, func(m api.Finding) bool {
			return m.Category == f.Category && slices.ContainsFunc(m.Victim, func(a api.Addr) bool { return slices.Contains(f.Victim, a) })
		}) {
			continue
		}
		f.ID, f.Primary = "F"+strconv.Itoa(len(v.r.Findings)+1), len(said) == 0 && f.Primary
		v.r.Findings = append(v.r.Findings, f)
	}
	v.kept = !exploit
	if v.kept {
		v.note("the model shows no exploit; the findings of the rules were computed from the evidence and stay")
	}
}

// narrate uses the accepted parts of summary, steps and risks. The steps of the rules and
// of the model are merged as steps.go describes, unless more than half of the model's are
// dropped. The risks of the rules always stay.
func (ix *Index) narrate(r *api.Result, a *Answer, d *Dropped) {
	ix.headline(r, a.Summary, d)
	steps := ix.steps(a.Steps, d)
	if len(steps) > 0 && 2*len(steps) >= len(a.Steps) {
		r.Steps = ix.mergedSteps(r.Steps, steps)
	}
	r.Risks = slices.Clone(r.Risks)
	for i, s := range a.Risks {
		if line := ix.risk(at("risks", i), s, d); line != "" && !slices.Contains(r.Risks, line) {
			r.Risks = append(r.Risks, line)
		}
	}
}

// headline uses the model's summary, unless its first sentence is dropped. Code adds every
// judgement: the cause of an exploit before the model's words, and the flags of the rules
// after them.
func (ix *Index) headline(r *api.Result, summary string, d *Dropped) {
	s := ix.say(summary, mode{where: "summary", limit: maxSummary})
	d.Sentences += s.bad
	if !s.first || r.Partial() {
		return
	}
	r.Summary = s.text
	if len(r.Findings) > 0 {
		r.Summary = narrate.ExploitHeadline(&r.Findings[0], s.text)
	}
	if flagged := narrate.Flagged(ix.notable()); flagged != "" {
		r.Summary += " " + flagged
	}
}

// maxNotable bounds the flags of a headline.
const maxNotable = 4

// notable returns the flags of the rules for the headline: those of medium severity or
// more.
func (ix *Index) notable() (out []verdict.Flag) {
	if ix.c.Verdict == nil {
		return nil
	}
	for _, risk := range ix.c.Verdict.Risks {
		if risk.Flag.Info().Severity.Rank() >= api.SeverityMedium.Rank() && !slices.Contains(out, risk.Flag) && len(out) < maxNotable {
			out = append(out, risk.Flag)
		}
	}
	return out
}

// risk renders a risk of the model. It returns "" if the text is dropped, if it refers to
// no place, or if a check of the rules found nothing.
func (ix *Index) risk(where string, x Risk, d *Dropped) string {
	flag, ok := verdict.FlagOf(string(x.Flag))
	if !ok || ix.contradicts(flag) {
		ix.drops = append(ix.drops, Drop{where, 1, Contradicted})
		d.Risks++
		return ""
	}
	s := ix.say(x.Text, mode{where: where + ".text", limit: maxText})
	d.Sentences += s.bad
	if !ix.placed(where, &s, x.Refs) {
		d.Risks++
		return ""
	}
	return narrate.RiskLine(flag, s.text)
}

// placed reports whether any of a text is accepted and refers to a place that exists.
func (ix *Index) placed(where string, s *renderedText, refs []string) bool {
	switch {
	case s.text == "":
		return false
	case s.places() || ix.anyExists(refs):
		return true
	}
	ix.drops = append(ix.drops, Drop{where, 1, NoPlace})
	return false
}

// steps returns the steps that are accepted and refer to a place that exists.
func (ix *Index) steps(list []TextRefs, d *Dropped) (out []acceptedStep) {
	for i, x := range list {
		s := ix.say(x.Text, mode{where: at("steps", i) + ".text", limit: maxText})
		d.Sentences += s.bad
		if !ix.placed(at("steps", i), &s, x.Refs) {
			d.Steps++
			continue
		}
		out = append(out, acceptedStep{s, x.Refs})
	}
	return out
}

// describe adds descriptions of contracts and comments on the trace.
func (ix *Index) describe(r *api.Result, a *Answer, d *Dropped) {
	r.Contracts = slices.Clone(r.Contracts)
	for n, x := range a.Contracts {
		i := slices.IndexFunc(r.Contracts, func(c api.Contract) bool { return c.Address == x.Address })
		said := ix.say(x.Description, mode{where: at("contracts", n) + ".description", limit: maxShort})
		text := said.text
		d.Sentences += said.bad
		if i < 0 || text == "" {
			d.Descriptions++
			continue
		}
		if had := r.Contracts[i].Description; had != "" {
			text = had + "; " + text
		}
		r.Contracts[i].Description = text
	}
	r.TraceAnnotations = nil
	for i, n := range a.Annotations {
		said := ix.say(n.Text, mode{where: at("traceAnnotations", i) + ".text", limit: maxShort})
		text := said.text
		d.Sentences += said.bad
		if n.Index < 0 || n.Index >= len(r.PrettyTrace) || text == "" || r.TraceAnnotations[n.Index] != "" {
			d.Annotations++
			continue
		}
		if r.TraceAnnotations == nil {
			r.TraceAnnotations = map[int]string{}
		}
		r.TraceAnnotations[n.Index] = text
	}
}
