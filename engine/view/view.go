// Package view reduces results to a size that suits their reader.
//
// A view has the members of the result, so a program that reads results reads views,
// too. The largest call frames and movements are kept, in their order. Result.View counts
// what was left out, and names the part that lists all of it: Parts can be read page by
// page.
package view

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// shape bounds what a view keeps.
type shape struct {
	limit  int // bytes of the JSON
	budget budget
}

// budget counts the items that are kept of each list, and the bytes of each text.
type budget struct {
	lines, details, addresses, contracts, nodes, transfers, balances, findings, deals int
	text                                                                              int // bytes of a sentence
	data                                                                              int // bytes of calldata, return data and arguments
	diagram                                                                           int
}

// slack is left for what a transport adds to a result, such as its type and request id.
const slack = 256

var shapes = map[api.View]shape{
	api.ViewSummary: {8 << 10, budget{
		lines: 12, details: 0, addresses: 8, contracts: 4, nodes: 4, transfers: 8, balances: 6, findings: 3, deals: 0, text: 400, data: 36, diagram: 0,
	}},
	api.ViewStandard: {64 << 10, budget{
		lines: 60, details: 20, addresses: 60, contracts: 40, nodes: 60, transfers: 60, balances: 30, findings: 12, deals: 12,
		text: 1200, data: 132, diagram: 6000,
	}},
}

// Limit returns the largest size of a view in bytes of JSON; 0: there is none.
func Limit(v api.View) int { return shapes[v].limit }

// Of returns the view of a result. The result itself is not changed; for the full view it
// is returned. more tells how the parts that were left out can be had.
func Of(r *api.Result, v api.View, more string) *api.Result {
	s, bounded := shapes[v]
	if !bounded {
		return r
	}
	b := s.budget
	for {
		out := reduce(r, v, more, b)
		if fits(out, s.limit-slack) || b == (budget{text: leastText}) {
			return out
		}
		b = b.smaller()
	}
}

// leastText is the length of the sentences that the smallest view has.
const leastText = 60

// leastNodes are kept as long as anything else is: the outermost call, and the frame that
// failed or used most gas.
const leastNodes = 2

// smaller returns three quarters of a budget.
func (b budget) smaller() budget {
	least := 0
	for _, n := range []*int{
		&b.lines, &b.details, &b.addresses, &b.contracts, &b.transfers, &b.balances, &b.findings, &b.deals, &b.data, &b.diagram,
	} {
		if *n = *n * 3 / 4; *n > 0 {
			least = leastNodes
		}
	}
	b.nodes = max(b.nodes*3/4, least)
	b.text = max(b.text*3/4, leastText)
	return b
}

var errTooLarge = errors.New("too large")

// counter fails once more than left bytes are written.
type counter struct{ left int }

func (c *counter) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		return 0, errTooLarge
	}
	return len(p), nil
}

// fits reports whether the JSON of v has at most so many bytes.
func fits(v any, limit int) bool {
	return json.MarshalWrite(&counter{limit}, v, jsontext.AllowInvalidUTF8(true)) == nil
}

// reducer makes one view of one result.
type reducer struct {
	budget
	omitted []api.Omission
}

func reduce(r *api.Result, v api.View, more string, b budget) *api.Result {
	w := reducer{budget: b, omitted: []api.Omission{}}
	out := *r
	w.texts(&out)
	w.trace(&out)
	w.money(&out)
	w.details(&out)
	w.dropped(&out)
	out.View = &api.ViewInfo{Name: v, Omitted: w.omitted, More: more}
	if len(w.omitted) == 0 {
		out.View.More = ""
	}
	return &out
}

// omit notes that a member is shorter than it was.
func (w *reducer) omit(member, part string, total, kept int) {
	if kept < total {
		w.omitted = append(w.omitted, api.Omission{Member: member, Part: part, Total: total, Kept: kept})
	}
}

// first keeps the first n items.
func first[T any](w *reducer, member, part string, items []T, n int) []T {
	kept := items[:min(len(items), n)]
	w.omit(member, part, len(items), len(kept))
	return slices.Clone(kept)
}

// texts shortens what is written for people.
func (w *reducer) texts(r *api.Result) {
	r.Summary = Shorten(r.Summary, 3*w.text)
	r.Steps = w.sentences("steps", r.Steps)
	r.Risks = w.sentences("risks", r.Risks)
	r.NonFindings = w.sentences("nonFindings", r.NonFindings)
	r.SkillsUsed = w.sentences("skillsUsed", r.SkillsUsed)
	r.Protocols = w.sentences("protocols", r.Protocols)
	if p := r.Provenance; p != nil {
		short := *p
		short.Notes = w.sentences("provenance.notes", p.Notes)
		short.RunnerUp = Shorten(p.RunnerUp, w.text)
		r.Provenance = &short
	}
	if q := r.Sequence; q != nil {
		r.Sequence = &api.Sequence{Part: q.Part, Text: Shorten(q.Text, w.text)}
	}
	if k := r.KnownIncident; k != nil {
		r.KnownIncident = &api.KnownIncident{
			Name: Shorten(k.Name, w.text), Date: Shorten(k.Date, 32), Cause: Shorten(k.Cause, w.text),
			Loss: Shorten(k.Loss, w.text), Source: Shorten(k.Source, w.text),
		}
	}
	if len(r.MermaidDiagram) > w.diagram {
		w.omit("mermaidDiagram", PartDiagram, len(r.MermaidDiagram), 0)
		r.MermaidDiagram = "" // a part of it would be another diagram
	}
}

func (w *reducer) sentences(member string, all []string) []string {
	kept := first(w, member, partOf[member], all, w.lines)
	for i := range kept {
		kept[i] = Shorten(kept[i], w.text)
	}
	return kept
}

// dropped leaves out what no view has.
func (w *reducer) dropped(r *api.Result) {
	if r.RawTrace != nil {
		w.omit("rawTrace", PartTrace, 1, 0)
		r.RawTrace = nil
	}
	w.omit("toolCalls", PartTools, len(r.ToolCalls), 0)
	r.ToolCalls = nil
	if len(r.StateChanges) > 0 { // an empty list says that nothing changed
		w.omit("stateChanges", PartState, len(r.StateChanges), 0)
		r.StateChanges = nil
	}
	if m := r.PrettyTraceMeta; m != nil {
		short := *m
		short.Markers = first(w, "prettyTraceMeta.loops", "", m.Markers, w.addresses)
		r.PrettyTraceMeta = &short
	}
	r.TraceAnnotations = w.annotations(r)
}

// annotations keeps those of the nodes that are kept.
func (w *reducer) annotations(r *api.Result) map[int]string {
	if len(r.TraceAnnotations) == 0 {
		return r.TraceAnnotations
	}
	kept := make(map[int]string)
	for i := range r.PrettyTrace {
		if text, ok := r.TraceAnnotations[r.PrettyTrace[i].Index]; ok {
			kept[r.PrettyTrace[i].Index] = Shorten(text, w.text)
		}
	}
	w.omit("traceAnnotations", "", len(r.TraceAnnotations), len(kept))
	return kept
}
