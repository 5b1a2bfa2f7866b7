package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"txlens/engine/api"
	"txlens/engine/view"
)

// longResult has more frames than a view keeps.
func longResult(req api.Request) *api.Result {
	r := result(req)
	for i := range 852 {
		r.PrettyTrace = append(r.PrettyTrace, api.Node{Index: i, Depth: min(i, 3), Type: "CALL", Input: make(api.Hex, 400), GasUsed: uint64(i), Status: api.NodeOK})
	}
	r.PrettyTrace[700].Status, r.PrettyTrace[700].Error = api.NodeFailed, "execution reverted"
	return r
}

// TestViews: each answer that holds a result has the view that was asked for, and the
// record keeps the full one.
func TestViews(t *testing.T) {
	jobs := &fakeJobs{refuse: func(api.Request) error { return nil }, jobs: map[string]*api.Job{}}
	for id, v := range map[string]api.View{jobID: api.ViewSummary, unknownID: ""} {
		doc, err := jsonv2.Marshal(longResult(api.Request{TxHash: hash}))
		if err != nil {
			t.Fatal(err)
		}
		jobs.jobs[id] = &api.Job{JobID: id, Status: api.JobComplete, Result: doc, View: v}
	}
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	_, url := start(t, Config{Jobs: jobs, Runs: runs}, func(_ context.Context, req api.Request) (*api.Result, error) { return longResult(req), nil })
	c := client(t)
	run := ""
	f := func(method, path, body string, want api.View, inside string) {
		t.Helper()
		a := do(t, c, method, url+path, "application/json", strings.NewReader(body))
		if a.status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
		}
		doc := []byte(a.body)
		if inside != "" {
			var outer map[string]json.RawMessage
			if err := json.Unmarshal(doc, &outer); err != nil {
				t.Fatal(err)
			}
			doc = outer[inside]
			if inside == "frames" {
				var frames []json.RawMessage
				if err := json.Unmarshal(doc, &frames); err != nil {
					t.Fatal(err)
				}
				doc = frames[len(frames)-1]
			}
		}
		if run == "" {
			run = a.header.Get("X-Request-Id")
		}
		res, err := api.DecodeResult(doc)
		if err != nil {
			t.Fatal(err)
		}
		name := api.ViewFull
		if res.View != nil {
			name = res.View.Name
		}
		if limit := view.Limit(want); name != want || limit != 0 && len(doc) > limit || limit == 0 && len(res.PrettyTrace) != 852 {
			t.Errorf("%s %s %s: view %s of %d bytes, want %s", method, path, body, name, len(doc), want)
		}
		if want != api.ViewFull && !strings.Contains(string(doc), "GET /explain/run/") {
			t.Errorf("%s: the view does not say where the rest is", path)
		}
	}
	body := func(v string) string { return fmt.Sprintf(`{"txHash":%q,"chainId":1%s}`, hash, v) }
	f("POST", "/explain", body(`,"view":"summary"`), api.ViewSummary, "")
	f("POST", "/explain", body(`,"view":"standard"`), api.ViewStandard, "")
	f("POST", "/explain", body(`,"view":"full"`), api.ViewFull, "")
	f("POST", "/explain", body(""), api.ViewFull, "")
	f("POST", "/explain?view=summary", body(""), api.ViewSummary, "")
	f("POST", "/explain?view=summary", body(`,"view":"standard"`), api.ViewStandard, "") // the body is nearer
	f("GET", "/explain/run/"+run, "", api.ViewFull, "frames")
	f("GET", "/explain/run/"+run+"?view=standard", "", api.ViewStandard, "frames")
	f("GET", "/explain/run/"+run, "", api.ViewFull, "frames") // asking for a view changes nothing
	f("GET", "/result/"+jobID, "", api.ViewSummary, "result")
	f("GET", "/result/"+jobID+"?view=full", "", api.ViewFull, "result")
	f("GET", "/result/"+unknownID, "", api.ViewFull, "result")
	f("GET", "/result/"+unknownID+"?view=standard", "", api.ViewStandard, "result")

	report := do(t, c, "POST", url+"/explain?view=summary", "application/json", strings.NewReader(body(`,"report":true`)))
	again := do(t, c, "GET", url+"/explain/run/"+report.header.Get("X-Request-Id")+"?view=summary", "", nil)
	if report.status != 200 || again.status != 200 || !strings.Contains(again.body, `"type":"report"`) {
		t.Errorf("a report has no views: %d, %d %.200s", report.status, again.status, again.body)
	}

	bad := func(method, path, body, says string) {
		t.Helper()
		if a := do(t, c, method, url+path, "application/json", strings.NewReader(body)); a.status != http.StatusBadRequest || !strings.Contains(a.body, says) {
			t.Errorf("%s %s %s: %d %s", method, path, body, a.status, a.body)
		}
	}
	bad("POST", "/explain", body(`,"view":"tiny"`), "view: must be one of summary, standard, full")
	bad("POST", "/explain", body(`,"view":1`), "view: must be one of")
	bad("POST", "/explain", body(`,"view":""`), "view: must be one of")
	bad("POST", "/explain?view=", body(""), "view: must be one of")
	bad("GET", "/explain/run/"+run+"?view=tiny", "", "view: must be one of")
	bad("GET", "/result/"+jobID+"?view=tiny", "", "view: must be one of")
	bad("GET", "/explain/run/"+run+"/calls?limit=0", "", "limit: must be an integer from 1 to 1000")
	bad("GET", "/explain/run/"+run+"/calls?limit=1001", "", "limit: must be")
	bad("GET", "/explain/run/"+run+"/calls?from=-1", "", "from: must be")
	bad("GET", "/explain/run/"+run+"/calls?text="+strings.Repeat("x", 129), "", "text: must have at most 128 bytes")
}

// TestRunParts: a part of a run, and of a job, is read page by page.
func TestRunParts(t *testing.T) {
	doc, err := jsonv2.Marshal(longResult(api.Request{TxHash: hash}))
	if err != nil {
		t.Fatal(err)
	}
	jobs := &fakeJobs{jobs: map[string]*api.Job{unknownID: {JobID: unknownID, Status: api.JobComplete, Result: doc}}}
	runs := &fakeRuns{frames: map[string][]jsontext.Value{}}
	_, url := start(t, Config{Jobs: jobs, Runs: runs}, func(_ context.Context, req api.Request) (*api.Result, error) { return longResult(req), nil })
	c := client(t)
	run := do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(`{"txHash":"`+hash+`","chainId":1}`)).header.Get("X-Request-Id")
	report := do(t, c, "POST", url+"/explain", "application/json", strings.NewReader(`{"txHash":"`+hash+`","chainId":1,"report":true}`)).header.Get("X-Request-Id")
	f := func(path string, status, items, match int, next any) {
		t.Helper()
		a := do(t, c, "GET", url+"/explain/run/"+path, "", nil)
		var page struct {
			Items []json.RawMessage
			Match int
			Next  any
		}
		if err := json.Unmarshal([]byte(a.body), &page); err != nil {
			t.Fatal(err)
		}
		if a.status != status || len(page.Items) != items || page.Match != match || page.Next != next {
			t.Errorf("%s: %d, %d items of %d, next %v: %.200s", path, a.status, len(page.Items), page.Match, page.Next, a.body)
		}
	}
	f(run+"/trace", 200, 100, 852, 100.0)
	f(run+"/calls?from=800&limit=1000", 200, 52, 852, nil)
	f(run+"/calls?status=failed", 200, 1, 1, nil)
	f(run+"/events", 200, 0, 0, nil)
	f(unknownID+"/calls?limit=1", 200, 1, 852, 1.0)
	f(run+"/nonsense", 400, 0, 0, nil)
	f("nonsense/calls", 404, 0, 0, nil)
	f(brokenID+"/calls", 500, 0, 0, nil)
	f(jobID+"/calls", 409, 0, 0, nil)
	f(report+"/calls", 409, 0, 0, nil)
	f("0199d5f0-0000-7000-8000-0000000000aa/calls", 404, 0, 0, nil)
	f(run+"/calls/x", 404, 0, 0, nil)
}
