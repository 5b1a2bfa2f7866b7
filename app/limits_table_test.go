package app_test

import (
	"bufio"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"txlens/engine/api"
	"txlens/testkit/service"
	"txlens/testkit/size"
	"txlens/transport"
)

// limitRows are those of the table "Limits". Those of money say what they come to where
// nothing is paid.
var limitRows = []contractRow{
	{name: "txHash format", metered: func(t *testing.T, h *testServer) {
		billed(t, h, explainBody(""), true)
		billed(t, h, `{"txHash":"0x12"}`, false, "txHash")
	}, unmetered: hashFormat},
	{name: "context size", metered: func(t *testing.T, h *testServer) {
		billed(t, h, explainBody(strings.Repeat("x", 2048)), true)
		billed(t, h, explainBody(strings.Repeat("x", 2049)), false, "context: is 2049 bytes")
	}, unmetered: func(t *testing.T, h *testServer) {
		for _, path := range []string{"/explain", "/explain/async"} {
			for _, text := range []string{strings.Repeat("x", 2048), strings.Repeat("é", 1024)} {
				if s := h.post(path, explainBody(text)); s.Status/100 != 2 {
					t.Errorf("%s, 2048 bytes: %d %s", path, s.Status, s.Body)
				}
				h.post(path, explainBody(text+"y")).Is(t, 400, "context: is 2049 bytes")
			}
		}
	}},
	{name: "Job retention", metered: noJob, unmetered: func(t *testing.T, h *testServer) {
		id := h.submit("")
		h.ended(id).Is(t, 200, `"status":"complete"`)
		h.later(api.JobRetention - time.Minute)
		h.get("/result/"+id).Is(t, 200, `"status":"complete"`)
		h.later(time.Minute)
		h.get("/result/"+id).Is(t, 404)
		if api.JobRetention != time.Hour {
			t.Error("it is not one hour")
		}
	}},
	{name: "Run record retention", metered: paidRecoveries, unmetered: func(t *testing.T, h *testServer) {
		id := h.post("/explain", explainBody("")).Is(t, 200).RequestID()
		h.later(api.RunRetention - time.Minute)
		h.get("/explain/run/"+id).Is(t, 200, id)
		h.later(time.Minute)
		h.get("/explain/run/"+id).Is(t, 404)
		if api.RunRetention != 30*24*time.Hour {
			t.Error("it is not 30 days")
		}
	}},
	{name: "Abort on no collection", metered: nobodyCollects, unmetered: func(t *testing.T, h *testServer) {
		id := h.submit("wait") // nobody asks for it, and there is nothing to collect
		h.later(5 * time.Minute)
		close(h.release)
		h.ended(id).Is(t, 200, `"status":"complete"`, `"analysisModel":"rules"`)
	}},
	{name: "Poll interval", metered: pollInterval, unmetered: func(t *testing.T, h *testServer) {
		taken := h.post("/explain/async", explainBody("wait")).Is(t, 202)
		id, _ := taken.JSON(t)["jobId"].(string)
		for _, s := range []service.Answer{taken, h.get("/result/" + id)} {
			if n, err := strconv.Atoi(s.Header.Get("Retry-After")); err != nil || n < 5 || n > 15 {
				t.Errorf("Retry-After %q", s.Header.Get("Retry-After"))
			}
		}
		close(h.release)
		if s := h.ended(id); s.Header.Get("Retry-After") != "" {
			t.Error("a job that has ended is to be asked again")
		}
	}},
	{name: "Heartbeat", unmetered: heartbeat},
	{name: "Voucher increment", metered: wholeUnits, unmetered: func(t *testing.T, h *testServer) {
		if s := h.stream(explainBody("")).Is(t, 200); strings.Contains(s.Body, "event:") || strings.Contains(s.Body, "payment") {
			t.Errorf("the stream asks for vouchers: %s", s.Body)
		}
	}},
	{name: "Submit unit", metered: asyncUnit, unmetered: func(t *testing.T, h *testServer) { h.submit("") }}, // submit refuses any header of payments
	{name: "Deposit probe price", metered: probePrice, unmetered: func(t *testing.T, h *testServer) { h.post("/session/deposit", "{}").Is(t, 200, `{"ok":true}`) }},
	{name: "Suggested deposit", metered: suggestedDeposit, unmetered: func(t *testing.T, h *testServer) { neverBilled(t, h) }},
	{name: "Minimum channel deposit for billable content", metered: smallDeposit, unmetered: func(t *testing.T, h *testServer) { neverBilled(t, h) }},
	{name: "Recommended client maxDeposit", metered: recommendedMax, unmetered: func(t *testing.T, h *testServer) { neverBilled(t, h) }},
	{name: "Retry cap for upstream_payment_unavailable", metered: func(t *testing.T, h *testServer) {
		if s := h.paidEnd(h.order("unpaid")).Has(t, 200, `"errorCode":"upstream_payment_unavailable"`); s.Header.Get("Retry-After") != "" {
			t.Error("the client is told to come again")
		}
	}, unmetered: func(t *testing.T, h *testServer) {
		if s := h.post("/explain", explainBody("unpaid")).Is(t, 502); s.Header.Get("Retry-After") != "" {
			t.Error("the client is told to come again")
		}
		i := slices.IndexFunc(api.ErrorCodes(), func(c api.ErrorCode) bool { return c.Code == api.CodePayment })
		if i < 0 || !strings.Contains(api.ErrorCodes()[i].Action, "at most twice") {
			t.Error("the table of codes does not say how often to try")
		}
	}},
	{name: "Rate limit", metered: noRateLimit, unmetered: func(t *testing.T, h *testServer) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 25 {
					h.get("/health").Is(t, 200)
					h.post("/explain", explainBody("")).Is(t, 200)
				}
			})
		}
		wg.Wait()
	}},
}

func hashFormat(t *testing.T, h *testServer) {
	f := func(hash string, ok bool) {
		t.Helper()
		for _, path := range []string{"/explain", "/explain/async"} {
			if s := h.post(path, fmt.Sprintf(`{"txHash":%q}`, hash)); s.Status/100 != 2 && ok || s.Status != 400 && !ok {
				t.Errorf("%s %q: %d %s", path, hash, s.Status, s.Body)
			}
		}
	}
	f(contractHash, true)
	f("0x"+strings.ToUpper(contractHash[2:]), true)
	f("0X"+contractHash[2:], false)
	f(contractHash[2:], false)
	f(contractHash[:65], false)
	f(contractHash+"0", false)
	f(contractHash+"\n", false)
	f(" "+contractHash, false)
	f("0x"+strings.Repeat("g", 64), false)
}

// neverBilled: whoever has no channel is served everywhere; is refuses 402 and the
// headers of payments.
func neverBilled(t *testing.T, h *testServer) {
	h.post("/session/deposit", "").Is(t, 200)
	run := h.post("/explain", explainBody("")).Is(t, 200).RequestID()
	h.stream(explainBody("")).Is(t, 200)
	h.ended(h.submit("")).Is(t, 200, `"status":"complete"`)
	h.get("/explain/run/"+run).Is(t, 200)
}

// heartbeat waits for two of them, at the interval of the interface or, in the small size,
// at a shorter one; the interval of the interface is then what the server tells of itself.
func heartbeat(t *testing.T, h *testServer) {
	if text := h.get("/llms-full.txt").Body; !strings.Contains(text, "| heartbeat | after 15 seconds of silence |") {
		t.Error("the interval is not 15 seconds")
	}
	interval := size.Of(100*time.Millisecond, 15*time.Second)
	h = openTestServer(t, nil, func(c *transport.Config) {
		if !size.Full() {
			c.Heartbeat = interval
		}
	})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", h.base+"/explain", strings.NewReader(explainBody("wait")))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	began := time.Now()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	beats := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if !strings.HasPrefix(lines.Text(), "data: ") {
			continue
		}
		if beats++; beats <= 2 && (!strings.Contains(lines.Text(), `"type":"heartbeat"`) || time.Since(began) < time.Duration(beats)*interval-interval/100) {
			t.Errorf("after %v: %s", time.Since(began), lines.Text())
		}
		if beats == 2 {
			close(h.release)
		}
	}
	if beats < 4 { // two, then complete and the result
		t.Errorf("%d frames", beats)
	}
}
