package app_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"txlens/engine/api"
	"txlens/engine/mpp"
	"txlens/testkit/service"
)

// jobRows are those of the table of Job.
var jobRows = []contractRow{
	{name: "jobId", each: func(t *testing.T, s *site) {
		id := fmt.Sprint(s.early["jobId"])
		if !regexp.MustCompile("^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$").MatchString(id) || s.job["jobId"] != id || len(s.early) != 2 {
			t.Errorf("submitted %v, told %v", s.early, s.job["jobId"])
		}
	}},
	{name: "status", each: func(t *testing.T, s *site) {
		if s.early["status"] != "pending" || s.job["status"] != "complete" || s.lost["status"] != "error" {
			t.Errorf("%v, %v, %v", s.early["status"], s.job["status"], s.lost["status"])
		}
	}},
	{name: "result", each: func(t *testing.T, s *site) {
		r, _ := s.bare["result"].(service.Object)
		if r["txHash"] != s.w.Tx.Hash || r["txType"] != "swap" || r["analysisModel"] != s.modelName() || s.lost["result"] != nil {
			t.Errorf("%v; of a job that failed %v", r["summary"], s.lost["result"])
		}
	}},
	{name: "error", each: func(t *testing.T, s *site) {
		if text, _ := s.lost["error"].(string); !strings.Contains(text, "not found on 1 chain") || s.job["error"] != nil {
			t.Errorf("%v, %v", s.lost["error"], s.job["error"])
		}
	}},
	{name: "errorCode", each: func(t *testing.T, s *site) {
		if s.lost["errorCode"] != "transaction_not_found" || s.job["errorCode"] != nil {
			t.Errorf("%v, %v", s.lost["errorCode"], s.job["errorCode"])
		}
	}},
	{name: "html", each: func(t *testing.T, s *site) {
		if page, _ := s.job["html"].(string); !strings.Contains(page, "</html>") || s.bare["html"] != nil || s.lost["html"] != nil {
			t.Errorf("%.80s, %v", page, s.bare["html"])
		}
	}},
}

// stateRows are those of the table of what moves a job.
var stateRows = []contractRow{
	{name: "(none), POST /explain/async accepted", each: func(t *testing.T, s *site) {
		if s.early["status"] != "pending" || s.early["jobId"] == "" {
			t.Errorf("%v", s.early)
		}
	}, metered: asyncUnit},
	{name: "`pending`, analysis start", unmetered: func(t *testing.T, h *testServer) {
		id := h.submit("wait")
		(&service.Payer{T: t}).Eventually("it runs", func() bool { return strings.Contains(h.get("/result/"+id).Body, `"status":"running"`) })
		if o := h.get("/result/"+id).Is(t, 200).JSON(t); len(o) != 2 {
			t.Errorf("a job at work has %v", o)
		}
		close(h.release)
		h.ended(id).Is(t, 200, `"status":"complete"`)
	}, metered: accrued},
	{name: "`running`, analysis end", each: func(t *testing.T, s *site) {
		if s.job["status"] != "complete" || s.bare["status"] != "complete" {
			t.Errorf("%v, %v", s.job["status"], s.bare["status"])
		}
	}, unmetered: func(t *testing.T, h *testServer) {
		h.ended(h.submit("partial")).Is(t, 200, `"status":"complete"`, `"analysisModel":"partial-synthesis"`)
	}},
	{name: "`running`, analysis failure", unmetered: func(t *testing.T, h *testServer) {
		h.ended(h.submit("broken")).Is(t, 200, `"status":"error"`, `"errorCode":"internal_error"`)
	}, metered: paidFailures, each: func(t *testing.T, s *site) {
		if s.lost["status"] != "error" {
			t.Errorf("%v", s.lost)
		}
	}, only: []string{modelMode}},
	{name: "any, time", unmetered: func(t *testing.T, h *testServer) {
		for _, word := range []string{"", "broken"} {
			id := h.submit(word)
			h.ended(id)
			h.later(api.JobRetention)
			h.get("/result/"+id).Is(t, 404, "Job not found - expired or invalid ID")
		}
	}, metered: noJob},
}

// endpointRows are those of the table of endpoints.
var endpointRows = []contractRow{
	{name: "GET, /health", each: func(t *testing.T, s *site) {
		o := s.get("/health").Has(t, 200).JSON(t)
		commit, there := o["commit"]
		if _, text := commit.(string); o["status"] != "ok" || o["version"] != "1" || !there || commit != nil && !text || len(o) != 3 {
			t.Errorf("%v", o)
		}
	}},
	{name: "POST, /session/deposit", each: func(t *testing.T, s *site) {
		for _, body := range []string{"", "{}"} {
			got := s.post("/session/deposit", body)
			if s.metered() {
				s.payer.Refused(got, mpp.PaymentRequired)
			} else {
				got.Is(t, 200, `{"ok":true}`)
			}
		}
		s.post("/session/deposit", `{"deposit":16}`).Is(t, 400)
	}, metered: probePrice},
	{name: "POST, /explain", each: func(t *testing.T, s *site) {
		if end := s.frames[len(s.frames)-1]; end["type"] != "result" {
			t.Errorf("the stream ends with %v", end["type"])
		}
		got := s.post("/explain", s.request(``))
		if s.metered() {
			got.Has(t, 402, `"code":"use_metered_sse"`)
		} else if o := got.Is(t, 200).JSON(t); o["txHash"] != s.w.Tx.Hash {
			t.Errorf("%v", o["txHash"])
		}
	}},
	{name: "POST, /explain/async", each: func(t *testing.T, s *site) { s.accepts(t, s.request(``)) }},
	{name: "GET, /result/{jobId}", each: func(t *testing.T, s *site) {
		// What is paid, and what was never sold, is told to whoever knows the id, again and again.
		for range 2 {
			if o := s.get(fmt.Sprint("/result/", s.bare["jobId"])).Is(t, 200).JSON(t); fmt.Sprint(o) != fmt.Sprint(s.bare) {
				t.Errorf("another answer: %.300v", o)
			}
		}
	}},
	{name: "GET, /explain/run/{requestId}", each: func(t *testing.T, s *site) {
		o := s.get(fmt.Sprint("/explain/run/", s.result["requestId"])).Is(t, 200).JSON(t)
		list, _ := o["frames"].([]any)
		if o["requestId"] != s.result["requestId"] || len(list) == 0 || fmt.Sprint(list[len(list)-1]) != fmt.Sprint(s.result) {
			t.Errorf("%.300v", o)
		}
	}, unmetered: recoveries, metered: paidRecoveries},
	{name: "GET, /openapi.json, /tool-spec.json, /SKILL.md, /llms.txt, /llms-full.txt", each: func(t *testing.T, s *site) {
		if o := s.get("/openapi.json").Has(t, 200).JSON(t); o["openapi"] != "3.1.0" || o["info"].(service.Object)["version"] != "1.0.0" {
			t.Errorf("%v", o["info"])
		}
		spec := s.get("/tool-spec.json").Has(t, 200).JSON(t)
		if !has(spec, "version", "baseUrl", "auth", "anthropic", "openai", "endpoints", "skillUrl", "openapiUrl", "defaultModel") || len(spec) != 9 ||
			spec["version"] != 1.0 || spec["auth"] != "mpp-x402" || len(spec["anthropic"].([]any)) != 3 || len(spec["openai"].([]any)) != 3 {
			t.Errorf("%.300v", spec)
		}
		for _, path := range []string{"/SKILL.md", "/llms.txt", "/llms-full.txt"} {
			if got := s.get(path).Has(t, 200); got.Body == "" {
				t.Errorf("%s is empty", path)
			}
		}
		// What a request may hold is the same everywhere.
		full := s.get("/llms-full.txt").Body
		for _, m := range api.MemberNames() {
			if !strings.Contains(full, "| `"+m+"` |") && !strings.Contains(full, "| "+m) {
				t.Errorf("%s is not told", m)
			}
		}
	}},
}

// event is a row about frames of a type: with a model, or in every mode.
func event(name string, model bool, right func(f service.Object) bool) contractRow {
	return contractRow{name: name, each: func(t *testing.T, s *site) {
		n := 0
		for _, f := range s.frames {
			if f["type"] != name {
				continue
			}
			n++
			if !right(f) || f["requestId"] != s.result["requestId"] {
				t.Errorf("%.300v", f)
			}
		}
		if want := !model || s.mode == modelMode; (n > 0) != want {
			t.Errorf("%d frames", n)
		}
	}}
}

// eventRows are those of the table of events.
var eventRows = []contractRow{
	event("preflight_start", false, func(f service.Object) bool { return has(f, "txHash") }),
	event("preflight_done", false, func(f service.Object) bool { return f["chain"] == "ethereum-mainnet" && f["failed"] == nil }),
	event("preflight_status", false, func(f service.Object) bool { return has(f, "phase", "state") }),
	event("iteration", true, func(f service.Object) bool { return f["iteration"].(float64) >= 1 }),
	event("agent_text", true, func(f service.Object) bool { return has(f, "iteration", "text") }),
	event("tool_call", false, func(f service.Object) bool { return f["tool"] != "" }),
	event("tool_result", false, func(f service.Object) bool { return has(f, "tool", "ok", "durationMs", "costUsd") }),
	event("skill_call", true, func(f service.Object) bool { return f["skill"] == playbookOfTest }),
	event("tokens", true, func(f service.Object) bool { return has(f, "costUsd", "model", "inputTokens", "outputTokens") }),
	{name: "complete", each: func(t *testing.T, s *site) {
		for _, frames := range [][]service.Object{s.frames, s.reported} {
			at := slices.IndexFunc(frames, func(f service.Object) bool { return f["type"] == "complete" })
			if at != len(frames)-2 {
				t.Errorf("it is frame %d of %d", at, len(frames))
			}
		}
		if slices.ContainsFunc(s.failed, func(f service.Object) bool { return f["type"] == "complete" }) {
			t.Error("what failed is complete")
		}
	}},
	{name: "heartbeat", unmetered: heartbeat},
	{name: "result", each: func(t *testing.T, s *site) {
		if s.result["type"] != "result" || s.result["requestId"] == "" || s.result["summary"] == "" {
			t.Errorf("%.300v", s.result)
		}
	}},
	{name: "report", each: func(t *testing.T, s *site) {
		if end := s.reported[len(s.reported)-1]; end["type"] != "report" || len(end) != 3 || end["html"] == "" {
			t.Errorf("%.300v", end)
		}
	}},
	{name: "error", each: func(t *testing.T, s *site) {
		end := s.failed[len(s.failed)-1]
		if end["type"] != "error" || end["code"] != "transaction_not_found" || !strings.Contains(fmt.Sprint(end["message"]), "not found on 1 chain") || end["recover"] != nil {
			t.Errorf("%v", end)
		}
	}},
}

// headerRows are the headers that the interface wants on every response.
var headerRows = []contractRow{
	everywhere("X-Service-Version", func(v []string) bool { return slices.Equal(v, []string{"1"}) }),
	everywhere("X-Service-Cost-Model", func(v []string) bool { return slices.Equal(v, []string{"mpp-x402"}) }),
	everywhere("Link", func(v []string) bool {
		all := strings.Join(v, ", ")
		return strings.Count(all, `rel="describedby"`) == 3 && strings.Contains(all, "</SKILL.md>;") && strings.Contains(all, "</openapi.json>;") && strings.Contains(all, "</tool-spec.json>;")
	}),
}

// everywhere asks for each kind of answer, good and bad.
func everywhere(name string, right func(values []string) bool) contractRow {
	const unknown = "0199d5f0-0000-7000-8000-0000000000ff"
	return contractRow{name: name, each: func(t *testing.T, s *site) {
		for _, q := range []struct{ method, path, accept, body string }{
			{"GET", "/health", "", ""}, {"HEAD", "/health", "", ""}, {"GET", "/", "", ""}, {"GET", "/openapi.json", "", ""}, {"GET", "/nowhere", "", ""},
			{"DELETE", "/explain", "", ""}, {"OPTIONS", "/explain", "", ""}, {"POST", "/explain", "", s.request(``)}, {"POST", "/explain", service.EventStream, s.request(``)},
			{"POST", "/explain", "", "{"}, {"POST", "/explain/async", "", s.request(``)}, {"POST", "/explain/async", "", strings.Repeat("x", 70_000)},
			{"POST", "/session/deposit", "", "{}"}, {"GET", "/result/" + unknown, "", ""}, {"GET", "/explain/run/" + unknown, "", ""}, {"GET", "/explain/run/x", "", ""},
		} {
			if got := s.ask(q.method, q.path, q.accept, q.body); !right(got.Header.Values(name)) {
				t.Errorf("%s %s answered %d with %q", q.method, q.path, got.Status, got.Header.Values(name))
			}
		}
	}}
}
