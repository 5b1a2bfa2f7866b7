package main

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
)

// The rows of the tables "Errors" and "Limits" as a metered server has them.

// order submits a paid job and gives its id.
func (h *house) order(word string) (id string) {
	h.t.Helper()
	resp, _, _ := h.payer.buy("POST", pathJobs, "", explainBody(word))
	status, text := read(h.t, resp)
	id, _ = said{status, resp.Header, text}.has(h.t, 202, `"status":"pending"`).json(h.t)["jobId"].(string)
	return id
}

// paidEnd polls a job, pays what is asked for, and gives its last state.
func (h *house) paidEnd(id string) said {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		resp, _, _ := h.payer.buy("GET", "/result/"+id, "", "")
		status, text := read(h.t, resp)
		if s := (said{status, resp.Header, text}); status == 200 && !strings.Contains(text, `"status":"pending"`) && !strings.Contains(text, `"status":"running"`) {
			return s
		}
		if time.Now().After(end) {
			h.t.Fatalf("the job does not end: %d %s", status, text)
		}
	}
}

// paidStream reads a stream to its end and pays for it.
func (h *house) paidStream(word string) (last map[string]any, rc *mpp.Receipt, id string) {
	h.t.Helper()
	resp, ch, _ := h.payer.buy("POST", pathStream, events, explainBody(word))
	if resp.StatusCode != 200 {
		_, text := read(h.t, resp)
		h.t.Fatalf("%d %s", resp.StatusCode, text)
	}
	last, rc, _ = h.payer.stream(resp, ch, pathStream)
	return last, rc, resp.Header.Get("X-Request-Id")
}

// demands are the requests that a payer without a channel is asked to pay for.
func (h *house) demands(each func(what string, s said, amount uint64)) {
	h.t.Helper()
	id := h.order("")
	h.payer.eventually("the job owes something", func() bool { return h.get("/result/"+id).status == 402 })
	for _, r := range []struct {
		method, path, accept, body string
		amount                     uint64 // 0: what the job owes
	}{
		{"POST", pathStream, events, explainBody(""), meter.Cent}, {"POST", pathJobs, "", explainBody(""), meter.Cent},
		{"POST", "/session/deposit", "", "", meter.Cent}, {"POST", "/session/deposit", "", "{}", meter.Cent}, {"GET", "/result/" + id, "", "", 0},
	} {
		each(r.method+" "+r.path, h.ask(r.method, r.path, r.accept, r.body), r.amount)
	}
}

func noSession(t *testing.T, h *house) {
	h.demands(func(what string, s said, _ uint64) {
		h.payer.refused(s, mpp.PaymentRequired)
		if s.json(t)["code"] != nil || s.json(t)["error"] != nil {
			t.Errorf("%s: %s", what, s.body)
		}
	})
}

func plainJSON(t *testing.T, h *house) {
	for _, accept := range []string{"", "application/json", "*/*"} {
		s := h.ask("POST", pathStream, accept, explainBody("")).has(t, 402)
		if o := s.json(t); o["code"] != "use_metered_sse" || o["error"] == "" || len(o) != 2 || s.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %s", accept, s.body)
		}
		ch, q := h.payer.challenge(s.header) // it opens a channel that a stream can use
		again := h.payer.ask("POST", pathStream, accept, explainBody(""), h.payer.credential(ch, h.payer.next(q, meter.Cent))).has(t, 402, "use_metered_sse")
		if again.header.Get("WWW-Authenticate") != "" || again.header.Get("Payment-Receipt") != "" {
			t.Errorf("a credentialed one: %v", again.header)
		}
		if accept == "" {
			h.payer.unsent(h.payer.open(2*dollar, 0))
		}
		h.payer.ref = mpp.ChannelRef{}
	}
	if n := len(h.payer.chain.Books().Channels); n != 0 {
		t.Errorf("%d channels were opened for no stream", n)
	}
}

func paidInternalErrors(t *testing.T, h *house) {
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
	h.payer.close(meter.Cent + analysisPrice)
}

func paidUpstreamFails(t *testing.T, h *house) {
	last, _, _ := h.paidStream("unpaid")
	if last["type"] != "error" || last["code"] != "internal_error" {
		t.Errorf("%v", last)
	}
	h.post(pathStream, explainBody("unpaid")).has(t, 402, "use_metered_sse")
}

func asyncUnit(t *testing.T, h *house) {
	_, q := h.payer.terms("POST", pathJobs, "", explainBody(""))
	if q.Amount != tempo.AmountFrom(meter.Cent) {
		t.Errorf("amount %s", q.Amount)
	}
	h.order("wait")
	if n := h.payer.spent(); n != meter.Cent {
		t.Errorf("spent %d at the submit", n)
	}
	close(h.release)
}

func asyncFails(t *testing.T, h *house) {
	h.full.Store(true)
	resp, ch, payload := h.payer.buy("POST", pathJobs, "", explainBody(""))
	status, text := read(t, resp)
	s := said{status, resp.Header, text}.has(t, 500)
	if o := s.json(t); len(o) != 2 || o["error"] != "Internal server error" || o["requestId"] != "err-"+s.requestID() || s.header.Get("Payment-Receipt") != "" {
		t.Errorf("%v %s", s.header, s.body)
	}
	if n := h.payer.spent(); n != 0 {
		t.Errorf("%d were kept for no job", n)
	}
	h.full.Store(false) // the same voucher is still good
	h.payer.ask("POST", pathJobs, "", explainBody(""), h.payer.credential(ch, payload)).taken(t)
	if n := h.payer.spent(); n != meter.Cent {
		t.Errorf("spent %d", n)
	}
}

// accrued: what a job owes is asked for, once, and then it is free.
func accrued(t *testing.T, h *house) {
	id := h.order("wait")
	h.payer.eventually("the purchase is owed", func() bool {
		s := h.get("/result/" + id)
		if s.status != 402 {
			return false
		}
		h.payer.refused(s, mpp.PaymentRequired)
		_, q := h.payer.challenge(s.header)
		return q.Amount == tempo.AmountFrom(analysisPrice-meter.Cent)
	})
	resp, _, _ := h.payer.buy("GET", "/result/"+id, "", "")
	status, text := read(t, resp)
	said{status, resp.Header, text}.has(t, 200, `"status":"running"`)
	if rc := h.payer.receipt(resp.Header); rc.Spent != tempo.AmountFrom(analysisPrice) {
		t.Errorf("spent %s", rc.Spent)
	}
	h.get("/result/"+id).is(t, 200, `"status":"running"`) // nothing has accrued since
	close(h.release)
	h.payer.eventually("the job ends", func() bool { return strings.Contains(h.get("/result/"+id).body, `"status":"complete"`) })
	h.get("/result/"+id).is(t, 200, `"status":"complete"`)
	if n := h.payer.spent(); n != analysisPrice {
		t.Errorf("spent %d, as a stream costs %d", n, analysisPrice)
	}
}

func noJob(t *testing.T, h *house) {
	const want = `{"error":"Job not found - expired or invalid ID"}`
	id := h.order("")
	h.paidEnd(id).has(t, 200, `"status":"complete"`)
	const unknown = "/result/0199d5f0-0000-7000-8000-0000000000ff"
	paid := h.payer.paid
	ch, q := h.payer.terms("POST", unknown, "", "")
	for _, s := range []said{h.get(unknown), h.get("/result/nonsense"), h.payer.ask("GET", unknown, "", "", h.payer.credential(ch, h.payer.next(q, meter.Cent)))} {
		if s.is(t, 404); s.body != want {
			t.Errorf("%s", s.body)
		}
	}
	h.payer.paid = paid
	if n := h.payer.spent(); n != paid {
		t.Errorf("spent %d of %d: there was nothing to pay for", n, paid)
	}
	h.later(api.JobRetention)
	if s := h.get("/result/"+id).is(t, 404); s.body != want {
		t.Errorf("expired: %s", s.body)
	}
}

// paidFailures: a job that delivers nothing costs nothing, and one for a hash that no
// chain knows costs one unit.
func paidFailures(t *testing.T, h *house) {
	f := func(word, code string, price uint64) {
		t.Helper()
		id := h.order(word)
		s := h.paidEnd(id)
		if o := s.json(t); o["status"] != "error" || o["error"] == "" || o["errorCode"] != code || o["result"] != nil {
			t.Errorf("%s", s.body)
		}
		if bill, err := h.sales.Channels.Bill(id); err != nil || !bill.Final || bill.Collected != tempo.AmountFrom(price) || bill.Price != bill.Collected {
			t.Errorf("%s: bill %+v, %v; want %d", word, bill, err, price)
		}
	}
	f("broken", "internal_error", 0)
	f("nowhere", "transaction_not_found", meter.Cent)
	f("unpaid", "upstream_payment_unavailable", 0)
	h.payer.close(meter.Cent)
}

// smallDeposit: an opening of less is refused wherever something is served, before it
// is broadcast, and with a challenge that an opening of more answers.
func smallDeposit(t *testing.T, h *house) {
	id := h.order("")
	h.payer.eventually("the job owes something", func() bool { return h.get("/result/"+id).status == 402 })
	p := h.payer.another(t)
	before := len(p.chain.Books().Channels)
	f := func(method, path, accept, body string) {
		t.Helper()
		ch, _ := p.terms(method, path, accept, body)
		s := p.ask(method, path, accept, body, p.credential(ch, p.open(2*dollar-1, meter.Cent))).has(t, 402)
		if o := s.json(t); o["code"] != "deposit_below_minimum" || o["error"] == "" || len(o) != 2 || s.header.Get("Content-Type") != "application/json" || s.header.Get("Payment-Receipt") != "" {
			t.Errorf("%s: %v %s", path, s.header, s.body)
		}
		if fresh, q := p.challenge(s.header); fresh.Opaque != ch.Opaque || q.Amount.IsZero() {
			t.Errorf("%s: the fresh challenge is %+v", path, fresh)
		}
	}
	f("POST", pathJobs, "", explainBody(""))
	f("POST", pathStream, events, explainBody(""))
	f("POST", "/session/deposit", "", "{}")
	f("POST", "/session/deposit", "", "")
	f("GET", "/result/"+id, "", "")
	if n := len(p.chain.Books().Channels); n != before {
		t.Errorf("%d channels were opened to be refused", n-before)
	}
	ch, _ := p.terms("POST", pathJobs, "", explainBody(""))
	p.ask("POST", pathJobs, "", explainBody(""), p.credential(ch, p.open(2*dollar, meter.Cent))).taken(t)
}

func paidRecoveries(t *testing.T, h *house) {
	fault := func(id string, status int, code string) {
		t.Helper()
		s := h.get("/explain/run/"+id).is(t, status)
		if o := s.json(t); o["code"] != code || o["error"] == "" || o["requestId"] != id {
			t.Errorf("%s", s.body)
		}
	}
	fault("0199d5f0-0000-7000-8000-0000000000ff", 404, "run_not_found")
	_, _, broken := h.paidStream("broken")
	fault(broken, 409, "run_errored")
	_, _, id := h.paidStream("")
	first := h.get("/explain/run/"+id).is(t, 200, `"type":"complete"`, `"type":"result"`) // paid in full: free
	if again := h.get("/explain/run/" + id); again.body != first.body {
		t.Errorf("the second answer is another: %s", again.body)
	}
	h.later(api.RunRetention)
	fault(id, 404, "run_not_found")
}

// billed: what a request is refused for is told before it is asked to pay.
func billed(t *testing.T, h *house, body string, fine bool, texts ...string) {
	t.Helper()
	for _, f := range []struct{ path, accept string }{{pathStream, events}, {pathJobs, ""}} {
		s := h.ask("POST", f.path, f.accept, body)
		if fine {
			h.payer.refused(s, mpp.PaymentRequired)
			continue
		}
		s.is(t, 400, texts...)
		ch, q := h.payer.terms("POST", f.path, f.accept, "")
		h.payer.ask("POST", f.path, f.accept, body, h.payer.credential(ch, h.payer.next(q, meter.Cent))).is(t, 400, texts...)
		h.payer.ref = mpp.ChannelRef{}
	}
}

// nobodyCollects: after the patience with who does not pay a job ends with what it
// has; its price is then asked for, and its result lost to nobody.
func nobodyCollects(t *testing.T, _ *house) {
	if sale.JobPatience != 90*time.Second {
		t.Errorf("the patience is %v", sale.JobPatience)
	}
	chain, rpc := newReserve(t, sandbox.Options{})
	sells := sandboxFlags(t, chain, rpc)
	sells.JobPatience = 300 * time.Millisecond
	h := sellingHouse(t, chain, sells)
	left := h.order("wait")
	h.payer.eventually("it is cut short", func() bool {
		bill, err := h.sales.Channels.Bill(left)
		return err == nil && bill.Final
	})
	h.payer.refused(h.get("/result/"+left), mpp.PaymentRequired)
	h.paidEnd(left).has(t, 200, `"status":"complete"`, `"analysisModel":"partial-synthesis"`)
	if n := h.payer.spent(); n != analysisPrice {
		t.Errorf("spent %d", n)
	}
}

func pollInterval(t *testing.T, h *house) {
	resp, _, _ := h.payer.buy("POST", pathJobs, "", explainBody("wait"))
	_, text := read(t, resp)
	taken := said{resp.StatusCode, resp.Header, text}.has(t, 202)
	id, _ := taken.json(t)["jobId"].(string)
	h.payer.eventually("the purchase is owed", func() bool { return h.get("/result/"+id).status == 402 })
	var bought, free said
	h.payer.eventually("all that it owes so far is paid", func() bool { // it may come to owe more at any time
		resp, _, _ = h.payer.buy("GET", "/result/"+id, "", "")
		_, text = read(t, resp)
		bought, free = said{resp.StatusCode, resp.Header, text}, h.get("/result/"+id)
		return bought.status == 200 && free.status == 200
	})
	for _, s := range []said{taken, bought, free} {
		if n := s.header.Get("Retry-After"); n != "5" {
			t.Errorf("%d with Retry-After %q: %s", s.status, n, s.body)
		}
	}
	close(h.release)
	if s := h.paidEnd(id); s.header.Get("Retry-After") != "" {
		t.Error("a job that has ended is to be asked again")
	}
}

// wholeUnits: everything that is asked for is a whole number of cents.
func wholeUnits(t *testing.T, h *house) {
	cents := func(a tempo.Amount) {
		t.Helper()
		if n, ok := a.Uint64(); !ok || n == 0 || n%meter.Cent != 0 {
			t.Errorf("asked for %s", a)
		}
	}
	h.demands(func(_ string, s said, _ uint64) {
		_, q := h.payer.challenge(s.header)
		cents(q.Amount)
	})
	resp, ch, _ := h.payer.buy("POST", pathStream, events, explainBody(""))
	needed := 0
	h.payer.each(resp, func(event, data string) {
		if event == mpp.EventNeedVoucher {
			needed++
			need, err := mpp.DecodeNeedVoucher([]byte(data))
			if err != nil {
				t.Fatal(err)
			}
			cents(need.RequiredCumulative)
			h.payer.answerNeed(need, ch, pathStream)
		}
	})
	if needed == 0 {
		t.Error("no voucher was asked for")
	}
}

func probePrice(t *testing.T, h *house) {
	for _, body := range []string{"", "{}"} {
		resp, _, _ := h.payer.buy("POST", "/session/deposit", "", body)
		_, text := read(t, resp)
		said{resp.StatusCode, resp.Header, text}.has(t, 200, `{"ok":true}`)
		if rc := h.payer.receipt(resp.Header); !rc.Spent.IsZero() {
			t.Errorf("spent %s", rc.Spent)
		}
	}
	if h.payer.paid != 2*meter.Cent {
		t.Errorf("asked for %d", h.payer.paid)
	}
}

func suggestedDeposit(t *testing.T, h *house) {
	h.demands(func(what string, s said, amount uint64) {
		_, q := h.payer.challenge(s.header)
		if q.SuggestedDeposit != tempo.AmountFrom(16*dollar) || amount != 0 && q.Amount != tempo.AmountFrom(amount) {
			t.Errorf("%s: %+v", what, q)
		}
	})
}

func recommendedMax(t *testing.T, h *house) {
	for _, path := range []string{"/SKILL.md", "/llms-full.txt"} {
		h.get(path).has(t, 200, "$32", "$16", "$2", "$0.01")
	}
}

// noRateLimit: who does not pay is asked to, however often.
func noRateLimit(t *testing.T, h *house) {
	for range 200 {
		h.payer.refused(h.post(pathJobs, explainBody("")), mpp.PaymentRequired)
	}
	h.order("")
}
