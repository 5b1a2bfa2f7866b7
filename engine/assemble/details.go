package assemble

import (
	"slices"

	"txlens/engine/api"
	"txlens/engine/flow"
	"txlens/engine/narrate"
	"txlens/engine/verdict"
)

// stepsDetail are the steps of the rules for programs.
func (b *builder) stepsDetail() []api.StepDetail {
	list := make([]api.StepDetail, 0, len(b.told.Steps))
	for i, text := range b.told.Steps {
		if i >= len(b.told.Places) {
			break
		}
		p := &b.told.Places[i]
		d := api.StepDetail{Text: text, Kind: p.Kind, Refs: b.refs(p)}
		if d.Kind == "" {
			d.Kind = narrate.KindNote
		}
		if p.Actor != nil {
			actor := api.AddrOf(*p.Actor)
			d.Actor = &actor
		}
		for _, x := range p.Amounts {
			d.Amounts = append(d.Amounts, b.stepAmount(&x))
		}
		list = append(list, d)
	}
	return list
}

func (b *builder) stepAmount(x *verdict.Amount) api.StepAmount {
	symbol, decimals := b.coin(x.Key.Token)
	out := api.StepAmount{TokenAddress: api.AddrOf(x.Key.Token), TokenSymbol: symbol, RawAmount: x.N.String()}
	if x.Key.ID != "" {
		id := x.Key.ID
		out.TokenID = &id
	} else if decimals != nil {
		amount := flow.Amount(x.N, *decimals)
		out.Amount = &amount
	}
	return out
}

// refs are the logs and the frames of a step. A frame beyond what the trace kept has no
// node.
func (b *builder) refs(p *narrate.Place) (r api.StepRefs) {
	for _, pos := range p.Logs {
		if b.ev.Receipt != nil && pos < len(b.receipt.Logs) {
			r.LogIndexes = append(r.LogIndexes, b.receipt.Logs[pos].Index)
		}
	}
	for _, f := range p.Frames {
		if f < len(b.nodes) {
			r.Nodes = append(r.Nodes, b.nodes[f])
		}
	}
	slices.Sort(r.LogIndexes)
	return r
}

// risksDetail are the risks of the rules for programs, each line once.
func (b *builder) risksDetail() (list []api.RiskDetail) {
	for _, r := range b.verdict_.Risks {
		why := narrate.Sentence(b.words, r.Why)
		d := api.RiskDetail{Text: narrate.RiskLine(r.Flag, why), Flag: r.Flag.String(), Severity: b.severityOf(r.Flag), Explanation: why}
		if !slices.Contains(list, d) {
			list = append(list, d)
		}
	}
	return list
}

// severityOf is the severity of a flag by itself, or of the gravest finding that raised it.
func (b *builder) severityOf(f verdict.Flag) api.Severity {
	info := f.Info()
	if info.Severity != "" {
		return info.Severity
	}
	worst := api.SeverityInfo
	order := worst.Enum() // the gravest first
	for i := range b.r.Findings {
		found := &b.r.Findings[i]
		if found.Category == info.Category && slices.Index(order, any(found.Severity)) < slices.Index(order, any(worst)) {
			worst = found.Severity
		}
	}
	return worst
}
