package app_test

import (
	stdjson "encoding/json"
	"strings"
	"testing"
	"time"

	"txlens/actors/sale"
	"txlens/engine/api"
	"txlens/engine/meter"
	"txlens/engine/mpp"
	"txlens/engine/mpp/sandbox"
	"txlens/engine/mpp/tempo"
	"txlens/testkit/service"
)

// The rows of the tables "Errors" and "Limits" as a metered server has them.

// order submits a paid job and gives its id.
func (h *testServer) order(word string) (id string) {
	h.t.Helper()
	resp, _, _ := h.payer.Buy("POST", service.PathJobs, "", explainBody(word))
	status, text := service.ReadAnswer(h.t, resp)
	id, _ = service.Answer{Status: status, Header: resp.Header, Body: text}.Has(h.t, 202, `"status":"pending"`).JSON(h.t)["jobId"].(string)
	return id
}

// paidEnd polls a job, pays what is asked for, and gives its last state.
func (h *testServer) paidEnd(id string) service.Answer {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		resp, _, _ := h.payer.Buy("GET", "/result/"+id, "", "")
		status, text := service.ReadAnswer(h.t, resp)
		if s := (service.Answer{Status: status, Header: resp.Header, Body: text}); status == 200 && !strings.Contains(text, `"status":"pending"`) && !strings.Contains(text, `"status":"running"`) {
			return s
		}
		if time.Now().After(end) {
			h.t.Fatalf("the job does not end: %d %s", status, text)
		}
	}
}

// paidStream reads a stream to its end and pays for it.
func (h *testServer) paidStream(word string) (last map[string]any, rc *mpp.Receipt, id string) {
	h.t.Helper()
	resp, ch, _ := h.payer.Buy("POST", service.PathStream, service.EventStream, explainBody(word))
	if resp.StatusCode != 200 {
		_, text := service.ReadAnswer(h.t, resp)
		h.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	last, rc, _ = h.payer.Stream(resp, ch, service.PathStream)
	return last, rc, resp.Header.Get("X-Request-Id")
}

// demands are the requests that a payer without a channel is asked to pay for.
func (h *testServer) demands(each func(what string, s service.Answer, amount uint64)) {
	h.t.Helper()
	id := h.order("")
	h.payer.Eventually("the job owes something", func() bool { return h.get("/result/"+id).Status == 402 })
	for _, r := range []struct {
		method, path, accept, body string
		amount                     uint64 // 0: what the job owes
	}{
		{"POST", service.PathStream, service.EventStream, explainBody(""), meter.Cent}, {"POST", service.PathJobs, "", explainBody(""), meter.Cent},
		{"POST", "/session/deposit", "", "", meter.Cent}, {"POST", "/session/deposit", "", "{}", meter.Cent}, {"GET", "/result/" + id, "", "", 0},
	} {
		each(r.method+" "+r.path, h.ask(r.method, r.path, r.accept, r.body), r.amount)
	}
}

func noSession(t *testing.T, h *testServer) {
	h.demands(func(what string, s service.Answer, _ uint64) {
		h.payer.Refused(s, mpp.PaymentRequired)
		if s.JSON(t)["code"] != nil || s.JSON(t)["error"] != nil {
			t.Errorf("%s: %s", what, s.Body)
		}
	})
}

func plainJSON(t *testing.T, h *testServer) {
	for _, accept := range []string{"", "application/json", "*/*"} {
		s := h.ask("POST", service.PathStream, accept, explainBody("")).Has(t, 402)
		if o := s.JSON(t); o["code"] != "use_metered_sse" || o["error"] == "" || len(o) != 2 || s.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %s", accept, s.Body)
		}
		ch, q := h.payer.Challenge(s.Header) // it opens a channel that a stream can use
		again := h.payer.Ask("POST", service.PathStream, accept, explainBody(""), h.payer.Credential(ch, h.payer.Next(q, meter.Cent))).Has(t, 402, "use_metered_sse")
		if again.Header.Get("WWW-Authenticate") != "" || again.Header.Get("Payment-Receipt") != "" {
			t.Errorf("a credentialed one: %v", again.Header)
		}
		if accept == "" {
			h.payer.Unsent(h.payer.Open(2*service.Dollar, 0))
		}
		h.payer.Ref = mpp.ChannelRef{}
	}
	if n := len(h.payer.Chain.Books().Channels); n != 0 {
		t.Errorf("%d channels were opened for no stream", n)
	}
}

func paidInternalErrors(t *testing.T, h *testServer) {
	f := func(word, kind, text string, price uint64) {
		t.Helper()
		last, rc, id := h.paidStream(word)
		if last["type"] != kind || rc == nil {
			t.Fatalf("%s: %v, receipt %+v", word, last, rc)
		}
		raw, _ := stdjson.Marshal(last)
		if all := string(raw); !strings.Contains(all, text) || strings.Contains(all, "secret") {
			t.Errorf("%s: %s", word, all)
		}
		if bill, err := h.sales.Channels.Bill(id); err != nil || !bill.Final || bill.Collected != tempo.AmountFrom(price) {
			t.Errorf("%s: bill %+v, %v; want %d", word, bill, err, price)
		}
	}
	f("broken", "error", `"code":"internal_error"`, 0)
	f("nowhere", "error", "not found on 80 chains", meter.Cent)
	f("partial", "result", `"analysisModel":"partial-synthesis"`, analysisPrice)
	h.payer.Close(meter.Cent + analysisPrice)
}

func paidUpstreamFails(t *testing.T, h *testServer) {
	last, _, _ := h.paidStream("unpaid")
	if last["type"] != "error" || last["code"] != "internal_error" {
		t.Errorf("%v", last)
	}
	h.post(service.PathStream, explainBody("unpaid")).Has(t, 402, "use_metered_sse")
}

func asyncUnit(t *testing.T, h *testServer) {
	_, q := h.payer.Terms("POST", service.PathJobs, "", explainBody(""))
	if q.Amount != tempo.AmountFrom(meter.Cent) {
		t.Errorf("amount %s", q.Amount)
	}
	h.order("wait")
	if n := h.payer.Spent(); n != meter.Cent {
		t.Errorf("spent %d at the submit", n)
	}
	close(h.release)
}

func asyncFails(t *testing.T, h *testServer) {
	h.full.Store(true)
	resp, ch, payload := h.payer.Buy("POST", service.PathJobs, "", explainBody(""))
	status, text := service.ReadAnswer(t, resp)
	s := service.Answer{Status: status, Header: resp.Header, Body: text}.Has(t, 500)
	if o := s.JSON(t); len(o) != 2 || o["error"] != "Internal server error" || o["requestId"] != "err-"+s.RequestID() || s.Header.Get("Payment-Receipt") != "" {
		t.Errorf("%v %s", s.Header, s.Body)
	}
	if n := h.payer.Spent(); n != 0 {
		t.Errorf("%d were kept for no job", n)
	}
	h.full.Store(false) // the same voucher is still good
	h.payer.Ask("POST", service.PathJobs, "", explainBody(""), h.payer.Credential(ch, payload)).Taken(t)
	if n := h.payer.Spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}

// accrued: what a job owes is asked for, once, and then it is free.
func accrued(t *testing.T, h *testServer) {
	id := h.order("wait")
	h.payer.Eventually("the purchase is owed", func() bool {
		s := h.get("/result/" + id)
		if s.Status != 402 {
			return false
		}
		h.payer.Refused(s, mpp.PaymentRequired)
		_, q := h.payer.Challenge(s.Header)
		return q.Amount == tempo.AmountFrom(analysisPrice-meter.Cent)
	})
	resp, _, _ := h.payer.Buy("GET", "/result/"+id, "", "")
	status, text := service.ReadAnswer(t, resp)
	service.Answer{Status: status, Header: resp.Header, Body: text}.Has(t, 200, `"status":"running"`)
	if rc := h.payer.Receipt(resp.Header); rc.Spent != tempo.AmountFrom(analysisPrice) {
		t.Errorf("spent %s", rc.Spent)
	}
	h.get("/result/"+id).Is(t, 200, `"status":"running"`) // nothing has accrued since
	close(h.release)
	h.payer.Eventually("the job ends", func() bool { return strings.Contains(h.get("/result/"+id).Body, `"status":"complete"`) })
	h.get("/result/"+id).Is(t, 200, `"status":"complete"`)
	if n := h.payer.Spent(); n != analysisPrice {
		t.Errorf("spent %d, as a stream costs %d", n, analysisPrice)
	}
}

func noJob(t *testing.T, h *testServer) {
	const want = `{"error":"Job not found - expired or invalid ID"}`
	id := h.order("")
	h.paidEnd(id).Has(t, 200, `"status":"complete"`)
	const unknown = "/result/0199d5f0-0000-7000-8000-0000000000ff"
	paid := h.payer.Paid
	ch, q := h.payer.Terms("POST", unknown, "", "")
	for _, s := range []service.Answer{h.get(unknown), h.get("/result/nonsense"), h.payer.Ask("GET", unknown, "", "", h.payer.Credential(ch, h.payer.Next(q, meter.Cent)))} {
		if s.Is(t, 404); s.Body != want {
			t.Errorf("%s", s.Body)
		}
	}
	h.payer.Paid = paid
	if n := h.payer.Spent(); n != paid {
		t.Errorf("spent %d of %d: there was nothing to pay for", n, paid)
	}
	h.later(api.JobRetention)
	if s := h.get("/result/"+id).Is(t, 404); s.Body != want {
		t.Errorf("expired: %s", s.Body)
	}
}

// paidFailures: a job that delivers nothing costs nothing, and one for a hash that no
// chain knows costs one unit.
func paidFailures(t *testing.T, h *testServer) {
	f := func(word, code string, price uint64) {
		t.Helper()
		id := h.order(word)
		s := h.paidEnd(id)
		if o := s.JSON(t); o["status"] != "error" || o["error"] == "" || o["errorCode"] != code || o["result"] != nil {
			t.Errorf("%s", s.Body)
		}
		if bill, err := h.sales.Channels.Bill(id); err != nil || !bill.Final || bill.Collected != tempo.AmountFrom(price) || bill.Price != bill.Collected {
			t.Errorf("%s: bill %+v, %v; want %d", word, bill, err, price)
		}
	}
	f("broken", "internal_error", 0)
	f("nowhere", "transaction_not_found", meter.Cent)
	f("unpaid", "upstream_payment_unavailable", 0)
	h.payer.Close(meter.Cent)
}

// smallDeposit: an opening of less is refused wherever something is served, before it
// is broadcast, and with a challenge that an opening of more answers.
func smallDeposit(t *testing.T, h *testServer) {
	id := h.order("")
	h.payer.Eventually("the job owes something", func() bool { return h.get("/result/"+id).Status == 402 })
	p := h.payer.Another(t)
	before := len(p.Chain.Books().Channels)
	f := func(method, path, accept, body string) {
		t.Helper()
		ch, _ := p.Terms(method, path, accept, body)
		s := p.Ask(method, path, accept, body, p.Credential(ch, p.Open(2*service.Dollar-1, meter.Cent))).Has(t, 402)
		if o := s.JSON(t); o["code"] != "deposit_below_minimum" || o["error"] == "" || len(o) != 2 || s.Header.Get("Content-Type") != "application/json" || s.Header.Get("Payment-Receipt") != "" {
			t.Errorf("%s: %v %s", path, s.Header, s.Body)
		}
		if fresh, q := p.Challenge(s.Header); fresh.Opaque != ch.Opaque || q.Amount.IsZero() {
			t.Errorf("%s: the fresh challenge is %+v", path, fresh)
		}
	}
	f("POST", service.PathJobs, "", explainBody(""))
	f("POST", service.PathStream, service.EventStream, explainBody(""))
	f("POST", "/session/deposit", "", "{}")
	f("POST", "/session/deposit", "", "")
	f("GET", "/result/"+id, "", "")
	if n := len(p.Chain.Books().Channels); n != before {
		t.Errorf("%d channels were opened to be refused", n-before)
	}
	ch, _ := p.Terms("POST", service.PathJobs, "", explainBody(""))
	p.Ask("POST", service.PathJobs, "", explainBody(""), p.Credential(ch, p.Open(2*service.Dollar, meter.Cent))).Taken(t)
}

func paidRecoveries(t *testing.T, h *testServer) {
	fault := func(id string, status int, code string) {
		t.Helper()
		s := h.get("/explain/run/"+id).Is(t, status)
		if o := s.JSON(t); o["code"] != code || o["error"] == "" || o["requestId"] != id {
			t.Errorf("%s", s.Body)
		}
	}
	fault("0199d5f0-0000-7000-8000-0000000000ff", 404, "run_not_found")
	_, _, broken := h.paidStream("broken")
	fault(broken, 409, "run_errored")
	_, _, id := h.paidStream("")
	first := h.get("/explain/run/"+id).Is(t, 200, `"type":"complete"`, `"type":"result"`) // paid in full: free
	if again := h.get("/explain/run/" + id); again.Body != first.Body {
		t.Errorf("the second answer is another: %s", again.Body)
	}
	h.later(api.RunRetention)
	fault(id, 404, "run_not_found")
}

// billed: what a request is refused for is told before it is asked to pay.
func billed(t *testing.T, h *testServer, body string, fine bool, texts ...string) {
	t.Helper()
	for _, f := range []struct{ path, accept string }{{service.PathStream, service.EventStream}, {service.PathJobs, ""}} {
		s := h.ask("POST", f.path, f.accept, body)
		if fine {
			h.payer.Refused(s, mpp.PaymentRequired)
			continue
		}
		s.Is(t, 400, texts...)
		ch, q := h.payer.Terms("POST", f.path, f.accept, "")
		h.payer.Ask("POST", f.path, f.accept, body, h.payer.Credential(ch, h.payer.Next(q, meter.Cent))).Is(t, 400, texts...)
		h.payer.Ref = mpp.ChannelRef{}
	}
}

// nobodyCollects: after the patience with who does not pay a job ends with what it
// has; its price is then asked for, and its result lost to nobody.
func nobodyCollects(t *testing.T, _ *testServer) {
	if sale.JobPatience != 90*time.Second {
		t.Errorf("the patience is %v", sale.JobPatience)
	}
	chain, rpc := service.NewSettlementChain(t, sandbox.Options{})
	sells := saleOn(t, chain, rpc)
	sells.JobPatience = 300 * time.Millisecond
	h := sellingServer(t, chain, sells)
	left := h.order("wait")
	h.payer.Eventually("it is cut short", func() bool {
		bill, err := h.sales.Channels.Bill(left)
		return err == nil && bill.Final
	})
	h.payer.Refused(h.get("/result/"+left), mpp.PaymentRequired)
	h.paidEnd(left).Has(t, 200, `"status":"complete"`, `"analysisModel":"partial-synthesis"`)
	if n := h.payer.Spent(); n != analysisPrice {
		t.Errorf("spent %d", n)
	}
}

func pollInterval(t *testing.T, h *testServer) {
	resp, _, _ := h.payer.Buy("POST", service.PathJobs, "", explainBody("wait"))
	_, text := service.ReadAnswer(t, resp)
	taken := service.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}.Has(t, 202)
	id, _ := taken.JSON(t)["jobId"].(string)
	h.payer.Eventually("the purchase is owed", func() bool { return h.get("/result/"+id).Status == 402 })
	var bought, free service.Answer
	h.payer.Eventually("all that it owes so far is paid", func() bool { // it may come to owe more at any time
		resp, _, _ = h.payer.Buy("GET", "/result/"+id, "", "")
		_, text = service.ReadAnswer(t, resp)
		bought, free = service.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}, h.get("/result/"+id)
		return bought.Status == 200 && free.Status == 200
	})
	for _, s := range []service.Answer{taken, bought, free} {
		if n := s.Header.Get("Retry-After"); n != "5" {
			t.Errorf("%d with Retry-After %q: %s", s.Status, n, s.Body)
		}
	}
	close(h.release)
	if s := h.paidEnd(id); s.Header.Get("Retry-After") != "" {
		t.Error("a job that has ended is to be asked again")
	}
}

// wholeUnits: everything that is asked for is a whole number of cents.
func wholeUnits(t *testing.T, h *testServer) {
	cents := func(a tempo.Amount) {
		t.Helper()
		if n, ok := a.Uint64(); !ok || n == 0 || n%meter.Cent != 0 {
			t.Errorf("asked for %s", a)
		}
	}
	h.demands(func(_ string, s service.Answer, _ uint64) {
		_, q := h.payer.Challenge(s.Header)
		cents(q.Amount)
	})
	resp, ch, _ := h.payer.Buy("POST", service.PathStream, service.EventStream, explainBody(""))
	needed := 0
	h.payer.Each(resp, func(event, data string) {
		if event == mpp.EventNeedVoucher {
			needed++
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			cents(need.RequiredCumulative)
			h.payer.AnswerNeed(need, ch, service.PathStream)
		}
	})
	if needed == 0 {
		t.Error("no voucher was asked for")
	}
}

func probePrice(t *testing.T, h *testServer) {
	for _, body := range []string{"", "{}"} {
		resp, _, _ := h.payer.Buy("POST", "/session/deposit", "", body)
		_, text := service.ReadAnswer(t, resp)
		service.Answer{Status: resp.StatusCode, Header: resp.Header, Body: text}.Has(t, 200, `{"ok":true}`)
		if rc := h.payer.Receipt(resp.Header); !rc.Spent.IsZero() {
			t.Errorf("spent %s", rc.Spent)
		}
	}
	if h.payer.Paid != 2*meter.Cent {
		t.Errorf("asked for %d", h.payer.Paid)
	}
}

func suggestedDeposit(t *testing.T, h *testServer) {
	h.demands(func(what string, s service.Answer, amount uint64) {
		_, q := h.payer.Challenge(s.Header)
		if q.SuggestedDeposit != tempo.AmountFrom(16*service.Dollar) || amount != 0 && q.Amount != tempo.AmountFrom(amount) {
			t.Errorf("%s: %+v", what, q)
		}
	})
}

func recommendedMax(t *testing.T, h *testServer) {
	for _, path := range []string{"/SKILL.md", "/llms-full.txt"} {
		h.get(path).Has(t, 200, "$32", "$16", "$2", "$0.01")
	}
}

// noRateLimit: who does not pay is asked to, however often.
func noRateLimit(t *testing.T, h *testServer) {
	for range 200 {
		h.payer.Refused(h.post(service.PathJobs, explainBody("")), mpp.PaymentRequired)
	}
	h.order("")
}
