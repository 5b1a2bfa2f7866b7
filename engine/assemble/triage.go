package assemble

import (
	"maps"
	"slices"

	"txlens/engine/api"
	"txlens/engine/check"
	"txlens/engine/classify"
	"txlens/engine/narrate"
	"txlens/engine/verdict"

	"github.com/ethereum/go-ethereum/common"
)

// triage runs the checks and writes their findings, which set the type if they make the
// transaction an exploit; the checks that found nothing, if requested; and a note on
// findings that are too weak.
func (b *builder) triage() {
	prices := make(map[common.Address]api.Decimal, len(b.ev.Prices))
	for a, p := range b.ev.Prices {
		prices[a] = p.USD
	}
	b.report = check.Run(
		&check.Input{Case: b.facts, Verdict: b.verdict_, Prices: prices, Views: b.ev.Views, Asked: b.ev.Triage},
	)
	b.verdict_.Risks = append(b.verdict_.Risks, b.report.Flags...)
	full := narrate.NewFullWords(b.facts)
	for i := range b.report.Findings {
		f := narrate.Finding(full, &b.report.Findings[i])
		switch {
		case b.report.Exploit && f.Status.Rank() >= api.Possible.Rank():
			b.r.Findings = append(b.r.Findings, f)
		default:
			b.doubtful = append(b.doubtful, narrate.NotShown(&f))
		}
	}
	if d := b.report.Dealings; d != nil {
		b.r.Dealings = narrate.Dealings(b.words, d)
	}
	switch {
	case b.report.Exploit:
		b.exploit()
	case b.report.Unusual.Form != 0:
		b.told.Summary = narrate.Sentence(b.words, b.report.Unusual)
	}
	if !b.ev.Triage {
		return
	}
	for _, o := range b.report.Outcomes {
		if line := narrate.NonFinding(b.words, o.NonFinding()); line != "" {
			b.r.NonFindings = append(b.r.NonFindings, line)
		}
	}
}

// exploit sets type and summary from the findings.
func (b *builder) exploit() {
	v := *b.verdict_ // it is shared with nobody, but the votes of the rules stay as they are
	first := &b.r.Findings[0]
	for i := range b.r.Findings {
		if f := &b.r.Findings[i]; f.Status.Rank() >= api.Probable.Rank() && f.Severity.Rank() >= api.SeverityMedium.Rank() {
			first = f
			break
		}
	}
	t := api.TypeExploit
	// The protocol of the acts is where they passed; what was exploited is the victim.
	v.Protocol = nil
	protocol := ""
	for _, victim := range first.Victim {
		if protocol = b.facts.ProtocolAt(common.Address(victim)); protocol != "" {
			v.Protocol = &protocol
			break
		}
	}
	v.Votes = slices.Insert(
		slices.Clone(v.Votes),
		0,
		classify.Vote{Rule: "finding of " + string(first.Category), TxType: t, SubType: string(first.Category), Protocol: protocol},
	)
	v.TxType, v.SubType = &t, string(first.Category)
	b.told.Summary = narrate.Exploit(b.words, first, b.report.Loss)
	v.Confidence = v.Confidence.Lower(api.Medium)
	v.Roles = b.sides(v.Roles)
	v.Risks = slices.Clone(v.Risks)
	for i := range b.r.Findings {
		v.Risks = append(v.Risks, verdict.RiskOf(&b.r.Findings[i]))
	}
	b.verdict_ = &v
}

// sides returns the roles: those of the findings replace those of the rules; the sender
// stays the sender.
func (b *builder) sides(roles map[common.Address]string) map[common.Address]string {
	roles = maps.Clone(roles)
	b.findingParties = map[common.Address]bool{}
	for i := len(b.r.Findings) - 1; i >= 0; i-- { // those of the first finding stay
		for a, role := range check.Roles(&b.r.Findings[i]) {
			b.findingParties[common.Address(a)] = true
			if role != check.RoleAttacker || common.Address(a) != b.facts.Tx.From {
				roles[common.Address(a)] = role
			}
		}
	}
	return roles
}
