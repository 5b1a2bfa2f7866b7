package app_test

import (
	"fmt"
	"strings"
	"testing"

	"txlens/engine/api"
)

// errorRows are those of the table "Errors".
var errorRows = []contractRow{
	{name: "POST /explain, /explain/async, 400, txHash missing or not 0x plus 64 hex", metered: badHashes, unmetered: badHashes,
		each: func(t *testing.T, s *site) { badHashes(t, s.testServer) }, only: []string{modelMode}},
	{name: "POST /explain, 402, no active payment session", metered: noSession, unmetered: func(t *testing.T, h *testServer) {
		h.post("/explain", explainBody("")).Is(t, 200, `"summary":"Sent 1 ETH."`)
		h.stream(explainBody("")).Is(t, 200, `"type":"result"`)
	}},
	{name: "POST /explain, 402, plain JSON request without SSE", metered: plainJSON, unmetered: func(t *testing.T, h *testServer) {
		for _, accept := range []string{"", "application/json", "*/*"} {
			s := h.ask("POST", "/explain", accept, explainBody("")).Is(t, 200, `"txHash":"`+contractHash+`"`)
			if s.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Accept %q: %s", accept, s.Header.Get("Content-Type"))
			}
		}
	}},
	{name: "POST /explain, 500, internal error not absorbed by the partial-result path", metered: paidInternalErrors, unmetered: internalErrors},
	{name: "POST /explain, 502, service could not pay an upstream; hosted API never returns it; only on an unmetered blocking-JSON (self-hosted dev) deployment", metered: paidUpstreamFails, unmetered: func(t *testing.T, h *testServer) {
		s := h.post("/explain", explainBody("unpaid")).Is(t, 502)
		if o := s.JSON(t); o["code"] != "upstream_payment_unavailable" || o["error"] == "" || len(o) != 2 {
			t.Errorf("%s", s.Body)
		}
		if s := h.stream(explainBody("unpaid")).Is(t, 200, `"type":"error"`, `"code":"internal_error"`); strings.Contains(s.Body, "upstream_payment_unavailable") {
			t.Errorf("the stream tells the code: %s", s.Body)
		}
	}},
	{name: "POST /explain/async, 402, no active session", metered: asyncUnit, unmetered: func(t *testing.T, h *testServer) { h.ended(h.submit("")).Is(t, 200, `"status":"complete"`) }},
	{name: "POST /explain/async, 500, internal error before the job exists", metered: asyncFails, unmetered: func(t *testing.T, h *testServer) {
		h.full.Store(true)
		s := h.post("/explain/async", explainBody("")).Is(t, 500)
		if o := s.JSON(t); len(o) != 2 || o["error"] != "Internal server error" || o["requestId"] != "err-"+s.RequestID() {
			t.Errorf("%s", s.Body)
		}
	}},
	{name: "POST /explain/async, 502, never returned", metered: paidFailures, unmetered: func(t *testing.T, h *testServer) {
		h.ended(h.submit("unpaid")).Is(t, 200, `"status":"error"`, `"errorCode":"upstream_payment_unavailable"`)
	}},
	{name: "GET /result/{jobId}, 402, accrued cost owed", metered: accrued, unmetered: func(t *testing.T, h *testServer) {
		id := h.submit("wait")
		for range 3 {
			h.get("/result/"+id).Is(t, 200, id)
		}
		close(h.release)
		first := h.ended(id).Is(t, 200, `"status":"complete"`)
		if again := h.get("/result/"+id).Is(t, 200); again.Body != first.Body {
			t.Errorf("%s\nfirst %s", again.Body, first.Body)
		}
	}},
	{name: "GET /result/{jobId}, 404, unknown or expired (1 h)", metered: noJob, each: func(t *testing.T, s *site) {
		s.get("/result/0199d5f0-0000-7000-8000-0000000000ff").Is(t, 404, `{"error":"Job not found - expired or invalid ID"}`)
	}, only: []string{modelMode}, unmetered: func(t *testing.T, h *testServer) {
		const want = `{"error":"Job not found - expired or invalid ID"}`
		id := h.submit("")
		h.ended(id).Is(t, 200, `"status":"complete"`)
		for _, path := range []string{"/result/0199d5f0-0000-7000-8000-0000000000ff", "/result/nonsense", "/result/" + strings.ToUpper(id) + "x"} {
			if s := h.get(path).Is(t, 404); s.Body != want {
				t.Errorf("%s: %s", path, s.Body)
			}
		}
		h.later(api.JobRetention)
		if s := h.get("/result/"+id).Is(t, 404); s.Body != want {
			t.Errorf("expired: %s", s.Body)
		}
	}},
	{name: "GET /result/{jobId}, 200, analysis failed", metered: paidFailures, unmetered: func(t *testing.T, h *testServer) {
		for word, code := range map[string]string{"broken": "internal_error", "nowhere": "transaction_not_found"} {
			s := h.ended(h.submit(word)).Is(t, 200)
			if o := s.JSON(t); o["status"] != "error" || o["error"] == "" || o["errorCode"] != code || o["result"] != nil {
				t.Errorf("%s", s.Body)
			}
		}
	}},
	{name: "POST /session/deposit, billable content, 402, channel deposit under $2.00", metered: smallDeposit, each: func(t *testing.T, s *site) {
		s.post("/session/deposit", "{}").Is(t, 200, `{"ok":true}`)
	}, only: []string{modelMode}, unmetered: func(t *testing.T, h *testServer) {
		h.post("/session/deposit", "").Is(t, 200, `{"ok":true}`)
		h.post("/session/deposit", "{}").Is(t, 200, `{"ok":true}`)
		h.post("/explain", explainBody("")).Is(t, 200)
	}},
	{name: "GET /explain/run/{requestId}, 404 / 409, see Endpoints", metered: paidRecoveries, unmetered: recoveries, each: func(t *testing.T, s *site) {
		s.get("/explain/run/0199d5f0-0000-7000-8000-0000000000ff").Is(t, 404, `"code":"run_not_found"`)
		s.get(fmt.Sprint("/explain/run/", s.failed[0]["requestId"])).Is(t, 409, `"code":"transaction_not_found"`)
	}, only: []string{modelMode}},
}

func badHashes(t *testing.T, h *testServer) {
	for _, path := range []string{"/explain", "/explain/async"} {
		for _, body := range []string{`{}`, `{"txHash":""}`, `{"txHash":null}`, `{"txHash":7}`, `{"txHash":"` + contractHash[2:] + `"}`, `{"txHash":"` + contractHash + `0"}`, `{"txHash":"0xzz` + contractHash[4:] + `"}`} {
			s := h.post(path, body).Is(t, 400, "txHash")
			if o := s.JSON(t); len(o) != 1 || o["error"] == "" || s.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s %s: %s", path, body, s.Body)
			}
		}
	}
	// On the way to a stream it is told the same way, before the stream begins.
	h.stream(`{"txHash":"0x12"}`).Is(t, 400, `{"error":"txHash: must be 0x and 64 hex digits"}`)
}

func internalErrors(t *testing.T, h *testServer) {
	s := h.post("/explain", explainBody("broken")).Is(t, 500)
	if o := s.JSON(t); o["code"] != "internal_error" || o["error"] == "" || len(o) != 2 {
		t.Errorf("%s", s.Body)
	}
	h.post("/explain", explainBody("partial")).Is(t, 200, `"analysisModel":"partial-synthesis"`, `"summary":"**Partial result`, `"confidence":"low"`)
	h.stream(explainBody("nowhere")).Is(t, 200, `"type":"error"`, `not found on 80 chains`)
	h.stream(explainBody("broken")).Is(t, 200, `"type":"error"`, `"code":"internal_error"`)
	h.stream(explainBody("partial")).Is(t, 200, `"type":"result"`, `"analysisModel":"partial-synthesis"`)
}

func recoveries(t *testing.T, h *testServer) {
	fault := func(id string, status int, code string) {
		t.Helper()
		s := h.get("/explain/run/"+id).Is(t, status)
		if o := s.JSON(t); o["code"] != code || o["error"] == "" || o["requestId"] != id {
			t.Errorf("%s", s.Body)
		}
	}
	fault("0199d5f0-0000-7000-8000-0000000000ff", 404, "run_not_found")
	h.get("/explain/run/nonsense").Is(t, 404, `"code":"run_not_found"`)
	fault(h.post("/explain", explainBody("broken")).RequestID(), 409, "run_errored")
	fault(h.stream(explainBody("broken")).RequestID(), 409, "run_errored")
	fault(h.post("/explain", explainBody("large")).RequestID(), 409, "run_too_large")

	id := h.stream(explainBody("")).Is(t, 200).RequestID()
	first := h.get("/explain/run/"+id).Is(t, 200, `"requestId":"`+id+`"`, `"type":"complete"`, `"type":"result"`)
	if again := h.get("/explain/run/" + id); again.Body != first.Body {
		t.Errorf("the second answer is another: %s", again.Body)
	}
	h.later(api.RunRetention)
	fault(id, 404, "run_not_found")
}
