package view

import (
	"math"

	"txlens/engine/api"
)

// rank is one step in which a view is filled.
type rank struct {
	member string
	upto   int // how many items of the member the view has after this step
	// whole wants items as they are, and makes those whole that an earlier step shortened.
	// An item that does not fit stays as it is, which ends nothing.
	whole bool
	brief bool // items have their shortest form at once
}

const all = math.MaxInt

// ranks is the order of importance. A view has the steps from the first to the one where it
// is full. Items that do not fit are tried in the forms of the view and in their shortest,
// which the list of the member has.
var ranks = []rank{
	{member: "summary", upto: 1},
	{member: "findings", upto: 1, whole: true},
	{member: "findings", upto: all, brief: true},
	{member: "risks", upto: all},
	{member: "dealings.lost", upto: 4},
	{member: "dealings.gained", upto: 4},
	{member: "balanceChanges", upto: 1},
	{member: "steps", upto: all},
	{member: "sandwich.trades", upto: all},
	{member: "protocols", upto: all},
	{member: "sequence", upto: 1},
	{member: "knownIncident", upto: 1},
	{member: "fee.recipients", upto: 2},
	// The frames that failed and used most gas say why a transaction failed.
	{member: "prettyTrace", upto: 2},
	{member: "tokenTransfers", upto: 6},
	{member: "balanceChanges", upto: 4},
	{member: "nonFindings", upto: 6},
	{member: "addresses", upto: 6},
	{member: "findings", upto: all, whole: true},
	{member: "prettyTrace", upto: 4},
	{member: "contracts", upto: 4},
	{member: "provenance.runnerUp", upto: 1},
	{member: "provenance.notes", upto: 6},
	{member: "authorizations", upto: 8},
	{member: "dealings.side", upto: 8},
	{member: "tokenTransfers", upto: 40},
	{member: "balanceChanges", upto: 20},
	{member: "nonFindings", upto: all},
	{member: "dealings.lost", upto: all},
	{member: "dealings.gained", upto: all},
	{member: "dealings.deals", upto: 12},
	{member: "addresses", upto: 40},
	{member: "contracts", upto: 30},
	{member: "prettyTrace", upto: 40},
	{member: "risksDetail", upto: all},
	{member: "stepsDetail", upto: all},
	{member: "authorizations", upto: all},
	{member: "skillsUsed", upto: all},
	{member: "provenance.notes", upto: all},
	{member: "fee.recipients", upto: all},
	{member: "dealings.side", upto: all},
	{member: "dealings.deals", upto: all},
	{member: "tokenTransfers", upto: all},
	{member: "balanceChanges", upto: all},
	{member: "addresses", upto: all},
	{member: "contracts", upto: all},
	{member: "prettyTrace", upto: all},
	{member: "prettyTraceMeta.loops", upto: all},
	{member: "mermaidDiagram", upto: 1},
}

// listsOf returns the lists and long texts of a result, which ranks names.
func listsOf(r *api.Result) map[string]list {
	lists := map[string]list{
		"summary": &column[string]{all: text(r.Summary), short: summary, set: func(out *api.Result, v []string) { out.Summary = first(v) }},
		"findings": &column[api.Finding]{
			part: PartFindings, all: r.Findings, order: func() []int { return primaryFirst(r.Findings) }, short: finding, inner: evidence,
			set: func(out *api.Result, v []api.Finding) { out.Findings = v },
		},
		"risks": sentences(PartRiskTexts, r.Risks, func(out *api.Result, v []string) { out.Risks = v }),
		"steps": sentences(PartStepTexts, r.Steps, func(out *api.Result, v []string) { out.Steps = v }),
		"balanceChanges": &column[api.BalanceChange]{
			part: PartBalances, all: r.BalanceChanges, order: func() []int { return largestBalances(r.BalanceChanges) }, short: balance, inner: tokens,
			set: func(out *api.Result, v []api.BalanceChange) { out.BalanceChanges = v },
		},
		"protocols":   sentences(PartProtocols, r.Protocols, func(out *api.Result, v []string) { out.Protocols = v }),
		"nonFindings": sentences(PartNonFindings, r.NonFindings, func(out *api.Result, v []string) { out.NonFindings = v }),
		"skillsUsed":  sentences(PartSkills, r.SkillsUsed, func(out *api.Result, v []string) { out.SkillsUsed = v }),
		"sequence": &column[api.Sequence]{
			part: PartSequence, all: one(r.Sequence), short: sequence,
			set: func(out *api.Result, v []api.Sequence) { out.Sequence = pointer(v) },
		},
		"knownIncident": &column[api.KnownIncident]{
			part: PartIncident, all: one(r.KnownIncident), short: incident,
			set: func(out *api.Result, v []api.KnownIncident) { out.KnownIncident = pointer(v) },
		},
		"prettyTrace": &column[annotated]{
			part: PartTrace, all: annotatedNodes(r), order: func() []int { return foremostNodes(r.PrettyTrace) }, short: node, set: setNodes,
			also: func(out []api.Omission, kept []annotated) []api.Omission {
				return omit(out, "traceAnnotations", PartAnnotations, len(r.TraceAnnotations), len(notesOf(kept)))
			},
		},
		"tokenTransfers": &column[api.TokenTransfer]{
			part: PartTransfers, all: r.TokenTransfers, order: func() []int { return largestTransfers(r) }, short: transfer,
			set: func(out *api.Result, v []api.TokenTransfer) { out.TokenTransfers = v },
		},
		"addresses": &column[api.Address]{
			part: PartAddresses, all: r.Addresses, short: address, set: func(out *api.Result, v []api.Address) { out.Addresses = v },
		},
		"contracts": &column[api.Contract]{
			part: PartContracts, all: r.Contracts, short: contract, set: func(out *api.Result, v []api.Contract) { out.Contracts = v },
		},
		"risksDetail": &column[api.RiskDetail]{
			part: PartRisks, all: r.RisksDetail, short: riskDetail, set: func(out *api.Result, v []api.RiskDetail) { out.RisksDetail = v },
		},
		"stepsDetail": &column[api.StepDetail]{
			part: PartSteps, all: r.StepsDetail, short: stepDetail, set: func(out *api.Result, v []api.StepDetail) { out.StepsDetail = v },
		},
		"authorizations": &column[api.Authorization]{
			part: PartAuthorizations, all: r.Authorizations, set: func(out *api.Result, v []api.Authorization) { out.Authorizations = v },
		},
		// A part of a diagram would be another diagram: it is there as a whole or not at all.
		"mermaidDiagram": &column[string]{
			part: PartDiagram, all: text(r.MermaidDiagram), units: len(r.MermaidDiagram),
			set: func(out *api.Result, v []string) { out.MermaidDiagram = first(v) },
		},
	}
	innerLists(r, lists)
	for name, l := range lists {
		l.named(name)
	}
	return lists
}

// innerLists adds the lists within other members.
func innerLists(r *api.Result, lists map[string]list) {
	d, x, fee, p, meta := orZero(r.Dealings), orZero(r.Sandwich), orZero(r.Fee), orZero(r.Provenance), orZero(r.PrettyTraceMeta)
	lists["dealings.side"] = &column[api.Addr]{
		part: PartSide, all: d.Side, set: func(out *api.Result, v []api.Addr) { out.Dealings.Side = v },
	}
	lists["dealings.deals"] = &column[api.Deal]{
		part: PartDealings, all: d.Deals, short: deal, set: func(out *api.Result, v []api.Deal) { out.Dealings.Deals = v },
	}
	lists["dealings.gained"] = &column[api.Holding]{
		part: PartGained, all: d.Gained, short: holding, set: func(out *api.Result, v []api.Holding) { out.Dealings.Gained = v },
	}
	lists["dealings.lost"] = &column[api.Holding]{
		part: PartLost, all: d.Lost, short: holding, set: func(out *api.Result, v []api.Holding) { out.Dealings.Lost = v },
	}
	lists["sandwich.trades"] = &column[api.SandwichTrade]{
		part: PartSandwich, all: x.Trades, short: trade, set: func(out *api.Result, v []api.SandwichTrade) { out.Sandwich.Trades = v },
	}
	lists["fee.recipients"] = &column[api.FeeRecipient]{
		part: PartRecipients, all: fee.Recipients, set: func(out *api.Result, v []api.FeeRecipient) { out.Fee.Recipients = v },
	}
	lists["provenance.notes"] = sentences(PartNotes, p.Notes, func(out *api.Result, v []string) { out.Provenance.Notes = v })
	lists["provenance.runnerUp"] = sentences(PartRunnerUp, text(p.RunnerUp),
		func(out *api.Result, v []string) { out.Provenance.RunnerUp = first(v) })
	lists["prettyTraceMeta.loops"] = &column[api.LoopMarker]{
		part: PartLoops, all: meta.Markers, set: func(out *api.Result, v []api.LoopMarker) { out.PrettyTraceMeta.Markers = v },
	}
}

// sentences is a list of lines for people.
func sentences(part string, lines []string, set func(*api.Result, []string)) *column[string] {
	return &column[string]{part: part, all: lines, short: func(s string, f form) string { return Shorten(s, f.text) }, set: set}
}

func text(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func first(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func one[T any](v *T) []T {
	if v == nil {
		return nil
	}
	return []T{*v}
}

func pointer[T any](v []T) *T {
	if len(v) == 0 {
		return nil
	}
	return &v[0]
}

func orZero[T any](v *T) (out T) {
	if v != nil {
		out = *v
	}
	return out
}
