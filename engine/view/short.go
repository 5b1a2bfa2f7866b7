package view

import (
	"slices"

	"txlens/engine/api"
)

// summary may be longer than other sentences.
func summary(s string, f form) string { return Shorten(s, 3*f.text) }

func sequence(q api.Sequence, f form) api.Sequence {
	return api.Sequence{Part: q.Part, Text: Shorten(q.Text, f.text)}
}

func incident(k api.KnownIncident, f form) api.KnownIncident {
	return api.KnownIncident{
		Name: Shorten(k.Name, f.text), Date: Shorten(k.Date, 32), Cause: Shorten(k.Cause, f.text), Loss: Shorten(k.Loss, f.text),
		Source: Shorten(k.Source, f.text),
	}
}

// finding shortens one finding; its shortest form is a headline: what broke, for whom, and
// what was lost.
func finding(x api.Finding, f form) api.Finding {
	n := f.items
	x.BrokenInvariant, x.Check = Shorten(x.BrokenInvariant, 2*f.text), Shorten(x.Check, f.text)
	x.Victim, x.Attacker, x.Code = head(x.Victim, n), head(x.Attacker, n), head(x.Code, n)
	x.Amplifiers, x.Revoke = nil, head(x.Revoke, n)
	x.MissingDataToConfirm = slices.Clone(head(x.MissingDataToConfirm, n))
	for i, s := range x.MissingDataToConfirm {
		x.MissingDataToConfirm[i] = Shorten(s, f.text)
	}
	x.Evidence = slices.Clone(head(x.Evidence, n))
	for i := range x.Evidence {
		e := &x.Evidence[i]
		e.Claim, e.Before, e.After, e.Source = Shorten(e.Claim, f.text), Shorten(e.Before, 80), Shorten(e.After, 80), Shorten(e.Source, 40)
	}
	x.Gain, x.Loss = assets(x.Gain, f), assets(x.Loss, f)
	if f == briefest {
		x.Evidence, x.Check, x.Code, x.Revoke, x.EntryPoint = nil, "", nil, nil, nil
	}
	return x
}

func evidence(x api.Finding) int { return len(x.Evidence) }

func assets(all []api.AssetAmount, f form) []api.AssetAmount {
	kept := slices.Clone(head(all, f.items))
	for i := range kept {
		kept[i].Amount, kept[i].Text = Shorten(kept[i].Amount, 80), Shorten(kept[i].Text, 80)
	}
	return kept
}

func holding(h api.Holding, f form) api.Holding {
	h.Assets = assets(h.Assets, f)
	return h
}

func deal(d api.Deal, f form) api.Deal {
	d.Function, d.Given, d.Taken = Shorten(d.Function, f.name()), assets(d.Given, f), assets(d.Taken, f)
	return d
}

// balance keeps the tokens of which most dollars moved.
func balance(c api.BalanceChange, f form) api.BalanceChange {
	c.Label, c.Role = Shorten(c.Label, f.name()), Shorten(c.Role, f.name())
	all := c.Tokens
	at := ordered(len(all), func(i, j int) int { return -compareAbs(all[i].ValueUSD, all[j].ValueUSD) })
	at = head(at, 2*f.items)
	slices.Sort(at)
	c.Tokens = make([]api.TokenChange, 0, len(at))
	for _, i := range at {
		t := all[i]
		t.TokenSymbol, t.Balance, t.RawSignedAmount = Shorten(t.TokenSymbol, 24), Shorten(t.Balance, 100), Shorten(t.RawSignedAmount, 100)
		if t.TokenID != nil {
			t.TokenID = new(Shorten(*t.TokenID, 80))
		}
		c.Tokens = append(c.Tokens, t)
	}
	return c
}

func tokens(c api.BalanceChange) int { return len(c.Tokens) }

func transfer(t api.TokenTransfer, _ form) api.TokenTransfer {
	t.TokenName, t.TokenSymbol = Shorten(t.TokenName, 40), Shorten(t.TokenSymbol, 24)
	t.Total, t.TokenID, t.Decimals = Shorten(t.Total, 80), Shorten(t.TokenID, 80), Shorten(t.Decimals, 80)
	return t
}

func address(a api.Address, f form) api.Address {
	a.Label, a.Role, a.LabelSource = Shorten(a.Label, f.name()), Shorten(a.Role, f.name()), Shorten(a.LabelSource, f.name())
	return a
}

func contract(c api.Contract, f form) api.Contract {
	c.Name, c.Description = Shorten(c.Name, f.name()), Shorten(c.Description, f.name())
	return c
}

func riskDetail(d api.RiskDetail, f form) api.RiskDetail {
	d.Text, d.Explanation = Shorten(d.Text, f.text), Shorten(d.Explanation, f.text)
	return d
}

// stepDetail cuts the references of a step that tells of thousands of calls.
func stepDetail(d api.StepDetail, f form) api.StepDetail {
	d.Text, d.Amounts = Shorten(d.Text, f.text), slices.Clone(head(d.Amounts, f.items))
	for i := range d.Amounts {
		d.Amounts[i] = stepAmount(d.Amounts[i])
	}
	d.Refs.LogIndexes, d.Refs.Nodes = head(d.Refs.LogIndexes, 4*f.items), head(d.Refs.Nodes, 4*f.items)
	return d
}

func stepAmount(a api.StepAmount) api.StepAmount {
	a.TokenSymbol, a.RawAmount = Shorten(a.TokenSymbol, 24), Shorten(a.RawAmount, 80)
	for _, s := range []**string{&a.TokenID, &a.Amount} {
		if *s != nil {
			*s = new(Shorten(**s, 80))
		}
	}
	return a
}

func trade(t api.SandwichTrade, _ form) api.SandwichTrade {
	for _, a := range []**api.StepAmount{&t.Given, &t.Taken} {
		if *a != nil {
			*a = new(stepAmount(**a))
		}
	}
	return t
}

// annotated is a frame with the comment of the agent on it.
type annotated struct {
	Node *api.Node
	Note string
}

func annotatedNodes(r *api.Result) []annotated {
	out := make([]annotated, len(r.PrettyTrace))
	for i := range r.PrettyTrace {
		n := &r.PrettyTrace[i]
		out[i] = annotated{n, r.TraceAnnotations[n.Index]}
	}
	return out
}

func node(a annotated, f form) annotated {
	return annotated{new(Compact(*a.Node, f.data)), Shorten(a.Note, f.text)}
}

func setNodes(out *api.Result, all []annotated) {
	for _, a := range all {
		out.PrettyTrace = append(out.PrettyTrace, *a.Node)
	}
	out.TraceAnnotations = notesOf(all)
}

func notesOf(all []annotated) map[int]string {
	notes := map[int]string{}
	for _, a := range all {
		if a.Note != "" {
			notes[a.Node.Index] = a.Note
		}
	}
	return notes
}

func head[T any](all []T, n int) []T { return all[:min(len(all), n)] }
