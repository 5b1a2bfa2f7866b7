package view_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/view"
)

// important are members by their importance, and how many items of each come before what
// follows. The lists of frames and movements are last.
var important = []struct {
	member string
	most   int
	count  func(r *api.Result) int
}{
	{"findings", 1 << 30, func(r *api.Result) int { return len(r.Findings) }},
	{"risks", 1 << 30, func(r *api.Result) int { return len(r.Risks) }},
	{"lost", 4, func(r *api.Result) int { return len(dealings(r).Lost) }},
	{"gained", 4, func(r *api.Result) int { return len(dealings(r).Gained) }},
	{"balanceChanges", 1, func(r *api.Result) int { return len(r.BalanceChanges) }},
	{"steps", 1 << 30, func(r *api.Result) int { return len(r.Steps) }},
	{"sandwich", 1 << 30, func(r *api.Result) int {
		if r.Sandwich == nil {
			return 0
		}
		return len(r.Sandwich.Trades)
	}},
	{"protocols", 1 << 30, func(r *api.Result) int { return len(r.Protocols) }},
	{"prettyTrace", 2, func(r *api.Result) int { return len(r.PrettyTrace) }},
	{"tokenTransfers", 6, func(r *api.Result) int { return len(r.TokenTransfers) }},
	{"addresses", 6, func(r *api.Result) int { return len(r.Addresses) }},
	{"contracts", 4, func(r *api.Result) int { return len(r.Contracts) }},
	{"stepsDetail", 1 << 30, func(r *api.Result) int { return len(r.StepsDetail) }},
}

func dealings(r *api.Result) api.Dealings {
	if r.Dealings == nil {
		return api.Dealings{}
	}
	return *r.Dealings
}

// TestRanksOfRecordings: what is important is there first, findings above all, and a view
// that leaves something out uses its room.
func TestRanksOfRecordings(t *testing.T) {
	found, complete, asIs := 0, 0, 0
	least := map[api.View]int{api.ViewSummary: 100, api.ViewStandard: 100}
	for r := range recordings(t) {
		for v := range least {
			out := view.Of(r, v, "GET /explain/run/0199d5f0-0000-7000-8000-000000000001/{part}")
			inOrder(t, r, out)
			if used := 100 * size(t, out) / view.Limit(v); cutForRoom(out) {
				least[v] = min(least[v], used)
				if used < 85 {
					t.Errorf("%s: %s uses %d %% of its size and leaves out %+v", r.TxHash, v, used, out.View.Omitted)
				}
			}
			if v != api.ViewSummary || len(r.Findings) == 0 {
				continue
			}
			found++
			if wholeFinding(t, r, out) {
				asIs++
			}
			if len(out.Findings) == len(r.Findings) {
				complete++
			}
		}
	}
	t.Logf("of %d results with findings, %d summaries have one as it is, and %d all by headline; least use of a view that is cut: %v %%",
		found, asIs, complete, least)
	if found == 0 {
		t.Error("no result has findings")
	}
}

// inOrder: nothing is there that is less important than something that is cut.
func inOrder(t *testing.T, r, out *api.Result) {
	t.Helper()
	cut := ""
	for _, m := range important {
		total, kept := min(m.count(r), m.most), m.count(out)
		if cut != "" && kept > 0 {
			t.Errorf("%s: %s has %d of %s, though %s are cut", r.TxHash, out.View.Name, kept, m.member, cut)
		}
		if cut == "" && kept < total {
			cut = m.member
		}
	}
}

// cutForRoom reports whether something was left out that a larger view would have, but
// for the diagram, of which there is no part.
func cutForRoom(out *api.Result) bool {
	return slices.ContainsFunc(out.View.Omitted, func(o api.Omission) bool {
		return !slices.Contains([]string{"rawTrace", "toolCalls", "stateChanges", "mermaidDiagram", "findings.evidence", "balanceChanges.tokens"}, o.Member)
	})
}

// wholeFinding reports whether the first rule that broke is there as the result has it.
// Where it is half as large as the summary, it is short, with evidence.
func wholeFinding(t *testing.T, r, out *api.Result) bool {
	t.Helper()
	i := max(slices.IndexFunc(r.Findings, func(f api.Finding) bool { return f.Primary }), 0)
	want := r.Findings[i]
	j := slices.IndexFunc(out.Findings, func(f api.Finding) bool { return f.ID == want.ID })
	if j < 0 || len(want.Evidence) > 0 && len(out.Findings[j].Evidence) == 0 {
		t.Errorf("%s: the summary shows no evidence of the finding %s", r.TxHash, want.ID)
		return false
	}
	same := reflect.DeepEqual(out.Findings[j], want)
	if !same && size(t, &api.Result{Findings: []api.Finding{want}})-size(t, &api.Result{}) < view.Limit(api.ViewSummary)/2 {
		t.Errorf("%s: the finding %s is shortened", r.TxHash, want.ID)
	}
	return same
}

// TestNothingIsLostSilently: what a view leaves out of a member is said, and the part that
// is named has it.
func TestNothingIsLostSilently(t *testing.T) {
	for i := range reflect.TypeFor[api.Result]().NumField() {
		name := reflect.TypeFor[api.Result]().Field(i).Name
		if name == "View" || name == "RawTrace" { // the one is made, the other is of any type
			continue
		}
		r := &api.Result{}
		fill(reflect.ValueOf(r).Elem().Field(i), 3)
		out := view.Of(r, api.ViewSummary, "more")
		if reflect.ValueOf(out).Elem().Field(i).IsZero() && !reflect.ValueOf(r).Elem().Field(i).IsZero() && len(out.View.Omitted) == 0 {
			t.Errorf("%s is missing, and the view does not say so", name)
		}
		for _, o := range out.View.Omitted {
			part, ok := view.FindPart(o.Part)
			if !ok {
				t.Errorf("%s: no part lists all of %s", name, o.Member)
				continue
			}
			page, err := part.Read(r, view.Query{Limit: 1, MaxBytes: 1})
			if err != nil || page.Total == 0 {
				t.Errorf("%s: the part %s has %d items, %v; want %+v", name, o.Part, page.Total, err, o)
			}
		}
	}
}

// TestSandwichIsThere: the trades of a sandwich come before frames, with their hashes, and
// are a part.
func TestSandwichIsThere(t *testing.T) {
	const victim = "0x7777777777777777777777777777777777777777777777777777777777777777"
	r := huge(1000, "a text")
	r.Findings, r.Steps, r.Risks = nil, nil, nil
	r.Sandwich = &api.Sandwich{Trades: []api.SandwichTrade{
		{Part: api.SandwichFront, Self: true}, {Part: api.SandwichVictim, TxHash: victim}, {Part: "back"},
	}}
	out := view.Of(r, api.ViewSummary, "more")
	if len(out.Sandwich.Trades) != 3 || out.Sandwich.Trades[1].TxHash != victim || len(out.PrettyTrace) == 0 {
		t.Errorf("trades %+v, %d frames", out.Sandwich, len(out.PrettyTrace))
	}
	part, _ := view.FindPart(view.PartSandwich)
	page, err := part.Read(r, view.Query{Limit: 10, MaxBytes: 1 << 20, Text: victim})
	if err != nil || page.Total != 3 || page.Match != 1 || len(page.Items) != 1 {
		t.Errorf("%v, %+v", err, page)
	}
}

// TestFormsOfFindings: the first rule that broke is whole, others are headlines where room
// is short and whole where it is not, and the view counts the evidence that is missing.
func TestFormsOfFindings(t *testing.T) {
	f := func(findings, bytes, wantWhole int) {
		t.Helper()
		r := &api.Result{}
		for i := range findings {
			e := []api.Evidence{{Claim: strings.Repeat("x", bytes), Kind: "call"}}
			r.Findings = append(r.Findings, api.Finding{ID: fmt.Sprint(i), Evidence: e, Primary: i == findings-1})
		}
		out := view.Of(r, api.ViewSummary, "more")
		whole := 0
		for i := range out.Findings {
			if reflect.DeepEqual(out.Findings[i], r.Findings[i]) {
				whole++
			}
		}
		if len(out.Findings) != findings || whole != wantWhole || len(out.Findings[findings-1].Evidence) != 1 {
			t.Errorf("%d findings of %d bytes: %d are there, %d whole; want %d", findings, bytes, len(out.Findings), whole, wantWhole)
		}
		want := api.Omission{Member: "findings.evidence", Total: findings, Kept: wantWhole, Part: view.PartFindings}
		if said := slices.Contains(out.View.Omitted, want); said != (wantWhole < findings) {
			t.Errorf("%d findings of %d bytes: %+v, want %+v", findings, bytes, out.View.Omitted, want)
		}
	}
	f(1, 100, 1)
	f(3, 100, 3)
	f(20, 800, 5) // four more in the room that the headlines left
}

// TestAnnotationsOfKeptFrames: the comments on frames that are there are there, and the
// view counts the others.
func TestAnnotationsOfKeptFrames(t *testing.T) {
	f := func(r *api.Result, wantKept, wantTotal int) {
		t.Helper()
		out := view.Of(r, api.ViewSummary, "more")
		said := slices.ContainsFunc(out.View.Omitted, func(o api.Omission) bool {
			return o.Member == "traceAnnotations" && o.Total == wantTotal && o.Kept == len(out.TraceAnnotations)
		})
		if len(out.TraceAnnotations) != wantKept || said != (wantKept < wantTotal) {
			t.Errorf("comments %v, %+v; want %d of %d", out.TraceAnnotations, out.View.Omitted, wantKept, wantTotal)
		}
	}
	nodes := []api.Node{{Index: 0, Type: "CALL"}, {Index: 1, Type: "CALL", Depth: 1}}
	f(&api.Result{PrettyTrace: nodes}, 0, 0)
	f(&api.Result{PrettyTrace: nodes, TraceAnnotations: map[int]string{1: "a comment"}}, 1, 1)
	f(&api.Result{PrettyTrace: nodes, TraceAnnotations: map[int]string{1: "a comment", 7: "of no frame"}}, 1, 2)
}
