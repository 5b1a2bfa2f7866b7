package report

import (
	"fmt"
	"strings"

	"txlens/engine/api"
)

// receiptAlone is the source of results without a call trace.
const receiptAlone = "receipt"

// sources says in words where a call tree comes from.
var sources = map[string]string{
	"debug_traceTransaction":  "the node's call tracer (debug_traceTransaction)",
	"trace_transaction":       "the node's parity tracer (trace_transaction)",
	"trace_replayTransaction": "the node's parity tracer (trace_replayTransaction)",
	"ots_traceTransaction":    "the node's Otterscan interface (ots_traceTransaction), without gas and failures",
	"blockscout":              "what a block explorer (Blockscout) says",
	"local-replay":            "re-executed here after the earlier transactions of its block",
	"local-replay-quick":      "re-executed here at the state before its block",
	receiptAlone:              "none: made of transaction and receipt alone",
}

// withoutTrace lists what a result without a call trace cannot contain.
const withoutTrace = "No call trace: calls inside, native coin that contracts moved and failures that were caught are not seen."

// untraced reports whether no source of a call trace was used.
func untraced(r *api.Result) bool {
	return r.Provenance != nil && r.Provenance.TraceSource == receiptAlone
}

// known fills in how the result is known.
func (p *page) known(r *api.Result, b bounds) {
	add := func(name, value string) {
		if value != "" {
			p.Known = append(p.Known, fact{name, value})
		}
	}
	if pr := r.Provenance; pr != nil {
		trace := sources[pr.TraceSource]
		if trace == "" {
			trace = api.OneLine(pr.TraceSource, 60)
		}
		add("Trace", trace+left(r.PrettyTraceMeta))
		if pr.Actor != nil && *pr.Actor != r.TxMeta.From {
			add("Acted for", p.names.party(*pr.Actor).Both())
		}
		add("Second best", api.OneLine(pr.RunnerUp, 60))
		add("Prices", api.OneLine(pr.PriceSource, 60)+since(pr.PriceTime))
		if pr.Dropped != nil {
			add("Left out", leftOut(*pr.Dropped))
		}
		p.Notes, _ = proses(pr.Notes, b.notes, b.text)
	}
	model := api.OneLine(r.AnalysisModel, 60)
	if r.Provenance != nil && r.Provenance.Version != "" {
		model += ", version " + api.OneLine(r.Provenance.Version, 60)
	}
	add("Analysis", model)
	var skills []string
	for _, skill := range head(r.SkillsUsed, 12) {
		skills = append(skills, api.OneLine(skill, 40))
	}
	add("Playbooks", strings.Join(skills, ", "))
}

// leftOut says how much of a model's answer did not stand.
func leftOut(d api.Dropped) string {
	var parts []string
	for _, x := range []struct {
		n          int
		noun, many string
	}{
		{d.Sentences, "sentence", ""}, {d.Steps, "step", ""}, {d.Risks, "risk", ""}, {d.Figures, "figure", ""},
		{d.Evidence, "item of evidence", "items of evidence"}, {d.Findings, "finding", ""}, {d.Annotations, "comment", ""},
		{d.Descriptions, "description", ""}, {d.NonFindings, "check", ""}, {d.Verdicts, "verdict", ""},
	} {
		switch {
		case x.n <= 0:
		case x.n > 1 && x.many != "":
			parts = append(parts, api.Thousands(fmt.Sprint(x.n))+" "+x.many)
		default:
			parts = append(parts, api.Count(x.n, x.noun))
		}
	}
	var all []string
	if len(parts) > 0 {
		all = append(all, strings.Join(parts, ", ")+" of the model's, which the evidence does not support")
	}
	if d.Demoted > 0 {
		all = append(all, api.Count(d.Demoted, "finding")+" lowered")
	}
	return strings.Join(all, "; ")
}

func since(unix uint64) string {
	if at := moment(unix); at != "" {
		return " as of " + at
	}
	return ""
}

// left says what compression took out of the tree.
func left(m *api.TraceMeta) string {
	if m == nil {
		return ""
	}
	loops := 0
	for _, l := range m.Markers {
		if l.Kind == "loop" {
			loops++
		}
	}
	s := fmt.Sprintf("; %s of %s kept", api.Thousands(fmt.Sprint(m.KeptNodes)), api.Count(m.OriginalNodes, "frame"))
	if loops > 0 {
		s += ", " + api.Count(loops, "loop") + " collapsed"
	}
	return s
}

func spent(c api.Costs) string {
	var parts []string
	for _, b := range []struct {
		name string
		d    api.Decimal
	}{{"data", c.DataCollection}, {"models", c.LLMs}, {"execution", c.CodeExecution}, {"other", c.Other}} {
		if b.d.Unscaled != nil && b.d.Unscaled.Sign() != 0 {
			parts = append(parts, b.name+" "+cost(b.d))
		}
	}
	return cost(c.TotalUSD) + brackets(strings.Join(parts, ", "))
}

// called counts the calls and names the tools that failed, each once.
func called(calls []api.ToolCall) string {
	if len(calls) == 0 {
		return ""
	}
	failed, names, seen := 0, []string{}, map[string]bool{}
	for _, c := range calls {
		if c.OK {
			continue
		}
		failed++
		if name := api.OneLine(c.Tool, 40); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	s := api.Count(len(calls), "call")
	if failed == 0 {
		return s + ", none failed"
	}
	if more := len(names) - 6; more > 0 {
		names = append(names[:6], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s, %d failed: %s", s, failed, strings.Join(names, ", "))
}
