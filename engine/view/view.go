// Package view reduces results to a size that suits their reader.
//
// A view has the members of the result, so a program that reads results reads views,
// too. It is filled in the order of the table ranks, until its size is reached: what ranks
// lower is there only if all that ranks higher is. Result.View counts what was left out,
// and names the part that lists all of it: Parts can be read page by page.
package view

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
)

// form bounds one item of a list.
type form struct {
	text  int // bytes of a sentence
	data  int // bytes of calldata, return data and arguments
	items int // items of the lists within the item
}

// name bounds the bytes of a label.
func (f form) name() int { return min(f.text, 80) }

// shape bounds a view.
type shape struct {
	limit int  // bytes of the JSON
	long  form // of items, where there is room
}

// slack is left for what a transport adds to a result, such as its type and request id.
const slack = 256

var shapes = map[api.View]shape{
	api.ViewSummary:  {8 << 10, form{text: 400, data: 36, items: 6}},
	api.ViewStandard: {64 << 10, form{text: 1200, data: 132, items: 12}},
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
	lists := listsOf(r)
	out := outline(r)
	out.View = &api.ViewInfo{Name: v, Omitted: []api.Omission{}, More: more}
	left := s.limit - slack - sizeOf(out)
	for _, k := range ranks {
		counts := sizeOf(omissions(r, lists)) // fewer, once a list is whole
		left -= counts
		fits := lists[k.member].grow(k, s, &left)
		left += counts
		if !fits {
			break
		}
	}
	for _, l := range lists {
		l.put(out)
	}
	if out.View.Omitted = omissions(r, lists); len(out.View.Omitted) == 0 {
		out.View.More = ""
	}
	return out
}

// outline is a result without its lists and long texts, which the view is filled with.
func outline(r *api.Result) *api.Result {
	out := &api.Result{
		TxHash: r.TxHash, Chain: r.Chain, ChainName: r.ChainName, ExplorerBase: r.ExplorerBase, Status: r.Status, AnalysisModel: r.AnalysisModel,
		Protocol: r.Protocol, TxType: r.TxType, Confidence: r.Confidence, USDValue: r.USDValue, Costs: r.Costs, TxMeta: r.TxMeta,
		HTMLReport: r.HTMLReport, SubType: r.SubType, Attempted: r.Attempted, StateChangesMeta: r.StateChangesMeta,
	}
	if r.StateChanges != nil && len(r.StateChanges) == 0 { // an empty list says that nothing changed
		out.StateChanges = []api.StateChange{}
	}
	if r.Dealings != nil {
		out.Dealings = &api.Dealings{MoreDeals: r.Dealings.MoreDeals}
	}
	if r.Sandwich != nil {
		out.Sandwich = &api.Sandwich{Pool: r.Sandwich.Pool, Searcher: r.Sandwich.Searcher}
	}
	if r.Fee != nil {
		short := *r.Fee
		short.Recipients = nil
		out.Fee = &short
	}
	if r.PrettyTraceMeta != nil {
		short := *r.PrettyTraceMeta
		short.Markers = nil
		out.PrettyTraceMeta = &short
	}
	if r.Provenance != nil {
		short := *r.Provenance
		short.Notes, short.RunnerUp = nil, ""
		out.Provenance = &short
	}
	return out
}

// omissions are the members that are shorter than they were, in the order of their rank,
// and those that no view has.
func omissions(r *api.Result, lists map[string]list) []api.Omission {
	out := []api.Omission{}
	seen := map[string]bool{}
	for _, k := range ranks {
		if !seen[k.member] {
			seen[k.member] = true
			out = lists[k.member].omissions(out)
		}
	}
	raw := 0
	if r.RawTrace != nil {
		raw = 1
	}
	out = omit(out, "rawTrace", PartTrace, raw, 0)
	out = omit(out, "toolCalls", PartTools, len(r.ToolCalls), 0)
	return omit(out, "stateChanges", PartState, len(r.StateChanges), 0)
}

// omit notes that a member is shorter than it was.
func omit(out []api.Omission, member, part string, total, kept int) []api.Omission {
	if kept < total {
		out = append(out, api.Omission{Member: member, Part: part, Total: total, Kept: kept})
	}
	return out
}

var errTooLarge = errors.New("too large")

// counter counts the bytes that are written, and fails beyond limit.
type counter struct{ n, limit int }

func (c *counter) Write(p []byte) (int, error) {
	if c.n += len(p); c.n > c.limit {
		return 0, errTooLarge
	}
	return len(p), nil
}

// sizeOf returns the bytes of the JSON of v. No view has a larger value than the counter
// allows, so a larger one is not written to its end.
func sizeOf(v any) int {
	c := counter{limit: 1 << 20}
	if err := json.MarshalWrite(&c, v, jsontext.AllowInvalidUTF8(true)); err != nil {
		return c.limit
	}
	return c.n
}
